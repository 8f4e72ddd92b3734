"""What somebody who holds two releases learns that neither tells alone, as counts.

A person with a new identifier is one who left and one who came. Whoever really left then hides
among people who did not, and a comparison counts too few as exposed.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import lru_cache
from math import fsum, log
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import whole_number
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import pandas as pd

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Booleans, Floats, Integers

# Below this chance nobody takes it for coming and going. Chosen: a release is compared with each of
# a year or two of earlier ones, and all of these together may alarm once in a hundred checks.
CHANCE = 0.001
# The t of Chernoff's bound. It holds for each, and the best of them is taken.
_STEPS = np.geomspace(0.01, 10_000, 40)
# A bound as near to CHANCE may be one of a chance below: it is about eight times as large there.
_NEAR = 0.05
# The grid on which the chance is then counted. What rounding to it loses grows with the profiles:
# of more than these Chernoff's bound is as good, and people are enough to see a tenth of them.
_POINTS = 2**16
_MOST_PROFILES = 1_000
# Standard deviations beyond which a difference adds nothing that a float could hold.
_WIDEST = 12


def chance_by_churn(left: Integers, came: Integers, before: Integers) -> float:
    r"""Bound the chance that leavers and newcomers are so alike if each came and went alone.

    Parameters
    ----------
    left, came, before : array
        For each profile (the same classes, or classes and sensitive values), the persons who are
        in the earlier release only, in the newer one only, and in the earlier one at all.

    Returns
    -------
    float
        At most that chance; 1 where nobody left or nobody came.

    Notes
    -----
    With :math:`L_p` leavers and :math:`A_p` newcomers of profile p and :math:`T_p=L_p+A_p`,

    .. math:: X = \sum_{p:\,T_p>0} \frac{(L_p - A_p)^2}{T_p}.

    A renewed identifier adds one to both, and nothing to the difference: X is too small to be true,
    as Mendel's counts were. If people come and go independently, then given :math:`T_p` each of
    these is a leaver by a coin of that profile, :math:`L_p \sim B(T_p, \theta_p)`. Of all coins the
    fair one makes a small :math:`|L_p - A_p|` most likely (the probability of an interval around
    :math:`T_p/2` has its maximum there), so that rates may differ from profile to profile, and
    newcomers from leavers: this makes X only larger. By Chernoff, for each :math:`t>0`,

    .. math:: P(X \le x) \le e^{tx} \prod_p E\,e^{-t(2S_p-T_p)^2/T_p}, \qquad
              S_p \sim B(T_p, \tfrac12).

    Where that is below 0.05, and of up to 1,000 profiles, the chance itself is counted: the terms
    of X, rounded down to a grid and weighted with :math:`e^{-tX}` for the best of these t, are
    added up by Fourier transforms. The rounding, and sums beyond the grid that reappear at its
    beginning, only add to the chance.

    Coins are right where the earlier persons are drawn at random too. Of a profile that always has
    :math:`B_p` persons, a share :math:`\varepsilon_p` of whom leaves, the variance of
    :math:`L_p` is smaller by the factor :math:`1-\varepsilon_p`. X is therefore divided by the mean
    of :math:`1-L_p\hat\varepsilon_p/T_p` over the profiles, where :math:`\hat\varepsilon_p` is the
    larger of :math:`(L_p-1)/(B_p-1)` and the share of all who left. Of one person that says
    nothing: for :math:`B_p=1` the share of those who left of all alone takes its place.

    People who come and go together, such as families, make X larger. People who replace each other
    one by one, in posts or rooms, make it as small as renewed identifiers do.

    References
    ----------
    - R. A. Fisher, *Has Mendel's Work Been Rediscovered?*, Annals of Science 1 (1936), 115-137.
    - H. Chernoff, *A Measure of Asymptotic Efficiency for Tests of a Hypothesis Based on the Sum of
      Observations*, Annals of Mathematical Statistics 23 (1952), 493-507.

    Examples
    --------
    >>> as_many, half = np.full(40, 3), np.full(40, 20)
    >>> chance_by_churn(as_many, as_many, half) < 1e-9
    True
    >>> chance_by_churn(np.array([3, 0, 6, 1]), np.array([1, 4, 2, 3]), np.full(4, 20))
    1.0
    """
    total = left + came
    if not left.any() or not came.any():
        return 1.0
    alone = before == 1
    of_alone = left[alone].sum() / max(alone.sum(), 1)
    own = np.where(alone, of_alone, (left - 1) / np.maximum(before - 1, 1))
    share = np.maximum(left.sum() / before.sum(), own)
    some = total > 0
    left, came, total, share = left[some], came[some], total[some], share[some]
    # Summed exactly, whatever the order in which the profiles come.
    x = fsum((left - came) ** 2 / total) / (fsum(1 - left * share / total) / len(total))
    sizes, profiles = np.unique(total, return_counts=True)
    from scipy.special import logsumexp

    logs = _STEPS * x
    for size, n in zip(sizes.tolist(), profiles.tolist(), strict=True):
        logs += n * logsumexp(_terms(size)[1], axis=1)
    best = int(logs.argmin())
    result = float(logs[best])
    if result < log(_NEAR) and len(total) <= _MOST_PROFILES:
        result = min(result, _log_chance(x, sizes, profiles, best))
    return float(np.exp(min(result, 0)))


def _log_chance(x: float, sizes: Integers, profiles: Integers, best: int) -> float:
    """Return the log of the chance of x or less, of terms that are rounded down to a grid."""
    from scipy.special import logsumexp

    t, width = _STEPS[best], (2 * x + 1) / _POINTS
    shift, transform = 0.0, np.ones(_POINTS // 2 + 1, dtype=complex)
    for size, n in zip(sizes.tolist(), profiles.tolist(), strict=True):
        values, logs = _terms(size)
        points = (values / width).astype(int)
        weights = logs[best] + t * (values - points * width)
        log_sum = logsumexp(weights)
        within = points < _POINTS
        weighted = np.bincount(points[within], np.exp(weights[within] - log_sum), _POINTS)
        shift += n * log_sum
        transform *= np.fft.rfft(weighted) ** n
    # One point more, since a float may have been rounded up.
    points = np.arange(int(x / width) + 2)
    chance = np.fft.irfft(transform, _POINTS)[: len(points)] @ np.exp(t * (points * width - x))
    return float(t * x + shift + np.log(max(chance, np.finfo(float).tiny)))


# A release that is compared with many others asks for the same sizes again. Each takes 2 MB where
# a million came and left.
@lru_cache(maxsize=200)
def _terms(size: int) -> tuple[Floats, Floats]:
    """Return d²/T for d heads more than tails, in either way, of T coins, and log P(d) e^(-t d²/T).

    The second for each t.
    """
    from scipy.special import gammaln

    d = np.arange(size % 2, min(size, int(_WIDEST * size**0.5) + 1) + 1, 2)
    heads = (size + d) // 2
    ways = gammaln(size + 1) - gammaln(heads + 1) - gammaln(size - heads + 1)
    values = d**2 / size
    logs = ways + (d > 0) * np.log(2) - size * np.log(2)
    return values, logs - _STEPS[:, None] * values


@dataclass(frozen=True, repr=False)
class EarlierComparison(render.Printed):
    """A table of a release beside an earlier release of it.

    Attributes
    ----------
    table : str
        The table.
    since : str
        The earlier release, with the name that the table had there if it was another one; or all of
        them together.
    comparison : Comparison
        What both tell that neither tells alone.
    """

    table: str
    since: str
    comparison: Comparison

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        return {"table": self.table, "since": self.since, **self.comparison.to_dict()}

    def _blocks(self) -> Iterable[str | render.Table]:
        return self._title, *self.comparison._blocks()  # noqa: SLF001

    @property
    def _title(self) -> str:
        return f"{render.named(self.table)}, since {render.named(self.since)}"


@dataclass(frozen=True, repr=False)
class Comparisons(render.PrintedTable):
    """Every table of a release beside every earlier release of it, a line each.

    Attributes
    ----------
    items : tuple of EarlierComparison
        Table by table, the earliest release first.
    """

    items: tuple[EarlierComparison, ...]

    def of(self, table: str) -> tuple[EarlierComparison, ...]:
        """Return those of one table; none if it was not published before."""
        return tuple(item for item in self.items if item.table == table)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell and no hash of one is among them."""
        return {"compared": [item.to_dict() for item in self.items]}

    def __iter__(self) -> Iterator[EarlierComparison]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> EarlierComparison:
        return self.items[place]

    def _lines(self) -> list[str]:
        if not self.items:
            return ["No table of the release was published before."]
        return [f"{render.count_of(len(self.items), 'comparison')} with earlier releases"]

    def _header(self) -> tuple[str, ...]:
        return "table", "since", "before", "now", f"in groups below {SHOWN_K}", "value learned of"

    def _rows(self) -> list[list[str]]:
        return [
            [
                *map(render.named, (item.table, item.since)),
                *(f"{number:,}" for number in _numbers(item.comparison)),
            ]
            for item in self.items
        ]


