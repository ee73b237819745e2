"""The base of all records."""

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Base of all records: frozen, named fields, strict when read back."""
