"""What a plan loses, by the word that a caller writes.

A loss is of cells, by column, or of classes; either way a suppressed record loses 1. `entropy` is
the bits that a cell loses, as a share of those that a cell of its column has (T11); `range` the
part of a column's range, or of the leaves of its hierarchy, that a cell covers (T9);
`discernibility` how many others a record cannot be told from, the squares of class sizes; `target`
whether the classes of a target column stay predictable (T8); `private` what a cell leaves unknown
of a sensitive value. A function of the caller's own is a loss of classes.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

from anonrisk.core import radix
from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import runs_of
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.tally import DATES
from anonrisk.measures.recode import Keep, Level, Star, TopBottom
from anonrisk.measures.recode.recoding import extent
from anonrisk.planning.regions.part import grouped, in_order, runs

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.types import Booleans, Floats, Integers, LossFunction
    from anonrisk.measures.counts.tally import Domain, Tally
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.regions.part import PartLoss, RegionPart

# What rounding may leave of nothing, where losses are between 0 and 1.
_NOTHING = 1e-12


@dataclass(frozen=True)
class GroupedColumn:
    """A column with one recoding.

    Attributes
    ----------
    groups : array (n_values + 1,)
        The group of each value of the column, missing last.
    n_groups : int
        How many groups there are; missing values may have the last, or be in one of the others.
    labels : list of str or None
        The labels of the groups but that of missing values; None where values stay.
    margin : array (n_values + 1,)
        How many records have each value, missing last.
    """

    name: Name
    domain: Domain
    recoding: Recoding
    groups: Integers
    n_groups: int
    labels: Sequence[str] | None
    margin: Integers

    @classmethod
    def of(cls, recoding: Recoding, name: Name, domain: Domain, margin: Integers) -> GroupedColumn:
        """Apply a recoding; a missing value has a group of its own, or the only one."""
        known, labels = recoding.groups(domain)
        n_known = int(known.max(initial=-1)) + 1 if labels is None else len(labels)
        alone = recoding.for_missing is None
        groups = np.append(known, n_known if alone else 0)
        return cls(name, domain, recoding, groups, n_known + alone, labels, margin)

    def mean(self, losses: Floats) -> float:
        """Return what a cell loses on average where nobody is suppressed, from that of groups."""
        return float(tidy(losses[self.groups] @ self.margin / int(self.margin.sum())))


@dataclass(frozen=True)
class GroupedClasses:
    """The classes of a table with one recoding a column.

    Attributes
    ----------
    codes : list of array (n_classes,)
        The group that each class has of each column.
    groups : dict of column to array (n_values + 1,)
        The group of each value of a column, missing last.
    n_groups : list of int
        How many groups each column has.
    sizes : array (n_classes,)
        The records of each class.
    kept : array (n_classes,)
        Which classes are published.
    """

    codes: Sequence[Integers]
    groups: Mapping[Name, Integers]
    n_groups: Sequence[int]
    sizes: Integers
    kept: Booleans

    @property
    def columns(self) -> Qid:
        """The columns."""
        return tuple(self.groups)


class Span(Protocol):
    """What cells of a scale lose that is cut at edges."""

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return what a cell loses if these positions, and all between, are put together."""


@dataclass(frozen=True)
class Scale:
    """Positions between edges of a column of numbers or days, missing after the last.

    Attributes
    ----------
    least, largest : array (n_positions − 1,)
        The least and the largest number of the column that each position but the last stands for.
    records : array (n_positions,)
        How many records each position has.
    margin : array (n_values + 1,)
        How many records each value of the column has, missing last.
    """

    least: Floats
    largest: Floats
    records: Integers
    margin: Integers

    def counted(self, place: Integers, margin: Integers) -> Scale:
        """Count the records of each position anew, from those of each value."""
        sums = np.bincount(place, margin, len(self.least) + 1)
        return replace(self, records=np.rint(sums).astype(np.int64), margin=margin)


class CellLoss(ABC):
    """A loss of cells: a plan loses the mean over columns, weighted if asked."""

    word: ClassVar[str]

    @abstractmethod
    def of_groups(self, column: GroupedColumn) -> Floats:
        """Return what a cell of each group loses, 1 at most; cells of finer groups lose no more."""

    def along(self, scale: Scale) -> Span:
        """Prepare what cells of a scale lose; a loss without it is for whole columns only."""
        raise NotImplementedError

    def by_column(self, columns: Sequence[GroupedColumn], classes: GroupedClasses) -> Floats:
        """Return what a cell of each column loses on average, those of suppressed records 1."""
        kept = classes.sizes[classes.kept]
        n = int(classes.sizes.sum())
        lost = [
            self.of_groups(column)[codes[classes.kept]] @ kept
            for column, codes in zip(columns, classes.codes, strict=True)
        ]
        return tidy((np.array(lost) + (n - int(kept.sum()))) / n)


