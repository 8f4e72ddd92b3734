"""The kinds of recoding for any values and for numbers, and how every kind is read back."""

from __future__ import annotations

import hashlib
import json
from dataclasses import field
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from anonrisk.core.arguments import finite, instance_of, list_of, true_or_false
from anonrisk.core.frozen import dataclass
from anonrisk.errors import ArgumentError, HierarchyError, PlanError
from anonrisk.measures.recode import labels as text
from anonrisk.measures.recode.dates import DatePart
from anonrisk.measures.recode.recoding import Recoding, numbered
from anonrisk.measures.recode.texts import KeepCommon, MergeRare, Prefix, ZipArea

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.measures.counts.tally import Domain


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
