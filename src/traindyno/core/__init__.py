"""Frozen records, units and errors. No input or output happens here."""
