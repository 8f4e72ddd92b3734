"""The search for the minimal sets that single out more than a share, and what it returns.

Write s(S) for the singletons of a set S of columns, D(S) for its classes, n for the records (with a
unit: the persons). Nothing is left out that is not proven to be hopeless or not minimal:

1. s(S) ≤ s(T) where S ⊆ T: whoever is alone with the values of S is alone with those of T. So a
   superset of a found set is not minimal, and where s(T) does not exceed the share no subset of T
   does. T may be larger than any set that is asked for: all columns at once are looked at first.
2. A class of c records that another column, or set of columns, with at most d different values
   cuts up has at most b(c, d) singletons, where b(c, d) = c if c ≤ d, else d − 1: d pieces of
   c > d records cannot all be of one. Summed over the classes of a measured set A,
   s(A ∪ B) ≤ Σ b(c, D(B)).
3. With A empty, one class of n, this is (D − 1)/n: s(S) ≤ D(S) − 1 unless D(S) ≥ n. And
   D(A ∪ B) ≤ D(A)·D(B), so that this needs no count of S itself.

All three hold for persons: one who is alone in a class is alone in one of its pieces, and each
person who is alone needs a piece of their own.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import pictures, render
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import interruptible, stopped_after, tell, time_is_up
from anonrisk.core.render import count_of
from anonrisk.core.results import Document, plain
from anonrisk.measures.counts.counter import DECIDED, number_of_sets
from anonrisk.measures.probabilistic import least_domain, max_singleton_share

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.class_sizes import ClassCounts
    from anonrisk.measures.counts.counter import Counter, Positions

# Looking for a large set that singles out few pays only where it may save many counts: so many sets
# per column, chosen. The answer is the same with any number.
_WORTH_A_PROBE = 4
# How many sets are made between two looks at the clock.
_BETWEEN_LOOKS = 1_000


@dataclass(frozen=True)
class MinimalSet:
    """One minimal set, by the positions of its columns, with its classes."""

    positions: Positions
    sizes: ClassCounts


@dataclass(frozen=True)
class MinimalSets:
    """What a search has found, and how it went.

    Attributes
    ----------
    minimal_sets : tuple of MinimalSet
        The minimal sets.
    columns : tuple of ClassCounts
        The classes of each column by itself.
    together : ClassCounts
        The classes of all columns at once, however many they are.
    n_sets : int
        Number of sets up to the size asked for.
    n_counted : int
        Number of sets whose classes were counted.
    n_settled : int
        Number of sets that are decided: counted, or ruled out by a proof.
    stopped : bool
        Whether Ctrl-C ended the search.
    """

    minimal_sets: tuple[MinimalSet, ...]
    columns: tuple[ClassCounts, ...]
    together: ClassCounts
    n_sets: int
    n_counted: int
    n_settled: int
    stopped: bool = False


def most_singletons(sizes: ClassCounts, n_values: int) -> int:
    """Bound the singletons after a cut by something with so many values (rule 2).

    Examples
    --------
    >>> from anonrisk import ClassSizes
    >>> most_singletons(ClassSizes([2, 5], [10, 3]), 3)
    26
    """
    pieces = np.where(sizes.sizes <= n_values, sizes.sizes, n_values - 1)
    return int((pieces * sizes.classes).sum())


def search(
    counter: Counter,
    alpha: float,
    max_size: int,
) -> MinimalSets:
    """Find the minimal sets of at most `max_size` columns that single out more than `alpha`."""
    return _Search(counter, alpha, max_size).run()


def nearest_set(counter: Counter, outcome: MinimalSets, max_size: int) -> MinimalSet:
    """Return a set that singles out many, where none singles out enough.

    It begins with the column that singles out most, and takes the one that adds most, and so on: a
    few counts for each column of the set. Another set may single out more, up to the share.
    """
    n_columns = len(outcome.columns)
    if n_columns <= max_size:
        return MinimalSet(tuple(range(n_columns)), outcome.together)

    def best(sets: Sequence[Positions], counted: Iterable[ClassCounts]) -> MinimalSet:
        pairs = (
            MinimalSet(positions, sizes) for positions, sizes in zip(sets, counted, strict=True)
        )
        return max(pairs, key=lambda item: (item.sizes.records_at_most(1), item.sizes.n_classes))

    nearest = best([(i,) for i in range(n_columns)], outcome.columns)
    for _ in range(1, max_size):
        if time_is_up(DECIDED):
            break
        others = [i for i in range(n_columns) if i not in nearest.positions]
        wider = [tuple(sorted((*nearest.positions, i))) for i in others]
        wider_best = best(wider, counter.count(wider))
        if wider_best.sizes.n_classes == nearest.sizes.n_classes:
            break
        nearest = wider_best
    return nearest


@dataclass
class _Search:
    counter: Counter
    alpha: float
    max_size: int
    minimal_sets: list[MinimalSet] = field(default_factory=list)
    n_counted: int = 0
    n_settled: int = 0
    # Sets, as bits, proven not to exceed the share (rule 2), before they were counted.
    hopeless: set[int] = field(default_factory=set)
    # A large set that singles out few; none of its subsets exceeds the share (rule 1).
    quiet: int = 0
    # Bounds on the number of classes of the sets of the last level.
    classes: dict[int, int] = field(default_factory=dict)
    # Sets found, counted and decided, put down together: what Ctrl-C leaves.
    safe: tuple[int, int, int] = (0, 0, 0)

    def run(self) -> MinimalSets:
        n_columns = len(self.counter.columns)
        self.per_size = per_size = number_of_sets(n_columns, self.max_size)
        singles = [(i,) for i in range(n_columns)]
        everything = tuple(range(n_columns))
        first = [*singles, everything] if n_columns > 1 else singles
        self._settled(0)
        counted = list(self.counter.count(first))
        columns = counted[:n_columns]
        self.everything = counted[-1]
        self.n_records = columns[0].n_records
        self.values = [sizes.n_classes for sizes in columns]
        with interruptible() as interruption:
            self.n_counted = len(first)
            alive = self._level(zip(singles, columns, strict=True))
            # Rule 1 with all columns at once.
            if not self._exceeds(self.everything.records_at_most(1)):
                self._settled(sum(per_size) - n_columns)
            else:
                self._grow(alive)
        n_found, n_counted, n_settled = self.safe
        stopped = interruption.keep(n_settled, sum(per_size), DECIDED)
        result = tuple(self.minimal_sets[:n_found])
        about = (sum(per_size), n_counted, n_settled, stopped)
        return MinimalSets(result, tuple(columns), self.everything, *about)

    def _grow(self, alive: set[int]) -> None:
        """Decide the sets of two columns, of three, …, until all are or the time is over."""
        n_sets = sum(self.per_size)
        if not self.counter.batch and n_sets > _WORTH_A_PROBE * len(self.values):
            self._find_quiet()
        for size in range(2, len(self.per_size) + 1):
            alive = self._next(alive, size)
            if self._late():
                break
            # Whatever was not a candidate had a found subset.
            self._settled(sum(self.per_size[:size]) - self.n_settled)

    def _next(self, alive: set[int], size: int) -> set[int]:
        """Decide the sets of one size, from those of the size before that have no found subset."""
        last_level = size == self.max_size
        before, self.classes = self.classes, {}
        still: set[int] = set()
        waiting: list[Positions] = []
        # Counted one by one, sets go to the engine as they come, or at least often enough to stop.
        together = self.counter.batch or 1
        for number, positions in enumerate(self._candidates(alive)):
            if number % _BETWEEN_LOOKS == 0:
                self._settled(0)
                if self._late():
                    break
            mask = _mask(positions)
            n_classes = min(before[mask ^ (1 << i)] * self.values[i] for i in positions)
            if not last_level:
                self.classes[mask] = n_classes
            if self._ruled_out(mask, n_classes):
                still.add(mask)
                self._settled(1, quietly=True)
                continue
            if len(positions) == len(self.values):
                still |= self._level([(positions, self.everything)])
                continue
            waiting.append(positions)
            if len(waiting) == together:
                still |= self._level(self._counted(waiting))
                waiting = []
                if self._late():
                    break
        if waiting and not self._late():
            still |= self._level(self._counted(waiting))
        return still

    def _ruled_out(self, mask: int, n_classes: int) -> bool:
        """Return whether a set is proven not to exceed the share."""
        if mask in self.hopeless or mask & self.quiet == mask:
            return True
        # Rule 3.
        return n_classes < self.n_records and not self._exceeds(n_classes - 1)

    def _candidates(self, alive: set[int]) -> Iterator[Positions]:
        """Make the sets of one column more none of whose subsets is, or holds, a found one."""
        n_columns = len(self.values)
        for mask in sorted(alive, key=_positions):
            for i in range(mask.bit_length(), n_columns):
                wider = mask | (1 << i)
                positions = _positions(wider)
                if all(wider ^ (1 << j) in alive for j in positions):
                    yield positions

    def _counted(self, sets: Sequence[Positions]) -> Iterable[tuple[Positions, ClassCounts]]:
        for positions, sizes in zip(sets, self.counter.count(sets), strict=True):
            self.n_counted += 1
            yield positions, sizes

    def _level(self, counted: Iterable[tuple[Positions, ClassCounts]]) -> set[int]:
        """Sort counted sets into found ones and ones that may grow; give the latter."""
        alive = set()
        for positions, sizes in counted:
            if self._exceeds(sizes.records_at_most(1)):
                self.minimal_sets.append(MinimalSet(positions, sizes))
            else:
                mask = _mask(positions)
                alive.add(mask)
                self.classes[mask] = sizes.n_classes
                if len(positions) < self.max_size:
                    self._foresee(mask, sizes)
            self._settled(1)
        return alive

    def _foresee(self, mask: int, sizes: ClassCounts) -> None:
        """Rule out extensions of a set by its classes (rule 2)."""
        for i, n_values in enumerate(self.values):
            bit = 1 << i
            if not mask & bit and not self._exceeds(most_singletons(sizes, n_values)):
                self.hopeless.add(mask | bit)

    def _find_quiet(self) -> None:
        """Grow a set from the columns with the fewest values while it singles out few."""
        mask, n_classes = 0, 1
        for i in sorted(range(len(self.values)), key=self.values.__getitem__):
            self._settled(0)
            if self._late():
                return
            wider, product = mask | (1 << i), n_classes * self.values[i]
            if not self._ruled_out(wider, product):
                (sizes,) = self.counter.count([_positions(wider)])
                self.n_counted += 1
                if self._exceeds(sizes.records_at_most(1)):
                    continue
                product = sizes.n_classes
            mask, n_classes = wider, product
        self.quiet = mask

    def _exceeds(self, n_singletons: int) -> bool:
        return n_singletons / self.n_records > self.alpha

    def _late(self) -> bool:
        return time_is_up(DECIDED)

    def _settled(self, number: int, *, quietly: bool = False) -> None:
        """Put down that so many sets more are decided, after those of them that were found."""
        self.n_settled += number
        self.safe = len(self.minimal_sets), self.n_counted, self.n_settled
        if quietly:
            return
        # Each size by itself: of all sets together the first ones are too small a part to be seen.
        decided = self.n_settled
        for size, n_sets in enumerate(self.per_size, start=1):
            if decided < n_sets or size == len(self.per_size):
                text = f"{len(self.minimal_sets):,} found"
                tell(f"{text}, sets of {count_of(size, 'column')} decided", decided, n_sets)
                return
            decided -= n_sets


def _mask(positions: Positions) -> int:
    return sum(1 << i for i in positions)


def _positions(mask: int) -> Positions:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


# Sets that are printed; there may be more than anybody reads.
_SHOWN = 50


@dataclass(frozen=True, repr=False)
class FoundQid(render.PrintedFields):
    """A minimal set of columns that singles out more than the share.

    Attributes
    ----------
    sizes : ClassCounts
        Its classes, measured.
    domain : int
        The product of the columns' numbers of different values in this table.
    population_size : int or None
        Size of the population, if it was given.
    """

    sizes: ClassCounts
    domain: int
    population_size: int | None = None

    @property
    def columns(self) -> Qid:
        """The columns."""
        return self.sizes.qid

    @property
    def singletons(self) -> int:
        """Number of records that are alone; with a unit, of persons."""
        return self.sizes.records_at_most(1)

    @property
    def share(self) -> float:
        """Share of the records that are alone."""
        return self.sizes.uniqueness

    @property
    def distinction(self) -> float:
        """Number of classes over number of records."""
        return self.sizes.n_classes / self.sizes.n_memberships

    @property
    def separation(self) -> float:
        """Share of the pairs of records that the columns tell apart; 1 where there is no pair."""
        n = self.sizes.n_memberships
        # As floats: the square of a large class may not fit in a whole number.
        sizes = self.sizes.sizes.astype(float)
        alike = float((sizes * (sizes - 1) * self.sizes.classes).sum())
        return 1 - alike / (n * (n - 1)) if n > 1 else 1.0

    @property
    def domain_share(self) -> float:
        """Largest share of singletons that so many possible values lead one to expect (Q1).

        It bounds an expectation, over all ways in which as many people as this table has could
        share `domain` values, and says what the number of values can do. It bounds neither the
        share that was measured, which may well be larger, nor that of a table with other values.
        """
        return max_singleton_share(self.sizes.n_records, self.domain)

    @property
    def population_domain_share(self) -> float | None:
        """The same for as many people as the population has; None if its size was not given."""
        if self.population_size is None:
            return None
        return max_singleton_share(self.population_size, self.domain)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; no cell of the table is among them."""
        return {
            "columns": plain(self.columns),
            "size": len(self.columns),
            "share": self.share,
            "singletons": self.singletons,
            "classes": self.sizes.n_classes,
            "distinction": self.distinction,
            "separation": self.separation,
            "domain": self.domain,
            "domain_share": self.domain_share,
            **(
                {}
                if self.population_size is None
                else {"population_domain_share": self.population_domain_share}
            ),
        }


