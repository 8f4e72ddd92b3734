"""What a changed table is still good for, by arithmetic on tallies of it and of the original."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import plain
from anonrisk.measures.counts.tally import DATES, NUMBERS
from anonrisk.measures.recode.recoding import MARKER, extent, of_remainder, remainder, rest
from anonrisk.planning.losses import FunctionLoss, entropy_of, interval_loss, tidy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.types import Booleans, Integers, LossFunction
    from anonrisk.measures.counts.tally import Domain, Tally


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
        """Yield for each label how often it occurs, Pr(B) and H(X | B)."""
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
        """T12, from counts before and after.

        `before` is (n_values, n_sensitive), `after` (n_labels, n_sensitive).
        """
        overall = before.sum(axis=0) / self.n
        total = 0.0
        for label in self.labels:
            inside = before[label.members].sum(axis=0)
            value = inside / inside.sum()
            times = after[label.code]
            present = times > 0
            total += float(times[present] @ np.log2(value[present] / overall[present]))
        return total / self.n

    def private_loss(self, before: Integers) -> float:
        """The bits that labels leave unknown of a sensitive value, as a share of the most.

        `before` is as in `private`.
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
    paths = () if hierarchy is None else hierarchy.leaves.values()
    nodes = {node for path in paths for node in path}
    for code, value in enumerate(new.values.tolist()):
        changed_label: ChangedLabel | None
        if new.kind == "text":
            label = value if value in spelled else _whole(value, nodes)
            changed_label = _label(code, label, old, spelled, hierarchy)
            top = rest(label) if old.kind == "text" and hierarchy is None else None
            if changed_label is None and top is not None:
                others.append((code, top))
                continue
        elif (value in same and {old.kind, new.kind} <= {*NUMBERS}) or old.kind == new.kind:
            changed_label = _single(code, same[value], len(old)) if value in same else None
        else:
            changed_label = None
        if changed_label is None or not before[changed_label.members].any():
            return None
        labels.append(changed_label)
    rests = [_others(code, top, labels, before) for code, top in others]
    if not all(before[changed_label.members].any() for changed_label in rests):
        return None
    labels += rests
    if 0 < after[-1] <= before[-1]:
        labels.append(_single(len(new), len(old), len(old)))
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


def _single(code: int, member: int, size: int) -> ChangedLabel:
    members = np.zeros(size + 1, dtype=bool)
    members[member] = True
    return ChangedLabel(code, members, 0.0, everything=False)


def _all(code: int, size: int) -> ChangedLabel:
    return ChangedLabel(code, np.ones(size + 1, dtype=bool), 1.0, everything=True)


def _whole(label: str, nodes: Collection[str]) -> str:
    """Return the name of the part of which a label names the rest: what is left of it differs."""
    part = remainder(label)
    if part is None or label in nodes:
        return label
    cut_short = [node for node in nodes if of_remainder(node) == label]
    return cut_short[0] if len(cut_short) == 1 else part


def _label(  # noqa: PLR0911
    code: int, text: str, old: Domain, spelled: Mapping[str, int], hierarchy: Hierarchy | None
) -> ChangedLabel | None:
    if text in spelled:
        return _single(code, spelled[text], len(old))
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


_WORDS = {
    "loss_metric": "loss metric: share of detail lost",
    "mutual_information": "mutual information: bits kept per cell",
    "information_loss": "its loss: bits lost per cell",
    "monotone_entropy": "monotone entropy: bits, all cells",
    "classification_metric": "classification metric: share misclassified or suppressed",
    "private_mutual_information": "private mutual information: bits revealed per cell",
    "private_information_loss": "its loss: bits left unknown per cell",
    "discernibility": "discernibility: sum of squared class sizes",
    "average_class_size": "average class size",
}
_SHARES = ("loss_metric", "classification_metric")


@dataclass(frozen=True, repr=False)
class Moved(render.PrintedFields):
    """How the distribution of one column has changed.

    Attributes
    ----------
    values_before, values_after : int
        Different values.
    suppressed : float
        Share of the original records whose cell is suppressed, or gone with its record.
    total_variation : float or None
        Half the sum of differences between the original distribution and what the changed table
        lets one believe, each label spread over the values it stands for.
    mean_before, mean_after : float or None
        Of columns that are numbers before and after.
    """

    column: Name
    values_before: int
    values_after: int
    suppressed: float
    total_variation: float | None
    mean_before: float | None
    mean_after: float | None


