"""A store in a file is for the processes of one machine: locks do not reach farther."""

from sqlalchemy import Connection, select

from traindyno.core.errors import TraindynoError
from traindyno.store.owners import is_live, other_machine
from traindyno.store.schema import studies, trials


def check_machine(connection: Connection, name: str, now: float) -> None:
    """Refuse to run studies beside a living process of another machine."""
    for table in (studies, trials):
        holds = select(table.c.owner, table.c.expires).where(table.c.owner.is_not(None), table.c.expires > now)
        for hold in connection.execute(holds).all():
            host = other_machine(hold.owner)
            if host is not None and is_live(hold.owner, hold.expires, now):
                raise TraindynoError(
                    f"the store {name} is in use by {host}, and a file cannot be shared between machines",
                    "give both --store postgresql+psycopg://USER@HOST/DATABASE, or name another file here",
                )
