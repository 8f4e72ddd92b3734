"""A small store of identities for tests, and ways to change it behind its back."""

from __future__ import annotations

import shutil
from datetime import timedelta

import sqlalchemy
from keys import KEY

from anonrisk.identity import IdentityProtector
from anonrisk.pseudonyms import hash_chain

WHY = {"by": "officer", "reason": "test"}
# Who works with it, as far as a test does not say otherwise.
WORK = {"by": "worker", "reason": "test"}


def grant(keeper, person, *actions, scope="*", per_day=1_000_000):
    """Let somebody do this, for all recipients unless one is named."""
    for action in actions:
        keeper.grant(person, action, scope=scope, per_day=per_day, **WHY)


def opened(url, **options):
    """A store whose worker may do everything to persons."""
    keeper = IdentityProtector(KEY, url, admin="officer", **options)
    grant(keeper, "worker", "issue", "reveal", "convert", "erase")
    return keeper


def change(url, *statements, **values):
    """Change the database as somebody would who can write to it and has no key."""
    address = url if "://" in str(url) else f"sqlite:///{url}"
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        for statement in statements:
            if values:
                connection.execute(sqlalchemy.text(statement), values)
            else:
                connection.exec_driver_sql(statement)


def rows_of(url, query):
    """Read the database in the same way."""
    address = url if "://" in str(url) else f"sqlite:///{url}"
    engine = sqlalchemy.create_engine(address, poolclass=sqlalchemy.NullPool)
    with engine.begin() as connection:
        return connection.execute(sqlalchemy.text(query)).all()


def copy_of(path, name):
    """Copy an SQLite file, as a backup does."""
    copied = path.with_name(name)
    shutil.copy(path, copied)
    return copied


def do_not_wait(monkeypatch):
    """Let SQLite not wait for the disk: thousands of tests' transactions survive no power cut."""

    def off(engine):
        sqlalchemy.event.listen(
            engine, "connect", lambda raw, _: raw.execute("PRAGMA synchronous = OFF")
        )

    monkeypatch.setattr("anonrisk.pseudonyms.store.keep_on_disk", off)


class Clock:
    """The clock of this machine, as a test sets it."""

    def __init__(self, monkeypatch):
        self.now = hash_chain.now()
        monkeypatch.setattr(hash_chain, "now", lambda: self.now)

    def forward(self, **time):
        self.now += timedelta(**time)
