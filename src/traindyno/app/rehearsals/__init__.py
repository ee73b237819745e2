"""`--dry-run`: what a study would do and cost, told without running a trial."""
