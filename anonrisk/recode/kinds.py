"""The kinds of recoding: each turns known values into groups with names, and is plain data."""

from __future__ import annotations

import hashlib
import json
import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, fields
from itertools import pairwise
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonrisk.core.arguments import finite
from anonrisk.errors import ArgumentError, HierarchyError, PlanError
from anonrisk.recode import labels as text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.counts.domain import Domain

PARTS = ("month", "quarter", "half", "year", "decade")
# ZIP codes in full, and the areas of their first three digits.
ZIP, AREA = re.compile("[0-9]{5}(-[0-9]{4})?"), re.compile("[0-9]{3}")


class Recoding(ABC):
    """How the values of one column are put together."""

    name: ClassVar[str]
    # Kinds of values that it takes; None for all.
    takes: ClassVar[tuple[str, ...] | None] = None

    @abstractmethod
    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give each known value the number of its group, and the groups their labels.

        Labels are None where values stay themselves.
        """

    @property
    def for_missing(self) -> str | None:
        """What becomes of a missing value: a label, or None where it stays missing."""
        return None

    def knows(self, domain: Domain) -> Booleans:
        """Tell of each value whether there is a group for it."""
        return np.ones(len(domain), dtype=bool)

    @property
    def for_unseen(self) -> str:
        """What a value becomes that there is no group for."""
        return text.MARKER

    def to_dict(self) -> dict[str, Any]:
        """Give plain values that serialise as JSON, none of them a cell; None is left out."""
        stored = {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]
        plain = {k: list(v) if isinstance(v, tuple) else v for k, v in stored.items()}
        return {"recoding": self.name, **{k: v for k, v in plain.items() if v is not None}}

    def __str__(self) -> str:
        """Say in a few words what is done."""
        raise NotImplementedError


@dataclass(frozen=True)
class Keep(Recoding):
    """Leave the column as it is."""

    name: ClassVar[str] = "keep"

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give each value a group of its own."""
        return np.arange(len(domain)), None

    def __str__(self) -> str:
        """Say what is done."""
        return "as it is"


@dataclass(frozen=True)
class Star(Recoding):
    """Put all values together, missing ones as well."""

    label: str = text.MARKER
    name: ClassVar[str] = "star"

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give all values one group."""
        return np.zeros(len(domain), dtype=np.int64), [self.label]

    @property
    def for_missing(self) -> str | None:
        """Put missing values with the others."""
        return self.label

    def __str__(self) -> str:
        """Say what is done."""
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
        """Refuse edges that are not in order."""
        ascending = all(a < b for a, b in pairwise(self.edges))
        if not self.edges or not ascending or not np.all(np.isfinite(self.edges)):
            raise ArgumentError("edges of bins must be finite numbers in ascending order")
        if self.whole and any(edge != int(edge) for edge in self.edges):
            raise ArgumentError("edges of bins of whole numbers must be whole")

    @property
    def labels(self) -> list[str]:
        """Name the bins."""
        return text.of_bins(self.edges, whole=self.whole)

    def places(self, values: NDArray[Any]) -> Integers:
        """Find the bin of each number."""
        return np.searchsorted(np.asarray(self.edges, dtype=np.float64), values, side="right")

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give each number its bin."""
        return self.places(domain.values.astype(np.float64)), self.labels

    def __str__(self) -> str:
        """Say what is done."""
        return f"{len(self.edges) + 1} bins: {text.shortened(self.labels)}"


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
        """Refuse lengths that make no prefix."""
        if self.length < 1 or (self.width is not None and self.width < self.length):
            raise ArgumentError("a prefix has at least one character, and no more than its width")

    def label(self, value: str) -> str:
        """Write the label of one value."""
        head = value[: self.length]
        return head + text.MARKER * max((self.width or len(value)) - len(head), 0)

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give values with the same label one group."""
        return numbered([self.label(value) for value in domain.texts()])

    def __str__(self) -> str:
        """Say what is done."""
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
        """Refuse areas that are not three digits."""
        if not all(AREA.fullmatch(str(area)) for area in self.known):
            raise ArgumentError("areas of ZIP codes are texts of three digits")

    def label(self, value: str) -> str:
        """Write the label of one value."""
        head = value[: self.digits]
        return head if ZIP.fullmatch(value) and head in self.known else self.other

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give values with the same label one group."""
        return numbered([self.label(value) for value in domain.texts()])

    def __str__(self) -> str:
        """Say what is done."""
        return f"first 3 digits, small areas and other texts {self.other!r}"