@dataclass(frozen=True, repr=False)
class Utility(render.Printed):
    """Measures of utility; None where a measure cannot be told.

    `loss` is the one that was asked for, by `loss_kind`, as `anonrisk.PlanOptions` has it.
    """

    qid: Qid
    n_records: int
    n_suppressed: int
    loss_metric: float | None
    monotone_entropy: float | None
    mutual_information: float | None
    information_loss: float | None
    discernibility: int
    average_class_size: float
    classification_metric: float | None
    private_mutual_information: float | None
    private_information_loss: float | None
    moved: tuple[Moved, ...]
    untold: Qid = ()
    loss: float | None = None
    loss_kind: str = "entropy"

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        more = ("loss", "loss_kind", "n_records", "n_suppressed")
        figures = {name: getattr(self, name) for name in (*_WORDS, *more)}
        return {**figures, "moved": plain(self.moved)}

    def to_frame(self) -> pd.DataFrame:
        """Return the measures as a table, a row each."""
        import pandas as pd

        values = [getattr(self, name) for name in _WORDS]
        return pd.DataFrame({"value": values}, index=pd.Index(list(_WORDS), name="measure"))

    def _blocks(self) -> list[str | render.Table]:
        measures = render.Table(("measure", "value"), self._measures())
        return [self._title(), measures, render.Table(*self._columns()), *self._untold()]

    def _untold(self) -> list[str]:
        if not self.untold:
            return []
        names = ", ".join(map(repr, self.untold))
        return [f"not counted: {names} holds values that name no values of the original"]

    def _title(self) -> str:
        names = render.joined(self.qid)
        records = render.count_of(self.n_records, "record")
        lost = "" if self.loss is None else f", {self.loss_kind} loss {render.percent(self.loss)}"
        return f"Utility for {names}: {records}, {self.n_suppressed:,} of them suppressed{lost}"

    def _measures(self) -> list[tuple[str, str]]:
        fields = {name: getattr(self, name) for name in _WORDS}
        return [
            (_WORDS[name], render.percent(value) if name in _SHARES else _shown(value))
            for name, value in fields.items()
            if value is not None
        ]

    def _columns(self) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        header = ("column", "values", "after", "suppressed", "moved", "mean", "mean after")
        rows: list[tuple[str, ...]] = [
            (
                render.named(m.column),
                f"{m.values_before:,}",
                f"{m.values_after:,}",
                render.percent(m.suppressed),
                "-" if m.total_variation is None else render.percent(m.total_variation),
                _shown(m.mean_before),
                _shown(m.mean_after),
            )
            for m in self.moved
        ]
        return header, rows


def _shown(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4f}"


def compare(
    before: Mapping[Name, Tally],
    after: Mapping[Name, Tally],
    *,
    sizes: Any,
    n_records: int,
    sensitive: Name | None,
    majority: int | None,
    hierarchies: Mapping[Name, Hierarchy],
    loss: str | LossFunction,
) -> Utility:
    """Put the measures together from tallies by column (and sensitive value)."""
    n_left = 0 if sizes is None else sizes.n_records
    lost = n_records - n_left
    columns: dict[Name, ChangedColumn | None] = {}
    private: list[float | None] = []
    unknown = 0.0
    for name in before:
        was, current = before[name], after[name]
        labels = labels_of(
            was.domains[name],
            current.domains[name],
            was.margin(name),
            current.margin(name),
            hierarchies.get(name),
        )
        column = (
            None
            if labels is None
            else ChangedColumn(n_records, lost, was.margin(name), current.margin(name), labels)
        )
        columns[name] = column
        if sensitive is not None:
            private.append(_private(column, was, current, name, sensitive))
            unknown = entropy_of(was.margin(sensitive))
    lines = [column for column in columns.values() if column is not None]
    whole = len(lines) == len(columns)
    information = float(np.mean([c.mutual_information for c in lines])) if whole else None
    entropy = float(np.mean([c.entropy for c in lines])) if whole else 0.0
    known = [value for value in private if value is not None]
    told_of = float(np.mean(known)) if known and len(known) == len(columns) else None
    squares = (
        0
        if sizes is None
        else sum(
            s * s * c for s, c in zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True)
        )
    )
    utility = Utility(
        qid=tuple(before),
        n_records=n_records,
        n_suppressed=lost,
        loss_metric=float(np.mean([c.loss for c in lines])) if whole else None,
        monotone_entropy=float(sum(c.monotone_entropy for c in lines)) if whole else None,
        mutual_information=information,
        information_loss=None if information is None else entropy - information,
        discernibility=int(squares + lost * n_records),
        average_class_size=0.0 if sizes is None else n_left / sizes.n_classes,
        classification_metric=None if majority is None else (n_records - majority) / n_records,
        private_mutual_information=told_of,
        private_information_loss=None if told_of is None else unknown - told_of,
        moved=tuple(
            _moved(name, before[name], after[name], columns[name], lost / n_records)
            for name in before
        ),
        untold=tuple(name for name, column in columns.items() if column is None),
    )
    word = "function" if callable(loss) else loss
    measured = _loss(loss, utility, lines if whole else [], before, after, sizes, sensitive)
    return replace(utility, loss=measured, loss_kind=word)


