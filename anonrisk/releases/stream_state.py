"""What a stream has released so far, as a state for each batch that was added last."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.errors import StateError
from anonrisk.policy.budgets.base import SensitiveBudget
from anonrisk.policy.measure import asked_by
from anonrisk.policy.problem import Problem, attempt
from anonrisk.policy.table import CheckedTable, policy_for
from anonrisk.releases.state import State, state
from anonrisk.releases.union import check_union

if TYPE_CHECKING:
    import os

    from anonrisk.core.keys import Key
    from anonrisk.policy import Policy, Verdict

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
            now = self._state_of(policy, batch)
            return now if before is None else before.merge(now)

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
        found = map(_NAME.fullmatch, (path.name for path in self.folder.iterdir()))
        return [int(match[1]) for match in found if match]

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
        names = [name for one in values for name in one.sensitive or table.roles.sensitive]
        return state(
            table.frame,
            list(qid),
            unit=table.roles.unit,
            sensitive=list(dict.fromkeys(names)) or None,
            key=self.key,
            missing=policy.missing,  # type: ignore[arg-type]
        )