def _numbers(comparison: Comparison) -> tuple[int, ...]:
    return (
        comparison.n_before,
        comparison.n_now,
        comparison.exposed(SHOWN_K),
        comparison.learned_values(),
    )


# What may have become of somebody between two releases, by the numbers that `difference` counts in.
ADDED, REMOVED, STAYED, MOVED = "added", "removed", "stayed", "moved"
CHANGES = (ADDED, REMOVED, STAYED, MOVED)
# The k at which a comparison is printed; any other can be asked for.
SHOWN_K = 5


class ChangedPersons(NamedTuple):
    """Persons to whom the same happened, each by the smallest of their groups.

    Attributes
    ----------
    change : {"added", "removed", "stayed", "moved"}
        What became of the group; stayed are those of a class that others joined or left.
    group : int
        The number of persons in the group.
    least : int
        The smallest class that they are in, in either release.
    learned : bool
        Whether a sensitive value of theirs is learned, in this group or in another one of theirs.
    persons : int
        How many persons that are.
    """

    change: str
    group: int
    least: int
    learned: bool
    persons: int


class ChangedClasses(NamedTuple):
    """How many classes had so many persons added and so many removed."""

    added: int
    removed: int
    classes: int


@dataclass(frozen=True, repr=False)
class Comparison(Document, render.PrintedTable):
    """Two releases beside each other: what both tell about people that neither tells alone.

    Attributes
    ----------
    qid, qid_before : tuple of names
        The quasi-identifiers of this release and of the one before.
    unit : name or None
        The column that says which person a row belongs to.
    net : bool
        Whether only net changes are known: there is no unit, or nobody of it is in both releases,
        so that somebody who left a class and somebody who came to it are not seen. Without a unit
        all numbers are of records.
    n_before, n_now : int
        Persons in each release.
    n_both : int or None
        Persons in both; None where nobody can tell.
    n_classes_both : int
        Classes that both releases have.
    n_added, n_removed : int
        Persons added to a class and removed from one, summed over classes: who has moved is among
        both.
    n_split : int
        Classes that are gone, and whose persons are in more than one class now.
    new_singletons : int
        Persons alone in a class now who were alone in none before; of net changes, classes.
    classes : tuple of ChangedClasses
        By class, persons added and removed: how many classes have each pair of numbers.
    persons : tuple of ChangedPersons
        The persons of all groups that somebody joined or left.
    learned : dict of name to dict
        For each sensitive column, persons whose value is learned, by the smallest of their groups.
    changed_values : dict of name to int
        For each sensitive column, persons in both releases whose values are not the same.
    missing : str
        What was done with missing values.
    by_churn : float
        At most the chance that those who left and those who came are so alike, in their classes and
        sensitive values, if people come and go independently; see `renewed`.
    """

    qid: Qid
    qid_before: Qid
    unit: Name | None
    net: bool
    n_before: int
    n_now: int
    n_both: int | None
    n_classes_both: int
    n_added: int
    n_removed: int
    n_split: int
    new_singletons: int
    classes: tuple[ChangedClasses, ...]
    persons: tuple[ChangedPersons, ...]
    learned: Mapping[Name, Mapping[int, int]] = field(default_factory=dict)
    changed_values: Mapping[Name, int] = field(default_factory=dict)
    missing: str = "value"
    by_churn: float = 1.0

    @property
    def renewed(self) -> bool:
        """Whether the unit looks as if many of its values had been renewed.

        Those who left and those who came are then alike beyond chance, and may be the same people:
        who really left hides among them from this comparison, not from an attacker.
        """
        return self.by_churn < CHANCE

    # ---- what is learned ------------------------------------------------------------------------

    def exposed(self, k: int) -> int:
        """Count the persons whose group is smaller than `k`.

        A group is who has the same class before and the same class now, where being in none counts
        as one: those who were added to a class, removed from it, stayed in it while others came or
        went, or moved together. A class whose persons are the same in both exposes nobody.
        """
        return self._sum(item for item in self._below(k))

    def exposed_by(self, k: int) -> dict[str, int]:
        """Count the same by what became of them; who is in several groups counts in the smallest.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> now = pd.DataFrame({"zip": list("aaabb"), "who": range(5)})
        >>> now.anon.compare("zip", previous=now.head(4), unit="who").exposed_by(3)
        {'added': 1, 'removed': 0, 'stayed': 1, 'moved': 0}
        """
        counter = Counter(dict.fromkeys(CHANGES, 0))
        for item in self._below(k):
            counter[item.change] += item.persons
        return dict(counter)

    def unseen(self, k: int) -> int:
        """Count those of the exposed whose every class has `k` persons or more in each release.

        No check of one table alone sees them.
        """
        return self._sum(item for item in self._below(k) if item.least >= k)

    def learned_values(self, sensitive: Name | None = None, *, among: int = 1) -> int:
        """Count the persons whose sensitive value is learned.

        Their group has one value although no class of theirs has only one: neither release alone
        tells it. The smallest such group is one person.

        Parameters
        ----------
        sensitive : name, optional
            The column; left out, persons of whom any sensitive column is learned.
        among : int
            Only those in no group smaller than this: with ``among=k`` whom ``exposed(k)`` leaves.
        """
        least = whole_number(among, "among", at_least=1)
        if sensitive is None:
            return self._sum(
                person for person in self.persons if person.learned and person.group >= least
            )
        if sensitive not in self.learned:
            raise ArgumentError(
                f"sensitive column {sensitive!r} was not compared{nearest(sensitive, self.learned)}"
            )
        return sum(n for size, n in self.learned[sensitive].items() if size >= least)

    def at_risk(self, k: int) -> int:
        """Count the persons who are exposed, or of whom a value is learned: what a gate asks."""
        least = whole_number(k, "k", at_least=2)
        return self._sum(
            person for person in self.persons if person.group < least or person.learned
        )

    def _below(self, k: int) -> Iterable[ChangedPersons]:
        least = whole_number(k, "k", at_least=2)
        return (person for person in self.persons if person.group < least)

    def _sum(self, result: Iterable[ChangedPersons]) -> int:
        return sum(item.persons for item in result)

    # ---- giving it away -------------------------------------------------------------------------

    def to_frame(self) -> pd.DataFrame:
        """Return how many classes had how many persons added and removed, a pair per row."""
        import pandas as pd

        return pd.DataFrame(self.classes, columns=list(ChangedClasses._fields))

    # ---- printing -------------------------------------------------------------------------------

    @property
    def _who(self) -> str:
        return "record" if self.net and self.unit is None else "person"

    def _lines(self) -> list[str]:
        who, source = self._who, render.joined(self.qid)
        if self.qid_before != self.qid:
            source += f", before {render.joined(self.qid_before)}"
        both = "" if self.n_both is None else f", {self.n_both:,} in both"
        before = render.count_of(self.n_before, who)
        return [f"Comparison of {source}: {before} before, {self.n_now:,} now{both}"]

    def _header(self) -> tuple[str, ...]:
        return "", f"{self._who}s", "smallest group", f"in groups below {SHOWN_K}"

    def _rows(self) -> list[list[str]]:
        below = self.exposed_by(SHOWN_K)
        rows = []
        for change in CHANGES:
            results = [person for person in self.persons if person.change == change]
            if results:
                least = min(item.group for item in results)
                rows.append([change, f"{self._sum(results):,}", f"{least:,}", f"{below[change]:,}"])
        return rows

    def _notes(self) -> list[str]:
        who = self._who
        notes = [] if self.persons else ["No class has changed."]
        for name, sizes in self.learned.items():
            known = sum(sizes.values())
            if known:
                among = self.learned_values(name, among=SHOWN_K)
                larger = f", {among:,} of them in groups of {SHOWN_K} or more" if among else ""
                notes.append(
                    f"The value of {render.named(name)} is learned of "
                    f"{render.count_of(known, who)}{larger}."
                )
        notes += [
            f"{render.count_of(n, who)} in both with another value of {render.named(name)}."
            for name, n in self.changed_values.items()
            if n
        ]
        if self.n_split:
            split = render.count_of(self.n_split, "class", "classes")
            notes.append(f"Split, their {who}s in several classes now: {split}.")
        if self.new_singletons:
            alone = render.count_of(self.new_singletons, who)
            notes.append(f"Alone in a class now and not before: {alone}.")
        if self.net:
            why = "Only" if self.n_both is None else "Nobody is in both, so that only"
            notes.append(
                f"{why} net changes are known: who left and came to one class is not seen."
            )
        if self.renewed:
            notes.append(
                f"Those who left and those who came are alike beyond chance: if values of "
                f"{render.named(self.unit)} were renewed, more persons are exposed than counted."
            )
        return notes


