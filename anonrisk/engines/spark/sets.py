"""Many sets of the same columns on Spark: several share a scan, each record once for every set.

What a record has of a set is written as one text, from which the values could be read again: texts
are equal where all values are. Grouping sets would carry a column for every column of every set,
most of them empty, which takes twice the time and several times the memory.

Whoever is alone with a few columns is alone with all of them, so that the values of all columns
name a scored record, and its scores find their way back by a join on those.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

from anonrisk.engines import refusals
from anonrisk.engines.spark.jobs import collect, guarded
from anonrisk.engines.spark.project import Projection, microseconds, refuse_nested
from anonrisk.errors import ArgumentError, UnsupportedColumnError
from anonrisk.measures.counts.change import Totals
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.counter import (
    CODE,
    DAY,
    MOST_WORDS,
    Commonest,
    FirstCharacters,
    halved,
)
from anonrisk.measures.counts.shapes import (
    DATES,
    FRACTION,
    NATIONAL_NUMBERS,
    SHAPES,
    WHOLE,
    Numerals,
    Shape,
)
from anonrisk.measures.suda import exponent, weights

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, Row

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.counts.counter import Coarsening, Positions
    from anonrisk.measures.counts.question import Question

_TEXT = ("string", "char", "varchar")
_WHOLE = ("byte", "short", "integer", "long")
_NUMBERS = (*_WHOLE, "float", "double", "decimal")
_DATES = ("date", "timestamp", "timestamp_ntz")


class SparkSets:
    """Counts the classes of sets of columns, up to `batch` of them in one job."""

    batch = 64

    def __init__(self, frame: DataFrame, question: Question) -> None:
        """Set columns apart that cannot be compared; nothing is run yet."""
        self.unsupported: dict[Name, str] = {}
        with guarded("read the schema"):
            self.projection = Projection.of(frame)
        fields = {field.name: field for field in self.projection.fields}
        columns = []
        for name in question.qid:
            try:
                refuse_nested(fields[str(name)], "column")
                columns.append(name)
            except UnsupportedColumnError as error:
                self.unsupported[name] = str(error)
        self.columns: Qid = tuple(columns)
        self._question = question
        with guarded("read the columns"):
            self._values = [self.projection.column(name) for name in columns]
        self._n_given = len(columns)
        # The types of coarser columns, by their position.
        self._coarser: dict[int, str] = {}
        self._known_facts: dict[str, int] | None = None
        # How the cells of columns look that were counted by themselves.
        self._seen: dict[int, Shape] = {}

    def count(self, sets: Sequence[Positions]) -> Iterator[ClassCounts]:
        """Count the classes of each set, as many as possible in a job."""
        for first in range(0, len(sets), self.batch):
            yield from self._pass(sets[first : first + self.batch])

    def _pass(self, sets: Sequence[Positions]) -> list[ClassCounts]:
        n_dropped = self._refused()
        with guarded("count the classes"):
            rows: dict[int, list[Row]] = defaultdict(list)
            for row in collect(self._histograms(sets)):
                rows[row["s"]].append(row)
        for s, i in self._singles(sets).items():
            looks = {kind: sum(row[kind] for row in rows[s]) for kind in self._looks(i)}
            self._seen[i] = Shape(sum(row["known"] for row in rows[s]), looks)
        return [
            _class_sizes(
                rows[s],
                qid=[self.columns[i] for i in positions],
                unit=self._question.unit,
                missing=self._question.missing,
                n_dropped=n_dropped,
            )
            for s, positions in enumerate(sets)
        ]

    def _histograms(self, sets: Sequence[Positions]) -> DataFrame:
        """All histograms of a pass as rows of one table: set, size, classes, persons, rows."""
        f, window = self.projection.functions, self.projection.window
        item, zero = f.count(f.lit(1)), f.lit(0).cast("long")
        keyed = self._keyed(sets)
        if self._question.unit is None:
            classes = keyed.groupBy("s", "key").agg(item.alias("n"))
            looks = self._looks_of_classes(self._singles(sets))
            counted = classes.groupBy("s", "n").agg(item.alias("classes"), *looks)
            rows = f.col("n") * f.col("classes")
            return counted.select("*", zero.alias("persons"), rows.alias("rows"))
        pairs = keyed.groupBy("s", "key", "u").agg(item.alias("rows"))
        sized = pairs.withColumn("n", item.over(window.partitionBy("s", "key")))
        classes = sized.groupBy("s", "n").agg(item.alias("members"), f.sum("rows").alias("rows"))
        # Always true; but where nobody asks for the rows, the optimiser leaves them out, and scans
        # the table again instead of reading what it has shuffled for the classes.
        smallest = sized.where("rows > 0").groupBy("s", "u").agg(f.min("n").alias("n"))
        persons = smallest.groupBy("s", "n").agg(item.alias("persons"))
        of_size = (f.col("members") / f.col("n")).cast("long").alias("classes")
        return classes.select("s", "n", of_size, zero.alias("persons"), "rows").union(
            persons.select("s", "n", zero.alias("classes"), "persons", zero.alias("rows"))
        )

    def _singles(self, sets: Sequence[Positions]) -> dict[int, int]:
        """Return the columns, by their set, whose looks are known once classes are counted."""
        if self._question.unit is not None:
            return {}
        alone = {s: positions[0] for s, positions in enumerate(sets) if len(positions) == 1}
        return {s: i for s, i in alone.items() if i < self._n_given}

    def _looks_of_classes(self, singles: dict[int, int]) -> list[Column]:
        """Count the cells that look like something by the texts of classes, each once."""
        if not singles:
            return []
        f, no = self.projection.functions, self.projection.functions.expr("false")

        def cells(condition: Column, name: str) -> Column:
            column: Column = f.sum(f.when(condition, f.col("n")).otherwise(0)).alias(name)
            return column

        known = f.col("s").isin([*singles]) & ~f.col("key").isin("-", ";")
        looks = dict.fromkeys(SHAPES, no)
        for kinds, value in (
            (_TEXT, "substring(key, instr(key, ':') + 1)"),
            (_WHOLE, "try_cast(substring(key, 1, length(key) - 1) as bigint)"),
        ):
            mine = [s for s, i in singles.items() if self._kind(i) in kinds]
            results = _looks(f.expr(value), kinds[-1]) if mine else {}
            for kind, look in results.items():
                looks[kind] |= f.col("s").isin(mine) & (f.col("key") != f.lit("-")) & look
        return [cells(known, "known"), *(cells(look, kind) for kind, look in looks.items())]

    def _keyed(self, sets: Sequence[Positions]) -> DataFrame:
        """One row per counted record and set: its values of the set's columns as one text."""
        f = self.projection.functions
        used = sorted({i for positions in sets for i in positions})
        # Shorter sets are filled up with the nothing that stands at 0.
        place = {i: at for at, i in enumerate(used, start=1)}
        widest = max(map(len, sets))
        each = [[place[i] for i in positions] for positions in sets]
        places = (f.array(*map(f.lit, at + [0] * (widest - len(at)))) for at in each)
        unit = self._question.unit
        person = [] if unit is None else [self.projection.column(unit).alias("u")]
        texts = f.array(f.lit(""), *(self._text(i) for i in used)).alias("texts")
        table = self.kept(self.projection.table).select(texts, *person)
        who = [] if unit is None else ["u"]
        repeated = table.select(f.posexplode(f.array(*places)).alias("s", "at"), "texts", *who)
        parts = (f.get("texts", f.get("at", f.lit(i))) for i in range(widest))
        return repeated.select("s", f.concat(*parts).alias("key"), *who)

    def _text(self, i: int) -> Any:
        """Write a value such that several in a row are told apart, whatever they hold."""
        f = self.projection.functions
        value, kind = self._values[i], self._kind(i) if i < self._n_given else self._coarser[i]
        if kind in (*_TEXT, "binary"):
            text = f.hex(value) if kind == "binary" else value.cast("string")
            length = f.octet_length(text).cast("string")
            return f.coalesce(f.concat(length, f.lit(":"), text), f.lit("-"))
        if kind == "timestamp":
            # As text it would depend on the session's zone, and an hour in autumn be another.
            text = f.unix_micros(value).cast("string")
        elif kind in ("float", "double"):
            # 0.0 and -0.0 are equal, but their texts are not.
            text = f.when(value == 0, f.lit("0")).otherwise(value.cast("string"))
        else:
            text = value.cast("string")
        return f.concat(f.coalesce(text, f.lit("")), f.lit(";"))

    def records(self) -> DataFrame:
        """One row per counted record, with its values."""
        values = (value.alias(f"q{i}") for i, value in enumerate(self._values))
        return self.kept(self.projection.table).select(*values)

    def kept(self, table: DataFrame) -> DataFrame:
        """Leave out the records that miss a column, if that is what was asked for."""
        return table.where(~self._incomplete()) if self.drops else table

    @property
    def missing(self) -> str:
        """What is done with records that miss a column."""
        return self._question.missing

    @property
    def drops(self) -> bool:
        """Whether records that miss a column are left out."""
        return self._question.missing == "drop"

    def _incomplete(self) -> Column:
        return self.projection.any_missing(self._values[: self._n_given])

    def _refused(self) -> int:
        """Reject what the question refuses, and say how many records are left out."""
        question = self._question
        if question.unit is None and question.missing == "value":
            return 0
        facts = self._facts()
        if question.unit is not None and facts["no_unit"]:
            raise refusals.missing_unit(question.unit, facts["no_unit"])
        if question.missing == "error" and facts["incomplete"]:
            known = (facts[f"known{i}"] for i in range(self._n_given))
            absent = (facts["rows"] - n for n in known)
            raise refusals.missing_values(dict(zip(self.columns, absent, strict=False)))
        return facts["incomplete"] if self.drops else 0

    def coarsen(self, n_values: Sequence[int]) -> dict[int, tuple[int, Coarsening]]:
        """Take up a coarser version of each column that has one; one job looks at all of them."""
        numbers = {i: self._number(i) for i in range(self._n_given)}
        texts = {i for i in numbers if self._kind(i) in _TEXT}
        ranges = {i: number for i, number in numbers.items() if number is not None}
        made: dict[int, Coarsening | None] = {}
        with guarded("look at the columns"):
            result = self._looked_at(ranges, texts, {i for i in texts if n_values[i] <= MOST_WORDS})
        hashes: dict[int, list[int]] = {}
        for i in sorted({*ranges, *texts}):
            rows = [row for row in result if row["i"] == i]
            if i in texts:
                how = made[i] = _of_texts(rows, n_values[i])
                words = how.words if isinstance(how, Commonest) else ()
                hashes[i] = [row["hash"] for row in rows if row["word"] in words]
            elif rows and rows[0]["least"] is not None:
                n_different = n_values[i] - (rows[0]["n_known"] < rows[0]["n"])
                made[i] = halved(rows[0]["least"], rows[0]["most"], n_different)
        return self._with_coarser(made, ranges, hashes)

    def _looked_at(self, ranges: dict[int, Column], texts: set[int], few: set[int]) -> list[Row]:
        """Return a row for each column, and for each word of those that have few."""
        f = self.projection.functions
        no_word, no_number = f.lit(None).cast("string"), f.lit(None).cast("double")
        looks = []
        for i in sorted({*ranges, *texts}):
            text = self._values[i].cast("string") if i in texts else no_word
            looks.append(
                f.struct(
                    f.lit(i).alias("i"),
                    (text if i in few else no_word).alias("word"),
                    f.length(text).alias("length"),
                    text.rlike(CODE).alias("code"),
                    text.rlike(DAY).alias("day"),
                    ranges.get(i, no_number).alias("number"),
                )
            )
        if not looks:
            return []
        table = self.kept(self.projection.table).select(f.explode(f.array(*looks)).alias("x"))
        grouped = table.select("x.*").groupBy("i", "word")
        asked = (
            f.count(f.lit(1)).alias("n"),
            f.max("length").alias("longest"),
            f.min("code").alias("codes"),
            f.min("day").alias("days"),
            f.count("number").alias("n_known"),
            f.min("number").alias("least"),
            f.max("number").alias("most"),
        )
        return collect(grouped.agg(*asked).withColumn("hash", f.xxhash64("word")))

    def _with_coarser(
        self,
        made: dict[int, Coarsening | None],
        numbers: dict[int, Column],
        hashes: dict[int, list[int]],
    ) -> dict[int, tuple[int, Coarsening]]:
        f = self.projection.functions
        positions: dict[int, tuple[int, Coarsening]] = {}
        for i, how in sorted(made.items()):
            if how is None:
                continue
            kind = "string"
            if isinstance(how, FirstCharacters):
                coarser = f.substring(self._values[i], 1, how.length)
            elif isinstance(how, Commonest):
                # By what they hash to, so that no word stands in the text of a query.
                word = self._values[i].cast("string")
                kept = f.when(f.xxhash64(word).isin(hashes[i]), f.concat(f.lit("="), word))
                coarser = f.when(self._values[i].isNotNull(), f.coalesce(kept, f.lit("")))
            else:
                kind = "long"
                place = f.floor((numbers[i] - f.lit(how.low)) * f.lit(how.scale))
                last = f.lit(how.number - 1).cast("long")
                coarser = f.when(numbers[i].isNotNull(), f.least(place.cast("long"), last))
            positions[i] = len(self._values), how
            self._coarser[len(self._values)] = kind
            self.columns = (*self.columns, self.columns[i])
            self._values.append(coarser)
        return positions

    def _kind(self, i: int) -> str:
        position = self.projection.names.index(str(self.columns[i]))
        return self.projection.fields[position].dataType.typeName()

    def _number(self, i: int) -> Any:
        """Return a column as numbers, days or microseconds; None where it is something else."""
        f, kind = self.projection.functions, self._kind(i)
        if kind in _NUMBERS:
            return self._values[i].cast("double")
        if kind == "date":
            return f.unix_date(self._values[i]).cast("double")
        if kind in ("timestamp", "timestamp_ntz"):
            return microseconds(f, self._values[i], kind).cast("double")
        return None

    def shapes(self) -> list[Shape]:
        """Look at the cells of all columns; in one job, unless counting them has shown it."""
        if len(self._seen) == self._n_given:
            return [self._seen[i] for i in range(self._n_given)]
        facts = self._facts()
        return [
            Shape(facts[f"known{i}"], {kind: facts[f"{kind}{i}"] for kind in self._looks(i)})
            for i in range(self._n_given)
        ]

    def numerals(self) -> list[Numerals]:
        """Count the numbers and dates of all columns in one job."""
        f = self.projection.functions
        asked = [kind for i in range(self._n_given) for kind in self._numerals(i)]
        with guarded("look at the columns"):
            table = self.kept(self.projection.table)
            added = table.agg(*(f.count(f.when(is_one, 1)) for is_one in asked))
            row = list(collect(added)[0])
        return [Numerals(*row[i : i + 3]) for i in range(0, len(row), 3)]

    def _numerals(self, i: int) -> tuple[Column, Column, Column]:
        """Return whether a cell is a whole number, one with a fraction, a date."""
        value, kind = self._values[i], self._kind(i)
        no, known = self.projection.functions.expr("false"), value.isNotNull()
        if kind in _TEXT:
            whole, fraction, date = (value.rlike(_whole(p)) for p in (WHOLE, FRACTION, DATES))
            return whole, fraction, date
        if kind in _WHOLE:
            return known, no, no
        if kind in _NUMBERS:
            number = value.cast("double")
            fraction = known & (self.projection.functions.rint(number) != number)
            return known & ~fraction, fraction, no
        return (no, no, known) if kind in _DATES else (no, no, no)

    def _facts(self) -> dict[str, int]:
        """Count, in one job, missing cells and cells that look like something."""
        if self._known_facts is None:
            f = self.projection.functions
            yes, no = f.expr("true"), f.expr("false")
            incomplete = self._incomplete()
            counted = ~incomplete if self.drops else yes
            unit = self._question.unit
            no_unit = no if unit is None else self.projection.column(unit).isNull()
            asked = {"rows": yes, "incomplete": incomplete, "no_unit": no_unit}
            for i, value in enumerate(self._values[: self._n_given]):
                asked[f"known{i}"] = counted & value.isNotNull()
                looks = self._looks(i)
                asked |= {f"{kind}{i}": counted & looks[kind] for kind in looks}
            with guarded("look at the columns"):
                numbers = [f.count(f.when(asked[name], 1)) for name in asked]
                row = collect(self.projection.table.agg(*numbers))[0]
            self._known_facts = dict(zip(asked, row, strict=True))
        return self._known_facts

    def _looks(self, i: int) -> dict[str, Column]:
        return _looks(self._values[i], self._kind(i))


