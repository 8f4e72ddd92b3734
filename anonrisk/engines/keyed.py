"""Classes that arrive in batches, put under keyed hashes here: no key leaves this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines import limits, refusals
from anonrisk.measures.counts.keyed import KeyedCounts, KeyedValues, SketchCounts, Smallest
from anonrisk.pseudonyms import encoding
from anonrisk.pseudonyms.pseudonym import sized, too_far, too_fine

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import Integers
    from anonrisk.measures.counts.keyed import KeyedTally, SketchTally
    from anonrisk.measures.counts.question import Question
    from anonrisk.pseudonyms.encoding import Hashes


class Batch:
    """Some classes as they come: a list of cells for each column, and the rows of each class.

    `letters` says how the cells of a column are encoded. Instants come as whole numbers of
    microseconds since 1970 in Greenwich, with the letter ``t``, or of nanoseconds (``T``).
    """

    def __init__(
        self, columns: Mapping[Name, Sequence[Any]], letters: Mapping[Name, str], rows: Integers
    ) -> None:
        """Take them as they are."""
        self.columns, self.letters, self.rows = columns, letters, rows

    def n_missing(self, name: Name) -> int:
        """Count the rows that miss a column."""
        cells = self.columns[name]
        if None not in cells:
            return 0
        return int(self.rows[[cell is None for cell in cells]].sum())

    def complete(self, names: Sequence[Name]) -> Batch:
        """Leave out the classes that miss one of these columns."""
        gaps = np.zeros(len(self.rows), dtype=bool)
        for name in names:
            gaps |= np.fromiter((cell is None for cell in self.columns[name]), bool, len(gaps))
        if not gaps.any():
            return self
        kept = np.flatnonzero(~gaps).tolist()
        columns = {name: [cells[i] for i in kept] for name, cells in self.columns.items()}
        return Batch(columns, self.letters, self.rows[kept])

    def encoded(self, name: Name) -> tuple[list[bytes], str]:
        """Encode the cells of a column, and give its letter."""
        cells, letter = self.columns[name], self.letters[name]
        if letter == "x":
            # A driver may give views of bytes.
            cells = [None if cell is None else bytes(cell) for cell in cells]
        # Each once, unless types are mixed, which is refused below: Python takes 1 for True.
        mixed = len({*map(type, cells)} - {type(None)}) > 1
        distinct = cells if mixed else list(dict.fromkeys(cells))
        if letter in "tT":
            made = [_instant(cell, letter, name) for cell in distinct]
        else:
            made = encoding.encoded(distinct, name)
        own_letter = encoding.letter_of(made, name)
        # Drivers give dates that Python does not know as texts.
        if own_letter not in {"n", letter.lower()}:
            raise too_far(name)
        if len(distinct) < len(cells):
            made = list(map(dict(zip(distinct, made, strict=True)).__getitem__, cells))
        return made, own_letter


def _instant(cell: int | None, letter: str, name: Name) -> bytes:
    if cell is None:
        return encoding.MISSING
    if letter == "T":
        cell, finer = divmod(cell, 1000)
        if finer:
            raise too_fine(name)
    return sized(b"t%d" % cell)


class _SeenRows:
    """What is told of the rows on the way: how many, and how many miss what."""

    def __init__(self, question: Question, columns: Sequence[Name]) -> None:
        self.question = question
        self.kinds = dict.fromkeys(columns, "n")
        self.gaps = dict.fromkeys((*question.qid, *_persons(question)), 0)
        self.n_rows = self.n_dropped = 0

    def counted(self, batch: Batch) -> tuple[Batch, dict[Name, list[bytes]]]:
        """Return the classes that count, and their cells encoded."""
        for name in self.gaps:
            self.gaps[name] += batch.n_missing(name)
        n_rows = int(batch.rows.sum())
        if self.question.missing == "drop":
            batch = batch.complete(self.question.qid)
        self.n_rows += int(batch.rows.sum())
        self.n_dropped += n_rows - int(batch.rows.sum())
        cells = {}
        for name, before in self.kinds.items():
            cells[name], letter = batch.encoded(name)
            self.kinds[name] = encoding.agreed(name, before, letter)
        return batch, cells

    def refuse(self) -> None:
        """Reject what the question refuses, once all rows were seen."""
        unit = self.question.unit
        if unit is not None and (n_missing := self.gaps.pop(unit)):
            raise refusals.missing_unit(unit, n_missing)
        if self.question.missing == "error" and any(self.gaps.values()):
            raise refusals.missing_values(self.gaps)


def keyed(asked: KeyedTally, batches: Iterable[Batch]) -> KeyedCounts:
    """Put all classes under keyed hashes."""
    unit, sensitive = asked.question.unit, asked.sensitive
    seen = _SeenRows(asked.question, (*asked.question.qid, *_persons(asked.question), *sensitive))
    results: dict[Any, list[Any]] = {what: [] for what in ("class", "person", "rows", *sensitive)}
    n_entries = 0
    for every in batches:
        batch, cells = seen.counted(every)
        n_entries += len(batch.rows)
        limits.check_keyed(n_entries)
        results["rows"].append(batch.rows)
        results["class"].append(_classes(asked, cells))
        if unit is not None:
            results["person"].append(encoding.person_hashes(asked.key, cells[unit]))
        for name in sensitive:
            results[name].append(_once(cells[name], _values_under(asked, name)))
    seen.refuse()
    none = np.empty((0, 2), dtype=np.uint64)
    classes = np.concatenate([none, *results["class"]])
    persons = None if unit is None else np.concatenate([none, *results["person"]])
    rows = np.concatenate([np.empty(0, dtype=np.int64), *results["rows"]])
    values = {
        name: KeyedValues.of(classes, persons, np.concatenate([none, *results[name]]), rows)
        for name in sensitive
    }
    return KeyedCounts.of(
        asked,
        seen.kinds,
        classes=classes,
        persons=persons,
        rows=rows,
        values=values,
        n_dropped=seen.n_dropped,
    )


def sketch(asked: SketchTally, batches: Iterable[Batch]) -> SketchCounts:
    """Keep the classes with the smallest hashes, in bounded room."""
    seen, kept = _SeenRows(asked.question, asked.question.qid), Smallest(asked.most)
    for every in batches:
        batch, cells = seen.counted(every)
        kept.add(_classes(asked.whole, cells)[:, 0], batch.rows)
    seen.refuse()
    n_rows, n_dropped = seen.n_rows, seen.n_dropped
    return SketchCounts.of(asked, seen.kinds, kept, n_rows=n_rows, n_dropped=n_dropped)


def _persons(question: Question) -> Qid:
    return () if question.unit is None else (question.unit,)


def _classes(asked: KeyedTally, cells: Mapping[Name, list[bytes]]) -> Hashes:
    qid = asked.question.qid
    columns = [cells[name] for name in qid]
    if asked.question.unit is None and not asked.sensitive:
        # Then each comes once.
        return encoding.class_hashes(asked.key, qid, columns)

    def hashed(keys: list[tuple[bytes, ...]]) -> Hashes:
        return encoding.class_hashes(asked.key, qid, list(zip(*keys, strict=True)))

    return _once(list(zip(*columns, strict=True)), hashed)


def _values_under(asked: KeyedTally, name: Name) -> Any:
    return lambda cells: encoding.value_hashes(asked.key, name, cells)


def _once(keys: list[Any], hashed: Any) -> Hashes:
    """Hash what is different once, and spread it."""
    places = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    made: Hashes = hashed(list(places))
    if len(places) == len(keys):
        return made
    return made[np.fromiter(map(places.__getitem__, keys), np.int64, len(keys))]
