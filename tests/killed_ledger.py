"""A program that is killed at every step of what it does to a ledger, and looks at what is left.

`python killed_ledger.py URL WHAT 1`: from one beginning, killed at step 1, at step 2, and so on
until it comes to its end; with another number at each so-manieth step. It prints how often it was
killed.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path

import pandas as pd
import pytest
import sqlalchemy
from keys import KEY, OTHER
from killed_store import killed

from anonrisk import Ledger, Policy, Release
from anonrisk.errors import ArgumentError, LedgerError, WrongKeyError

POLICY = Policy(quasi="zip", unit="who", k=2, differencing={"k": 2, "at_most": 9})
TABLE = pd.DataFrame({"zip": ["a", "b"] * 4, "who": [f"p{i}" for i in range(8)]})
REST = TABLE.drop(index=7).reset_index(drop=True)
TOMORROW = dt.datetime.now(dt.UTC).date() + dt.timedelta(days=1)
WHY = {"by": "Ada", "reason": "ticket 12"}


def publish(ledger, table, name):
    Release({"t": table}, POLICY, name=name).publish(ledger, by="Bob")


# What is done, what is raised where it was done before, and how many entries there are then.
ACTIONS = {
    "first": (lambda ledger: publish(ledger, TABLE, "1"), None, 1),
    "publish": (lambda ledger: publish(ledger, REST, "3"), None, 3),
    "withdraw": (lambda ledger: ledger.withdraw("1", **WHY), LedgerError, 3),
    "rotate": (lambda ledger: ledger.rotate(OTHER, **WHY), ArgumentError, 3),
    "expire": (lambda ledger: ledger.expire(TOMORROW, **WHY), None, 3),
    "erase": (lambda ledger: ledger.erase("p7", **WHY), LedgerError, 3),
}


def begin(url, what):
    """Make the ledger anew: of two releases, the second without a person; or none yet."""
    if "://" in url:
        engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
        with engine.begin() as connection:
            for table in ("", "_about", "_part"):
                name = f"anonrisk_ledger{table}"
                connection.execute(sqlalchemy.text(f"DROP TABLE IF EXISTS {name}"))
    else:
        for end in ("", "-journal"):
            Path(url + end).unlink(missing_ok=True)
    if what != "first":
        ledger = Ledger(url, key=KEY, new=True)
        publish(ledger, TABLE, "1")
        publish(ledger, REST, "2")
        ledger._engine.dispose()


def opened(url, what):
    """Open what is left, with whichever key it has."""
    for key in (KEY, OTHER):
        try:
            return Ledger(url, key=key)
        except WrongKeyError:
            continue
        except LedgerError as error:
            if what != "first" or "there is no ledger" not in str(error):
                raise
            return Ledger(url, key=KEY, new="when published")
    raise AssertionError("no key opens it")


def checked(url, what, before):
    """All of it was done, or nothing; and what is left goes on to the end."""
    act, already, n_entries = ACTIONS[what]
    ledger = opened(url, what)
    entries = ledger.verify(head=before)
    assert len(entries) in (n_entries - 1, n_entries)
    if already is None or len(entries) < n_entries:
        act(ledger)
    else:
        with pytest.raises(already):
            act(ledger)
    done = opened(url, what)
    assert len(done.verify(head=before)) == n_entries
    if what == "erase":
        first, last = (state.counts for _, state in done.states("t"))
        every, rest = (item.anon.state("zip", unit="who", key=KEY).counts for item in (TABLE, REST))
        assert last == rest
        # Somebody with a random hash is in the place of who was erased.
        assert len(first.persons) == len(every.persons)
        known = {*map(tuple, every.persons)} & {*map(tuple, first.persons)}
        assert known == {*map(tuple, rest.persons)}
    if what == "expire":
        (state,) = (state for _, state in done.states("t"))
        assert state == REST.anon.state("zip", unit="who", key=KEY)
    if what == "rotate":
        assert done.key == OTHER
    for one in (ledger, done):
        one._engine.dispose()


def main(url, what, step):
    kills, at = 0, 1
    while True:
        begin(url, what)
        before = None
        if what != "first":
            ledger = Ledger(url, key=KEY)
            before = ledger.head
            ledger._engine.dispose()

        def act():
            ACTIONS[what][0](opened(url, what))

        was_killed = killed(act, at)
        checked(url, what, before)
        if not was_killed:
            break
        kills, at = kills + 1, at + step
    print(kills)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
    sys.stdout.flush()
    # Without what libraries do at the end: after forks, Arrow may end the process by a signal.
    os._exit(0)
