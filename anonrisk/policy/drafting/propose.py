"""From counts of each column to proposed roles, each with its reason, as text to edit."""

from __future__ import annotations

from collections import Counter
from dataclasses import field, replace
from math import log2
from typing import TYPE_CHECKING, Any

from anonrisk._version import __version__
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import limited
from anonrisk.core.render import count_of, folded, percent, with_article
from anonrisk.measures.counts import shapes
from anonrisk.measures.counts.question import ManySets, Question
from anonrisk.measures.entropy import renyi
from anonrisk.policy import fields
from anonrisk.policy.drafting import hints

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.shapes import Numerals, Shape

# A set is told if it singles out more than this share; sets of more columns take too long to read.
ALPHA = 0.05
MAX_SIZE = 3
# So few values may be of a status, a diagnosis, an answer.
_FEW = 20
# Entropy over that of values that are all as common.
_UNEVEN = 0.8


@dataclass(frozen=True)
class Facts:
    """How one column looks: counts, and no cell.

    Attributes
    ----------
    n_rows, n_known, n_values : int
        Rows, rows that have a value, and different values.
    commonest : int
        Rows of the value that most have; missing is one.
    evenness : float
        Entropy of the values over the most that it can be; 1 where there is only one.
    looks : str or None
        The kind of identifier that it has the shape of.
    numerals : Numerals
        How many of the values are numbers or dates.
    """

    n_rows: int
    n_known: int
    n_values: int
    commonest: int
    evenness: float
    looks: str | None
    numerals: Numerals

    @classmethod
    def of(cls, sizes: ClassCounts, shape: Shape, numerals: Numerals) -> Facts:
        """Put together what an engine has counted."""
        n_values = sizes.n_classes - (shape.n_known < sizes.n_rows)
        return cls(
            n_rows=sizes.n_rows,
            n_known=shape.n_known,
            n_values=n_values,
            commonest=int(sizes.max),
            evenness=renyi(sizes.sizes, sizes.classes, 1) / log2(sizes.n_classes)
            if sizes.n_classes > 1
            else 1.0,
            looks=shapes.identifier_kind(shape, n_values),
            numerals=numerals,
        )

    @property
    def nearly_unique(self) -> bool:
        """Whether nearly every value is different, in a column that is long enough to tell."""
        enough = self.n_known >= shapes.ENOUGH
        return enough and self.n_values >= shapes.NEARLY_ALL * self.n_known

    @property
    def constant(self) -> bool:
        """Whether all cells are alike, or missing."""
        return self.n_values + (self.n_known < self.n_rows) == 1

    @property
    def is_number(self) -> bool:
        """Whether nearly all are numbers."""
        n_numbers = self.numerals.n_whole + self.numerals.n_fractions
        return 0 < self.n_known * shapes.NEARLY_ALL <= n_numbers

    @property
    def on_scale(self) -> bool:
        """Whether it is measured, so that many values are natural: dates, and fractions."""
        if self.is_number:
            return self.numerals.n_fractions >= self.n_known / 2
        return 0 < self.n_known * shapes.NEARLY_ALL <= self.numerals.n_dates

    @property
    def few_and_uneven(self) -> bool:
        """Whether there are few values, of which some are much commoner than others."""
        return 2 <= self.n_values <= _FEW and self.evenness < _UNEVEN


@dataclass(frozen=True)
class Together:
    """Which columns single people out, alone and with others.

    Attributes
    ----------
    best : dict of column to (columns, share)
        The most telling set that each column is part of.
    alone : dict of column to float
        Share of the records that each singles out by itself.
    n_records : int
        Records; with a unit, persons.
    who : str
        What is counted.
    n_undecided : int
        Sets that the time did not suffice for.
    """

    best: Mapping[Name, tuple[Qid, float]] = field(default_factory=dict)
    alone: Mapping[Name, float] = field(default_factory=dict)
    n_records: int = 0
    who: str = "record"
    n_undecided: int = 0


def look(engine: Engine, frame: Any, columns: Qid) -> tuple[dict[Name, Facts], dict[Name, str]]:
    """Count each column by itself; those that cannot be compared are given apart, with why."""
    counter = engine.count(frame, ManySets(Question((columns,))))
    if not counter.columns:
        return {}, dict(counter.unsupported)
    sizes = counter.count([(i,) for i in range(len(counter.columns))])
    counted = zip(sizes, counter.shapes(), counter.numerals(), strict=True)
    facts = (Facts.of(*item) for item in counted)
    return dict(zip(counter.columns, facts, strict=True)), dict(counter.unsupported)


