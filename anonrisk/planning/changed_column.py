"""A column before and after it was changed: what each label of it stands for, and what it lost."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.counts.domain import DATES, NUMBERS
from anonrisk.planning.losses.base import entropy_of, tidy
from anonrisk.planning.losses.range import interval_loss
from anonrisk.recode.labels import MARKER, extent, rest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.core.arrays import Booleans, Integers
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.counts.domain import Domain


@dataclass(frozen=True)
class ChangedLabel:
    """What a value of the changed table stands for: original values, and what it loses."""

    code: int
    members: Booleans
    loss: float
    everything: bool


@dataclass(frozen=True)
class ChangedColumn:
    """One column before and after."""

    n: int
    n_suppressed: int
    before: Integers
    after: Integers
    labels: list[ChangedLabel]

    @property
    def loss(self) -> float:
        """T9."""
        lost = sum(int(self.after[label.code]) * label.loss for label in self.labels)
        return (lost + self.n_suppressed) / self.n

    def shares(self) -> Iterator[tuple[int, float, float]]:
        """Give for each label how often it occurs, Pr(B) and H(X | B)."""
        for label in self.labels:
            inside = self.before[label.members]
            share = float(inside.sum()) / self.n
            yield int(self.after[label.code]), share, entropy_of(inside)

    @property
    def monotone_entropy(self) -> float:
        """T10, of this column."""
        kept = sum(times * share * bits for times, share, bits in self.shares())
        return kept + self.n_suppressed * entropy_of(self.before)

    @property
    def mutual_information(self) -> float:
        """T11: log Pr(x | B) / Pr(x) is -log Pr(B), because x is in B."""
        return -sum(times * float(np.log2(share)) for times, share, _ in self.shares()) / self.n

    @property
    def entropy(self) -> float:
        """The entropy of the original column."""
        return entropy_of(self.before)

    @property
    def bits_lost(self) -> float:
        """The share of its bits that is lost; of a column of one value, by suppression only."""
        if not self.entropy:
            return self.n_suppressed / self.n
        return float(tidy(1 - self.mutual_information / self.entropy))

    @property
    def suppressed(self) -> float:
        """Share of suppressed cells."""
        marked = sum(
            self.after[label.code] * label.loss for label in self.labels if label.everything
        )
        return float(marked + self.n_suppressed) / self.n

    def private(self, before: Integers, after: Integers) -> float:
        """T12, from counts of (value, sensitive value) before, and (label, sensitive) after."""
        overall = before.sum(axis=0) / self.n
        total = 0.0
        for label in self.labels:
            inside = before[label.members].sum(axis=0)
            given = inside / inside.sum()
            times = after[label.code]
            present = times > 0
            total += float(times[present] @ np.log2(given[present] / overall[present]))
        return total / self.n

    def private_loss(self, before: Integers) -> float:
        """The bits that labels leave unknown of a sensitive value, as a share of the most.

        From counts of (value, sensitive value) before.
        """
        most = np.log2(max(int(np.count_nonzero(before.sum(axis=0))), 2))
        unknown = sum(
            int(self.after[label.code]) * entropy_of(before[label.members].sum(axis=0))
            for label in self.labels
        )
        return float(unknown / most + self.n_suppressed) / self.n

    @property
    def total_variation(self) -> float:
        """Spread each label over what it stands for, and compare."""
        believed = np.zeros(len(self.before))
        for label in self.labels:
            inside = np.where(label.members, self.before, 0)
            believed += self.after[label.code] * inside / inside.sum()
        n_left = self.after.sum()
        if not n_left:
            return 1.0
        return float(np.abs(believed / n_left - self.before / self.n).sum() / 2)


def labels_of(
    old: Domain,
    new: Domain,
    before: Integers,
    after: Integers,
    hierarchy: Hierarchy | None,
) -> list[ChangedLabel] | None:
    """Find what each value of the changed column stands for; None if one names nothing."""
    labels: list[ChangedLabel] = []
    others: list[tuple[int, int]] = []
    same = {value: i for i, value in enumerate(old.values.tolist())}
    spelled = {text: i for i, text in enumerate(old.texts())}
    for code, value in enumerate(new.values.tolist()):
        found: ChangedLabel | None
        if new.kind == "text":
            found = _label(code, value, old, spelled, hierarchy)
            top = rest(value) if old.kind == "text" and hierarchy is None else None
            if found is None and top is not None:
                others.append((code, top))
                continue
        elif (value in same and {old.kind, new.kind} <= {*NUMBERS}) or old.kind == new.kind:
            found = _one(code, same[value], len(old)) if value in same else None
        else:
            found = None
        if found is None or not before[found.members].any():
            return None
        labels.append(found)
    rests = [_others(code, top, labels, before) for code, top in others]
    if not all(before[found.members].any() for found in rests):
        return None
    labels += rests
    if 0 < after[-1] <= before[-1]:
        labels.append(_one(len(new), len(old), len(old)))
    elif after[-1]:
        # Some were suppressed, and nobody can tell which: they may have been any value.
        lost = float(after[-1] - before[-1]) / float(after[-1])
        labels.append(replace(_all(len(new), len(old)), loss=lost))
    return labels


def _others(code: int, top: int, labels: list[ChangedLabel], before: Integers) -> ChangedLabel:
    """Take all values for the others but those that are told, or but the commonest."""
    members = np.ones(len(before), dtype=bool)
    members[[*np.argsort(-before[:-1], kind="stable")[:top], -1]] = False
    for label in () if top else labels:
        members &= ~label.members | label.everything
    loss = (int(members.sum()) - 1) / max(len(before) - 2, 1)
    return ChangedLabel(code, members, max(loss, 0.0), everything=False)


def _one(code: int, member: int, size: int) -> ChangedLabel:
    members = np.zeros(size + 1, dtype=bool)
    members[member] = True
    return ChangedLabel(code, members, 0.0, everything=False)


def _all(code: int, size: int) -> ChangedLabel:
    return ChangedLabel(code, np.ones(size + 1, dtype=bool), 1.0, everything=True)


def _label(  # noqa: PLR0911
    code: int, text: str, old: Domain, spelled: Mapping[str, int], hierarchy: Hierarchy | None
) -> ChangedLabel | None:
    if text in spelled:
        return _one(code, spelled[text], len(old))
    if hierarchy is not None:
        return _node(code, text, old, spelled, hierarchy)
    if text == MARKER:
        return _all(code, len(old))
    members = np.zeros(len(old) + 1, dtype=bool)
    if old.is_scale:
        read = extent(text, dates=old.kind in DATES, whole=old.kind == "whole")
        if read is None:
            return None
        places = old.positions()
        members[:-1] = (places >= read[0]) & (places <= read[1])
        return ChangedLabel(code, members, interval_loss(text, old), everything=False)
    head = text.rstrip(MARKER)
    if head == text:
        return None
    members[:-1] = [value.startswith(head) for value in old.texts()]
    loss = (int(members.sum()) - 1) / max(len(old) - 1, 1)
    return ChangedLabel(code, members, max(loss, 0.0), everything=False)


def _node(
    code: int, text: str, old: Domain, spelled: Mapping[str, int], hierarchy: Hierarchy
) -> ChangedLabel | None:
    below = [leaf for leaf, path in hierarchy.leaves.items() if text in path[:-1]]
    if not below:
        return _all(code, len(old)) if text == MARKER else None
    if len(below) == len(hierarchy.leaves):
        return _all(code, len(old))
    members = np.zeros(len(old) + 1, dtype=bool)
    members[[spelled[leaf] for leaf in below if leaf in spelled]] = True
    loss = (len(below) - 1) / max(len(hierarchy.leaves) - 1, 1)
    return ChangedLabel(code, members, loss, everything=False)