@dataclass(frozen=True, repr=False)
class LookAlike(render.PrintedFields):
    """A column that looks like a direct identifier.

    Attributes
    ----------
    column : name
        The column.
    reason : str
        Why it looks like one.
    values : int
        Number of different values.
    share : float
        Share of the records that it singles out by itself.
    """

    column: Name
    reason: str
    values: int
    share: float


@dataclass(frozen=True)
class SearchCoverage:
    """How far the sets of one size were searched.

    Attributes
    ----------
    size : int
        Number of columns of a set.
    sets, decided : int
        How many there are, and how many of them were counted or ruled out by a proof.
    """

    size: int
    sets: int
    decided: int

    def __str__(self) -> str:
        """Return whether all, some or none of them are decided."""
        about = f"of {render.count_of(self.size, 'column')}"
        if self.decided == self.sets:
            return f"all sets {about}"
        return (
            f"{self.decided:,} of {self.sets:,} sets {about}" if self.decided else f"no set {about}"
        )


@dataclass(frozen=True, repr=False)
class SearchPlan(Document, render.PrintedTable):
    """What a search would take, at most; nothing was counted.

    Attributes
    ----------
    columns : tuple of names
        The columns that would be searched.
    sets : tuple of int
        Number of sets of one column, of two, ….
    passes : int
        Passes over the table at most: jobs on Spark; on pandas, the sets counted one by one.
    engine : str
        Whose passes these are.
    """

    columns: Qid
    sets: tuple[int, ...]
    passes: int
    engine: str
    _document = ("columns", "sets", "passes")

    @property
    def n_sets(self) -> int:
        """Number of sets in all."""
        return sum(self.sets)

    def _lines(self) -> list[str]:
        columns = render.count_of(len(self.columns), "column")
        passes = render.count_of(self.passes, "pass", "passes")
        return [
            (
                f"{render.count_of(self.n_sets, 'set')} of {columns}; "
                f"at most {passes} on {self.engine}, fewer where sets are ruled out by proof"
            )
        ]

    def _rows(self) -> list[list[str]]:
        return [[str(size), f"{number:,}"] for size, number in enumerate(self.sets, start=1)]

    def _header(self) -> tuple[str, ...]:
        return "columns", "sets"


