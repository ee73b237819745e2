"""Faults inside a trial whose origin decides how the trial is classified."""


class DataError(Exception):
    """Reading or collating the user's data raised; the user's own exception is the cause."""