class ClassLoss(ABC):
    """A loss of classes, whatever the columns: weights have no use for it."""

    word: ClassVar[str]
    # Whether it never falls where classes are put together: then a node bounds all coarser ones.
    monotone: ClassVar[bool] = True

    @abstractmethod
    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Return what a record of each class loses, from 0 to 1."""

    @property
    def about(self) -> Qid:
        """The columns beside the quasi-identifiers that it looks at."""
        return ()

    def of_parts(self, values: Sequence[Integers]) -> PartLoss:
        """Prepare what regions lose, with the values of `about`; else it is for whole columns."""
        raise NotImplementedError

    def mean(self, classes: Integers, tally: Tally) -> float:
        """Return what a record loses on average where combinations are in classes of any form."""
        raise NotImplementedError

    @abstractmethod
    def least_added(self, largest: int, n: int) -> float:
        """Bound what it adds at least to suppress one of so many, or fewer, in a class, of n."""


Loss: TypeAlias = CellLoss | ClassLoss


def tidy(losses: Floats | float) -> Floats:
    """Take what rounding leaves of nothing for nothing."""
    return np.where(np.abs(losses) < _NOTHING, 0.0, losses)


def entropy_of(counts: Integers) -> float:
    """Return the entropy of counts, in bits."""
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return float(-(shares * np.log2(shares)).sum()) + 0.0


@dataclass(frozen=True)
class DiscernibilityLoss(ClassLoss):
    """A record in a class of s of n loses s/n: (Σ s² + n·suppressed) / n² in all.

    Two classes that become one have (a + b)² ≥ a² + b².
    """

    word: ClassVar[str] = "discernibility"

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Return the share of the table that each class is."""
        return np.asarray(classes.sizes / classes.sizes.sum())

    def of_parts(self, values: Sequence[Integers]) -> SquaredSizes:  # noqa: ARG002
        """Look at nothing but sizes."""
        return SquaredSizes()

    def mean(self, classes: Integers, tally: Tally) -> float:
        """Square the sizes of classes."""
        return float((np.bincount(classes, tally.counts) ** 2).sum()) / tally.n_records**2

    def least_added(self, largest: int, n: int) -> float:
        """Take the largest class: its records have least to lose."""
        return max(n - largest, 0) / n


class SquaredSizes:
    """Pairs of records that nobody can tell apart: n² of a part, so that every cut gains."""

    def lost(self, parts: Integers, counts: Integers, rows: Integers) -> Floats:  # noqa: ARG002
        """Square the sizes of parts."""
        return np.asarray(np.bincount(parts, counts) ** 2, dtype=np.float64)

    def sides(
        self,
        part: RegionPart,  # noqa: ARG002
        column: int,  # noqa: ARG002
        below: Integers,
        above: Integers,
    ) -> tuple[Floats, Floats]:
        """Square the sizes of both sides."""
        return below.astype(np.float64) ** 2, above.astype(np.float64) ** 2


@dataclass(frozen=True)
class EntropyLoss(CellLoss):
    """A cell of the group B tells log₂(n/n(B)) bits, and loses what that lacks of the mean H(X).

    1 − log₂(n/n(B)) / H(X): nothing on average where values stay, 1 where all are together, and
    less than nothing in a rare group, which tells more than a cell does on average. Over a table it
    adds up to −log₂ Pr(x | B) by record, since Σ log₂ n(x) is the same for every plan. A column of
    one value loses nothing.
    """

    word: ClassVar[str] = "entropy"

    def of_groups(self, column: GroupedColumn) -> Floats:
        """Count the records of each group."""
        held = np.bincount(column.groups, column.margin, column.n_groups)
        return _losses(held, int(column.margin.sum()), entropy_of(column.margin))

    def along(self, scale: Scale) -> EntropySpan:
        """Count the records up to each position."""
        up_to = np.concatenate(([0], np.cumsum(scale.records)))
        several = bool(np.count_nonzero(scale.margin[:-1]) > 1)
        return EntropySpan(up_to, entropy_of(scale.margin), several)


