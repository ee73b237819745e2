"""What the runs of a tuning round have shown."""
