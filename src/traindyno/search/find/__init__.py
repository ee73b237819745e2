"""The search behind `find`, and the rounds behind `verify`."""