@dataclass(frozen=True)
class DatePart(Recoding):
    """Put dates into months, quarters, half-years, years or decades, in Greenwich.

    With `earliest` all earlier years are put together.
    """

    part: str
    earliest: int | None = None
    name: ClassVar[str] = "date"
    takes: ClassVar[tuple[str, ...] | None] = ("date", "timestamp")

    def __post_init__(self) -> None:
        """Refuse parts that are none."""
        if self.part not in PARTS:
            raise ArgumentError(f"part={self.part!r} is not one of {', '.join(map(repr, PARTS))}")
        if self.earliest is not None and self.part != "year":
            raise ArgumentError("earliest= is a year, and goes with part='year'")

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give the dates of one period one group."""
        days = domain.positions().astype(np.int64).astype("datetime64[D]")
        months = days.astype("datetime64[M]").astype(np.int64)
        years = months // 12 + 1970
        of_year = {"month": 1, "quarter": 3, "half": 6}.get(self.part)
        if of_year is not None:
            periods, number = np.unique(months // of_year, return_inverse=True)
            per_year = 12 // of_year
            names = [
                text.of_period(int(p // per_year) + 1970, self.part, int(p % per_year) + 1)
                for p in periods
            ]
            return number.astype(np.int64), names
        if self.part == "decade":
            years = years // 10 * 10
        elif self.earliest is not None:
            years = np.maximum(years, self.earliest - 1)
        periods, number = np.unique(years, return_inverse=True)
        names = [
            text.of_earlier(self.earliest)
            if self.earliest is not None and year < self.earliest
            else text.of_period(int(year), self.part, 0)
            for year in periods
        ]
        return number.astype(np.int64), names

    def __str__(self) -> str:
        """Say what is done."""
        early = "" if self.earliest is None else f", {text.of_earlier(self.earliest)} together"
        return {"half": "half-year"}.get(self.part, self.part) + early


@dataclass(frozen=True)
class TopBottom(Recoding):
    """Put numbers above a top, or below a bottom, to that number; the others stay."""

    bottom: float | None = None
    top: float | None = None
    name: ClassVar[str] = "top_bottom"
    takes: ClassVar[tuple[str, ...] | None] = ("whole", "number")

    def __post_init__(self) -> None:
        """Refuse ends that are none, or cross."""
        if self.bottom is None and self.top is None:
            raise ArgumentError("top and bottom coding needs top=, bottom= or both")
        for end in ("bottom", "top"):
            given = getattr(self, end)
            if given is not None:
                number = finite(given, end)
                # As plain numbers they can be stored.
                object.__setattr__(self, end, int(given) if isinstance(given, Integral) else number)
        if self.bottom is not None and self.top is not None and self.bottom >= self.top:
            raise ArgumentError("bottom must be below top")

    def clipped(self, values: NDArray[Any]) -> NDArray[Any]:
        """Put values beyond an end to that end."""
        return np.asarray(np.clip(values, self.bottom, self.top))

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give the values beyond an end one group."""
        _, number = np.unique(self.clipped(domain.values), return_inverse=True)
        return number.astype(np.int64), None

    def to_dict(self) -> dict[str, Any]:
        """Give the ends."""
        return {"recoding": self.name, "bottom": self.bottom, "top": self.top}

    def __str__(self) -> str:
        """Say what is done."""
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
        if self.hierarchy is None:
            raise PlanError(
                "a stored plan does not hold the values of its hierarchies; give them when you "
                "read it, as in Plan.from_json(text, hierarchies={column: …})"
            )
        return {leaf: self.hierarchy.group(leaf, self.level)[-1] for leaf in self.hierarchy.leaves}

    def knows(self, domain: Domain) -> Booleans:
        """Tell of each value whether it is a leaf of the hierarchy."""
        mapping = self.mapping()
        return np.array([value in mapping for value in domain.texts()], dtype=bool)

    @property
    def for_unseen(self) -> str:
        """The root of the hierarchy."""
        return text.MARKER if self.hierarchy is None else _root(self.hierarchy)

    def groups(self, domain: Domain) -> tuple[Integers, list[str] | None]:
        """Give values below one node one group."""
        mapping = self.mapping()
        unknown = int((~self.knows(domain)).sum())
        if unknown:
            raise HierarchyError(f"the hierarchy misses {unknown} of the column's values")
        return numbered([mapping[value] for value in domain.texts()])

    def to_dict(self) -> dict[str, Any]:
        """Give the level, its nodes and the fingerprint; no leaves."""
        stored = {"recoding": self.name, "level": self.level, "hierarchy": self.fingerprint}
        if self.hierarchy is not None:
            leaves = self.hierarchy.leaves
            nodes = {self.hierarchy.group(leaf, self.level) for leaf in leaves}
            inner = (node[-1] for node in nodes if self.hierarchy.heights[node])
            stored["nodes"] = sorted(name for name in inner if name not in leaves)
        return stored

    def __str__(self) -> str:
        """Say what is done."""
        nodes = self.to_dict().get("nodes", [])
        return f"level {self.level}: {text.shortened(nodes)}" if nodes else f"level {self.level}"


def _root(hierarchy: Hierarchy) -> str:
    return next(iter(hierarchy.leaves.values()))[0]


def fingerprint_of(hierarchy: Hierarchy) -> str:
    """Tell one hierarchy from another without naming its values."""
    paths = json.dumps(sorted(hierarchy.leaves.values()))
    return hashlib.sha256(paths.encode()).hexdigest()[:16]


def numbered(names: list[str]) -> tuple[Integers, list[str] | None]:
    """Number names in order of their text."""
    different = sorted(set(names))
    place = {name: i for i, name in enumerate(different)}
    return np.array([place[name] for name in names], dtype=np.int64), different


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
    anonrisk.recode.Bins : one of the kinds

    Examples
    --------
    >>> from anonrisk.recode import Bins, from_dict
    >>> from_dict(Bins((30, 40)).to_dict()) == Bins((30, 40))
    True
    """
    given = dict(stored)
    try:
        name = given.pop("recoding")
        if name == "level":
            if hierarchy is not None and fingerprint_of(hierarchy) != given["hierarchy"]:
                raise PlanError("the hierarchy is not the one that the plan was made with")
            return Level(int(given["level"]), str(given["hierarchy"]), hierarchy)
        for key in ("edges", "known"):
            if key in given:
                given[key] = tuple(given[key])
        made: Recoding = _SIMPLE[name](**given)
    except (KeyError, TypeError):
        raise PlanError("this is not a stored recoding") from None
    return made


_SIMPLE: dict[str, Any] = {
    kind.name: kind for kind in (Keep, Star, Bins, Prefix, ZipArea, DatePart, TopBottom)
}
