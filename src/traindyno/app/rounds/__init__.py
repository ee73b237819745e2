"""Tuning rounds: files, runs, conclusions, adoption, and the ledger of what was adopted."""
