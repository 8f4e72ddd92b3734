"""Classes of a Spark table under keyed hashes.

Spark groups first. Then one plain nested function of ours, which needs Python's standard library
only, encodes and hashes each class on the executors, as for pseudonyms (`rewrite.py`): what it
carries are subkeys, as bytes that Spark neither prints nor logs. Columns of ours: `c0`, `c1`, …
the cells, `d` whether a row is dropped, `v` whether it belongs to nobody, `h` hashes, `n` rows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.engines import limits, refusals
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, instant
from anonrisk.measures.counts.keyed import (
    ALL,
    KeyedCounts,
    KeyedTally,
    KeyedValues,
    SketchCounts,
    Smallest,
)
from anonrisk.measures.counts.question import Question
from anonrisk.pseudonyms import encoding

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.change import RowsOfPersons
    from anonrisk.measures.counts.keyed import SketchTally

_LETTERS = {
    **dict.fromkeys(("string", "char", "varchar", "void"), "s"),
    **dict.fromkeys(("byte", "short", "integer", "long"), "i"),
    **dict.fromkeys(("float", "double"), "f"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "t"),
    "boolean": "b",
    "date": "d",
    "decimal": "m",
    "binary": "x",
}
_WORD = 16
# Spark's estimate of the number of classes has this standard error, and so many of them are enough.
_ERROR = 0.01
_SURELY = 10


def counts(frame: DataFrame, asked: KeyedTally) -> KeyedCounts:
    """Count all classes under keyed hashes: one shuffle, as for their sizes."""
    plan = _KeyedPlan(frame, asked)
    with guarded("count the classes under keyed hashes"):
        hashed = plan.functions.udf(_hashes(asked, plan.letters), "binary", useArrow=False)
        cells = [plan.functions.col(c) for c in plan.cells]
        made = plan.grouped().select(hashed(*cells).alias("h"), *plan.flags, "n")
        rows = collect(made.limit(limits.MAX_KEYED + 1))
    limits.check_keyed(len(rows))
    unit, qid = asked.question.unit, asked.question.qid
    if unit is not None and (n_lost := sum(row["n"] for row in rows if row["v"])):
        raise refusals.missing_unit(unit, n_lost)
    kept = [row for row in rows if not row["d"]] if plan.drops else rows
    n = np.array([row["n"] for row in kept], dtype=np.int64)
    n_hashes = 1 + (unit is not None) + len(asked.sensitive)
    width = len(plan.names) + _WORD * n_hashes
    packed = np.frombuffer(b"".join(row["h"] for row in kept), dtype=np.uint8).reshape(-1, width)
    known, packed = packed[:, : len(plan.names)].astype(bool), packed[:, len(plan.names) :]
    if asked.question.missing == "error" and not known[:, : len(qid)].all():
        gaps = {name: int(n[~known[:, i]].sum()) for i, name in enumerate(qid)}
        raise refusals.missing_values(gaps)
    words = packed.copy().view(">u8").astype(np.uint64).reshape(-1, n_hashes, 2)
    classes, persons = words[:, 0], None if unit is None else words[:, 1]
    first = n_hashes - len(asked.sensitive)
    return KeyedCounts.of(
        asked,
        {
            name: plan.letters[name] if known[:, i].any() else "n"
            for i, name in enumerate(plan.names)
        },
        classes=classes,
        persons=persons,
        rows=n,
        values={
            name: KeyedValues.of(classes, persons, words[:, first + i], n)
            for i, name in enumerate(asked.sensitive)
        },
        n_dropped=sum(row["n"] for row in rows) - int(n.sum()),
    )


def sketch(frame: DataFrame, asked: SketchTally) -> SketchCounts:
    """Keep the classes with the smallest hashes: one pass more than `counts`, one shuffle as there.

    The first pass counts rows and estimates how many classes there are. The second then brings
    hardly more of them than are kept, whatever their number.
    """
    plan = _KeyedPlan(frame, asked.whole)
    with guarded("count the rows"):
        total = plan.totals()
    n_dropped, n_rows = int(total["dropped"] or 0), int(total["rows"])
    gaps = {name: n_rows - int(total[f"k{i}"]) for i, name in enumerate(plan.names)}
    if asked.question.missing == "error" and any(gaps.values()):
        raise refusals.missing_values(gaps)
    rows, end = _below(plan, asked, int(total["classes"]))
    kept = Smallest(asked.most, end)
    hashes = np.array([row["h"] for row in rows], dtype=np.int64).view(np.uint64)
    # Spark has no unsigned numbers; those of ours were moved down by half of all.
    kept.add(hashes ^ np.uint64(ALL // 2), np.array([row["n"] for row in rows], dtype=np.int64))
    kinds = {
        name: plan.letters[name] if total[f"c{i}"] else "n" for i, name in enumerate(plan.names)
    }
    return SketchCounts.of(asked, kinds, kept, n_rows=n_rows - n_dropped, n_dropped=n_dropped)


def _below(plan: _KeyedPlan, asked: SketchTally, n_classes: int) -> tuple[list[Any], int]:
    """Bring the classes of a share of all hashes, and say below which they are all there."""
    f = plan.functions
    # Hashes scatter too: of as many as are wanted, those to be kept are surely there.
    wanted = asked.most * (1 + _SURELY * _ERROR) + _SURELY * (1 + asked.most**0.5)
    share, most = wanted / max(n_classes, 1), 2 * int(wanted)
    while True:
        end = ALL if share >= 1 else int(share * ALL)
        with guarded("count the classes under keyed hashes"):
            # Spark would calculate it a second time for the condition, if it knew that it may.
            hashed = f.udf(_first_bits(asked, plan.letters), "long", useArrow=False)
            made = hashed.asNondeterministic()(*(f.col(c) for c in plan.cells))
            classes = plan.grouped()
            classes = classes.where(~f.col("d")) if plan.drops else classes
            result = classes.select(made.alias("h"), "n")
            if end < ALL:
                result = result.where(f.col("h") < f.lit(end - ALL // 2))
            rows = collect(result.limit(most + 1))
        if len(rows) <= most:
            return rows, end
        share = min(share, 1.0) / 2


def of_persons(frame: DataFrame, asked: RowsOfPersons) -> DataFrame:
    """Select the records of some persons, or of all others; lazy, by a join with their hashes."""
    plan = _KeyedPlan(frame, KeyedTally(Question(((asked.unit,),)), (), asked.key))
    projection, f = plan.projection, plan.functions
    with guarded("select the records of persons"):
        hashed = f.udf(_person_hash(asked, plan.letters[asked.unit]), "binary", useArrow=False)
        table = projection.table.withColumn("h", hashed(plan.cell(asked.unit)))
        digests = asked.hashes.astype(">u8").tobytes()
        rows = [(digests[at : at + _WORD],) for at in range(0, len(digests), _WORD)]
        session: Any = table.sparkSession
        listed = session.createDataFrame(rows, "h binary")
        kept = table.join(listed, "h", "left_anti" if asked.others else "left_semi")
        return kept.select(*projection.table.columns).toDF(*projection.names)


def _person_hash(asked: RowsOfPersons, letter: str) -> Callable[[Any], bytes]:
    """Make the function that executors run: the hash of a person."""
    encode, of_person, width = _encoder(), encoding.person_digests(asked.key), _WORD

    def person_hash(value: Any) -> bytes:
        return of_person([encode(letter, value)])[:width]

    return person_hash


class _KeyedPlan:
    """The query that groups what is hashed then."""

    def __init__(self, frame: DataFrame, asked: KeyedTally) -> None:
        question = asked.question
        self.asked, self.unit = asked, question.unit
        self.projection = Projection.of(frame)
        self.functions = self.projection.functions
        self.drops = question.missing == "drop"
        persons: Qid = () if self.unit is None else (self.unit,)
        self.names: Qid = (*question.qid, *persons, *asked.sensitive)
        self.letters = {name: self._letter(name) for name in self.names}
        self.cells = [f"c{i}" for i in range(len(self.names))]
        self.flags = [*(["d"] if self.drops else []), *(["v"] if self.unit is not None else [])]

    def grouped(self) -> DataFrame:
        """Return what is different, with its number of rows; what is dropped is one thing."""
        f, table = self.functions, self._records()
        if self.drops:
            kept = [f.when(~f.col("d"), f.col(c)).alias(c) for c in self.cells]
            table = table.select(*kept, *self.flags)
        return table.groupBy(*self.cells, *self.flags).agg(f.count(f.lit(1)).alias("n"))

    def totals(self) -> Any:
        """Count rows, known cells, and about the number of classes, in one pass."""
        f, table = self.functions, self._records()
        kept = ~f.col("d") if self.drops else f.expr("true")
        # A hash takes no notice of what is missing.
        parts = [part for c in self.cells for part in (f.col(c), f.col(c).isNull())]
        distinct = f.approx_count_distinct(f.when(kept, f.xxhash64(*parts)), _ERROR)
        added = table.agg(
            f.count(f.lit(1)).alias("rows"),
            f.sum(f.when(kept, f.lit(0)).otherwise(f.lit(1))).alias("dropped"),
            distinct.alias("classes"),
            *(f.count(f.col(c)).alias(f"k{i}") for i, c in enumerate(self.cells)),
            *(f.count(f.when(kept, f.col(c))).alias(f"c{i}") for i, c in enumerate(self.cells)),
        )
        return collect(added)[0]

    def _records(self) -> DataFrame:
        projection = self.projection
        cells = [self.cell(name).alias(c) for name, c in zip(self.names, self.cells, strict=True)]
        flags = []
        if self.drops:
            columns = [projection.column(name) for name in self.asked.question.qid]
            flags.append(projection.any_missing(columns).alias("d"))
        if self.unit is not None:
            flags.append(projection.column(self.unit).isNull().alias("v"))
        return projection.table.select(*cells, *flags)

    def _letter(self, name: Name) -> str:
        kind = self._kind(name)
        if kind not in _LETTERS:
            raise encoding.refused(name, kind)
        return _LETTERS[kind]

    def _kind(self, name: Name) -> str:
        projection = self.projection
        return projection.fields[projection.names.index(str(name))].dataType.typeName()

    def cell(self, name: Name) -> Any:
        """Return a cell in a form that Python takes as it is, whatever the session's zone."""
        letter, column = self.letters[name], self.projection.column(name)
        if letter == "t":
            return instant(self.projection, name)
        casts = {"i": "long", "f": "double", "d": "string"}
        return column.cast(casts[letter]) if letter in casts else column


