"""The kinds of recoding, for texts, numbers and dates, and which of two tells more."""

from __future__ import annotations

import hashlib
import json
import math
import re
from dataclasses import field
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from anonrisk.core.arguments import (
    finite,
    instance_of,
    list_of,
    one_of,
    true_or_false,
    whole_number,
)
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError, HierarchyError, PlanError
from anonrisk.measures.recode import recoding as text
from anonrisk.measures.recode.recoding import Recoding, numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.types import Booleans, Integers
    from anonrisk.measures.counts.tally import Domain

# ZIP codes in full, and the areas of their first three digits.
ZIP, AREA = re.compile("[0-9]{5}(-[0-9]{4})?"), re.compile("[0-9]{3}")
# More names than this nobody reads: a stored plan has them all.
_LISTED = 40


@dataclass(frozen=True)
class Prefix(Recoding):
    """Keep the first characters of a code, and write a star for each of the others.

    Attributes
    ----------
    length : int
        Number of characters to keep.
    width : int, optional
        Number of characters of a label; left out, that of the value itself.

    Examples
    --------
    >>> Prefix(2).label("1011"), Prefix(2, width=3).label("1011")
    ('10**', '10*')
    """

    length: int
    width: int | None = None
    name: ClassVar[str] = "prefix"
    takes: ClassVar[tuple[str, ...] | None] = ("text", "whole")

    def __post_init__(self) -> None:
        """Reject lengths that make no prefix."""
        whole_number(self.length, "the length of a prefix", at_least=1)
        if self.width is not None:
            whole_number(self.width, "the width of a prefix", at_least=self.length)

    def label(self, value: str) -> str:
        """Write the label of one value."""
        head = value[: self.length]
        return head + text.MARKER * max((self.width or len(value)) - len(head), 0)

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return values with the same label one group."""
        return numbered([self.label(value) for value in domain.texts()])

    def __str__(self) -> str:
        """Return what is done."""
        return f"first {'character' if self.length == 1 else f'{self.length} characters'}"


@dataclass(frozen=True)
class ZipArea(Recoding):
    """Keep the first three digits of a ZIP code where they may be told, and write 000 elsewhere.

    What is not written as five digits, or as five and four (12345-6789), is 000: a code that has
    lost its leading zero begins with the digits of another area.

    Attributes
    ----------
    known : tuple of str
        The areas that may be told: three digits each.

    Examples
    --------
    >>> area = ZipArea(("100",))
    >>> area.label("10011"), area.label("10011-2345"), area.label("1002"), area.label("03601")
    ('100', '100', '000', '000')
    """

    known: tuple[str, ...]
    name: ClassVar[str] = "zip"
    takes: ClassVar[tuple[str, ...] | None] = ("text",)
    digits: ClassVar[int] = 3
    other: ClassVar[str] = "000"

    def __post_init__(self) -> None:
        """Reject areas that are not three digits."""
        rule = "areas of ZIP codes must be texts of three digits"
        if not all(map(AREA.fullmatch, list_of(self.known, str, rule))):
            raise ArgumentError(rule)

    def label(self, value: str) -> str:
        """Write the label of one value."""
        head = value[: self.digits]
        return head if ZIP.fullmatch(value) and head in self.known else self.other

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return values with the same label one group."""
        return numbered([self.label(value) for value in domain.texts()])

    def __str__(self) -> str:
        """Return what is done."""
        return f"first 3 digits, small areas and other texts {self.other!r}"


