"""A program that is killed at every step of what it does to a store, and looks at what is left.

`python killed_store.py FOLDER WHAT each 1`: from one beginning, killed at step 1, at step 2, and so
on until it comes to its end; with another number at each so-manieth step. `python killed_store.py
FOLDER WHAT seed 7`: killed again and again at random, each time going on with what is left. A step
is a statement, a commit, or what is done to the file of the anchor. It prints how often it was
killed.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import traceback
from datetime import timedelta
from pathlib import Path

from kept import WHY, WORK, opened, rows_of
from keys import KEY, OTHER
from sqlalchemy import Engine, event

from anonrisk.errors import ArgumentError, ErasedError, WrongKeyError
from anonrisk.identity import IdentityProtector
from anonrisk.pseudonyms import hash_chain, issuing, upkeep

SCOPES = ("hospital", "insurer")


class Steps:
    """Counts steps, and kills this process at one of them."""

    def __init__(self, last):
        self.left = last
        event.listen(Engine, "before_cursor_execute", self)
        event.listen(Engine, "commit", self)
        for owner, name in ((os, "fsync"), (Path, "replace")):
            setattr(owner, name, self.before(getattr(owner, name)))

    def __call__(self, *_):
        self.left -= 1
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def before(self, function):
        def counted(*arguments):
            self()
            return function(*arguments)

        return counted


def killed(action, at):
    """Do something in a process that is killed at a step; tell whether it was."""
    child = os.fork()
    if not child:
        try:
            Steps(at)
            action()
        except BaseException:  # noqa: BLE001
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    _, end = os.waitpid(child, 0)
    if os.WIFSIGNALED(end):
        assert os.WTERMSIG(end) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(end) == 0
    return False


class Trial:
    """A store in a folder, with an anchor, and what is known about its persons."""

    def __init__(self, folder, n_people):
        self.people = [f"person {i}" for i in range(n_people)]
        self.path, self.anchor = Path(folder) / "store.db", Path(folder) / "anchor"
        with opened(self.path, anchor=self.anchor, keep_identities=30, keep_audit=60) as keeper:
            keeper.grant("worker", "rotate", **WHY)
            self.issued = {
                (scope, pseudonym): person
                for scope in SCOPES
                for person, pseudonym in keeper.issue_all(self.people, scope=scope, **WORK).items()
            }
            self.head = keeper.head
        for path in (self.path, self.anchor):
            shutil.copy(path, path.with_suffix(".before"))

    def again(self):
        """Go back to the beginning."""
        for path in (self.path, self.anchor):
            shutil.copy(path.with_suffix(".before"), path)
            path.chmod(0o600)
        Path(f"{self.path}-journal").unlink(missing_ok=True)

    def keeper(self, key=KEY):
        return IdentityProtector(key, self.path, anchor=self.anchor)

    def present(self):
        """Open the store with whichever of the two keys it has."""
        try:
            return self.keeper(OTHER)
        except WrongKeyError:
            return self.keeper()

    def revealed(self, keeper):
        """Who is behind each pseudonym; None for those who were erased."""
        found = {}
        for scope, pseudonym in self.issued:
            try:
                found[scope, pseudonym] = keeper.reveal(pseudonym, scope=scope, **WORK)
            except ErasedError:
                found[scope, pseudonym] = None
        return found

    def epochs(self):
        return {row.epoch for row in rows_of(self.path, "SELECT epoch FROM anonrisk_identity")}


class Rotating(Trial):
    """The key is rotated: nobody is lost, at any moment."""

    def act(self):
        keeper = self.present()
        try:
            keeper.rotate(OTHER, **WORK)
        except ArgumentError as error:
            # It was killed after its last commit: all of it was done.
            if "nothing is left to do" not in str(error):
                raise

    def look(self):
        with self.present() as keeper:
            keeper.verify(head=self.head, by="officer")
            assert self.revealed(keeper) == self.issued
            # Whoever works on meanwhile loses nobody either.
            pseudonym = keeper.issue("person new", scope="hospital", **WORK)
            assert keeper.reveal(pseudonym, scope="hospital", **WORK) == "person new"

    def finish(self):
        with self.present() as keeper:
            ended = any(one.action == "rotated" for one in keeper.audit(by="officer"))
            if not ended:
                keeper.rotate(OTHER, **WORK)
            keeper.verify(head=self.head, by="officer")
        assert self.epochs() == {2}
        kept = {row.name for row in rows_of(self.path, "SELECT name FROM anonrisk_keeper")}
        assert "old sealing key" not in kept


class Erasing(Trial):
    """One person is erased: all of their pseudonyms, or none."""

    def act(self):
        self.keeper().erase(identity=self.people[0], **WORK)

    def look(self):
        with self.keeper() as keeper:
            keeper.verify(head=self.head, by="officer")
            done = any(
                (one.action, one.outcome) == ("erase", "done") for one in keeper.audit(by="officer")
            )
            expected = {
                named: None if done and person == self.people[0] else person
                for named, person in self.issued.items()
            }
            assert self.revealed(keeper) == expected

    def finish(self):
        with self.keeper() as keeper:
            if None not in self.revealed(keeper).values():
                assert keeper.erase(identity=self.people[0], **WORK).pseudonyms == len(SCOPES)
        self.look()


class Expiring(Trial):
    """Everybody expires and the audit is pruned, all of it or nothing."""

    def __init__(self, folder, n_people):
        super().__init__(folder, n_people)
        later = hash_chain.now() + timedelta(days=61)
        hash_chain.now = lambda: later

    def act(self):
        self.keeper().expire(**WORK)

    def look(self):
        with self.keeper() as keeper:
            keeper.verify(by="officer")
            trail = keeper.audit(by="officer")
            done = any((one.action, one.outcome) == ("expire", "done") for one in trail)
            assert done == (trail[0].number > 1)
            # Whoever is past their time is not revealed, stored or not.
            assert self.revealed(keeper) == dict.fromkeys(self.issued)
            with keeper._session.turn() as turn:
                rows = turn.tables.all_identities()
                assert {turn.unseal(row).identity is not None for row in rows} == {not done}

    def finish(self):
        with self.keeper() as keeper:
            if keeper.audit(by="officer")[0].number == 1:
                assert keeper.expire(**WORK).identities == len(self.issued)
        self.look()


class Issuing(Trial):
    """New persons are issued: each part as a whole, with its event."""

    def act(self):
        more = [f"more {i}" for i in range(5)]
        self.keeper().issue_all(more, scope="insurer", **WORK)

    def look(self):
        with self.keeper() as keeper:
            keeper.verify(head=self.head, by="officer")
            assert self.revealed(keeper) == self.issued

    def finish(self):
        self.act()
        self.look()


def at_each_step(trial, step):
    at = step
    while killed(trial.act, at):
        trial.look()
        trial.finish()
        trial.again()
        at += step
    return at // step - 1


def at_random(trial, seed):
    draw, kills = random.Random(seed), 0
    while killed(trial.act, draw.randint(1, 120)):
        kills += 1
        trial.look()
        assert kills < 200
    return kills


def main(folder, what, how, number):
    upkeep.PART = issuing.PART = 2
    trial = globals()[what](folder, 5 if how == "each" else 30)
    kills = {"each": at_each_step, "seed": at_random}[how](trial, int(number))
    trial.look()
    trial.finish()
    print(kills)


if __name__ == "__main__":
    main(*sys.argv[1:])
