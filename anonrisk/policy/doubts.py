"""Doubts about contents: what a column holds, against the role that it has.

Pure functions of what an engine has counted (`counts.contents`); no cell comes here.
"""

from __future__ import annotations

from dataclasses import field
from math import sqrt
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, with_article
from anonrisk.measures.counts import shapes
from anonrisk.measures.counts.contents import (
    DATE,
    FOLDABLE,
    HIGH_PLACEHOLDERS,
    NESTED,
    NUMBER,
    PLACEHOLDERS,
    SHARE,
    TEXT,
)
from anonrisk.measures.counts.shapes import CHECKED, UNCHECKED, Numerals
from anonrisk.policy.drafting import hints, propose
from anonrisk.policy.drafting.propose import Facts
from anonrisk.policy.evidence import pasted
from anonrisk.policy.finding import FAIL, PASS, Finding, unknown
from anonrisk.policy.terms import DOUBTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.contents import ColumnContents
    from anonrisk.policy.terms import Terms

BUDGET = "contents"
# Nearly unique columns block from so many persons on.
PERSONS = 100
# Standard deviations of the others by which a number is far from them.
FAR = 10
# Rows for each value of a key, at most; of shapes that things have too, only keys count.
_ROWS_A_KEY = 20
_OF_THINGS = (
    *("telephone number", "UUID or hash", "web address", "IP address", "MAC address"),
    "pair of coordinates",
)
# Numbers of fewer values are codes.
_ON_SCALE = 5
# More standard deviations than chance explains.
_BY_CHANCE = 4
_COORDINATES = "pair of coordinates"
# The words of shapes; what is not here is a number that a state gives.
_IDENTIFIERS = {
    "e-mail address": "email_address",
    "web address": "web_address",
    "IP address": "ip_address",
    "MAC address": "mac_address",
    "UUID or hash": "hash",
    "telephone number": "telephone_number",
    _COORDINATES: "coordinates",
    "IBAN": "iban",
    "credit card number": "card_number",
}
_NATIONAL = "national_number"


