"""What each setting does inside a trial, one file per knob or two."""
