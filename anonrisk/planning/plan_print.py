"""A plan as people read it: what becomes of each column, before and after, and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core import pictures, render
from anonrisk.errors import PlanError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from anonrisk.planning.outcome import PlanOutcome
    from anonrisk.planning.plan_fields import PlanFields


def text(plan: PlanFields) -> str:
    """Print what becomes of each column, and the table before and after."""
    header, rows = _columns_table(plan)
    lines = [_title(plan), render.text_table(header, rows)]
    if plan.before is not None and plan.after is not None:
        lines.append(render.text_table(*_outcomes_table(plan)))
    return render.fitted(*lines, *([plan.note] if plan.note else []))


def html(plan: PlanFields) -> str:
    """Print the same for a notebook."""
    tables = [render.html_table(_title(plan), *_columns_table(plan))]
    if plan.before is not None and plan.after is not None:
        tables.append(render.html_table("Before and after", *_outcomes_table(plan)))
    return "".join((*tables, render.html_lines([plan.note] if plan.note else [])))


def picture(plan: PlanFields, ax: Axes | None) -> Axes:
    """Draw how many values each column has, and how many it keeps."""
    before, after = plan.before, plan.after
    if before is None or after is None:
        raise PlanError("this plan was not made from a table, so that nothing can be drawn")
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
    if plan.k is None:
        return f"With this plan {loss}"
    return (
        f"Every class gets {plan.k:,} records or more, where {share(before.n_below)} are in "
        f"smaller ones now: {loss}, {share(after.n_below)} left out"
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
    names = [(render.named(c), str(r)) for c, r in plan.recodings.items()]
    if plan.before is None or plan.after is None:
        return ("column", "becomes"), [*names]
    counts = zip(names, plan.before.values, plan.after.values, strict=True)
    rows: list[tuple[str, ...]] = [(c, f"{b:,}", f"{a:,}", r) for (c, r), b, a in counts]
    return ("column", "values", "after", "becomes"), rows


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
        (f"below {plan.k}", share(before.n_below), share(0)),
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
