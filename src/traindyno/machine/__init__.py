"""Facts about this computer and samples of its state."""
