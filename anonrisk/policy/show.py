"""A policy as text and as HTML: its budgets, and of a draft the proposed roles with why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.core import render
from anonrisk.policy import limits
from anonrisk.policy.budgets import of_shares
from anonrisk.policy.messages import as_given

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.terms import Terms

_BUDGETS = ("quasi-identifier", "budget", "limit", "severity")
_COLUMNS_ALONE = "No budget: it is about direct identifiers and columns without a role alone."
_ROLES = ("column", "role", "reason")
_GUESS = "Every role is a guess: decide, then remove reviewed: false; until then no table passes."


def text(policy: Terms) -> str:
    """Write the rules, a line a budget; of a draft first the columns."""
    if policy.drafted is None:
        lines, header, rows = _table(policy)
        table = [render.text_table(header, rows)] if rows else []
        return render.fitted(*lines, *table, *(f"- {note}" for note in _notes(policy)))
    return render.fitted(
        render.shown(f"{policy.drafted.headline}: {policy.drafted.counts}"),
        render.text_table(_ROLES, policy.drafted.rows()),
        f"budgets: {', '.join(_limits(policy))}",
        *(f"- {render.shown(note)}" for note in (*policy.drafted.notes, _GUESS)),
    )


def html(policy: Terms) -> str:
    """Write the same as HTML; everything is escaped."""
    budgets = render.html_table(*_table(policy)) + render.html_lines(_notes(policy))
    if policy.drafted is None:
        return budgets
    from html import escape

    roles = render.html_table(policy.drafted.headline, _ROLES, policy.drafted.rows())
    notes = "".join(
        f"<li>{escape(render.shown(note))}</li>" for note in (*policy.drafted.notes, _GUESS)
    )
    return f"{roles}<ul>{notes}</ul>{budgets}"


def _notes(policy: Terms) -> list[str]:
    """Say what is wrong with limits that no table can break."""
    return [render.shown(finding.sentence) for finding in limits.of_policy(policy)]


def _title(policy: Terms) -> str:
    name = render.shown(policy.name or policy.digest[:19])
    return f"Policy {name}, missing values: {policy.missing}"


def _table(policy: Terms) -> tuple[list[str], Sequence[str], list[list[str]]]:
    """Give the budgets; a quasi-identifier that all of them are about is named once."""
    rows = _rows(policy)
    if not rows:
        return [_title(policy), _COLUMNS_ALONE], (), []
    if len({of for of, *_ in rows}) > 1:
        return [_title(policy)], _BUDGETS, rows
    return [_title(policy), f"of {rows[0][0]}"], _BUDGETS[1:], [row[1:] for row in rows]


def _rows(policy: Terms) -> list[list[str]]:
    rows = []
    for rule in policy.rules:
        columns = rule.columns or policy.roles.whole
        of = render.joined(columns) or "as the table declares"
        if rule.every_subset_of:
            of = f"every {rule.every_subset_of} of {of}"
        for budget in rule.budgets:
            sign = "≥" if budget.at_least else "≤"
            rows.append([of, budget.name, f"{sign} {_limit(budget)}", budget.severity])
    return rows


def _limits(policy: Terms) -> list[str]:
    return [f"{name} {limit} ({severity})" for _, name, limit, severity in _rows(policy)]


def _limit(budget: Budget) -> str:
    return as_given(budget.limit) if of_shares(budget.name) else f"{budget.limit:g}"