def _hashes(asked: KeyedTally, letters: dict[Name, str]) -> Callable[..., bytes]:
    """Make the function that executors run: which cells are known, then all hashes of a class."""
    encode = _encoder()
    kinds = list(letters.values())
    n_columns, persons = len(asked.question.qid), asked.question.unit is not None
    of_class = encoding.class_digests(asked.key, asked.question.qid)
    of_person = encoding.person_digests(asked.key)
    of_values = [encoding.value_digests(asked.key, name) for name in asked.sensitive]
    width = _WORD

    def hashes(*value: Any) -> bytes:
        cells = list(map(encode, kinds, value))
        made = [bytes(cell is not None for cell in value)]
        made.append(of_class((b"".join(cells[:n_columns]),))[:width])
        if persons:
            made.append(of_person(cells[n_columns : n_columns + 1])[:width])
        for of_value, cell in zip(of_values, cells[n_columns + persons :], strict=True):
            made.append(of_value((cell,))[:width])
        return b"".join(made)

    return hashes


def _first_bits(asked: SketchTally, letters: dict[Name, str]) -> Callable[..., int]:
    """Make the function that executors run: the first 64 bits of a class's hash, less 2**63."""
    encode = _encoder()
    kinds = list(letters.values())
    of_class = encoding.class_digests(asked.whole.key, asked.whole.question.qid)

    def first_bits(*value: Any) -> int:
        digest = of_class((b"".join(map(encode, kinds, value)),))
        return int.from_bytes(digest[:8], "big") - 2**63

    return first_bits


def _encoder() -> Callable[[str, Any], bytes]:
    """Make the function of `pseudonyms.encoding` for executors, which have no module of ours."""

    def encode(letter: str, value: Any) -> bytes:
        import struct

        if value is None:
            made = b"n"
        elif letter in "sd":
            made = letter.encode() + value.encode()
        elif letter in "it":
            made = letter.encode() + b"%d" % value
        elif letter == "f":
            made = b"f" + struct.pack(">d", value + 0.0)
        elif letter == "b":
            made = b"b1" if value else b"b0"
        elif letter == "m":
            digits = format(value, "f")
            digits = digits.rstrip("0").removesuffix(".") if "." in digits else digits
            made = b"m" + (digits if digits.strip("-0") else "0").encode()
        else:
            made = b"x" + bytes(value)
        return len(made).to_bytes(4, "big") + made

    return encode
