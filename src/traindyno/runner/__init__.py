"""The outside of a trial: start a fresh process, watch it, end it, say how it ended."""
