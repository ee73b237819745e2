"""Training that learns: data, recipe, loop, evaluation and checkpoints of one run."""
