"""The sentences of a verdict: what was found, in words that a privacy officer reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.render import count_of, joined, shown

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.budgets import Budget

_WHAT = {
    "k": "k-anonymity",
    "max_unique_fraction": "The share of singletons",
    "max_unique_records": "The number of singletons",
    "max_fraction_below_k": "The share of records in small classes",
    "ldiv": "l-diversity",
    "tcloseness": "t-closeness",
    "predicted_singletons": "The number of singletons in a group",
    "population_unique_fraction": "The share of people who are unique in the population",
    "max_suppressed": "The share of suppressed records",
    "max_dropped_fraction": "The share of rows left out",
    **dict.fromkeys(("direct", "unlisted", "missing_sensitive", "reviewed", "table"), "The table"),
}

# All that a finding may be about; one of another name was not written by this library.
KNOWN = frozenset((*_WHAT, "find_qids"))


def label(group: Any) -> str:
    """Write the value of a `by` column; naming the column was asking for it."""
    try:
        missing = group is None or group != group or type(group).__name__ == "NAType"  # noqa: PLR0124
        return "(missing)" if missing else str(group)
    # Objects may raise whatever they like, and what they say is not what was asked for.
    except Exception:  # noqa: BLE001
        return f"(a {type(group).__name__})"


def unknown(budget: str, message: str, group: str | None = None) -> str:
    """Say that something could not be assessed, and why."""
    what = _WHAT.get(budget, f"Budget {budget}")
    return f"{_inside(group)}{what} could not be assessed: {shown(message).rstrip('.')}."


def sentence(
    budget: Budget,
    *,
    doubtful: bool,
    value: float,
    estimate: float | None,
    qid: Qid,
    who: str,
    sensitive: Name | None,
    group: str | None,
) -> str:
    """Say what was measured and what is asked for."""
    of = joined(qid)
    told = (
        _of_risk(budget, value, who)
        if budget.name.startswith("risk.")
        else _told(budget, value, estimate, of, who, sensitive)
    )
    doubt = ""
    if doubtful:
        doubt = " That reaches from within the limit to beyond it: nobody can tell which."
    return f"{_inside(group)}{told}.{doubt}"


def percent(share: float) -> str:
    """Write a share as a percentage of six digits, so that a limit just missed looks missed.

    Examples
    --------
    >>> percent(0.25), percent(1 / 3), percent(0.0)
    ('25%', '33.3333%', '0%')
    """
    return f"{100 * share:.6g}%"


def _inside(group: str | None) -> str:
    return "" if group is None else f"In {shown(group)}: "


def _told(  # noqa: PLR0917
    budget: Budget, value: float, estimate: float | None, of: str, who: str, sensitive: Name | None
) -> str:
    limit = budget.limit
    if budget.name == "k":
        return (
            f"The smallest class of {of} has {count_of(int(value), who)}; "
            f"at least {limit:,} are asked for"
        )
    if budget.name == "max_unique_records":
        are = "is" if value == 1 else "are"
        return f"{count_of(int(value), who)} {are} alone with their {of}; at most {limit:,} may be"
    if budget.name == "ldiv":
        return (
            f"The least diverse class of {of} has a {budget.kind} l-diversity of {value:.6g} "
            f"in {shown(sensitive)}; at least {limit:g} is asked for"
        )
    if budget.name == "tcloseness":
        return (
            f"The worst class of {of} is {value:.6g} away from the table in {shown(sensitive)} "
            f"({budget.distance} distance); at most {limit:g} is allowed"
        )
    if budget.name == "predicted_singletons":
        return _of_group(budget, value, estimate, of)
    return _of_shares(budget, value, estimate, of, who)


def _of_shares(budget: Budget, value: float, estimate: float | None, of: str, who: str) -> str:
    most = percent(budget.limit)
    if budget.name == "max_unique_fraction":
        return f"{percent(value)} of the {who}s are alone with their {of}; at most {most} may be"
    if budget.name == "max_fraction_below_k":
        return (
            f"{percent(value)} of the {who}s are in classes of {of} smaller than {budget.k}; "
            f"at most {most} may be"
        )
    if budget.name == "max_suppressed":
        return f"{percent(value)} of the rows are suppressed; at most {most} may be"
    return (
        f"Of {budget.population_size:,} people, from {percent(estimate or 0.0)} to "
        f"{percent(value)} are alone with their {of}; at most {most} may be"
    )


def _of_group(budget: Budget, value: float, estimate: float | None, of: str) -> str:
    write = percent if budget.as_fraction else "{:.6g}".format
    return (
        f"In a group of {budget.group_size:,}, {write(estimate or 0.0)} are expected to be alone "
        f"with their {of}, and {write(value)} is the upper end of the 95% interval; "
        f"at most {write(budget.limit)} may be"
    )


def _of_risk(budget: Budget, value: float, who: str) -> str:
    _, attacker, measure = budget.name.split(".")
    if measure == "share_above":
        return (
            f"{percent(value)} of the {who}s have a risk above {budget.threshold:g} from a "
            f"{attacker}; at most {percent(budget.limit)} may"
        )
    return (
        f"The {measure} risk from a {attacker} is {value:.6g}; at most {budget.limit:g} is allowed"
    )
