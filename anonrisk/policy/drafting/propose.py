"""From counts to proposed roles, each with its reason; nothing here looks at a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, percent, with_article
from anonrisk.measures import lookalikes
from anonrisk.policy.drafting import hints
from anonrisk.policy.drafting.look import ALPHA, MAX_SIZE

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.core.columns import Name
    from anonrisk.policy.drafting.look import Facts, Together

# A key of persons has at least so many values, in a table that is long enough for them.
_MANY = 20
# A key of anything else has at most so many rows a value.
_ROWS_A_KEY = 20
_HASH = "UUID or hash"


@dataclass(frozen=True)
class Proposal:
    """A role for a column, and why.

    Attributes
    ----------
    role : str
        As a policy calls it: quasi, sensitive, direct, insensitive or unit.
    reason : str
        In words and counts; no cell of the table.
    """

    role: str
    reason: str


def propose(
    facts: Mapping[Name, Facts], fixed: Mapping[Name, Proposal], *, unit_wanted: bool
) -> dict[Name, Proposal]:
    """Return each column a role by its own counts and name; `fixed` ones are settled already."""
    made = {column: fixed.get(column) or _alone(column, seen) for column, seen in facts.items()}
    keys = [
        column
        for column, seen in facts.items()
        if column not in fixed and made[column].role != "direct" and _repeats_as_key(column, seen)
    ]
    return made | _keys(keys, facts, unit_wanted=unit_wanted)


def _alone(column: Name, seen: Facts) -> Proposal:
    """Propose a role by what a column looks like by itself."""
    sensitive = hints.is_sensitive(column)
    amount = sensitive and seen.is_number
    if seen.looks is not None and not (amount and seen.looks in lookalikes.WEAK):
        repeated = seen.looks == _HASH and not seen.nearly_unique
        if not repeated:
            return Proposal("direct", f"{_looks(seen)}; {_values(seen)}")
    if hints.names_a_person(column):
        return Proposal("direct", f"by its name it names a person; {_values(seen)}")
    if seen.constant:
        return _constant(seen, sensitive=sensitive)
    if _tells_apart(column, seen) and not amount:
        every = "every" if seen.n_values == seen.n_known else "nearly every"
        return Proposal("direct", f"{every} value is different: {_of_known(seen)}")
    if sensitive:
        return Proposal(
            "sensitive",
            f"sensitive? by its name; {_values(seen)}{_missing(seen)}{_coarser(seen)}. "
            "If others can know it about a person, it is quasi",
        )
    return Proposal("quasi", "")


def _tells_apart(column: Name, seen: Facts) -> bool:
    """Return whether a column has a value for each record, as names and keys have."""
    if seen.on_scale:
        return False
    if hints.is_key(column) and seen.n_values == seen.n_known:
        return True
    # Among many amounts some are equal; among keys none.
    return seen.nearly_unique and (not seen.is_number or seen.n_values == seen.n_known)


def _constant(seen: Facts, *, sensitive: bool) -> Proposal:
    if not seen.n_values:
        return Proposal("insensitive", "every cell is missing")
    ask = "; sensitive by its name? All in the table have it" if sensitive else ""
    return Proposal("insensitive", f"one value in all {count_of(seen.n_rows, 'row')}{ask}")


def _repeats_as_key(column: Name, seen: Facts) -> bool:
    """Return whether a column looks like a key that has several rows for a value."""
    if seen.constant or seen.on_scale:
        return False
    if hints.is_key_of_person(column):
        return seen.n_values >= max(2, min(_MANY, seen.n_rows / 10))
    few_rows = seen.n_values >= max(_MANY, seen.n_known / _ROWS_A_KEY)
    return few_rows and (hints.is_key(column) or seen.looks == _HASH)


def _keys(
    keys: list[Name], facts: Mapping[Name, Facts], *, unit_wanted: bool
) -> dict[Name, Proposal]:
    """Take one key for the unit if it is clear which; the others must be gone."""
    clear = [
        column
        for column in keys
        if (hints.is_key_of_person(column) or (len(keys) == 1 and facts[column].looks == _HASH))
        and facts[column].n_known == facts[column].n_rows
    ]
    unit = clear[0] if unit_wanted and len(clear) == 1 else None
    made = {}
    for column in keys:
        seen = facts[column]
        rows = f"{_values(seen)}, {seen.n_known / seen.n_values:.1f} rows each"
        if column == unit:
            ask = "If others know it, replace it by a pseudonym"
            made[column] = Proposal("unit", f"a key that repeats, of a person? {rows}. {ask}")
        else:
            made[column] = Proposal("direct", f"a key that repeats: {rows}{_missing(seen)}")
    return made


def unlike(
    made: Mapping[Name, Proposal], facts: Mapping[Name, Facts], together: Together
) -> dict[Name, Proposal]:
    """Find the quasi-identifiers that nearly every person has a value of their own of."""
    enough = together.who == "person" and together.n_records >= lookalikes.ENOUGH
    return {
        column: Proposal(
            "direct", f"{percent(share)} of {_people(together)} have a value that nobody else has"
        )
        for column, share in together.alone.items()
        if enough and share >= lookalikes.NEARLY_ALL and not facts[column].on_scale
        if made[column].reason == ""
    }


def with_reasons(
    made: Mapping[Name, Proposal], facts: Mapping[Name, Facts], together: Together
) -> dict[Name, Proposal]:
    """Return for each quasi-identifier whom it singles out, and what else it may be."""
    # Counts cannot tell what is sensitive; they are asked where no name has told.
    ask = not any(proposal.role == "sensitive" for proposal in made.values())
    return {
        column: replace(proposal, reason=_quasi(column, facts[column], together, ask=ask))
        if proposal.role == "quasi" and not proposal.reason
        else proposal
        for column, proposal in made.items()
    }


def _quasi(column: Name, seen: Facts, together: Together, *, ask: bool) -> str:
    lines = [_values(seen), _singles_out(column, together) + _coarser(seen)]
    if hints.is_seen_by_others(column):
        lines.append("or sensitive? It is of a special category that others often see")
    elif hints.is_weight(column):
        lines.append("or weight? By its name it may be a sampling weight")
    elif ask and seen.few_and_uneven and not hints.is_known_to_others(column):
        share = percent(seen.commonest / seen.n_rows)
        lines.append(f"or sensitive? Few values, the commonest in {share} of the rows")
    return "; ".join(lines)


def _singles_out(column: Name, together: Together) -> str:
    if column not in together.best:
        sets = f"no set of up to {MAX_SIZE} columns needs it to single out {percent(ALPHA)}"
        return f"{sets}, as far as the search came" if together.n_undecided else sets
    qid, share = together.best[column]
    others = [repr(name) for name in qid if name != column]
    if not others:
        return f"singles out {percent(share)} of {_people(together)} by itself"
    return f"singles out {percent(share)} of {_people(together)} with {' and '.join(others)}"


def measurable(made: Mapping[Name, Proposal], names: Iterable[Name]) -> dict[Name, Proposal]:
    """Make quasi-identifiers of what is left where there is none: a gate must measure something."""
    for role in ("quasi", "insensitive", "sensitive"):
        left = [column for column in names if made[column].role == role]
        if left:
            break
    else:
        return {}
    if role == "quasi":
        return {}
    why = "quasi because no other column is left to measure"
    return {column: Proposal("quasi", f"{why}; {made[column].reason}") for column in left}


def _people(together: Together) -> str:
    return count_of(together.n_records, together.who)


def _looks(seen: Facts) -> str:
    return f"looks like {with_article(str(seen.looks))}"


def _values(seen: Facts) -> str:
    return count_of(seen.n_values, "value")


def _of_known(seen: Facts) -> str:
    rows = count_of(seen.n_known, "row")
    return f"{_values(seen)} in {rows}"


def _coarser(seen: Facts) -> str:
    return "; nearly all differ: make it coarser" if seen.nearly_unique else ""


def _missing(seen: Facts) -> str:
    n_missing = seen.n_rows - seen.n_known
    return f", missing in {count_of(n_missing, 'row')}" if n_missing else ""