# ---- from arrays -------------------------------------------------------------------------------


def changed_persons(
    coded: Integers, least: Integers, learned: Booleans, times: Integers
) -> tuple[ChangedPersons, ...]:
    """Count persons of whom the same is told, each as many times as it says.

    Of each, `coded` is the size of the smallest group times the number of `CHANGES`, plus the place
    of what became of it among them.
    """
    base = int(least.max(initial=0)) + 1
    result, numbers = _added_up((coded * base + least) * 2 + learned, times)
    rest, known = np.divmod(result, 2)
    codes, smallest = np.divmod(rest, base)
    sizes, kinds = np.divmod(codes, len(CHANGES))
    return tuple(
        ChangedPersons(CHANGES[kind], size, item, bool(is_known), n)
        for kind, size, item, is_known, n in zip(
            *(array.tolist() for array in (kinds, sizes, smallest, known, numbers)), strict=True
        )
    )


def changed_classes(added: Integers, removed: Integers) -> tuple[ChangedClasses, ...]:
    """Count the classes that had so many added and so many removed, if anybody was."""
    changed = (added > 0) | (removed > 0)
    base = int(removed.max(initial=0)) + 1
    result, numbers = np.unique(added[changed] * base + removed[changed], return_counts=True)
    return tuple(
        ChangedClasses(int(item // base), int(item % base), int(n))
        for item, n in zip(result, numbers, strict=True)
    )


def by_size(sizes: Integers, times: Integers) -> dict[int, int]:
    """Count how often each size occurs, if each occurs so many times."""
    result, numbers = _added_up(sizes, times)
    return dict(zip(result.tolist(), numbers.tolist(), strict=True))


def _added_up(keys: Integers, times: Integers) -> tuple[Integers, Integers]:
    """Return the keys that occur, sorted, and how often."""
    keys, times = keys[times > 0], times[times > 0]
    result, place = np.unique(keys, return_inverse=True)
    return result, np.bincount(place, weights=times).astype(np.int64)
