"""A PostgreSQL server of the tests' own, from the programs that Debian's package has."""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from urllib.parse import quote

from traindyno.runner.linux import die_with_parent

PASSWORD = "hunter2"
PROGRAMS = Path("/usr/lib/postgresql")
HOW_TO_INSTALL = "PostgreSQL is not installed: `apt-get install postgresql` (Debian), then these tests run as well"
DEADLINE_SECONDS = 60.0
UNSYNCED = ("-c", "fsync=off", "-c", "full_page_writes=off")
"""What a server has written outlives its own death, if not the machine's: tests kill no machines."""


def missing() -> str | None:
    """Why there can be no server here; null where there can be one."""
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return 'psycopg is not installed: pip install "traindyno[postgres]"'
    if _programs() is None:
        return HOW_TO_INSTALL
    return None


@cache
def _programs() -> Path | None:
    """The newest version's programs."""
    found = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


class Cluster:
    """A private server in a folder of its own, which listens on no network."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._user = "postgres" if os.geteuid() == 0 else None
        self._numbers = itertools.count(1)
        if self._user is not None:
            shutil.chown(folder, self._user)
        (folder / "password").write_text(PASSWORD)
        account = ("--username=ada", f"--pwfile={folder / 'password'}", "--auth=scram-sha-256")
        made = self._popen(
            "initdb", "-D", str(folder / "data"), *account, "--encoding=UTF8", "--no-instructions", "--no-sync"
        )
        assert made.wait() == 0, (folder / "log").read_text()
        self.server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Let it listen, and wait until it answers."""
        settings = ("listen_addresses=", f"unix_socket_directories={self.folder}", "max_connections=60")
        options = [word for setting in settings for word in ("-c", setting)]
        self.server = self._popen("postgres", "-D", str(self.folder / "data"), *options, *UNSYNCED)
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not self._answers():
            assert time.monotonic() < deadline, (self.folder / "log").read_text()
            assert self.server.poll() is None, (self.folder / "log").read_text()
            time.sleep(0.05)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it: SIGINT lets no transaction finish, SIGQUIT is as if it had crashed."""
        if self.server is not None:
            self.server.send_signal(how)
            self.server.wait(DEADLINE_SECONDS)
            self.server = None

    def url(self, database: str = "postgres", password: str = PASSWORD, **query: str) -> str:
        words = {"host": str(self.folder), **query}
        parameters = "&".join(f"{name}={quote(value, safe='')}" for name, value in words.items())
        return f"postgresql+psycopg://ada:{password}@/{database}?{parameters}"

    def new_store(self) -> str:
        """The URL of an empty place in the database, which nobody else uses."""
        import psycopg

        name = f"place_{os.getpid()}_{next(self._numbers)}"
        with psycopg.connect(**self._account()) as connection:
            connection.execute(f"CREATE SCHEMA {name}".encode())
        return self.url(options=f"-csearch_path={name}")

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        import psycopg

        with psycopg.connect(**self._account(), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def _account(self) -> dict[str, str]:
        return {"host": str(self.folder), "user": "ada", "password": PASSWORD, "dbname": "postgres"}

    def _answers(self) -> bool:
        import psycopg

        try:
            psycopg.connect(**self._account(), connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def _popen(self, program: str, *arguments: str) -> "subprocess.Popen[bytes]":
        """As an ordinary user, and gone when we are."""
        programs = _programs()
        assert programs is not None
        parent = os.getpid()
        with (self.folder / "log").open("ab") as log:
            return subprocess.Popen(
                [str(programs / program), *arguments],
                cwd=self.folder,
                stdout=log,
                stderr=subprocess.STDOUT,
                user=self._user,
                group=self._user,
                extra_groups=None if self._user is None else [],
                preexec_fn=lambda: die_with_parent(parent),
                start_new_session=True,
            )


@contextmanager
def running_cluster() -> Iterator[Cluster]:
    """A server while the block runs. Its folder has a short name: that of a socket must not be long."""
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    folder.chmod(0o755)
    cluster = Cluster(folder)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop(signal.SIGQUIT)
        shutil.rmtree(folder, ignore_errors=True)
