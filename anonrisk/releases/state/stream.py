"""Gates for streams of Spark, and what a stream has released so far, as a state for each batch."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.arguments import as_path
from anonrisk.core.render import count_of
from anonrisk.errors import ArgumentError, StateError
from anonrisk.policy.budgets.base import SensitiveBudget
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.finding import name_of
from anonrisk.policy.measure import CheckedTable, asked_by, policy_for
from anonrisk.policy.policy import require_policy
from anonrisk.pseudonyms.keys import as_key
from anonrisk.releases.state.state import State, check_union, state

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from anonrisk.policy import Policy, Verdict
    from anonrisk.pseudonyms.keys import Key

# What users configure, whatever file this is.
_LOG = logging.getLogger("anonrisk.spark")
_NAME = re.compile(r"batch_id=(\d+)\.state")


class StreamState:
    """A folder of states: the newest, and the one before it.

    The file of a batch holds everything up to it. A batch that comes again, after a crash, is added
    to the file before its own, and its own is replaced.
    """

    def __init__(self, folder: str | os.PathLike[str], key: Key) -> None:
        """Take a folder, which is made when the first batch is kept."""
        self.folder, self.key = Path(folder), key

    def check(
        self, policy: Policy, batch: Any, batch_id: int, *, name: str
    ) -> tuple[Verdict, State | None]:
        """Judge a batch with all that was released before it; give the counts of both, too."""
        before = self._before(batch_id)

        def count() -> State:
            current = self._state_of(policy, batch)
            return current if before is None else before.merge(current)

        counted = attempt(count)
        verdict = check_union(policy, batch, counted, name=name)
        return verdict, None if isinstance(counted, Problem) else counted

    def keep(self, batch_id: int, counted: State | None) -> None:
        """Note that a batch was released, or that it was not, whatever an earlier attempt did."""
        path = self._path(batch_id)
        if counted is None:
            path.unlink(missing_ok=True)
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        counted.save(path)
        older = sorted(number for number in self._numbers() if number < batch_id)
        for number in older[:-1]:
            self._path(number).unlink(missing_ok=True)

    def _before(self, batch_id: int) -> State | None:
        numbers = self._numbers()
        if numbers and max(numbers) > batch_id:
            raise StateError(
                f"the state has seen batch {max(numbers)} of another run, and this is batch "
                f"{batch_id}: the checkpoint of the stream was changed. Give it the folder of its "
                "own checkpoint, or a new one if what was released before is no longer published"
            )
        earlier = [number for number in numbers if number < batch_id]
        return State.load(self._path(max(earlier)), key=self.key) if earlier else None

    def _numbers(self) -> list[int]:
        if not self.folder.is_dir():
            return []
        result = map(_NAME.fullmatch, (path.name for path in self.folder.iterdir()))
        return [int(match[1]) for match in result if match]

    def _path(self, batch_id: int) -> Path:
        return self.folder / f"batch_id={batch_id}.state"

    def _state_of(self, policy: Policy, batch: Any) -> State:
        """Count a batch as the policy asks."""
        policy = policy_for(policy, batch)
        table = CheckedTable.of(policy, batch)
        _, wanted = asked_by(policy, table)
        if len(wanted) != 1:
            raise StateError(
                f"a stream has one state, and the policy has {len(wanted)} quasi-identifiers: "
                "judge it by a policy with one"
            )
        ((qid, budgets),) = wanted.items()
        values = [budget for budget in budgets if isinstance(budget, SensitiveBudget)]
        names = [name for value in values for name in value.sensitive or table.roles.sensitive]
        return state(
            table.frame,
            list(qid),
            unit=table.roles.unit,
            sensitive=list(dict.fromkeys(names)) or None,
            key=self.key,
            missing=policy.missing,  # type: ignore[arg-type]
        )


def foreach_batch(
    policy: Policy,
    release: str | Callable[[Any, int], object],
    quarantine: str,
    *,
    fail_on: str = "fail",
    state: str | os.PathLike[str] | None = None,
    key: Key | bytes | Callable[[], Key | bytes] | None = None,
) -> Callable[[Any, int], None]:
    """Return a function for ``writeStream.foreachBatch`` that releases only batches that pass.

    Each micro-batch is stored in `quarantine` first, checked there, and goes to `release` if it
    passes: by itself or, with a `state`, together with all batches that were released before it.
    One that fails, or that nobody can assess, stays.

    Parameters
    ----------
    policy : Policy
        What every batch must satisfy.
    release : str or callable
        Where batches go that pass: a folder, in which each has a folder ``batch_id=…`` of Parquet;
        or a function of the batch and its number, which Spark may call again with the same.
    quarantine : str
        The folder for all others, and where every batch waits while it is checked. Whoever may read
        it may read everything.
    fail_on : {"fail", "warn"}
        Whether budgets that only warn keep a batch back, too.
    state : path, optional
        A folder of the driver's machine for the counts of all batches released so far, as
        `anonrisk.state` keeps them. The verdict is then that of the union. Each checkpoint needs
        a folder of its own.
    key : Key, bytes or callable
        The key of these counts; needed with `state`. On Spark Connect, where batches are judged by
        the server and no key is sent there, a function that reads it there, as in
        ``partial(Key.from_env, "STREAM_KEY")``.

    Returns
    -------
    callable
        A function of a batch and its number. Status, budgets that were not kept and the number of
        rows of the batch go to the logger ``anonrisk.spark``; no cell does.

    See Also
    --------
    anonrisk.Policy.check : what is asked of each batch
    anonrisk.Verdict.raise_for_status : stops a job that is no stream

    Notes
    -----
    After a failure Spark repeats the last batch under the same number. Its folders are then written
    again as a whole, and the one that the batch does not go to is emptied, so that every row is in
    one of both, once, also where the policy has changed in between. That asks for a source that
    gives the same rows again, and a ``checkpointLocation``. The counts of a released batch are a
    new file with its number, beside those before it, so that a batch that comes again is added to
    what was there before it came: it is neither lost nor counted twice.

    When it misleads: without a `state` batches are judged one by one. What somebody learns who
    holds several of them is not looked at, and a person may be in each. With one, a batch that
    completes the small classes of earlier ones passes, and the first batches of a stream, whose
    classes are small, are held back and never counted.

    Examples
    --------
    >>> import anonrisk
    >>> policy = anonrisk.Policy(quasi=["zip", "age"], k=5)
    >>> gate = anonrisk.spark.foreach_batch(policy, "published", "quarantine")
    >>> writer = stream.writeStream.option("checkpointLocation", "state")  # doctest: +SKIP
    >>> writer.foreachBatch(gate).start()  # doctest: +SKIP
    """
    _check(policy, release, quarantine, fail_on)
    if (state is None) != (key is None):
        raise ArgumentError("state and key go together: a folder, and the key of its counts")
    folder = None if state is None else as_path(state, "a state")
    # One that is given is checked now, one that is read when it is read.
    secret = key if key is None or callable(key) else as_key(key)

    def gate(batch: Any, batch_id: int) -> None:
        from anonrisk.engines.spark import read

        own = secret() if callable(secret) else secret
        union = None if folder is None else StreamState(folder, as_key(own))
        waiting = read.place_of(quarantine, batch_id)
        staged = read.stored(batch, waiting)
        n_rows = read.n_rows(staged)
        name = f"batch {batch_id}"
        if union is None:
            verdict, counted = policy.check(staged, name=name), None
        else:
            verdict, counted = union.check(policy, staged, batch_id, name=name)
        verdict = replace(verdict, fail_on=fail_on)
        if isinstance(release, str):
            place = read.place_of(release, batch_id)
            if verdict.passed:
                read.stored(staged, place)
            else:
                # An earlier attempt may have passed, by another policy.
                read.emptied(batch, place)
        elif verdict.passed:
            release(staged, batch_id)
        if union is not None:
            union.keep(batch_id, counted if verdict.passed else None)
        if verdict.passed:
            read.emptied(batch, waiting)
        _log(verdict, batch_id, n_rows)

    return gate


def _check(policy: Any, release: Any, quarantine: Any, fail_on: Any) -> None:
    require_policy(policy)
    if not isinstance(quarantine, str) or not quarantine.strip():
        raise ArgumentError("quarantine is the path of a folder")
    if not callable(release) and (not isinstance(release, str) or not release.strip()):
        raise ArgumentError(
            "release is the path of a folder, or a function of a batch and its number"
        )
    if fail_on not in ("fail", "warn"):
        raise ArgumentError("fail_on is 'fail' or 'warn'")
    if isinstance(release, str):
        first, second = (f"{path.rstrip('/')}/" for path in (release, quarantine))
        if first.startswith(second) or second.startswith(first):
            raise ArgumentError(
                "release and quarantine lie inside one another: whoever reads one would read both"
            )


def _log(verdict: Verdict, batch_id: int, n_rows: int) -> None:
    """Log what became of a batch; its verdict may be about all rows that were released so far."""
    rows = count_of(n_rows, "row")
    if verdict.passed:
        _LOG.info("batch %d: %s, %s released", batch_id, verdict.word, rows)
        return
    # A group of `by` is a cell.
    why = dict.fromkeys(name_of(replace(failure, group=None)) for failure in verdict.failures)
    _LOG.warning("batch %d: %s, %s held back: %s", batch_id, verdict.status, rows, ", ".join(why))
