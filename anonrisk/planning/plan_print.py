"""A plan as people read it: what becomes of each column, before and after, and a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, get_args

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.core.arguments import one_of
from anonrisk.core.literals import PlanPicture
from anonrisk.errors import PlanError
from anonrisk.planning import guarantee
from anonrisk.recode.labels import MARKER, extent
from anonrisk.recode.regions import ByRegion, DateRanges, NumberRanges

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Name
    from anonrisk.planning.outcome import PlanOutcome
    from anonrisk.planning.plan_fields import PlanFields

# Losses that no column has a part of.
_OF_CLASSES = ("discernibility", "target", "function")


def text(plan: PlanFields) -> str:
    """Print what becomes of each column, and the table before and after."""
    header, rows = _columns_table(plan)
    lines = [_title(plan), render.text_table(header, rows), *_meanings(plan)]
    if plan.before is not None and plan.after is not None:
        lines.append(render.text_table(*_outcomes_table(plan)))
    return render.fitted(*lines, *guarantee.lines(plan), *([plan.note] if plan.note else []))


def html(plan: PlanFields) -> str:
    """Print the same for a notebook."""
    tables = [render.html_table(_title(plan), *_columns_table(plan))]
    tables.append(render.html_lines(_meanings(plan)))
    if plan.before is not None and plan.after is not None:
        tables.append(render.html_table("Before and after", *_outcomes_table(plan)))
    told = [*guarantee.lines(plan), *([plan.note] if plan.note else [])]
    return "".join((*tables, render.html_lines(told)))


def _meanings(plan: PlanFields) -> list[str]:
    if not any(step.helped for step in plan.steps):
        return []
    return [f"helped: records in {_broken(plan)} with this column as it was"]


def _broken(plan: PlanFields) -> str:
    """Say which classes are not published."""
    if plan.goals or plan.rules:
        return "classes breaking a goal"
    return f"classes below {plan.k}{'' if plan.unit is None else ' persons'}"


def picture(plan: PlanFields, ax: Axes | None, kind: PlanPicture | None) -> Axes:
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


def _path_picture(
    plan: PlanFields, ax: Axes | None, before: PlanOutcome, after: PlanOutcome
) -> Axes:
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
    pictures.descent(ax, shares, losses, (f"records in {_broken(plan)}", "detail lost"), colours)
    pictures.rows(ax, labels, _headline(plan, before, after))
    # Below each other behind both lines, where neither crosses them.
    end = max(*shares, *losses)
    texts = [
        f"{render.percent(share)}, {render.percent(loss)} lost"
        for share, loss in zip(shares, losses, strict=True)
    ]
    for place, written in enumerate(texts):
        pictures.beside(ax, place, end, written)
    pictures.with_room(ax, labels, [end] * len(texts), texts)
    ax.set_xlabel("share of records, and of detail, by step")
    if n_left_out > 0:
        pictures.noted(ax, f"{render.count_of(n_left_out, 'step')} before the last not shown")
    pictures.explained(ax)
    return ax


def _values_picture(
    plan: PlanFields, ax: Axes | None, before: PlanOutcome, after: PlanOutcome
) -> Axes:
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


def _headline(plan: PlanFields, before: PlanOutcome, after: PlanOutcome) -> str:
    def share(n: int) -> str:
        return f"{render.count_of(n, 'record')} ({render.percent(n / before.n_records)})"

    loss = f"{render.percent(after.loss)} of the detail is lost"
    if plan.loss in _OF_CLASSES:
        loss = f"a {plan.loss} loss of {render.percent(after.loss)}"
    if plan.k is None:
        return f"With this plan {loss}"
    left_out = share(after.n_below) if after.n_below else "nobody"
    who = "records" if plan.unit is None else "persons"
    promise, now = f"gets {plan.k:,} {who} or more", "smaller ones"
    if plan.goals or plan.rules:
        promise, now = "keeps to all goals", "classes that do not"
    verb = "is" if before.n_below == 1 else "are"
    return (
        f"Every class {promise}, where {share(before.n_below)} {verb} in {now} now: "
        f"{loss}, {left_out} left out"
    )


def _title(plan: PlanFields) -> str:
    names = render.joined(plan.qids)
    if plan.k is None:
        return f"Plan for {names}"
    best = ", the best of those offered" if plan.optimal else ""
    best = ", PARTIAL: stopped, not proven best" if plan.partial else best
    if plan.regions is not None:
        best = f" in {render.count_of(len(plan.regions), 'region')}"
    also = "".join(f", {goal}" for goal in plan.goals)
    return f"Plan for {names}: k = {plan.k}{also}{best}"


def _columns_table(plan: PlanFields) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Say of each column from what to what, how many values, what is lost and who is helped."""
    names = [(render.named(c), _becomes(plan, c)) for c in plan.recodings]
    if plan.before is None or plan.after is None:
        return ("column", "to"), [*names]
    steps = {step.column: step for step in plan.steps}
    counts = zip(names, plan.recodings, plan.before.values, plan.after.values, strict=True)
    rows: list[tuple[str, ...]] = []
    for (name, becomes), column, before, after in counts:
        step = steps.get(column)
        kind = "values" if step is None else step.values
        loss = "-" if step is None else render.percent(step.loss)
        helped = "-" if step is None or step.helped is None else f"{step.helped:,}"
        rows.append((name, f"{before:,} {kind}", becomes, f"{after:,}", loss, helped))
    return ("column", "from", "to", "left", "loss", "helped"), rows