@dataclass(frozen=True, repr=False)
class QidReport(Document, render.PrintedTable):
    """The minimal sets of columns that single out more than a share of the records.

    Attributes
    ----------
    sets : tuple of FoundQid
        The sets, the most worrying first: by share over number of columns, what a thing known
        about a person buys an attacker. Look-alikes by themselves are not among them.
    direct : tuple of LookAlike
        Columns that look like direct identifiers. They belong in no release, whatever their share.
    unsupported : dict of column to str
        Columns that could not be searched, and why.
    not_searched : tuple of names
        Columns left out because they are declared sensitive, direct or unit.
    alpha, max_size, population_size
        What was asked for.
    n_records, n_dropped : int
        Records (with a unit, persons) searched, and rows left out for a missing value.
    n_sets, n_counted, n_settled : int
        How many sets there are, were counted, and are decided.
    by_size : tuple of int
        How many sets there are of one column, of two, ….
    stopped : bool
        Whether Ctrl-C ended the search.
    together : FoundQid or None
        All columns that were searched, at once, however many they are.
    nearest : FoundQid or None
        Where no set was found: one of at most `max_size` columns that singles out many.
    """

    sets: tuple[FoundQid, ...]
    direct: tuple[LookAlike, ...]
    unsupported: Mapping[Name, str]
    not_searched: Qid
    alpha: float
    max_size: int
    population_size: int | None
    n_records: int
    n_dropped: int
    unit: Name | None
    n_sets: int
    n_counted: int
    n_settled: int
    by_size: tuple[int, ...] = ()
    stopped: bool = False
    together: FoundQid | None = None
    nearest: FoundQid | None = None
    _document = (
        *("alpha", "max_size", "population_size", "unit", "n_records", "n_dropped", "partial"),
        *("complete", "stopped", "n_sets", "n_counted", "n_settled", "coverage", "sets", "direct"),
        *("unsupported", "not_searched", "together", "nearest"),
    )

    @property
    def partial(self) -> bool:
        """Whether it ended before all was decided: sets that are not here may single out as many.

        The time ran out, or Ctrl-C stopped it: then columns that look like direct identifiers were
        not looked for.
        """
        return self.stopped or self.n_settled < self.n_sets

    @property
    def complete(self) -> bool:
        """Whether every set was decided; the opposite of `partial`."""
        return not self.partial

    @property
    def coverage(self) -> tuple[SearchCoverage, ...]:
        """How many sets of each size are decided; a size is begun when the one before is done."""
        left, covered = self.n_settled, []
        for size, n_sets in enumerate(self.by_size, start=1):
            decided = min(left, n_sets)
            covered.append(SearchCoverage(size, n_sets, decided))
            left -= decided
        return tuple(covered)

    @property
    def least_domain(self) -> float:
        """Q2: a domain of more values than this may single out `alpha` of such a table."""
        return least_domain(self.n_records, self.alpha)

    @property
    def population_least_domain(self) -> float | None:
        """Q2 for the population."""
        if self.population_size is None:
            return None
        return least_domain(self.population_size, self.alpha)

    def to_frame(self) -> pd.DataFrame:
        """Return the sets as a pandas table, one row for each."""
        import pandas as pd

        names = [
            *("columns", "size", "share", "singletons", "classes", "distinction", "separation"),
            *("domain", "domain_share"),
            *(["population_domain_share"] if self.population_size is not None else []),
        ]
        rows = [{**result.to_dict(), "columns": result.columns} for result in self.sets]
        return pd.DataFrame(rows, columns=names)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the share that each of the most worrying sets singles out, and a line at alpha.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        """
        result = self.sets[: pictures.ROWS]
        ax, colours = pictures.start(ax, len(result) + 1)
        labels = [pictures.folded(pictures.joined(each.columns)) for each in result]
        shares = [each.share for each in result]
        texts = [f"{render.percent(each.share)}, {each.singletons:,}" for each in result]
        labels += [] if result else ["no set"]
        shares += [] if result else [0.0]
        texts += [] if result else ["none singles out so many"]
        pictures.bars(ax, labels, shares, texts, colours=colours)
        pictures.rows(ax, labels, ". ".join(self._lines()[:: 1 if self.partial else 2]))
        name = f"asked for: more than {render.percent(self.alpha)}"
        ax.axvline(self.alpha, linestyle="--", color=colours.bad, label=name)
        ax.set_xlabel("share that is alone with these columns")
        first = pictures.left_out(len(self.sets), "sets") or "ordered"
        pictures.noted(ax, f"{first} by share over number of columns")
        if self.direct:
            alike = pictures.joined([each.column for each in self.direct])
            pictures.noted(ax, f"not drawn, for looking like direct identifiers: {alike}")
        pictures.explained(ax)
        return ax

    def _lines(self) -> list[str]:
        who = "record" if self.unit is None else "person"
        people = render.count_of(self.n_records, who)
        sets = render.count_of(len(self.sets), "minimal set")
        upto = render.count_of(self.max_size, "column")
        text = "s" if len(self.sets) == 1 else ""
        share = render.percent(self.alpha)
        counts = render.count_of(self.n_counted, "count")
        lines = [
            f"{sets} of at most {upto} single{text} out more than {share} of {people}",
            f"{self.n_sets:,} sets decided by {counts}, the others by proof",
        ]
        if self.partial:
            left = f"{self.n_sets - self.n_settled:,} of {self.n_sets:,} sets undecided"
            why = f"time ran out with {left}"
            if self.stopped:
                why = stopped_after(self.n_settled, self.n_sets, DECIDED)
            lines[1] = f"PARTIAL: {why}; sets that are not listed may single out as many"
            lines += [f"searched: {'; '.join(map(str, self.coverage))}"] if self.coverage else []
        if self.n_dropped:
            rows = render.count_of(self.n_dropped, "row")
            lines.append(f"{rows} with a missing value left out")
        return lines

    def _notes(self) -> list[str]:
        notes = [self._about_the_domain()] if self.sets else self._not_safe()
        if len(self.sets) > _SHOWN:
            notes.insert(0, f"and {len(self.sets) - _SHOWN:,} more sets, which come after these")
        for item in self.direct:
            share = render.percent(item.share)
            seen = f"({item.values:,} values, {share} singletons)"
            notes.append(
                f"{render.named(item.column)} {item.reason} {seen}: remove it or make it coarser"
            )
        if self.stopped:
            notes.append("stopped before columns were checked for direct identifiers")
        notes += [f"not searched: {reason}" for reason in self.unsupported.values()]
        if self.not_searched:
            names = ", ".join(map(render.named, self.not_searched))
            notes.append(f"not searched, by their declared role: {names}")
        return notes

    def _not_safe(self) -> list[str]:
        """Return what is nearest where nothing was found, and why that is not safety."""
        notes = []
        if self.nearest is not None:
            notes.append(
                f"nearest: {render.joined(self.nearest.columns)}, with which "
                f"{self._alone(self.nearest)}"
            )
        if self.together is not None:
            n_columns = len(self.together.columns)
            more = f", or more than {self.max_size:,} columns are known"
            notes.append(
                f"nothing found is no safety: up to {render.percent(self.alpha)} may be alone all "
                f"the same{more if n_columns > self.max_size else ''}. With all "
                f"{render.count_of(n_columns, 'column')} {self._alone(self.together)}; the "
                f"smallest class has {self.together.sizes.k:,}"
            )
        return notes

    def _alone(self, qid: FoundQid) -> str:
        """Return how many are alone with the columns of a set."""
        who = render.count_of(qid.singletons, "record" if self.unit is None else "person")
        verb = "is" if qid.singletons == 1 else "are"
        return f"{who} ({render.percent(qid.share)}) {verb} alone"

    def _about_the_domain(self) -> str:
        """Return what the share by domain is, and how many values it takes to exceed alpha."""
        needed = f"more than {self.least_domain:,.0f} values"
        if self.population_least_domain is not None:
            needed += f", in the population more than {self.population_least_domain:,.0f}"
        return (
            "by domain: the most to expect of people who have no more values than occur here; "
            f"what was measured may be more. {render.percent(self.alpha)} take {needed}"
        )

    def _header(self) -> tuple[str, ...]:
        header = (
            "columns",
            "share",
            "singletons",
            "classes",
            "distinction",
            "separation",
            "by domain",
        )
        return header if self.population_size is None else (*header, "in population")

    def _rows(self) -> list[list[str]]:
        rows = []
        for result in self.sets[:_SHOWN]:
            row = [
                render.joined(result.columns),
                render.percent(result.share),
                f"{result.singletons:,}",
                f"{result.sizes.n_classes:,}",
                render.percent(result.distinction),
                render.percent(result.separation),
                render.percent(result.domain_share),
            ]
            if result.population_domain_share is not None:
                row.append(render.percent(result.population_domain_share))
            rows.append(row)
        return rows