def _looks(value: Column, kind: str) -> dict[str, Column]:
    """Return, for each kind of identifier, whether a cell has its shape."""
    if kind in _WHOLE:
        (low, high), (lower, higher) = NATIONAL_NUMBERS
        short, long = (value >= low) & (value < high), (value >= lower) & (value < higher)
        return {"national id": short | long}
    if kind not in _TEXT:
        return {}
    looks = {kind: value.rlike(_whole(pattern)) for kind, pattern in SHAPES.items()}
    looks["telephone number"] &= ~value.rlike(_whole(DATES))
    return looks


def _of_texts(rows: Sequence[Row], n_values: int) -> FirstCharacters | Commonest | None:
    if all(row["codes"] for row in rows if row["codes"] is not None):
        days = all(row["days"] for row in rows if row["days"] is not None)
        return FirstCharacters.of(max((row["longest"] or 0 for row in rows), default=0), days=days)
    if n_values > MOST_WORDS:
        return None
    return Commonest.of({row["word"]: row["n"] for row in rows if row["word"] is not None})


def _whole(pattern: str) -> str:
    # To Java more signs than one end a line.
    return "\\A(?:" + pattern.replace(".*", r"[^\n]*") + ")\\z"


def _class_sizes(rows: list[Row], **about: Any) -> ClassCounts:
    classes = {row["n"]: row["classes"] for row in rows if row["classes"]}
    persons = {row["n"]: row["persons"] for row in rows if row["persons"]}
    sizes = sorted(classes)
    return ClassCounts(
        sizes,
        [classes[size] for size in sizes],
        None if about["unit"] is None else [persons.get(size, 0) for size in sizes],
        n_rows=sum(row["rows"] for row in rows),
        **about,
    )


