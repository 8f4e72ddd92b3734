"""A gate on all that was published so far: the columns of the newest part, the counts of all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from anonrisk.core import render
from anonrisk.errors import StateError
from anonrisk.measures.counts.question import Group, Sensitive
from anonrisk.measures.scores import FORMULAS
from anonrisk.policy.budgets.base import SensitiveBudget, Value
from anonrisk.policy.check import checked
from anonrisk.policy.evidence import Evidence, Problem, attempt
from anonrisk.policy.measure import CheckedTable, Counted, asked_by, context_of
from anonrisk.pseudonyms import encoding
from anonrisk.releases.state.sketch import Sketch

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms
    from anonrisk.policy.verdict import Verdict
    from anonrisk.releases.state.state import State

# Of a sample of the classes: what each of these budgets measures, by its k where it has one.
_SHARES = ("max_unique_fraction", "max_fraction_below_k")
_NUMBERS = ("max_unique_records", "max_records_below_k")


def check_union(
    policy: Policy, frame: Any, held: State | Sketch | Problem, *, name: str | None = None
) -> Verdict:
    """Judge what a table publishes together with all that a state, or a sketch, has counted.

    Parameters
    ----------
    policy : Policy
        What the union must satisfy. Its quasi-identifier, unit and rule for missing values are
        those of the state; what needs the rows themselves (predictions about other people, groups
        of `by`, several quasi-identifiers) could not be assessed.
    frame
        The newest part, of which the columns are judged.
    held : State or Sketch
        The counts of all parts, the newest included. By a sketch that leaves classes out, a share
        is judged by both ends of its interval, and k could not be assessed. Or why there are none.
    name : str, optional
        What to call it in the verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> monday = pd.DataFrame({"zip": ["1011", "1012"]})
    >>> tuesday = pd.DataFrame({"zip": ["1011", "1012"]})
    >>> key = anonrisk.keys.Key.generate()
    >>> one, two = (day.anon.state("zip", key=key) for day in (monday, tuesday))
    >>> policy = anonrisk.Policy(quasi="zip", k=2)
    >>> policy.check(tuesday).status, check_union(policy, tuesday, one.merge(two)).status
    ('fail', 'pass')
    """
    return checked(policy, frame, name=name, counted_by=partial(_counted, held))[0]


def _counted(
    held: State | Sketch | Problem,
    policy: Terms,
    frame: Any,
    _population: Any,
    published: Published,
) -> Counted:
    table = CheckedTable.of(policy, frame, published)
    qids, wanted = asked_by(policy, table)
    if isinstance(held, Problem):
        measured = {qid: Evidence(groups=held) for qid in wanted}
        return Counted(table.published, table.roles, table.engine.name, qids, measured)
    measured = {qid: _evidence(held, policy, table, qid, wanted[qid]) for qid in wanted}
    rows = render.count_of(held.counts.n_rows, "row")
    kind = type(held).__name__.casefold()
    return Counted(table.published, table.roles, f"{kind} of {rows}", qids, measured)


def _evidence(
    held: State | Sketch, policy: Terms, table: CheckedTable, qid: Qid, budgets: Sequence[Budget]
) -> Evidence:
    evidence = Evidence()
    refused = attempt(lambda: _check(held, policy, table, qid))
    if isinstance(refused, Problem):
        evidence.groups = refused
        return evidence
    sizes = attempt(held.classes)
    evidence.groups = sizes if isinstance(sizes, Problem) else [Group(None, sizes, sizes.n_dropped)]
    for budget in budgets:
        if isinstance(budget, SensitiveBudget):
            for name in budget.sensitive or table.roles.sensitive:
                evidence.worst[name, budget.measure] = attempt(
                    partial(_scored, held, policy, table, name, budget)
                )
        elif isinstance(held, Sketch) and not held.is_exact:
            evidence.estimates |= _estimated(held, budget)
        need = budget.need(context_of(policy, table.roles))
        if need is not None:
            why = "it needs all rows, and of earlier ones only counts are left"
            evidence.apart[need.name] = Problem(why)
    return evidence


def _check(held: State | Sketch, policy: Terms, table: CheckedTable, qid: Qid) -> None:
    """Reject counts of something else than the policy asks about."""
    counts = held.counts
    unit = getattr(counts, "unit", None)
    for what, mine, its in (
        ("columns", sorted(map(str, qid)), sorted(map(str, counts.qid))),
        ("unit", table.roles.unit, unit),
        ("missing", policy.missing, counts.missing),
        ("by", policy.by, None),
    ):
        if mine != its:
            raise StateError(
                f"the policy asks about {what} {render.shown(mine)}, and what was counted so far "
                f"is of {render.shown(its)}"
            )


def _scored(
    held: State | Sketch, policy: Terms, table: CheckedTable, name: Name, budget: SensitiveBudget
) -> float:
    if isinstance(held, Sketch):
        raise StateError("a sketch holds no sensitive values; keep a state")
    plain = Sensitive(name, policy.missing_sensitive or "error")
    about, score = budget.score(table.engine, table.frame, plain)
    if about.ordered or about.order is not None or about.hierarchy is not None:
        raise StateError("hashes have no order and no hierarchy: name distance: equal")
    counts = held.profiles(name)
    if policy.missing_sensitive != "value":
        missing = encoding.value_hashes(held.key, name, [encoding.MISSING])
        if (held.counts.values[name].values == missing).all(axis=1).any():
            raise StateError(
                f"sensitive column {name!r} is missing in some rows, which a state takes for a "
                "value like any other: set missing_sensitive to value if they are that"
            )
    return FORMULAS[score.name].worst(counts, score.c)


def _estimated(held: Sketch, budget: Budget) -> dict[Budget, Value]:
    """Return both ends of what a budget on a share or a number of records measures."""
    if budget.key not in (*_SHARES, *_NUMBERS):
        return {}
    low, high = held.fraction_below(getattr(budget, "k", 2)).interval
    times = held.n_records if budget.key in _NUMBERS else 1
    # Within by the upper end it is kept, outside by the lower one broken, else nobody can tell.
    return {budget: Value(high * times, low * times)}