@dataclass(frozen=True)
class EntropySpan:
    """Records up to each position of a scale, and the bits of its column."""

    up_to: Integers
    bits: float
    # Whether the column has more than one number, so that all of them together are a star.
    several: bool

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Count the records between; a star, of all numbers or with missing ones, tells nothing."""
        missing = len(self.up_to) - 2
        n = int(self.up_to[-1])
        star = (first < last) & (last == missing)
        if self.several:
            star |= (first == 0) & (last == missing - 1)
        held = np.where(star, n, self.up_to[last + 1] - self.up_to[first])
        return _losses(held, n, self.bits)


def _losses(held: Floats | Integers, n: int, bits: float) -> Floats:
    if bits == 0:
        return np.zeros(len(held))
    return np.asarray(1 - np.log2(n / np.maximum(held, 1)) / bits)


@dataclass(frozen=True)
class FunctionLoss(ClassLoss):
    """What a published record loses, by a function of class sizes and of level counts.

    Nothing is known of it but that it is between 0 and 1.
    """

    function: LossFunction
    word: ClassVar[str] = "function"
    monotone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Reject a function that cannot be called with sizes and levels."""
        try:
            signature(self.function).bind(None, None)
        except TypeError:
            raise ArgumentError(
                "the function given as loss must take two arguments: the sizes of classes, and the "
                "counts of each column's values"
            ) from None
        except ValueError:
            # Some functions written in C have no signature.
            return

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Ask the function about what is published."""
        sizes = classes.sizes[classes.kept]
        levels = {
            name: np.bincount(codes[classes.kept], sizes).astype(np.int64)
            for name, codes in zip(classes.columns, classes.codes, strict=True)
        }
        return np.full(len(classes.sizes), self.asked(sizes, levels))

    def asked(self, sizes: Integers, levels: dict[Name, Integers]) -> float:
        """Ask about published classes; with none of them there is nothing to ask."""
        if not len(sizes):
            return 1.0
        summary = self.function(sizes, {name: x[x > 0] for name, x in levels.items()})
        try:
            lost = float(summary)
        except (TypeError, ValueError):
            lost = math.nan
        if not 0 <= lost <= 1:
            raise ArgumentError(
                "the function given as loss must return a number from 0 (nothing is lost) to 1"
            )
        return lost

    def least_added(self, largest: int, n: int) -> float:  # noqa: ARG002
        """Take all: of what published records lose nothing is known, and nothing was counted."""
        return 1.0


@dataclass(frozen=True)
class PrivateLoss(CellLoss):
    """A record of the group B loses −log Pr(y | B), on average H(Y | B).

    Mahiou & Nagle 4.5 (Goldberger & Tassa 2010); here as a share of the bits of as many equally
    likely values, so that a suppressed record, which tells nothing, loses 1. The print calls this
    loss Π_MI, the name of another one (4.4), which does not look at the sensitive value at all.

    Attributes
    ----------
    pairs : dict of column to Tally
        Of each column and the sensitive one.
    """

    pairs: Mapping[Name, Tally]
    word: ClassVar[str] = "private"

    def of_groups(self, column: GroupedColumn) -> Floats:
        """Count the sensitive values of each group."""
        pairs = self.pairs[column.name]
        (other,) = pairs.domains.keys() - {column.name}
        n_values = len(pairs.domains[other]) + 1
        keys = column.groups[pairs.codes[column.name]] * n_values + pairs.codes[other]
        _, first, number = np.unique(keys, return_index=True, return_inverse=True)
        both = np.bincount(number, pairs.counts)
        group = (keys // n_values)[first]
        of_group = np.bincount(group, both, column.n_groups)
        bits = np.bincount(group, both * np.log2(of_group[group] / both), column.n_groups)
        present = len(np.unique(pairs.codes[other]))
        return np.asarray(bits / np.maximum(of_group, 1) / np.log2(max(present, 2)))


@dataclass(frozen=True)
class RangeLoss(CellLoss):
    """(U − L) / range of an interval, (leaves − 1) / (all leaves − 1) of a node (Iyengar 2002)."""

    word: ClassVar[str] = "range"

    def of_groups(self, column: GroupedColumn) -> Floats:
        """Read what labels cover; what is missing stays itself."""
        known = column.groups[:-1]
        n_known = column.n_groups - (column.recoding.for_missing is None)
        losses = _known(column.recoding, column.domain, known, n_known, column.labels)
        return np.append(losses, np.zeros(column.n_groups - n_known))

    def along(self, scale: Scale) -> RangeSpan:
        """Remember what each position covers."""
        return RangeSpan(scale.least, scale.largest)


@dataclass(frozen=True)
class RangeSpan:
    """The least and the largest number that each position of a scale stands for."""

    least: Floats
    largest: Floats

    def losses(self, first: Integers, last: Integers) -> Floats:
        """Return the part of the range between; missing values stay alone, or all is lost."""
        missing = len(self.least)
        known = np.minimum(last, missing - 1)
        spread = self.largest[-1] - self.least[0]
        covered = np.maximum(self.largest[known] - self.least[np.minimum(first, known)], 0.0)
        shares = covered / spread if spread > 0 else np.zeros(len(first))
        return np.where(last < missing, shares, np.where(first == last, 0.0, 1.0))


def _known(
    recoding: Recoding,
    domain: Domain,
    groups: Integers,
    n_groups: int,
    labels: Sequence[str] | None,
) -> Floats:
    """Return what a cell of each group loses, between 0 and 1."""
    if isinstance(recoding, Keep):
        return np.zeros(n_groups)
    if isinstance(recoding, Star):
        return np.ones(n_groups)
    if isinstance(recoding, Level) and recoding.hierarchy is not None:
        return _node_losses(recoding.hierarchy, recoding.mapping(), labels or [])
    if isinstance(recoding, TopBottom):
        return _spread(domain, groups, n_groups)
    if domain.is_scale and labels is not None:
        return np.array([interval_loss(label, domain) for label in labels])
    return _shared(groups, n_groups)


def interval_loss(label: str, domain: Domain) -> float:
    """Return the part of the range of a column that a label covers: (U − L) / range."""
    read = extent(label, dates=domain.kind in DATES, whole=domain.kind == "whole")
    if read is None or not len(domain):
        return 1.0
    low, high = replace(domain, values=domain.values[[0, -1]]).positions().tolist()
    covered = min(read[1], high) - max(read[0], low)
    return max(covered, 0.0) / (high - low) if high > low else 0.0


def _node_losses(hierarchy: Hierarchy, mapping: dict[str, str], labels: Sequence[str]) -> Floats:
    """Return the part of the leaves that hang below each label: (leaves − 1) / (all leaves − 1)."""
    below: dict[str, int] = {}
    for label in mapping.values():
        below[label] = below.get(label, 0) + 1
    scale = max(len(hierarchy.leaves) - 1, 1)
    return np.array([(below[label] - 1) / scale for label in labels])


def _shared(groups: Integers, n_groups: int) -> Floats:
    """Take the values that occur for the leaves."""
    members = np.bincount(groups, minlength=n_groups)
    return np.maximum(members - 1, 0) / max(len(groups) - 1, 1)


def _spread(domain: Domain, groups: Integers, n_groups: int) -> Floats:
    places = domain.positions()
    low, high = np.full(n_groups, np.inf), np.full(n_groups, -np.inf)
    np.minimum.at(low, groups, places)
    np.maximum.at(high, groups, places)
    spread = float(places[-1] - places[0]) if len(places) else 0.0
    return np.asarray((high - low) / spread) if spread > 0 else np.zeros(n_groups)


@dataclass(frozen=True)
class TargetLoss(ClassLoss):
    """A record loses 1 where most of its class have another value of the target.

    Iyengar's classification metric. The commonest value of two classes that become one is no
    commoner than those of both together.

    Attributes
    ----------
    tally : Tally
        Of the columns and the target.
    """

    tally: Tally
    target: Name
    word: ClassVar[str] = "target"

    def of_classes(self, classes: GroupedClasses) -> Floats:
        """Count the commonest value of each class."""
        tally = self.tally
        digits = [
            (group[tally.codes[name]], size)
            for (name, group), size in zip(classes.groups.items(), classes.n_groups, strict=True)
        ]
        return np.asarray(1 - self._commonest(*radix.keys_of(digits), tally) / classes.sizes)

    def _commonest(self, keys: Integers, bound: int, tally: Tally) -> Integers:
        """Count the commonest value of the target in each class, in order of keys."""
        both, _ = radix.keys_of([(keys, bound), (tally.codes[self.target], self._n_values)])
        order = np.argsort(both, kind="stable")
        starts = runs_of(both[order])
        counts = np.add.reduceat(tally.counts[order], starts)
        return np.maximum.reduceat(counts, runs_of(keys[order][starts]))

    @property
    def about(self) -> Qid:
        """The target."""
        return (self.target,)

    def of_parts(self, values: Sequence[Integers]) -> MixedTargets:
        """Look at the target's values."""
        return MixedTargets(values[0], self._n_values)

    def mean(self, classes: Integers, tally: Tally) -> float:
        """Count the records that have not the commonest value of their class."""
        right = self._commonest(classes, int(classes.max(initial=0)) + 1, tally).sum()
        return 1 - int(right) / tally.n_records

    @property
    def _n_values(self) -> int:
        return len(self.tally.domains[self.target]) + 1

    def least_added(self, largest: int, n: int) -> float:  # noqa: ARG002
        """Take a class in which all values are equally common: that many are right at least."""
        return 1 / max(min(self._n_values, largest), 1)


