"""The way to a plan, drawn: classes and detail step by step, or the values of its columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from anonrisk.core import pictures, render
from anonrisk.core.arguments import one_of
from anonrisk.core.literals import PlanPicture
from anonrisk.errors import PlanError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anonrisk.planning.outcome import PlanOutcome

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