def suda_scores(
    counter: SparkSets,
    max_size: int,
    names: list[str],
    risk: Callable[[Totals], float | None],
) -> tuple[DataFrame, DataFrame, Totals]:
    """Score every record; `risk` is what DIS-SUDA adds to 1 / score^power, if it is asked for."""
    taken = {name.casefold() for name in counter.projection.names}
    values = [name for name in names if name]
    for name in values:
        if name.casefold() in taken:
            raise ArgumentError(f"the table already has a column {name!r}; rename it")
    with guarded("score the records"):
        result = _Scores(counter, max_size)
        totals = result.totals()
        odds = risk(totals)
        return (
            result.records(names[:1], odds, only_score=True),
            result.records(values, odds),
            totals,
        )


class _Scores:
    """The minimal uniques of each record that is alone with all columns, as one lazy table."""

    def __init__(self, counter: SparkSets, max_size: int) -> None:
        self.counter = counter
        self.f = counter.projection.functions
        self.n_columns = len(counter.columns)
        self.qs = [f"q{i}" for i in range(self.n_columns)]
        self.weights = weights(self.n_columns, max_size)
        self.table = self._scored()

    def _scored(self) -> DataFrame:
        f = self.f
        everything = tuple(range(self.n_columns))
        different = self.counter.records().groupBy(*self.qs).agg(f.count(f.lit(1)).alias("n"))
        masks = [
            f.lit(sum(1 << i for i in positions)).cast("long")
            for size in range(1, len(self.weights) + 1)
            for positions in combinations(everything, size)
        ]
        repeated = different.select("n", *self.qs, f.explode(f.array(*masks)).alias("m"))
        inside = [f.when(self._has("m", i), f.col(q)).alias(f"k{i}") for i, q in enumerate(self.qs)]
        keys = [f"k{i}" for i in range(self.n_columns)]
        classes = (
            repeated.select("m", "n", *self.qs, *inside)
            .groupBy("m", *keys)
            .agg(f.sum("n").alias("n"), *(f.first(q).alias(q) for q in self.qs))
        )
        alone = classes.where(f.col("n") == 1).groupBy(*self.qs).agg(f.collect_list("m").alias("a"))
        minimal = f.filter("a", lambda s: ~f.exists("a", lambda t: _within(t, s)))
        parts = [self._sum(partial(self._has, i=i)) for i in range(self.n_columns)]
        return alone.select(*self.qs, minimal.alias("a")).select(
            *self.qs,
            "a",
            self._sum(lambda _: f.expr("true")).alias("score"),
            *(part.alias(f"p{i}") for i, part in enumerate(parts)),
        )

    def _has(self, mask: Any, i: int) -> Column:
        column = self.f.col(mask) if isinstance(mask, str) else mask
        has: Column = column.bitwiseAND(self.f.lit(1 << i).cast("long")) != 0
        return has

    def _sum(self, counts: Callable[[Any], Column]) -> Column:
        """Add up the weights of the minimal uniques that count."""
        f = self.f
        weight = f.array(*(f.lit(w) for w in self.weights))
        nothing = f.lit(0.0)
        total: Column = f.aggregate(
            "a",
            nothing,
            lambda so_far, s: (
                so_far + f.when(counts(s), f.element_at(weight, f.bit_count(s))).otherwise(nothing)
            ),
        )
        return total

    def totals(self) -> Totals:
        """Add up all scores, in one job."""
        f = self.f
        by_size = [f.sum(f.size(self._of_size(n + 1))) for n in range(len(self.weights))]
        power = exponent(self.n_columns)
        added = self.table.agg(
            f.count(f.lit(1)),
            f.sum("score"),
            f.max("score"),
            f.sum(f.pow(f.col("score"), f.lit(-power))),
            *by_size,
            *(f.sum(f"p{i}") for i in range(self.n_columns)),
        )
        n_scored, score, largest, adjustment, *rest = (value or 0 for value in collect(added)[0])
        sizes, parts = rest[: len(by_size)], rest[len(by_size) :]
        return Totals(
            n_scored, float(score), float(largest), float(adjustment), tuple(sizes), tuple(parts)
        )

    def _of_size(self, size: int) -> Column:
        f = self.f
        # A second argument, even one with a default, would be taken for the place in the array.
        some: Column = f.filter("a", lambda s: f.bit_count(s) == size)
        return some

    def records(
        self, names: list[str], odds: float | None, *, only_score: bool = False
    ) -> DataFrame:
        """Return the user's table with the scores of each record."""
        f, projection = self.f, self.counter.projection
        keys = [projection.column(name) for name in self.counter.columns]
        left = projection.table.select("*", *(key.alias(f"r{i}") for i, key in enumerate(keys)))
        same = f.expr("true")
        for i, q in enumerate(self.qs):
            same &= f.col(f"r{i}").eqNullSafe(f.col(q))
        joined = left.join(self.table, same, "left")
        score = f.col("score")
        made = [score]
        if not only_score:
            made.append(f.size(f.coalesce(f.col("a"), f.array())).cast("long"))
            if odds is not None:
                power = exponent(self.n_columns)
                made.append(1 / (1 + f.lit(odds) / f.pow(score, f.lit(power))))
            made += [f.col(f"p{i}") / score for i in range(self.n_columns)]
        nothing = f.lit(0)
        filled = [f.coalesce(value, nothing) for value in made]
        if self.counter.drops:
            known = ~projection.any_missing(f.col(f"r{i}") for i in range(len(keys)))
            filled = [f.when(known, value) for value in filled]
        own = [f"c{i}" for i in range(len(projection.names))]
        return joined.select(*own, *(v.alias(f"x{i}") for i, v in enumerate(filled))).toDF(
            *projection.names, *names
        )


def _within(small: Any, large: Any) -> Column:
    inside: Column = (small.bitwiseAND(large) == small) & (small != large)
    return inside