def _becomes(plan: PlanFields, name: Name) -> str:
    """Say what becomes of a column; by region in how many it is told, and how finely."""
    recoding = plan.recodings[name]
    if plan.regions is None or not isinstance(recoding, ByRegion) or recoding.kept:
        return str(recoding)
    boxes = plan.regions.boxes[:, list(plan.recodings).index(name)]
    if isinstance(recoding, NumberRanges):
        return _ranges(recoding, *recoding.with_labels(boxes))
    n_cut = int(((boxes[:, 0] > 0) | (boxes[:, 1] < recoding.n_places - 1)).sum())
    return f"{recoding}, {_told_in(n_cut)}" if n_cut else str(recoding)


def _told_in(n_regions: int) -> str:
    return f"told in {render.count_of(n_regions, 'region')}"


def _ranges(recoding: NumberRanges, numbers: Integers, labels: list[str]) -> str:
    """Name the narrowest and the widest range that a region has, of those with two ends."""
    dates = isinstance(recoding, DateRanges)
    read = [extent(name, dates=dates, whole=recoding.whole) for name in labels]
    # A star has no ends: it may be of some numbers and missing values.
    told = {i: (found, labels[i]) for i, found in enumerate(read) if found is not None}
    if not told:
        alone = int((numbers < 0).sum())
        return f"all {MARKER!r}" + (f", missing ones {_told_in(alone)}" if alone else "")
    n_told = int(np.isin(numbers, [-1, *told]).sum())
    ends = [*told.values()]
    closed = [(high - low, name) for (low, high), name in ends if math.isfinite(high - low)]
    names = [name for _, name in sorted(closed or [(low, name) for (low, _), name in ends])]
    both = names[0] if names[0] == names[-1] else f"finest {names[0]}, coarsest {names[-1]}"
    return f"ranges by region: {both}, {_told_in(n_told)}"


def _outcomes_table(plan: PlanFields) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    before, after = plan.before, plan.after
    assert before is not None  # noqa: S101
    assert after is not None  # noqa: S101

    def share(n: int) -> str:
        return f"{n:,} ({render.percent(n / before.n_records)})"

    return ("", "before", "after"), [
        ("records", f"{before.n_records:,}", f"{after.n_records:,}"),
        ("classes", f"{before.n_classes:,}", f"{after.n_classes:,}"),
        ("smallest class", str(before.k), "-" if after.k is None else str(after.k)),
        (_broken(plan).removeprefix("classes "), share(before.n_below), share(0)),
        ("suppressed", share(0), share(after.n_below)),
        ("bits a cell", _bits(before), _bits(after)),
        (
            "loss" if plan.loss == "entropy" else f"{plan.loss} loss",
            render.percent(before.loss),
            render.percent(after.loss),
        ),
    ]


def _bits(outcome: PlanOutcome) -> str:
    return "-" if outcome.bits is None else f"{outcome.bits:.2f}"