def _loss(  # noqa: PLR0917
    asked: str | LossFunction,
    utility: Utility,
    summary: Sequence[ChangedColumn],
    before: Mapping[Name, Tally],
    after: Mapping[Name, Tally],
    sizes: Any,
    sensitive: Name | None,
) -> float | None:
    """Return the loss that was asked for; columns only where all of them can be told."""
    n, lost = utility.n_records, utility.n_suppressed
    if callable(asked):
        each = np.zeros(0, dtype=np.int64)
        if sizes is not None:
            each = np.repeat(sizes.sizes, sizes.classes)
        levels = {name: tally.margin(name) for name, tally in after.items()}
        return ((n - lost) * FunctionLoss(asked).asked(each, levels) + lost) / n
    known = {
        "range": utility.loss_metric,
        "discernibility": utility.discernibility / n**2,
        "target": utility.classification_metric,
    }
    if asked in known or not summary:
        return known.get(asked)
    if asked == "entropy" or sensitive is None:
        return float(np.mean([column.bits_lost for column in summary]))
    size = len(next(iter(before.values())).domains[sensitive]) + 1
    pairs = (_pairs(t, name, sensitive, np.arange(size), size) for name, t in before.items())
    return float(np.mean([c.private_loss(p) for c, p in zip(summary, pairs, strict=True)]))


def majority_of(tally: Tally, qid: Qid) -> int:
    """Count the records that have the commonest sensitive value of their class."""
    keys = np.zeros(tally.n_classes, dtype=np.int64)
    for name in qid:
        _, keys = np.unique(
            keys * (len(tally.domains[name]) + 1) + tally.codes[name], return_inverse=True
        )
    most = np.zeros(int(keys.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(most, keys, tally.counts)
    return int(most.sum())


def _private(
    column: ChangedColumn | None, was: Tally, tally: Tally, name: Name, sensitive: Name
) -> float | None:
    if column is None:
        return None
    old, new = was.domains[sensitive], tally.domains[sensitive]
    place = {value: i for i, value in enumerate(old.values.tolist())}
    where = [place.get(value, -1) for value in new.values.tolist()] + [len(old)]
    if min(where) < 0:
        return None
    return column.private(
        _pairs(was, name, sensitive, np.arange(len(old) + 1), len(old) + 1),
        _pairs(tally, name, sensitive, np.array(where), len(old) + 1),
    )


def _pairs(tally: Tally, name: Name, sensitive: Name, where: Integers, n_values: int) -> Integers:
    counts = np.zeros((len(tally.domains[name]) + 1, n_values), dtype=np.int64)
    np.add.at(counts, (tally.codes[name], where[tally.codes[sensitive]]), tally.counts)
    return counts


def _moved(
    name: Name, was: Tally, tally: Tally, column: ChangedColumn | None, lost: float
) -> Moved:
    numbers = was.domains[name].kind in NUMBERS and tally.domains[name].kind in NUMBERS
    return Moved(
        name,
        int((was.margin(name) > 0).sum()),
        int((tally.margin(name) > 0).sum()),
        lost if column is None else column.suppressed,
        None if column is None else column.total_variation,
        _mean(was, name) if numbers else None,
        _mean(tally, name) if numbers else None,
    )


def _mean(tally: Tally, name: Name) -> float | None:
    counts = tally.margin(name)[:-1]
    return float(tally.domains[name].values @ counts / counts.sum()) if counts.sum() else None
