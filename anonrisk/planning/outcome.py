"""What a plan does: to the table as a whole, and step by step to each column; and a picture."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.core.arguments import one_of
from anonrisk.core.frozen import dataclass
from anonrisk.core.types import PlanPicture
from anonrisk.errors import PlanError
from anonrisk.planning.class_rules import Coded
from anonrisk.planning.losses import entropy_of

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.class_rules import Requirements


@dataclass(frozen=True, repr=False)
class PlanOutcome(render.PrintedFields):
    """What is true of a table: before a plan, or after it.

    Attributes
    ----------
    n_records, n_classes, k
        Records, classes, and the size of the smallest class, of what is published.
    n_below : int
        Before: records in classes smaller than the plan's k. After: records suppressed for it.
    loss : float
        Mean over original records, and columns, of what is lost, by the plan's `loss`; a suppressed
        record loses 1.
    discernibility : int
        Sum of the squares of class sizes; a suppressed record counts as much as all records.
    values : tuple of int
        Different values of each column once recoded, those of suppressed records among them;
        `anonrisk.utility` counts those that are left in the published table.
    n_persons : int or None
        Persons, where the plan counts them; `k` then is the fewest of them in a class.
    average_risk : float or None
        Of a prosecutor, over all records or persons; after a plan.
    scores : tuple of float
        The worst score of a class for each sensitive goal of the plan's `class_rules`, in order.
    bits : float or None
        Mean over original records and columns of the bits that a cell tells; a suppressed record
        tells nothing.
    range_loss : float or None
        The loss by ``"range"``, whatever the plan's is, so that plans can be compared.
    """

    n_records: int
    n_classes: int
    k: int | None
    n_below: int
    loss: float
    discernibility: int
    values: tuple[int, ...]
    n_persons: int | None = None
    average_risk: float | None = None
    scores: tuple[float, ...] = ()
    bits: float | None = None
    range_loss: float | None = None

    @property
    def highest_risk(self) -> float | None:
        """The risk of somebody in the smallest class, from a prosecutor."""
        return None if self.k is None else 1 / self.k


def bits_kept(lost: Floats, tally: Tally, qid: Qid) -> float:
    """Return the bits that a cell keeps, from the share of them that each column loses."""
    had = np.array([entropy_of(tally.margin(name)) for name in qid])
    return float(((1 - lost) * had).mean())


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


# Losses that no column has a part of.
_OF_CLASSES = ("discernibility", "target", "function")


def broken_classes(plan: Any) -> str:
    """Return which classes are not published."""
    if plan.goals or plan.rules:
        return "classes breaking a goal"
    return f"classes below {plan.k}{'' if plan.unit is None else ' persons'}"


def plan_picture(plan: Any, ax: Axes | None, kind: PlanPicture | None) -> Axes:
    """Draw the way to the plan, or the values of its columns."""
    before, after = plan.before, plan.after
    if before is None or after is None:
        raise PlanError("this plan was not made from a table, so that nothing can be drawn")
    if kind is not None:
        one_of(kind, "kind", get_args(PlanPicture))
    known = bool(plan.steps) and all(step.n_below is not None for step in plan.steps)
    known &= plan.loss not in _OF_CLASSES
    if kind == "path" and not known:
        raise PlanError(
            "the way to this plan was not measured: the table was too large, its loss is one of "
            "classes, or an older version made the plan; draw kind='values'"
        )
    if kind == "values" or not known:
        return _values_picture(plan, ax, before, after)
    return _path_picture(plan, ax, before, after)


def _path_picture(plan: Any, ax: Axes | None, before: PlanOutcome, after: PlanOutcome) -> Axes:
    """Draw records in small classes and loss, from the table as it is to the plan."""
    places = [("the table as it is", before.n_below, before.loss)]
    for step in plan.steps:
        at = (step.n_below or 0, step.path_loss)
        if at != places[-1][1:]:
            kind = pictures.folded(str(plan.recodings[step.column]).partition(":")[0], lines=1)
            places.append((f"{pictures.plain(pictures.short(step.column))}\n{kind}", *at))
    n_left_out = len(places) - pictures.ROWS
    if n_left_out > 0:
        del places[pictures.ROWS - 1 : -1]
    if after.n_below:
        places.append((f"{render.count_of(after.n_below, 'record')} left out", 0, after.loss))
    labels, below, losses = zip(*places, strict=True)
    ax, colours = pictures.start(ax, len(places) + 1)
    shares = [n / before.n_records for n in below]
    pictures.descent(
        ax, shares, losses, (f"records in {broken_classes(plan)}", "detail lost"), colours
    )
    pictures.rows(ax, labels, _headline(plan, before, after))
    # Below each other behind both lines, where neither crosses them; the signs say which is whose.
    end = max(shares) or 1.0
    texts = [
        f"\N{WHITE CIRCLE} {render.percent(share)}   \N{BLACK DIAMOND} {render.percent(loss)} lost"
        for share, loss in zip(shares, losses, strict=True)
    ]
    for place, written in enumerate(texts):
        pictures.beside(ax, place, end, written)
    pictures.with_room(ax, labels, [end] * len(texts), texts)
    if n_left_out > 0:
        pictures.noted(ax, f"{render.count_of(n_left_out, 'step')} before the last not shown")
    pictures.explained(ax)
    return ax


def _values_picture(plan: Any, ax: Axes | None, before: PlanOutcome, after: PlanOutcome) -> Axes:
    """Draw how many values each column has, and how many it keeps."""
    columns = list(plan.recodings.items())[: pictures.ROWS]
    ax, colours = pictures.start(ax, len(columns) + 1)
    first, last = before.values[: len(columns)], after.values[: len(columns)]
    pictures.moves(ax, first, last, ("values now", "values with the plan"), colours)
    # Edges of bins may be values: they are told by the plan itself, not by its picture.
    kinds = [str(recoding).partition(":")[0] for _, recoding in columns]
    labels = [
        f"{pictures.plain(pictures.short(name))}\n{pictures.folded(kind, lines=1)}"
        for (name, _), kind in zip(columns, kinds, strict=True)
    ]
    pictures.rows(ax, labels, _headline(plan, before, after))
    ax.set_xscale("log")
    ax.set_xlim(0.8, max(*first, *last, 8) * 1.25)
    pictures.whole_numbers(ax.xaxis, log=True)
    ax.set_xlabel("different values of the column")
    pictures.noted(ax, pictures.left_out(len(plan.recodings), "columns"))
    pictures.explained(ax)
    return ax


def _headline(plan: Any, before: PlanOutcome, after: PlanOutcome) -> str:
    def share(n: int) -> str:
        return f"{render.count_of(n, 'record')} ({render.percent(n / before.n_records)})"

    loss = f"{render.percent(after.loss)} of the detail is lost"
    if plan.loss in _OF_CLASSES:
        loss = f"a {plan.loss} loss of {render.percent(after.loss)}"
    if plan.k is None:
        return f"With this plan {loss}"
    left_out = share(after.n_below) if after.n_below else "nobody"
    who = "records" if plan.unit is None else "persons"
    promise, current = f"gets {plan.k:,} {who} or more", "smaller ones"
    if plan.goals or plan.rules:
        promise, current = "keeps to all goals", "classes that do not"
    verb = "is" if before.n_below == 1 else "are"
    return (
        f"Every class {promise}, where {share(before.n_below)} {verb} in {current} now: "
        f"{loss}, {left_out} left out"
    )
