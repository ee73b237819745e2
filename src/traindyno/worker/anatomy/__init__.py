"""Taking a step apart: its phases, what it computes and moves, and what the device could do at most."""