@dataclass(frozen=True)
class MixedTargets:
    """How mixed parts of regions are: n − Σ c²/n of n records, c of which have each value (Gini).

    So many are wrong where each is told the value of one of its part at random. Those that have not
    the commonest value are no guide for single cuts: often it is the same on both sides, and only
    what is cut next gains. As finer classes never lose more by T8, cuts that gain nothing are made
    too, those of most bits first, until k stops them. On Adult, 8 columns and k = 5, .146 are then
    wrong, where cuts by the commonest value leave .150.

    Attributes
    ----------
    values : array (n_combinations,)
        The value of the target that each combination has.
    n_values : int
        How many values there may be.
    """

    values: Integers
    n_values: int

    def lost(self, parts: Integers, counts: Integers, rows: Integers) -> Floats:
        """Count the values of each part."""
        part, _, times = runs(parts, self.values[rows], self.n_values, counts)
        starts = runs_of(part)
        sizes = np.add.reduceat(times, starts)
        return np.asarray(sizes - np.add.reduceat(times**2, starts) / sizes)

    def sides(
        self, part: RegionPart, column: int, below: Integers, above: Integers
    ) -> tuple[Floats, Floats]:
        """Add up what each position changes of the squares of counts, which are exact."""
        # (n_rows,) each but the last, the region of each pair of a region and a position.
        held = part.positions[column]
        order, number, source, _ = grouped(part.owners, held, int(held.max()) + 1)
        values = self.values[part.rows[order]]
        # One row per pair and value: how often a pair has it, and its region up to there and after.
        place, value, times = runs(number, values, self.n_values, part.counts[order])
        up_to, after = _running(source[place] * self.n_values + value, times)
        ends = np.append(runs_of(place)[1:], len(place)) - 1
        begins = runs_of(source)

        def along(change: Integers) -> Integers:
            sums = np.cumsum(change)
            result = sums[ends]
            return np.asarray(result - np.append(0, result)[begins][source])

        low = along(times * (2 * up_to - times))
        whole = low[np.append(begins[1:], len(source)) - 1][source]
        high = whole - along(times * (2 * after + times))
        return below - low / below, above - high / np.maximum(above, 1)


