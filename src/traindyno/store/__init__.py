"""The ledger of studies, trials, leases and results."""
