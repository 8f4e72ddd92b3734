"""A real PostgreSQL for tests: started from the machine's own programs, gone afterwards.

`conftest.py` makes fixtures of it. `postgres` is the URL of a new, empty database:

    def test_something(postgres):
        engine = sqlalchemy.create_engine(postgres)
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

USER = "anonrisk"
# The server refuses to run as root.
UNPRIVILEGED = ("postgres", "nobody")
# Stops the server when this process says so, and also when it is gone: its end of the pipe closes.
GUARD = '"$@" >log 2>&1 & read -r _; kill -INT $!; wait $!'
SECONDS_TO_START = 30


class NoPostgresError(Exception):
    """Why there is none on this machine."""


@dataclass(frozen=True)
class Server:
    """A running server, on a port of the loopback interface."""

    port: int
    password: str

    def url(self, database: str) -> str:
        return f"postgresql+psycopg://{USER}:{self.password}@127.0.0.1:{self.port}/{database}"

    def new_database(self) -> str:
        """Make an empty database; give its URL."""
        name = f"t{secrets.token_hex(6)}"
        with self.connect() as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def connect(self):
        import psycopg

        return psycopg.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=self.password,
            dbname="postgres",
            autocommit=True,
        )


@contextlib.contextmanager
def running():
    """Start a server in a folder of its own; stop it and delete the folder in the end."""
    programs = find_programs()
    if importlib.util.find_spec("psycopg") is None:
        raise NoPostgresError("no driver: pip install 'psycopg[binary]'")
    who = identity()
    folder = Path(tempfile.mkdtemp(prefix="anonrisk-postgres-"))
    try:
        if who:
            os.chown(folder, who["user"], who["group"])
        password = secrets.token_hex(16)
        initialise(programs, folder, password, who)
        with start(programs, folder, password, who) as server:
            yield server
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def find_programs() -> Path:
    """The folder with initdb and postgres: that of the PATH, or else the newest of Debian's."""
    on_path = shutil.which("initdb")
    # A link on the PATH leads to where the rest of the server is.
    folders = [Path(on_path).resolve().parent] if on_path else []
    debian = Path("/usr/lib/postgresql").glob("*/bin")
    folders += sorted(debian, key=lambda folder: folder.parent.name.zfill(4), reverse=True)
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "postgres").exists():
            return folder
    raise NoPostgresError("initdb and postgres are neither on the PATH nor in /usr/lib/postgresql")


def identity() -> dict:
    """Whom to run the server as, as arguments of subprocess; nobody else unless we are root."""
    if os.geteuid() != 0:
        return {}
    for name in UNPRIVILEGED:
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return {"user": found.pw_uid, "group": found.pw_gid, "extra_groups": []}
    raise NoPostgresError("the server does not run as root, and there is no other user to run it")


def initialise(programs: Path, folder: Path, password: str, who: dict) -> None:
    secret = folder / "password"
    secret.write_text(password)
    if who:
        os.chown(secret, who["user"], who["group"])
    options = ("--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256")
    done = subprocess.run(
        [programs / "initdb", "-D", "data", "-U", USER, f"--pwfile={secret}", *options],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        **who,
    )
    secret.unlink()
    if done.returncode:
        raise NoPostgresError(f"initdb failed: {done.stderr.strip()[-300:]}")


@contextlib.contextmanager
def start(programs: Path, folder: Path, password: str, who: dict):
    """Run the server until the block ends; another port if somebody was quicker."""
    for _ in range(3):
        server = Server(free_port(), password)
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": server.port,
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "16MB",
        }
        flags = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "sh", programs / "postgres", "-D", "data", *flags],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            **who,
        )
        try:
            if answers(server):
                yield server
                return
        finally:
            guard.communicate()
    raise NoPostgresError(f"postgres did not start: {(folder / 'log').read_text()[-300:]}")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def answers(server: Server) -> bool:
    import psycopg

    deadline = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < deadline:
        with contextlib.suppress(psycopg.OperationalError), server.connect():
            return True
        time.sleep(0.1)
    return False
