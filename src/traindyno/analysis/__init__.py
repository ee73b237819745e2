"""Pure functions from measurements to conclusions."""