@dataclass(frozen=True)
class MergeRare(Recoding):
    """Leave some values as they are, and put all others together.

    Attributes
    ----------
    kept : tuple of str
        The values that stay, or with `prefix` the beginnings that do, stars included.
    other : str
        What all others become, also those that a later table has for the first time.
    prefix, width : int, optional
        Values are first made coarser as by `Prefix`.

    Examples
    --------
    >>> merge = MergeRare(("nurse", "clerk"))
    >>> merge.label("nurse"), merge.label("astronaut")
    ('nurse', 'other')
    >>> MergeRare(("10**",), prefix=2).label("1011")
    '10**'
    """

    kept: tuple[str, ...]
    other: str = text.OTHER
    prefix: int | None = None
    width: int | None = None
    name: ClassVar[str] = "merge_rare"
    takes: ClassVar[tuple[str, ...] | None] = ("text",)

    def __post_init__(self) -> None:
        """Reject a name for the others that is one of the kept."""
        list_of(self.kept, str, "the values that stay must be texts")
        instance_of(self.other, str, "other")
        if self.other in self.kept:
            raise ArgumentError("the name for all other values must not be one of those that stay")
        if self.width is not None and self.prefix is None:
            raise ArgumentError("width= is that of a prefix, and goes with prefix=")

    @property
    def beginning(self) -> Prefix | None:
        """The recoding that values go through first."""
        return None if self.prefix is None else Prefix(self.prefix, self.width)

    def label(self, value: str) -> str:
        """Write the label of one value."""
        first = self.beginning
        begun = value if first is None else first.label(value)
        return begun if begun in self.kept else self.other

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the group of each kept value, and one for all others."""
        first, kept = self.beginning, frozenset(self.kept)
        begun = domain.texts() if first is None else [first.label(v) for v in domain.texts()]
        return numbered([value if value in kept else self.other for value in begun])

    def __str__(self) -> str:
        """Return what is done."""
        first, n = self.beginning, len(self.kept)
        stay = "stays" if n == 1 else "stay"
        what = f"{n:,} {stay}" if first is None else f"{first}, {n:,} of them {stay}"
        listed = f": {', '.join(self.kept)}" if 0 < n <= _LISTED else ""
        return f"{what}, the rest {self.other!r}{listed}"


@dataclass(frozen=True)
class KeepCommon(Recoding):
    """Leave the values of many people as they are: a rule, which names no value.

    A plan with a rule is applied once its values are known, see `anonrisk.Plan.resolve`.

    Attributes
    ----------
    at_least : int
        How many people must have a value, or with `prefix` a beginning, for it to stay.
    other, prefix, width
        As in `MergeRare`.

    Examples
    --------
    >>> print(KeepCommon(20))
    values of at least 20 people stay, the rest 'other'
    >>> KeepCommon(2).resolve({"nurse": 7, "astronaut": 1})
    MergeRare(kept=('nurse',), other='other', prefix=None, width=None)
    """

    at_least: int
    other: str = text.OTHER
    prefix: int | None = None
    width: int | None = None
    name: ClassVar[str] = "keep_common"
    takes: ClassVar[tuple[str, ...] | None] = ("text",)

    def __post_init__(self) -> None:
        """Reject a number that everybody reaches."""
        whole_number(self.at_least, "at_least", at_least=2)
        instance_of(self.other, str, "other")
        if self.width is not None and self.prefix is None:
            raise ArgumentError("width= is that of a prefix, and goes with prefix=")

    @property
    def beginning(self) -> Prefix | None:
        """The recoding that values go through first."""
        return None if self.prefix is None else Prefix(self.prefix, self.width)

    def resolve(self, people: Mapping[str, int]) -> MergeRare:
        """Return which values, or beginnings, stay, by how many people have each."""
        # What is called as the others are is not told apart from them.
        kept = (value for value, n in people.items() if n >= self.at_least and value != self.other)
        return MergeRare(tuple(sorted(kept)), self.other, self.prefix, self.width)

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:  # noqa: ARG002
        """Raise an error: which values stay is not known yet."""
        raise unresolved()

    def __str__(self) -> str:
        """Return what is done."""
        first = self.beginning
        what = "values" if first is None else f"{first}: those"
        return f"{what} of at least {self.at_least:,} people stay, the rest {self.other!r}"


def unresolved() -> PlanError:
    """Return the error of a plan that cannot be applied yet."""
    return PlanError(
        "the plan has a rule, values of at least so many people stay, and does not name them: "
        "plan.resolve(table) makes a plan that does, to keep confidential and to apply every month"
    )


PARTS = ("day", "week", "month", "quarter", "half", "year", "decade")


@dataclass(frozen=True)
class DatePart(Recoding):
    """Put dates into days, weeks, months, quarters, half-years, years or decades, in Greenwich.

    Weeks are those of ISO 8601, from Monday on: 2024-12-31 is in ``2025-W01``.

    With `earliest` all earlier years are put together.
    """

    part: str
    earliest: int | None = None
    name: ClassVar[str] = "date"
    takes: ClassVar[tuple[str, ...] | None] = ("date", "timestamp")

    def __post_init__(self) -> None:
        """Reject parts that are none."""
        one_of(self.part, "part", PARTS)
        if self.earliest is not None:
            whole_number(self.earliest, "earliest", at_least=1)
            if self.part != "year":
                raise ArgumentError("earliest= is a year, and goes with part='year'")

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the dates of one period one group."""
        days = domain.positions().astype(np.int64)
        if self.part == "day":
            periods, number = np.unique(days, return_inverse=True)
            return number.astype(np.int64), [str(p) for p in periods.astype("datetime64[D]")]
        # The first of January 1970 was a Thursday, and the year of a week is that of its Thursday.
        thursdays = (days + 3) // 7 * 7
        at = (thursdays if self.part == "week" else days).astype("datetime64[D]")
        months, years = at.astype("datetime64[M]").astype(np.int64), at.astype("datetime64[Y]")
        of_year = (at - years.astype("datetime64[D]")).astype(np.int64)
        year = years.astype(np.int64) + 1970
        if self.part == "decade":
            year = year // 10 * 10
        elif self.earliest is not None:
            year = np.maximum(year, self.earliest - 1)
        within = {
            "week": of_year // 7,
            "month": months % 12,
            "quarter": months % 12 // 3,
            "half": months % 12 // 6,
        }.get(self.part, np.zeros_like(year))
        # No year has more than 53 weeks.
        periods, number = np.unique(year * 64 + within, return_inverse=True)
        names = [
            text.of_earlier(self.earliest)
            if self.earliest is not None and period // 64 < self.earliest
            else text.of_period(int(period // 64), self.part, int(period % 64) + 1)
            for period in periods
        ]
        return number.astype(np.int64), names

    def __str__(self) -> str:
        """Return what is done."""
        early = "" if self.earliest is None else f", {text.of_earlier(self.earliest)} together"
        return {"half": "half-year"}.get(self.part, self.part) + early


@dataclass(frozen=True)
class Keep(Recoding):
    """Leave the column as it is."""

    name: ClassVar[str] = "keep"

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Put each value in a group of its own."""
        return np.arange(len(domain)), None

    def __str__(self) -> str:
        """Return what is done."""
        return "as it is"


@dataclass(frozen=True)
class Star(Recoding):
    """Put all values together, missing ones as well."""

    label: str = text.MARKER
    name: ClassVar[str] = "star"

    def __post_init__(self) -> None:
        """Reject a label that is not a text."""
        instance_of(self.label, str, "label")

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return all values one group."""
        return np.zeros(len(domain), dtype=np.int64), [self.label]

    @property
    def for_missing(self) -> str | None:
        """Put missing values with the others."""
        return self.label

    def __str__(self) -> str:
        """Return what is done."""
        return f"all {self.label!r}"


@dataclass(frozen=True)
class Bins(Recoding):
    """Put numbers into bins between edges; the outer bins are open-ended.

    Examples
    --------
    >>> Bins((30, 40), whole=True).labels
    ['<30', '30-39', '>=40']
    >>> Bins((0.5, 2)).labels
    ['<0.5', '[0.5, 2)', '>=2']
    """

    edges: tuple[float, ...]
    whole: bool = False
    name: ClassVar[str] = "bins"
    takes: ClassVar[tuple[str, ...] | None] = ("whole", "number")

    def __post_init__(self) -> None:
        """Reject edges that are not in order."""
        edges = list_of(self.edges, cast("type[float]", Real), "edges must be a list of numbers")
        ascending = all(a < b for a, b in pairwise(edges))
        if not edges or not ascending or not np.all(np.isfinite(edges)):
            raise ArgumentError("edges of bins must be finite numbers in ascending order")
        if true_or_false(self.whole, "whole") and any(edge != int(edge) for edge in self.edges):
            raise ArgumentError("edges of bins of whole numbers must be whole")

    @property
    def labels(self) -> list[str]:
        """Name the bins."""
        return text.of_bins(self.edges, whole=self.whole)

    def places(self, values: NDArray[Any]) -> Integers:
        """Find the bin of each number."""
        return np.searchsorted(np.asarray(self.edges, dtype=np.float64), values, side="right")

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return the bin of each number."""
        return self.places(domain.values.astype(np.float64)), self.labels

    def __str__(self) -> str:
        """Return what is done."""
        return f"{len(self.edges) + 1} bins: {', '.join(self.labels)}"


@dataclass(frozen=True)
class TopBottom(Recoding):
    """Put numbers above a top, or below a bottom, to that number; the others stay."""

    bottom: float | None = None
    top: float | None = None
    name: ClassVar[str] = "top_bottom"
    takes: ClassVar[tuple[str, ...] | None] = ("whole", "number")

    def __post_init__(self) -> None:
        """Reject ends that are none, or cross."""
        if self.bottom is None and self.top is None:
            raise ArgumentError("top and bottom coding needs top=, bottom= or both")
        for end in ("bottom", "top"):
            value = getattr(self, end)
            if value is not None:
                number = finite(value, end)
                # As plain numbers they can be stored.
                object.__setattr__(self, end, int(value) if isinstance(value, Integral) else number)
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise ArgumentError("bottom must be below top")

    def clipped(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put values beyond an end to that end."""
        return np.asarray(np.clip(values, self.bottom, self.top))

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Put the values beyond an end in one group."""
        _, number = np.unique(self.clipped(domain.values), return_inverse=True)
        return number.astype(np.int64), None

    def to_dict(self) -> dict[str, Any]:
        """Return the ends."""
        return {"recoding": self.name, "bottom": self.bottom, "top": self.top}

    def __str__(self) -> str:
        """Return what is done."""
        ends = (("bottom", self.bottom), ("top", self.top))
        return ", ".join(f"{end} {text.of_number(x)}" for end, x in ends if x is not None)


@dataclass(frozen=True)
class Level(Recoding):
    """Put values together as a level of a hierarchy does.

    A stored level knows the hierarchy by its fingerprint only, because its leaves are values; it
    has to be given again when the plan is read.
    """

    level: int
    fingerprint: str
    hierarchy: Hierarchy | None = field(default=None, repr=False)
    name: ClassVar[str] = "level"
    takes: ClassVar[tuple[str, ...] | None] = ("text", "whole", "boolean", "date")

    @classmethod
    def of(cls, hierarchy: Hierarchy, level: int) -> Recoding:
        """Make the recoding of one level; the top puts missing values with the others."""
        if not 0 <= level <= hierarchy.height:
            raise HierarchyError(f"the hierarchy has levels 0 to {hierarchy.height}, not {level}")
        if level == 0:
            return Keep()
        if level == hierarchy.height:
            return Star(_root(hierarchy))
        return cls(level, fingerprint_of(hierarchy), hierarchy)

    def mapping(self) -> dict[str, str]:
        """Map each value of the hierarchy to the label of its node."""
        tree = self._tree()
        return {leaf: tree.group(leaf, self.level)[-1] for leaf in tree.leaves}

    def _tree(self) -> Hierarchy:
        if self.hierarchy is None:
            raise PlanError(
                "a stored plan does not hold the values of its hierarchies; give them when you "
                "read it, as in Plan.from_json(text, hierarchies={column: …})"
            )
        return self.hierarchy

    def knows(self, domain: Domain) -> Booleans:
        """Return for each value whether it is a leaf of the hierarchy."""
        leaves = self._tree().leaves
        return np.array([value in leaves for value in domain.texts()], dtype=bool)

    @property
    def for_unseen(self) -> str:
        """The root of the hierarchy."""
        return _root(self._tree())

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Return values below one node one group."""
        mapping = self.mapping()
        unknown = int((~self.knows(domain)).sum())
        if unknown:
            raise HierarchyError(f"the hierarchy lacks {unknown} of the column's values")
        return numbered([mapping[value] for value in domain.texts()])

    def to_dict(self) -> dict[str, Any]:
        """Return the level, its nodes and the fingerprint; no leaves."""
        stored = {"recoding": self.name, "level": self.level, "hierarchy": self.fingerprint}
        if self.hierarchy is not None:
            leaves = self.hierarchy.leaves
            nodes = {self.hierarchy.group(leaf, self.level) for leaf in leaves}
            inner = (node[-1] for node in nodes if self.hierarchy.heights[node])
            stored["nodes"] = sorted(name for name in inner if name not in leaves)
        return stored

    def __str__(self) -> str:
        """Return what is done."""
        nodes = self.to_dict().get("nodes", [])
        return f"level {self.level}: {text.shortened(nodes)}" if nodes else f"level {self.level}"


def _root(hierarchy: Hierarchy) -> str:
    return next(iter(hierarchy.leaves.values()))[0]


def fingerprint_of(hierarchy: Hierarchy) -> str:
    """Return what tells one hierarchy from another without naming its values."""
    paths = json.dumps(sorted(hierarchy.leaves.values()))
    return hashlib.sha256(paths.encode()).hexdigest()[:16]


def from_dict(stored: Mapping[str, Any], hierarchy: Hierarchy | None = None) -> Recoding:
    """Read back what `to_dict` gave.

    Parameters
    ----------
    stored : mapping
        What `to_dict` of a recoding gave.
    hierarchy : Hierarchy, optional
        That of a level: a stored one knows it by its fingerprint only.

    Returns
    -------
    Recoding

    See Also
    --------
    anonrisk.Plan.from_dict : reads a whole plan
    anonrisk.measures.recode.Bins : one of the kinds

    Examples
    --------
    >>> from anonrisk.recode import Bins, from_dict
    >>> from_dict(Bins((30, 40)).to_dict()) == Bins((30, 40))
    True
    """
    fields = dict(stored)
    try:
        name = fields.pop("recoding")
        if name == "level":
            if hierarchy is not None and fingerprint_of(hierarchy) != fields["hierarchy"]:
                raise PlanError("the hierarchy is not the one that the plan was made with")
            return Level(int(fields["level"]), str(fields["hierarchy"]), hierarchy)
        for key in ("edges", "known", "kept"):
            if key in fields:
                fields[key] = tuple(fields[key])
        made: Recoding = _SIMPLE[name](**fields)
    except (KeyError, TypeError):
        raise PlanError("this is not a stored recoding") from None
    return made


_SIMPLE: dict[str, Any] = {
    kind.name: kind
    for kind in (Keep, Star, Bins, Prefix, ZipArea, MergeRare, KeepCommon, DatePart, TopBottom)
}

# Each period is in one of every later one; a week is in one of none.
_PERIODS = ("day", "month", "quarter", "half", "year", "decade")


def is_within(fine: Recoding, coarse: Recoding) -> bool:
    """Return whether all that one recoding puts together the other puts together too.

    That must hold whatever values the column has; every recoding is within itself.

    Examples
    --------
    >>> is_within(Bins((20, 30, 40)), Bins((30,))), is_within(Bins((30,)), Bins((35,)))
    (True, False)
    >>> is_within(DatePart("month"), DatePart("year")), is_within(Star(), Keep())
    (True, False)
    """
    if fine == coarse or isinstance(fine, Keep) or isinstance(coarse, Star):
        return True
    if isinstance(fine, Prefix) and isinstance(coarse, MergeRare):
        return coarse.beginning is not None and is_within(fine, coarse.beginning)
    compare = _OF_ONE_KIND.get(type(fine))
    return compare is not None and type(fine) is type(coarse) and compare(fine, coarse)


def _bins(fine: Bins, coarse: Bins) -> bool:
    return set(coarse.edges) <= set(fine.edges)


def _prefix(fine: Prefix, coarse: Prefix) -> bool:
    # Without a width the stars tell how long the value was.
    return coarse.length <= fine.length and (coarse.width is not None or fine.width is None)


def _area(fine: ZipArea, coarse: ZipArea) -> bool:
    return set(coarse.known) <= set(fine.known)


def _merge(fine: MergeRare, coarse: MergeRare) -> bool:
    return fine.beginning == coarse.beginning and set(coarse.kept) <= set(fine.kept)


def _date(fine: DatePart, coarse: DatePart) -> bool:
    if fine.earliest is not None:
        # What is earlier is more than a decade.
        return coarse.earliest is not None and coarse.earliest >= fine.earliest
    if "week" in (fine.part, coarse.part):
        return fine.part in ("day", coarse.part)
    return _PERIODS.index(fine.part) <= _PERIODS.index(coarse.part)


def _level(fine: Level, coarse: Level) -> bool:
    return fine.fingerprint == coarse.fingerprint and fine.level <= coarse.level


def _ends(fine: TopBottom, coarse: TopBottom) -> bool:
    def end(value: float | None, if_none: float) -> float:
        return if_none if value is None else value

    return end(coarse.top, math.inf) <= end(fine.top, math.inf) and end(
        coarse.bottom, -math.inf
    ) >= end(fine.bottom, -math.inf)


_OF_ONE_KIND: dict[type, Callable[[Any, Any], bool]] = {
    Bins: _bins,
    Prefix: _prefix,
    ZipArea: _area,
    MergeRare: _merge,
    DatePart: _date,
    Level: _level,
    TopBottom: _ends,
}
