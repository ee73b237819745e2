"""The tables of the ledger, schema 2.

A study has trials; each committed run of a trial is an attempt, kept for good under the fence of its lease.
The attempt that counts is the one `trials.committed_fence` points at. Records are `core.codec` text.
"""

from sqlalchemy import Column, Float, ForeignKey, Index, Integer, MetaData, String, Table, Text, UniqueConstraint

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("key", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", String(64), nullable=False, unique=True),
    Column("command", Text, nullable=False),
    Column("state", String(16), nullable=False),
    Column("created", String(32), nullable=False),
    Column("updated", String(32), nullable=False),
    Column("request", Text, nullable=False),
    Column("machine", Text, nullable=False),
    Column("answer", Text, nullable=False),
    Column("warnings", Text, nullable=False),
    Column("owner", Text),
    Column("expires", Float),
    Column("fence", Integer, nullable=False),
    Column("planner", Text),
    Column("planner_expires", Float),
)

trials = Table(
    "trials",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", Integer, ForeignKey("studies.id"), nullable=False),
    Column("key", String(64), nullable=False),
    Column("ordinal", Integer, nullable=False),
    Column("spec", Text, nullable=False),
    Column("owner", Text),
    Column("expires", Float),
    Column("fence", Integer, nullable=False),
    Column("committed_fence", Integer),
    UniqueConstraint("study_id", "key"),
)

# Whoever takes the next trial finds it at once, however many have ended or run.
is_untouched = trials.c.committed_fence.is_(None) & trials.c.owner.is_(None)
is_held = trials.c.owner.is_not(None)
Index("waiting_trials", trials.c.study_id, trials.c.ordinal, sqlite_where=is_untouched, postgresql_where=is_untouched)
Index("held_trials", trials.c.study_id, trials.c.expires, sqlite_where=is_held, postgresql_where=is_held)

attempts = Table(
    "attempts",
    metadata,
    Column("trial_id", Integer, ForeignKey("trials.id"), primary_key=True),
    Column("fence", Integer, primary_key=True),
    Column("outcome", String(32), nullable=False),
    Column("committed", String(32), nullable=False),
    Column("record", Text, nullable=False),
)