def together(
    engine: Engine, frame: Any, columns: Qid, unit: Name | None, time_limit: float
) -> Together:
    """Search the sets of columns that single people out, for so many seconds."""
    counter = engine.count(frame, ManySets(Question((columns,), unit)))
    from anonrisk.measures.find_qids import search

    with limited(time_limit):
        outcome = search(counter, ALPHA, MAX_SIZE)
    best: dict[Name, tuple[Qid, float]] = {}
    for result in outcome.minimal_sets:
        qid, share = result.sizes.qid, result.sizes.uniqueness
        for column in qid:
            # As `find_qids` ranks: what each thing known about a person buys.
            if column not in best or share / len(qid) > best[column][1] / len(best[column][0]):
                best[column] = qid, share
    return Together(
        best=best,
        alone={sizes.qid[0]: sizes.uniqueness for sizes in outcome.columns},
        n_records=outcome.columns[0].n_records,
        who="record" if unit is None else "person",
        n_undecided=outcome.n_sets - outcome.n_settled,
    )


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
    if seen.looks is not None and not (amount and seen.looks in shapes.WEAK):
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
    enough = together.who == "person" and together.n_records >= shapes.ENOUGH
    return {
        column: Proposal(
            "direct", f"{percent(share)} of {_people(together)} have a value that nobody else has"
        )
        for column, share in together.alone.items()
        if enough and share >= shapes.NEARLY_ALL and not facts[column].on_scale
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


_ROLES = {
    "quasi": "Together these may single somebody out. In doubt a column belongs here.",
    "sensitive": "What must not be learned about a person.",
    "direct": "Names a person: must be gone before the table is published.",
    "insensitive": "None of these.",
    "unit": "Whose row it is, where a person may have several: persons are counted, not rows.",
}
_HEADER = (
    "A draft, and no policy yet. Every role is a guess from names and counts: a person must "
    'decide. Read each line and move it to the role that is right. Then delete the line "reviewed: '
    'false", or make it true; until then no table passes.'
)
# Comments stand in one column, unless a name is longer than this.
_WIDEST = 32


@dataclass(frozen=True)
class Drafted:
    """Why a draft proposes what it does.

    Attributes
    ----------
    proposals : dict of column to Proposal
        Role and reason of every column, in the table's order.
    notes : tuple of str
        What else a person must know.
    ready : str
        The ready policy that the budgets are from.
    n_rows : int or None
        Rows of the table; None where no column could be counted.
    left_out : dict
        Budgets of the ready policy that it cannot have without a sensitive column.
    """

    proposals: Mapping[Name, Proposal]
    notes: tuple[str, ...]
    ready: str
    n_rows: int | None
    left_out: Mapping[str, Any]

    @property
    def headline(self) -> str:
        """What it was made from."""
        columns = count_of(len(self.proposals), "column")
        rows = "" if self.n_rows is None else f" and {count_of(self.n_rows, 'row')}"
        return f"Draft from a table of {columns}{rows}, with the budgets of {self.ready}"

    @property
    def counts(self) -> str:
        """How many columns have each role."""
        counter = Counter(proposal.role for proposal in self.proposals.values())
        return ", ".join(f"{counter[role]:,} {role}" for role in _ROLES if counter[role])

    def rows(self) -> list[list[str]]:
        """List column, role and reason."""
        return [[_shown(c), p.role, p.reason] for c, p in self.proposals.items()]

    def to_yaml(self, written: dict[str, Any]) -> str:
        """Write the policy as YAML with the reasons as comments (needs PyYAML)."""
        rest = dict(written)
        first = ("version", "name", "description", "reviewed")
        top = {key: rest.pop(key) for key in first if key in rest}
        roles, asked = rest.pop("roles", {}), rest.pop("budgets")
        parts = [
            *(line for text in (_HEADER, *self._about()) for line in _comment(text)),
            fields.to_yaml(top, lines=True),
            "roles:",
            *self._roles(roles),
            "",
            # Last, so that those which are left out can follow.
            fields.to_yaml({**rest, "budgets": asked}).rstrip("\n"),
            *self._commented_budgets(),
        ]
        return "\n".join(parts) + "\n"

    def _about(self) -> Iterator[str]:
        yield ""
        yield f"{self.headline}, by anonrisk {__version__}."
        yield from self.notes

    def _roles(self, roles: Mapping[str, Any]) -> Iterator[str]:
        for role, meaning in _ROLES.items():
            yield from _comment(meaning, "  ")
            if role == "unit":
                yield self._unit(roles.get("unit"))
                continue
            yield f"  {role}:"
            items = {column: fields.scalar(column) for column in roles.get(role, ())}
            width = min(max(map(len, items.values()), default=0), _WIDEST)
            for column, item in items.items():
                # One line, however long: whoever edits it moves whole lines.
                yield f"    - {item.ljust(width)}  # {self._reason(column)}"

    def _unit(self, unit: Name | None) -> str:
        if unit is None:
            return "  unit:"
        return f"  unit: {fields.scalar(unit)}  # {self._reason(unit)}"

    def _reason(self, column: Name) -> str:
        proposal = self.proposals.get(column)
        return f"the ready policy {self.ready} names it" if proposal is None else proposal.reason

    def _commented_budgets(self) -> Iterator[str]:
        if self.left_out:
            yield "  # Only with a sensitive column:"
            for line in fields.to_yaml(dict(self.left_out)).splitlines():
                yield f"  # {line}"


def _comment(text: str, indent: str = "") -> list[str]:
    mark = f"{indent}# "
    return [line.rstrip() for line in folded(f"{mark}{text}", indent=mark)]


def _shown(column: Name) -> str:
    """Write a name on one line, whatever is in it."""
    text = str(column)
    return text if text.isprintable() and text == text.strip() else repr(text)