def _running(keys: Integers, times: Integers) -> tuple[Integers, Integers]:
    """Return how often each key occurs up to each place, and after it."""
    order = in_order(keys, int(keys.max()) + 1)
    starts, ordered = runs_of(keys[order]), times[order]
    totals = np.add.reduceat(ordered, starts)
    lengths = np.diff(starts, append=len(keys))
    up_to, after = np.empty_like(times), np.empty_like(times)
    up_to[order] = np.cumsum(ordered) - np.repeat(np.cumsum(totals) - totals, lengths)
    after[order] = np.repeat(totals, lengths) - up_to[order]
    return up_to, after


ENTROPY, RANGE = EntropyLoss(), RangeLoss()
# Losses that add up over columns, and need no other one.
OF_COLUMNS: dict[str, CellLoss] = {loss.word: loss for loss in (ENTROPY, RANGE)}
# What a region loses is known from its own records, or from the extent of its cells. What a cell
# tells of a sensitive value is not: it depends on who is in the region, and on the whole column.
BY_REGION = (*OF_COLUMNS, DiscernibilityLoss.word, TargetLoss.word)


def loss_of(asked: Any, tally: Tally, qid: Qid, about: Name | None = None) -> Loss:
    """Make the loss that a word, or a function, stands for.

    Parameters
    ----------
    asked : str or function
        A word of `anonrisk.core.types.Loss`, checked before.
    tally : Tally
        Of the columns, and of the one that the loss is about.
    about : name, optional
        The sensitive column of ``"private"``, the target of ``"target"``.
    """
    if callable(asked):
        return FunctionLoss(asked)
    if asked in OF_COLUMNS:
        return OF_COLUMNS[asked]
    if asked == DiscernibilityLoss.word:
        return DiscernibilityLoss()
    assert about is not None  # noqa: S101
    if len(np.unique(tally.codes[about])) == 1:
        role = "target" if asked == TargetLoss.word else "sensitive"
        raise ArgumentError(
            f"{role} column {about!r} has one value only: no recoding loses anything about it"
        )
    if asked == TargetLoss.word:
        return TargetLoss(tally.only((*qid, about)), about)
    return PrivateLoss({name: tally.only((name, about)) for name in qid})
