"""Two settings measured against each other: a process for each, and turns between them."""