@dataclass(frozen=True)
class Examined:
    """What was counted of a table's contents.

    Attributes
    ----------
    columns : dict of name to ColumnContents
        The columns that were looked at.
    unique_rows : bool
        Whether no two rows agree in all columns that a table of counts would be broken down by.
    respelt : names
        Sensitive columns of which a verdict depends on how values are spelt.
    names : dict of name to (names, texts)
        How many of the texts that a detector was shown it takes for names.
    """

    columns: Mapping[Name, ColumnContents] = field(default_factory=dict)
    unique_rows: bool = False
    respelt: Qid = ()
    names: Mapping[Name, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Doubt:
    """One doubt about one column: its word, how many rows or values it is about, and what it says.

    It blocks as its word does, or where a verdict hangs on it.
    """

    word: str
    n: int
    sentence: str
    decides: bool = False

    @property
    def blocks(self) -> bool:
        """Whether a person must answer it."""
        return self.decides or DOUBTS[self.word][0]


def findings(
    policy: Terms, roles: Mapping[Name, str | None], nested: tuple[str, ...], examined: Examined
) -> list[Finding]:
    """Compare what every column holds with its role.

    `roles` are those of a verdict; columns without one, and direct identifiers, are judged
    elsewhere.
    """
    said = {(each.column, each.doubt): each.reason for each in policy.acknowledged}
    persons = _persons(roles, examined)
    made: list[Finding] = []
    for column, role in roles.items():
        if role is None or role == "direct" or column not in examined.columns:
            continue
        looked = _Claim(column, role, examined.columns[column], persons, policy.suppressed)
        inside = [path for path in nested if path.startswith(f"{column}.")]
        made += [
            _finding(column, role, doubt, said.get((column, doubt.word)))
            for doubt in (*looked.doubts(inside), *_of_table(column, looked, examined))
        ]
    return made


def _finding(column: Name, role: str, doubt: Doubt, reason: str | None) -> Finding:
    """Return a doubt: it blocks, warns, or was answered."""
    about: dict[str, Any] = {"column": str(column), "doubt": doubt.word}
    what = f"column {column!r} ({role}) {doubt.sentence}"
    if reason is not None:
        text = f"{what[0].upper()}{what[1:]}. Acknowledged: {reason}"
        noted = {**about, "reason": reason}
        return Finding(BUDGET, PASS, "fail", text, value=0, limit=0, margin=0, parameters=noted)
    line = f"acknowledged: [{{column: {pasted(column)}, doubt: {doubt.word}, reason: …}}]"
    if doubt.blocks:
        return unknown(BUDGET, f"{what}, or say why it may stay:  {line}", parameters=about)
    text = f"{what[0].upper()}{what[1:]}; if that is meant:  {line}"
    n = doubt.n
    return Finding(BUDGET, FAIL, "warn", text, value=n, limit=0, margin=-n, parameters=about)


def _persons(roles: Mapping[Name, str | None], examined: Examined) -> int | None:
    """Count the persons, where a unit says who they are."""
    units = [column for column, role in roles.items() if role == "unit"]
    known = [examined.columns[unit].n_values for unit in units if unit in examined.columns]
    return known[0] if known else None


def _of_table(column: Name, looked: _Claim, examined: Examined) -> Iterator[Doubt]:
    """Doubt what is seen only of the table as a whole, or by others."""
    if column in examined.respelt:
        yield Doubt(
            "spellings",
            looked.n_merged,
            f"holds {count_of(looked.n_merged, 'value')} spelt like another but for case, "
            "spaces or accents, and with one spelling for each a budget that it keeps is broken: "
            "spell them alike",
            decides=True,
        )
    elif looked.n_merged and looked.role != "unit":
        yield Doubt(
            "spellings",
            looked.n_merged,
            f"holds {count_of(looked.n_merged, 'value')} spelt like another but for case, "
            "spaces or accents, and count as different ones",
        )
    n, shown = examined.names.get(column, (0, 0))
    if n and n >= SHARE * shown:
        yield Doubt(
            "names",
            n,
            f"holds what the detector takes for names in {n:,} of the {count_of(shown, 'value')} "
            "that it was shown: remove it and name it under direct",
        )
    if examined.unique_rows and may_be_count(column, looked.cells):
        yield Doubt(
            "counts",
            looked.cells.n_known,
            "is named like a count, and no two rows agree in the other columns: this looks like a "
            "table of counts, where a row is not a person and classes of rows measure nothing",
        )


def may_be_count(column: Name, cells: ColumnContents) -> bool:
    """Return whether a column by its name and numbers may count people."""
    whole = 0 < cells.n_known == cells.rows("whole")
    return cells.kind == NUMBER and whole and hints.is_count(column)


def identifier_of(column: Name, cells: ColumnContents) -> tuple[str, int] | None:
    """Return the kind of direct identifier that a column has the shape of, and of how many rows.

    A shape is one of the column if a fifth of its rows, or of its different values, has it; check
    digits must agree more often than by chance. What things have too, as an address of a machine,
    counts where there are as many values as of a key.
    """
    if cells.n_known < shapes.ENOUGH or cells.n_values < 2:
        return None
    checked_number = _checked_number(cells)
    if checked_number is not None:
        return checked_number
    for kind in UNCHECKED:
        rows, values = cells.rows(kind), cells.values(kind)
        if _is_share(cells, rows, values) and (kind not in _OF_THINGS or _is_key(rows, values)):
            return kind, rows
    if hints.is_coordinate(column):
        rows, values = cells.rows("degrees"), cells.values("degrees")
        if _is_share(cells, rows, values) and _is_key(rows, values):
            return _COORDINATES, rows
    return None


def _checked_number(cells: ColumnContents) -> tuple[str, int] | None:
    kinds: dict[str, list[int]] = {}
    for i, number in enumerate(CHECKED):
        rows, values = cells.rows(f"checked {i}"), cells.values(f"checked {i}")
        n = cells.values(number.candidates)
        expected, spread = n * number.chance, sqrt(n * number.chance * (1 - number.chance))
        if values > expected + _BY_CHANCE * spread:
            so_far = kinds.setdefault(number.kind, [0, 0])
            kinds[number.kind] = [so_far[0] + rows, so_far[1] + values]
    for kind, (rows, values) in kinds.items():
        if _is_share(cells, rows, values):
            return kind, rows
    return None


def _is_share(cells: ColumnContents, rows: int, values: int) -> bool:
    enough = rows >= SHARE * cells.n_known or values >= SHARE * cells.n_values
    return values > 0 and enough


def _is_key(rows: int, values: int) -> bool:
    return values >= max(shapes.ENOUGH, rows / _ROWS_A_KEY)


def facts_of(column: Name, cells: ColumnContents) -> Facts:
    """Return what a draft goes by; how even the values are it does not ask of one column."""
    identifier = identifier_of(column, cells)
    return Facts(
        n_rows=cells.n_rows,
        n_known=cells.n_known,
        n_values=cells.n_values,
        commonest=0,
        evenness=1.0,
        looks=None if identifier is None else identifier[0],
        numerals=Numerals(cells.rows("whole"), cells.rows("fraction"), cells.rows("date")),
    )


def proposed(loose: Qid, examined: Examined, *, unit_wanted: bool) -> dict[str, list[Name]]:
    """Return what a draft would say of columns without a role, never that one tells nothing.

    What was not looked at, or tells nothing by itself, is a quasi-identifier.
    """
    facts = {
        column: facts_of(column, examined.columns[column])
        for column in loose
        if column in examined.columns
    }
    drafted = propose.propose(facts, {}, unit_wanted=unit_wanted)
    made: dict[str, list[Name]] = {}
    for column in loose:
        role = drafted[column].role if column in drafted else "quasi"
        if column not in drafted and hints.names_a_person(column):
            role = "direct"
        made.setdefault("quasi" if role == "insensitive" else role, []).append(column)
    order = ("direct", "unit", "sensitive", "quasi")
    return {role: made[role] for role in order if role in made}


@dataclass(frozen=True)
class _Claim:
    """A column, its role, and what it holds."""

    name: Name
    role: str
    cells: ColumnContents
    persons: int | None
    suppressed: str | None

    @property
    def n_merged(self) -> int:
        """How many values are another one but for their spelling."""
        cells = self.cells
        if cells.n_folded is None or cells.n_values > FOLDABLE:
            return 0
        return cells.n_values - cells.n_folded

    def doubts(self, inside: list[str]) -> Iterator[Doubt]:
        """Yield the doubts about this column by itself."""
        yield from self._identifies()
        yield from self._is_free_text()
        yield from self._has_placeholders()
        yield from self._has_keys(inside)
        yield from self._is_birth_date()
        yield from self._has_outlier()

    def _identifies(self) -> Iterator[Doubt]:
        cells = self.cells
        identifier = identifier_of(self.name, cells)
        # A pseudonym is what a unit should be.
        if identifier is not None and not (self.role == "unit" and identifier[0] == "UUID or hash"):
            kind, rows = identifier
            yield Doubt(
                _IDENTIFIERS.get(kind, _NATIONAL),
                rows,
                f"looks like {with_article(kind)} in {rows:,} of {count_of(cells.n_known, 'row')}: "
                "remove it and name it under direct",
            )
        elif self.role == "insensitive":
            yield from self._is_nearly_unique()

    def _is_nearly_unique(self) -> Iterator[Doubt]:
        cells, facts = self.cells, facts_of(self.name, self.cells)
        enough = (cells.n_known if self.persons is None else self.persons) >= PERSONS
        if cells.kind == NESTED or not enough or not facts.nearly_unique:
            return
        values = f"{cells.n_values:,} different values in {count_of(cells.n_known, 'row')}"
        measured = facts.on_scale or (facts.is_number and cells.n_values < cells.n_known)
        if measured or cells.kind == DATE:
            yield Doubt(
                "many_values",
                cells.n_values,
                f"has {values}: whoever knows one finds its row, so that it is more likely quasi",
            )
        else:
            yield Doubt(
                "nearly_unique",
                cells.n_values,
                f"has {values}, as a name or a key has: name it under direct or quasi",
            )

    def _is_free_text(self) -> Iterator[Doubt]:
        rows, values = self.cells.rows("long text"), self.cells.values("long text")
        if _is_share(self.cells, rows, values):
            yield Doubt(
                "free_text",
                rows,
                f"holds long texts in {count_of(rows, 'row')}, which may say anything about "
                "anybody",
            )

    def _has_placeholders(self) -> Iterator[Doubt]:
        rows = self.cells.rows("placeholder")
        if self.cells.kind == NUMBER and not self._are_far_placeholders():
            return
        marker = self.suppressed is not None and self.suppressed.lower().strip() in PLACEHOLDERS
        if rows and not marker:
            yield Doubt(
                "placeholder",
                rows,
                "holds what people write for unknown values (such as N/A, unknown, - or 9999) in "
                f"{count_of(rows, 'row')}, where it counts as a value: make it missing",
            )

    def _are_far_placeholders(self) -> bool:
        """Return whether a number that may stand for none is far from all the others."""
        ends, numbers = self.cells.plain_ends, self.cells.numbers
        if ends is None or numbers.low is None or numbers.high is None:
            return False
        high = numbers.high in HIGH_PLACEHOLDERS and numbers.high > 2 * max(ends[1], 0)
        return high or numbers.low < 0 <= ends[0]

    def _has_keys(self, inside: list[str]) -> Iterator[Doubt]:
        named = [path for path in inside if hints.names_a_person(path.rpartition(".")[2])]
        n = self.cells.rows("keys") or len(named)
        if n:
            yield Doubt(
                "keys",
                n,
                "has keys inside its cells that are named like direct identifiers: take out what "
                "names a person",
            )
        elif self.cells.kind == NESTED and self.role == "insensitive" and self.cells.n_known:
            yield Doubt(
                "nested",
                self.cells.n_known,
                "holds lists, maps or structs, whose contents were not checked",
            )

    def _is_birth_date(self) -> Iterator[Doubt]:
        cells, facts = self.cells, facts_of(self.name, self.cells)
        dates = cells.rows("date")
        if self.role != "insensitive" or cells.n_known < shapes.ENOUGH:
            return
        if cells.kind not in {DATE, TEXT} or dates < shapes.NEARLY_ALL * cells.n_known:
            return
        old = cells.rows("last century")
        if hints.is_birth(self.name) or old >= cells.n_known / 2:
            yield Doubt(
                "birth_date",
                dates,
                f"holds dates in {count_of(dates, 'row')} that may be of birth"
                f"{'' if facts.nearly_unique else ', which others know'}: it is more likely quasi",
            )

    def _has_outlier(self) -> Iterator[Doubt]:
        cells, numbers = self.cells, self.cells.numbers
        if self.role not in {"sensitive", "insensitive"} or cells.kind != NUMBER:
            return
        if cells.n_known < shapes.ENOUGH or numbers.low is None or numbers.high is None:
            return
        if cells.n_values < _ON_SCALE:
            return
        alone = [
            end
            for end, single in (
                (numbers.low, numbers.low_alone),
                (numbers.high, numbers.high_alone),
            )
            if end == single and _is_far(end, numbers.n, numbers.total, numbers.squares)
        ]
        if alone:
            yield Doubt(
                "outlier",
                len(alone),
                f"has {count_of(len(alone), 'number')} more than {FAR} standard deviations from "
                "all the others, each in one row: whoever knows it finds its owner; cut it off at "
                "a bound",
            )


def _is_far(end: float, n: int, total: float, squares: float) -> bool:
    """Return whether one number is far from the mean of all the others."""
    others = n - 1
    if others < 1:
        return False
    mean = (total - end) / others
    variance = max((squares - end * end) / others - mean * mean, 0.0)
    return abs(end - mean) > FAR * sqrt(variance)
