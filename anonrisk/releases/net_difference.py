"""Net changes: what can be told of two releases without knowing who is who."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines.renumber import numbered
from anonrisk.releases.comparison import (
    ADDED,
    CHANGES,
    REMOVED,
    Comparison,
    by_size,
    changed_classes,
    changed_persons,
)
from anonrisk.releases.interned import added_by, entries_of, interned

if TYPE_CHECKING:
    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.core.columns import Name
    from anonrisk.counts.keyed import KeyedCounts


def net_difference(before: KeyedCounts, now: KeyedCounts) -> Comparison:
    """Compare the sizes of classes, and where values are known their numbers in each class.

    A class that has one value more and another one less has lost somebody and gained somebody,
    though its size be the same: so many at least came and went. A record has one value, so that
    all who have a value more add up; persons may have several, and only the most count.
    """
    classes, n = interned(np.concatenate((before.classes, now.classes)))
    places = np.split(classes, [len(before.rows)])
    sizes = [
        added_by(of, counts.rows, n, by_entry=counts.persons is not None)
        for of, counts in zip(places, (before, now), strict=True)
    ]
    columns = [_net_values((before, now), places, name, n) for name in before.sensitive]
    gone, come = np.maximum(sizes[0] - sizes[1], 0), np.maximum(sizes[1] - sizes[0], 0)
    for column in columns:
        gone, come = np.maximum(gone, column.certain[0]), np.maximum(come, column.certain[1])
    groups = np.concatenate((gone, come))
    # Each record by its group: all that went from a class, or all that came to it.
    whose = np.repeat(np.arange(2 * n), groups)
    group, least = groups[whose], np.concatenate(sizes)[whose]
    kind = np.where(whose < n, CHANGES.index(REMOVED), CHANGES.index(ADDED))
    learned = {
        name: np.concatenate((column.learned(0, gone), column.learned(1, come)))[whose]
        for name, column in zip(before.sensitive, columns, strict=True)
    }
    anything = np.logical_or.reduce([*learned.values(), np.zeros(len(whose), dtype=bool)])
    return Comparison(
        qid=now.qid,
        qid_before=before.qid,
        unit=now.unit,
        net=True,
        n_before=int(sizes[0].sum()),
        n_now=int(sizes[1].sum()),
        n_both=None,
        n_classes_both=int(((sizes[0] > 0) & (sizes[1] > 0)).sum()),
        n_added=int(come.sum()),
        n_removed=int(gone.sum()),
        n_split=0,
        new_singletons=int(((sizes[1] == 1) & (sizes[0] != 1)).sum()),
        classes=changed_classes(come, gone),
        persons=changed_persons(group * len(CHANGES) + kind, least, anything),
        learned={name: by_size(group[known]) for name, known in learned.items()},
        missing=now.missing,
    )


@dataclass(frozen=True)
class _NetValues:
    """Of one sensitive column, how many records more or fewer each value has in each class."""

    cls: Integers
    # For each pair of class and value: records less, records more; and those of each release.
    changes: tuple[Integers, Integers]
    there: tuple[Integers, Integers]
    n_classes: int
    of_persons: bool

    @cached_property
    def certain(self) -> tuple[Integers, Integers]:
        """By class, how many went and how many came for certain."""
        less, more = np.zeros((2, self.n_classes), dtype=np.int64)
        for found, change in zip((less, more), self.changes, strict=True):
            (np.maximum if self.of_persons else np.add).at(found, self.cls, change)
        return less, more

    def learned(self, which: int, changed: Integers) -> Booleans:
        """Tell in which classes all who changed have one value, and the class has others."""
        n_values = np.bincount(self.cls[self.changes[which] > 0], minlength=self.n_classes)
        in_class = np.bincount(self.cls[self.there[which] > 0], minlength=self.n_classes)
        known: Booleans = (n_values == 1) & (self.certain[which] == changed) & (in_class > 1)
        return known


def _net_values(
    releases: tuple[KeyedCounts, KeyedCounts], places: list[Integers], name: Name, n_classes: int
) -> _NetValues:
    values, n_values = interned(np.concatenate([one.values[name].values for one in releases]))
    cls = np.concatenate(
        [of[entries_of(one, name)] for one, of in zip(releases, places, strict=True)]
    )
    pair, found = numbered(cls * n_values + values)
    parts = np.split(pair, [len(releases[0].values[name].rows)])
    old, new = (
        added_by(part, one.values[name].rows, len(found), by_entry=one.persons is not None)
        for part, one in zip(parts, releases, strict=True)
    )
    changes = (np.maximum(old - new, 0), np.maximum(new - old, 0))
    return _NetValues(
        found // n_values, changes, (old, new), n_classes, releases[0].persons is not None
    )
