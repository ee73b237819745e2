"""What the trials of `find` say: rates end to end, where a step's time goes, and which way to train is the fastest."""
