"""The steps of a plan: what each column loses by its recoding, and whom that helps."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, NamedTuple

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.planning.suppress.class_rules import Coded

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.suppress.class_rules import Requirements

_KINDS = {
    "whole": "whole numbers",
    "number": "numbers",
    "date": "dates",
    "timestamp": "dates",
    "text": "texts",
    "boolean": "yes or no",
}
# Classes that are looked at for the steps: a second or so. A larger count leaves them out.
MAX_WORK = 10_000_000


@dataclass(frozen=True, repr=False)
class PlanStep(render.PrintedFields):
    """What becomes of one column, and the table on the way to the plan.

    Attributes
    ----------
    column : name
        The column.
    values : str
        What kind of values it has.
    loss : float
        What a cell of the column loses on average, nobody suppressed: by the plan's `loss`, or in
        bits where that looks at classes.
    helped : int or None
        Records that would be in classes too small if all but this column were recoded, and are not
        with it; None where the table was too large to tell.
    n_below : int or None
        Records in classes too small once this column and those that help more are recoded.
    path_loss : float
        The loss by then, nobody suppressed.
    """

    column: Name
    values: str
    loss: float
    helped: int | None
    n_below: int | None
    path_loss: float


class RecodedColumn(NamedTuple):
    """A column of the counted classes: the code of each as it is, and once it is recoded.

    Both are the same array where nothing changes; each goes with a number above its codes.
    """

    name: Name
    kind: str
    codes: Integers
    n_codes: int
    recoded: Integers
    n_recoded: int
    loss: float
    # What is lost before anything is recoded: with some losses that is not nothing.
    loss_now: float = 0.0

    @property
    def changes(self) -> bool:
        """Whether the recoding does anything."""
        return self.recoded is not self.codes


def steps_of(
    columns: Sequence[RecodedColumn], tally: Tally, required: Requirements
) -> tuple[PlanStep, ...]:
    """Measure the step of each column; those that help most come first.

    Parameters
    ----------
    columns : sequence of RecodedColumn
        All columns of the plan.
    tally : Tally
        The classes that were counted.
    required : Requirements
        What every class must keep to.
    """
    # On the way more may have to go than the plan leaves out.
    required = copy(required)
    required.allowed = tally.n_records

    def left(recoded: Collection[int]) -> int:
        parts = [
            (c.recoded, c.n_recoded) if i in recoded else (c.codes, c.n_codes) for i, c in places
        ]
        parts += [(tally.codes[n], len(tally.domains[n]) + 1) for n in required.beside]
        coded = Coded([codes for codes, _ in parts], tally.counts, [size for _, size in parts])
        return tally.n_records - int(tally.counts[required.kept(coded).rows].sum())

    places = list(enumerate(columns))
    changing = [i for i, column in places if column.changes]
    # Each is left out once, and comes once on the way.
    known = 2 * len(changing) * tally.n_classes <= MAX_WORK
    everything = left(changing) if known else 0
    helped = {i: max(left({*changing} - {i}) - everything, 0) for i in changing} if known else {}
    order = sorted(range(len(columns)), key=lambda i: (not columns[i].changes, -helped.get(i, 0)))
    loss = sum(column.loss_now for column in columns)
    n_below = None
    steps, done = [], set[int]()
    for i in order:
        column = columns[i]
        loss += column.loss - column.loss_now
        done.add(i)
        if known:
            n_below = everything if done.issuperset(changing) else left(done)
        steps.append(
            PlanStep(
                column.name,
                _KINDS.get(column.kind, "values"),
                column.loss,
                helped.get(i, 0) if known else None,
                n_below,
                loss / len(columns),
            )
        )
    return tuple(steps)
