"""A plan as code that needs no anonrisk: one SELECT, or a function of PySpark."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from anonrisk.core.arguments import one_of
from anonrisk.core.render import percent, shown
from anonrisk.errors import PlanError
from anonrisk.measures.recode import (
    Bins,
    DatePart,
    Keep,
    Level,
    MergeRare,
    Prefix,
    Star,
    TopBottom,
    ZipArea,
)
from anonrisk.measures.recode.recoding import EPOCH, MARKER, of_earlier, of_number
from anonrisk.measures.recode.regions import DateRanges, NumberRanges, Parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.measures.recode import Recoding
    from anonrisk.measures.recode.regions import ByRegion, Regions

DIALECTS = ("ansi", "duckdb", "postgresql", "sqlite", "spark")
_SIZE = "anonrisk_class_size"
# Stands in a cell, on the way only, where the record is to be left out.
_UNSEEN = "anonrisk: unseen"


class CodedPlan(NamedTuple):
    """What code says of a plan."""

    recodings: dict[Name, Recoding]
    k: int | None
    max_suppressed: float
    columns: Qid
    leave_out: Qid


def sql_code(plan: CodedPlan, dialect: str, table: str, on_unseen: str) -> str:
    """Write the plan as one SELECT over a table of the same columns."""
    write = SqlWriter(dialect, on_unseen)
    marks = [f"{write.name(c)} = {write.text(_UNSEEN)}" for c in _marked(plan, on_unseen)]
    return checked_select(plan, write, _new_cells(plan, write), table, lost=" OR ".join(marks))


def checked_select(
    plan: CodedPlan,
    write: SqlWriter,
    new: Mapping[str, str],
    source: str,
    *,
    steps: str = "",
    carried: tuple[str, ...] = (),
    lost: str = "",
    size_of_lost: str = "0",
) -> str:
    """Select new cells from a source, without small classes; it fails where these are too many.

    `steps` are the CTEs that the source needs, `carried` those of its columns that `lost` does,
    which says what records are in no class.
    """
    gone = set(map(str, plan.leave_out))
    names = [str(c) for c in plan.columns or plan.recodings if str(c) not in gone]
    quoted = [write.name(name) for name in names]
    cells = [
        f"{new[c]} AS {name}" if c in new else name for c, name in zip(names, quoted, strict=True)
    ]
    recoded = f"SELECT {_listed([*cells, *carried])}\nFROM {source}"
    if plan.k is None and not lost:
        return f"WITH {steps}\n{recoded}" if steps else recoded
    keys = ", ".join(write.name(str(name)) for name in plan.recodings)
    size = "1" if plan.k is None else f"COUNT(*) OVER (PARTITION BY {keys})"
    size = f"CASE WHEN {lost} THEN {size_of_lost} ELSE {size} END" if lost else size
    k = plan.k or 1
    too_many = f"anonrisk_left_out > {_share(plan)} * anonrisk_records + 1e-9"
    return f"""WITH {f"{steps}, " if steps else ""}anonrisk_recoded AS (
{recoded}
), anonrisk_sized AS (
SELECT *, {size} AS {_SIZE}
FROM anonrisk_recoded
), anonrisk_totals AS (
SELECT COUNT(*) AS anonrisk_records, COUNT(CASE WHEN {_SIZE} < {k} THEN 1 END) AS anonrisk_left_out
FROM anonrisk_sized
)
SELECT {_listed(quoted)}
FROM anonrisk_sized CROSS JOIN anonrisk_totals
WHERE CASE WHEN {too_many} THEN {write.error(_too_many(plan), _SIZE)} ELSE {_SIZE} END >= {k}"""  # noqa: S608


def pyspark_code(plan: CodedPlan, on_unseen: str) -> str:
    """Write the plan as a function of PySpark.

    Cells are recoded by the same expressions as in Spark's SQL.
    """
    write = SqlWriter("spark", on_unseen)
    marks = [f"{write.name(c)} = {write.text(_UNSEEN)}" for c in _marked(plan, on_unseen)]
    return checked_function(plan, _new_cells(plan, write), lost=" OR ".join(marks))


def checked_function(
    plan: CodedPlan,
    new: Mapping[str, str],
    *,
    steps: Sequence[Mapping[str, str]] = (),
    carried: tuple[str, ...] = (),
    lost: str = "",
    size_of_lost: str = "0",
) -> str:
    """Write a function of PySpark that does as `checked_select`; each step adds columns."""
    lines = [
        "from pyspark.sql import DataFrame, Window",
        "from pyspark.sql import functions as F",
        "",
        "",
        "def anonymise(df: DataFrame) -> DataFrame:",
        f'    """Recode {_quotable(plan.recodings)}'
        + ('."""' if plan.k is None else f', and leave out classes smaller than {plan.k}."""'),
        "    recoded = {",
        *(f"        {name!r}: F.expr({cell!r})," for name, cell in new.items()),
        "    }",
    ]
    if plan.leave_out:
        lines.append(f"    df = df.drop(*{[str(name) for name in plan.leave_out]!r})")
    lines.append("    quoted = {name: '`' + name.replace('`', '``') + '`' for name in df.columns}")
    for step in steps:
        added = (f"        F.expr({cell!r}).alias({name!r})," for name, cell in step.items())
        lines += ["    df = df.select(", "        '*',", *added, "    )"]
    lines += [
        "    df = df.select(*(",
        "        recoded[name].alias(name) if name in recoded else F.col(quoted[name])",
        "        for name in quoted",
        f"    ){''.join(f', {name!r}' for name in carried)})",
    ]
    if plan.k is None and not lost:
        return "\n".join([*lines, "    return df", ""])
    keys = ", ".join(f"quoted[{str(name)!r}]" for name in plan.recodings)
    window = f"F.count(F.lit(1)).over(Window.partitionBy({keys}))"
    lines.append(f"    size = {'F.lit(1)' if plan.k is None else window}")
    if lost:
        instead = f"F.expr({size_of_lost!r})"
        lines.append(f"    size = F.when(F.expr({lost!r}), {instead}).otherwise(size)")
    helpers = ", ".join(map(repr, (_SIZE, *carried)))
    return "\n".join(
        [
            *lines,
            f"    sized = df.withColumn({_SIZE!r}, size)",
            f"    small = F.when(F.col({_SIZE!r}) < {plan.k or 1}, 1)",
            "    n_records, n_left_out = sized.agg(F.count(F.lit(1)), F.count(small)).first()",
            f"    if n_left_out > {_share(plan)} * n_records + 1e-9:",
            f"        raise ValueError({_too_many(plan)!r})",
            f"    return sized.where(F.col({_SIZE!r}) >= {plan.k or 1}).drop({helpers})",
            "",
        ]
    )


def _new_cells(plan: CodedPlan, write: SqlWriter) -> dict[str, str]:
    return {
        str(name): write.cell(write.name(str(name)), recoding)
        for name, recoding in plan.recodings.items()
        if not isinstance(recoding, Keep)
    }


def _marked(plan: CodedPlan, on_unseen: str) -> list[str]:
    """List the columns in which a record may be marked as one to leave out."""
    levels = [str(name) for name, r in plan.recodings.items() if isinstance(r, Level)]
    return levels if on_unseen == "suppress" else []


def _share(plan: CodedPlan) -> str:
    """Write a share such that every dialect reads a number in floating point, or exactly."""
    return str(np.format_float_scientific(plan.max_suppressed, trim="0"))


def _too_many(plan: CodedPlan) -> str:
    return f"anonrisk: more than {percent(plan.max_suppressed)} of the records would be left out"


def _quotable(names: Iterable[Name]) -> str:
    """List names as they may stand between quotes: none of them ends the text it stands in."""
    listed = ", ".join(map(shown, names))
    return listed.replace("\\", "\\\\").replace('"', '\\"')


def _listed(cells: list[str]) -> str:
    return ",\n  ".join(cells)


def _digits(text: str, places: Iterable[int]) -> str:
    """Return the sentence that there are digits at these places."""
    digits = ", ".join(f"'{digit}'" for digit in range(10))
    return " AND ".join(f"SUBSTR({text}, {place}, 1) IN ({digits})" for place in places)


class SqlWriter:
    """Writes expressions of one dialect."""

    def __init__(self, dialect: str, on_unseen: str) -> None:
        one_of(dialect, "dialect", DIALECTS)
        self.dialect, self.on_unseen = dialect, on_unseen

    def name(self, name: str) -> str:
        """Quote the name of a column."""
        if self.dialect == "spark":
            return "`" + name.replace("`", "``") + "`"
        return '"' + name.replace('"', '""') + '"'

    def text(self, value: str) -> str:
        """Quote a text."""
        if self.dialect == "spark":
            # Spark reads escapes inside quotes.
            return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
        return "'" + value.replace("'", "''") + "'"

    def error(self, message: str, column: str) -> str:
        """Write what fails where it is evaluated, with a message that holds no cell."""
        said = self.text(message)
        if self.dialect == "duckdb":
            return f"error({said})"
        if self.dialect == "spark":
            return f"raise_error({said})"
        if self.dialect == "sqlite":
            # SQLite raises of its own will in triggers only; a path that is none is quoted.
            return f"json_extract('{{}}', {said})"
        # No number: standard SQL has no other way. It hangs on a column, for what is constant may
        # be evaluated before anybody knows whether it is needed.
        hanging = f"CASE WHEN {column} IS NULL THEN 0 ELSE {len(message)} END"
        return f"CAST(SUBSTR({said}, 1, {hanging}) AS INTEGER)"

    def cell(self, column: str, recoding: Recoding) -> str:
        """Write the new cell of a column."""
        kinds: dict[type, Any] = {
            Keep: self._keep,
            Star: self._star,
            Bins: self._bins,
            TopBottom: self._top_bottom,
            Prefix: self._prefix,
            ZipArea: self._area,
            MergeRare: self._merge,
            DatePart: self._date,
            Level: self._level,
        }
        writer = kinds.get(type(recoding))
        if writer is None:
            raise PlanError(f"{type(recoding).__name__} cannot be written as code")
        return str(writer(column, recoding))

    def _keep(self, column: str, _: Keep) -> str:
        return column

    def _star(self, _: str, recoding: Star) -> str:
        return self.text(recoding.label)

    def _bins(self, column: str, recoding: Bins) -> str:
        labels = [self.text(label) for label in recoding.labels]
        edges = [of_number(edge) for edge in recoding.edges]
        return self.between(column, edges, labels, "NULL", self.or_nan(column))

    def between(
        self, column: str, edges: list[str], result: list[str], missing: str, or_nan: str = ""
    ) -> str:
        """Write what is found below the first edge, below the second, and beyond the last."""
        cases = [f"WHEN {column} IS NULL{or_nan} THEN {missing}"]
        cases += [
            f"WHEN {column} < {edge} THEN {summary}"
            for edge, summary in zip(edges, result, strict=False)
        ]
        return f"CASE {' '.join(cases)} ELSE {result[-1]} END"

    def or_nan(self, column: str) -> str:
        """NaN is a number to some, and larger than any other."""
        # By what a file of Parquet says of its numbers, DuckDB would hold isnan for false without
        # a look; see `engines.sql.dialects`.
        looked_at = f"list_extract([{column}::DOUBLE], 1)"
        spelled = {"spark": f" OR isnan({column})", "duckdb": f" OR isnan({looked_at})"}
        return spelled.get(self.dialect, "")

    def _top_bottom(self, column: str, recoding: TopBottom) -> str:
        cases = []
        if recoding.top is not None:
            cases.append(
                f"WHEN {column} > {of_number(recoding.top)} THEN {of_number(recoding.top)}"
            )
        if recoding.bottom is not None:
            bottom = of_number(recoding.bottom)
            cases.append(f"WHEN {column} < {bottom} THEN {bottom}")
        return f"CASE {' '.join(cases)} ELSE {column} END"

    def as_text(self, column: str) -> str:
        """Write a cell as text."""
        return f"CAST({column} AS {'STRING' if self.dialect == 'spark' else 'VARCHAR(255)'})"

    def _prefix(self, column: str, recoding: Prefix) -> str:
        text = self.as_text(column)
        head = f"SUBSTR({text}, 1, {recoding.length})"
        stars = self.text("*" * (recoding.width or 255))
        width = recoding.width or f"LENGTH({text})"
        return f"{head} || SUBSTR({stars}, 1, {width} - LENGTH({head}))"

    def _area(self, column: str, recoding: ZipArea) -> str:
        text = self.as_text(column)
        head = f"SUBSTR({text}, 1, {recoding.digits})"
        known = ", ".join(self.text(area) for area in recoding.known) or "NULL"
        five, four = _digits(text, range(1, 6)), _digits(text, range(7, 11))
        # Dialects share no regular expressions.
        form = (
            f"{five} AND (LENGTH({text}) = 5 OR "
            f"LENGTH({text}) = 10 AND SUBSTR({text}, 6, 1) = '-' AND {four})"
        )
        return (
            f"CASE WHEN {column} IS NULL THEN NULL WHEN {head} IN ({known}) AND {form} "
            f"THEN {head} ELSE {self.text(recoding.other)} END"
        )

    def _merge(self, column: str, recoding: MergeRare) -> str:
        first = recoding.beginning
        begun = self.as_text(column) if first is None else self._prefix(column, first)
        kept = ", ".join(self.text(value) for value in recoding.kept) or "NULL"
        return (
            f"CASE WHEN {column} IS NULL THEN NULL WHEN {begun} IN ({kept}) THEN {begun} "
            f"ELSE {self.text(recoding.other)} END"
        )

    def _date(self, column: str, recoding: DatePart) -> str:
        year, month = self._number(column, "YEAR"), self._number(column, "MONTH")
        years = self._padded(year, 4)
        if recoding.part == "week":
            return self._week(column)
        if recoding.part in ("day", "month"):
            days = f" || '-' || {self._padded(self._number(column, 'DAY'), 2)}"
            to_month = f"{years} || '-' || {self._padded(month, 2)}"
            return to_month + (days if recoding.part == "day" else "")
        if recoding.part in ("quarter", "half"):
            months = 3 if recoding.part == "quarter" else 6
            cases = " ".join(
                f"WHEN {month} <= {i * months} THEN '{i}'" for i in range(1, 12 // months + 1)
            )
            return f"{years} || '-{recoding.part[0].upper()}' || CASE {cases} END"
        if recoding.part == "decade":
            return f"SUBSTR({years}, 1, 3) || '0s'"
        if recoding.earliest is not None:
            early = self.text(of_earlier(recoding.earliest))
            return f"CASE WHEN {year} < {recoding.earliest} THEN {early} ELSE {years} END"
        return years

    def _week(self, column: str) -> str:
        """Write a week of ISO 8601 and its year, for which dialects share no words."""
        if self.dialect == "ansi":
            raise PlanError(
                "standard SQL knows no weeks: name the dialect of your database, one of "
                f"{', '.join(map(repr, DIALECTS[1:]))}"
            )
        if self.dialect == "sqlite":
            thursday = f"DATE({column}, '-3 days', 'weekday 4')"
            year = self._number(thursday, "YEAR")
            week = f"(({self._number(thursday, 'DOY')} - 1) / 7 + 1)"
        else:
            of_year = "YEAROFWEEK" if self.dialect == "spark" else "ISOYEAR"
            year, week = self._number(column, of_year), self._number(column, "WEEK")
        return f"{self._padded(year, 4)} || '-W' || {self._padded(week, 2)}"

    def _number(self, column: str, part: str) -> str:
        if self.dialect == "sqlite":
            # SQLite keeps dates as text; '%Y' and the like are what it has.
            spelled = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "DOY": "%j"}[part]
            return f"CAST(STRFTIME('{spelled}', {column}) AS INTEGER)"
        return f"EXTRACT({part} FROM {column})"

    def _padded(self, number: str, width: int) -> str:
        if self.dialect == "sqlite":
            # PRINTF would write a missing number as zeros.
            return f"CASE WHEN {number} IS NOT NULL THEN PRINTF('%0{width}d', {number}) END"
        text = self.as_text(f"CAST({number} AS INTEGER)")
        return f"LPAD({text}, {width}, '0')"

    def _level(self, column: str, recoding: Level) -> str:
        below: dict[str, list[str]] = {}
        for leaf, label in recoding.mapping().items():
            below.setdefault(label, []).append(self.text(leaf))
        cases = " ".join(
            f"WHEN {self.as_text(column)} IN ({', '.join(leaves)}) THEN {self.text(label)}"
            for label, leaves in below.items()
        )
        rest = self._unseen(column, recoding)
        return f"CASE WHEN {column} IS NULL THEN NULL {cases} ELSE {rest} END"

    def _unseen(self, column: str, recoding: Level) -> str:
        if self.on_unseen != "refuse":
            top = self.on_unseen == "top"
            return self.text(recoding.for_unseen if top else _UNSEEN)
        message = f"anonrisk: the hierarchy lacks a value of column {column}"
        return self.as_text(self.error(message, column))


# Measured: 6,189 regions and 40,000 records take SQLite and DuckDB 3 seconds of a processor.
MAX_REGIONS = 5_000
_REGION = "anonrisk_region"
_NO_REGION = "anonrisk: the plan has no region for a record"


def regional_sql_code(
    plan: CodedPlan, regions: Regions, dialect: str, table: str, on_unseen: str
) -> str:
    """Write a plan by region as one SELECT over a table of the same columns."""
    _check_size(regions)
    write = SqlWriter(dialect, on_unseen)
    if dialect == "spark":
        added, new = _by_arrays(regions, write)
        sources = [table, *(f"anonrisk_step_{i}" for i in range(len(added)))]
        steps = ", ".join(map(_step, sources[1:], sources, added))
        source = sources[-1]
    else:
        steps, new = _by_joins(regions, write, table)
        source = "anonrisk_found"
    carried, lost, size = _lost(write)
    return checked_select(
        plan, write, new, source, steps=steps, carried=carried, lost=lost, size_of_lost=size
    )


def regional_pyspark_code(plan: CodedPlan, regions: Regions, on_unseen: str) -> str:
    """Write a plan by region as a function of PySpark."""
    _check_size(regions)
    write = SqlWriter("spark", on_unseen)
    steps, new = _by_arrays(regions, write)
    carried, lost, size = _lost(write)
    return checked_function(plan, new, steps=steps, carried=carried, lost=lost, size_of_lost=size)


def _check_size(regions: Regions) -> None:
    if len(regions) > MAX_REGIONS:
        raise PlanError(
            f"a plan of {len(regions):,} regions is more than is written as one query, which "
            f"is {MAX_REGIONS:,}: store it with to_json() and use anonrisk.apply, or make a plan "
            "with method='full-domain'"
        )


def _lost(write: SqlWriter) -> tuple[tuple[str, ...], str, str]:
    """Return which column tells the records of no region, how, and what size they have then."""
    if write.on_unseen == "top":
        return (), "", "0"
    size = "0" if write.on_unseen == "suppress" else write.error(_NO_REGION, _REGION)
    return (_REGION,), f"{_REGION} < 0", size


def _step(name: str, source: str, added: Mapping[str, str]) -> str:
    cells = ",\n  ".join(f"{cell} AS {column}" for column, cell in added.items())
    return f"{name} AS (\nSELECT *,\n  {cells}\nFROM {source}\n)"


def _places(regions: Regions, write: SqlWriter) -> dict[str, str]:
    return {
        f"anonrisk_place_{i}": _place(write, write.name(str(name)), recoding)
        for i, (name, recoding) in enumerate(regions.columns.items())
    }


def _cuts(regions: Regions) -> list[list[int]]:
    """Return the cuts; where there is none, one of which both sides are the only region."""
    cuts: list[list[int]] = regions.cuts.tolist()
    return cuts or [[0, 0, -1, -1]]


def _by_joins(regions: Regions, write: SqlWriter, table: str) -> tuple[str, dict[str, str]]:
    """Write the way of each combination of places along the cuts, and the new cells at its end.

    Nested cases would need no joins, but SQLite's parser takes fewer than 19 inside each other.
    """
    places = _places(regions, write)
    new, labels, summary = {}, [], []
    for i, (name, (source, texts)) in enumerate(regions.labels().items()):
        labels.append(f"anonrisk_label_{i}")
        summary.append([write.text(texts[n]) if n >= 0 else "NULL" for n in source.tolist()])
        new[str(name)] = _starred(write, write.as_text(labels[-1]))
    numbers = [range(len(regions)), *regions.boxes.reshape(len(regions), -1).T.tolist()]
    ends = [f"anonrisk_{end}_{i}" for i in range(len(places)) for end in ("first", "last")]
    names, carried = ", ".join(places), "".join(f", {label}" for label in labels)
    at = " ".join(f"WHEN {i} THEN {place}" for i, place in enumerate(places))
    same = " AND ".join(f"p.{place} = w.{place}" for place in places)
    inside = " AND ".join(
        f"w.{place} BETWEEN {first} AND {last}"
        for place, first, last in zip(places, ends[::2], ends[1::2], strict=True)
    )
    cuts = _cuts(regions)
    steps = f"""RECURSIVE {_step("anonrisk_placed", table, places)}, anonrisk_cuts (
  anonrisk_cut, anonrisk_axis, anonrisk_place, anonrisk_below, anonrisk_above
) AS (
{_values([range(len(cuts)), *zip(*cuts, strict=True)])}
), anonrisk_regions (
  {", ".join(["anonrisk_number", *ends, *labels])}
) AS (
{_values([*numbers, *summary])}
), anonrisk_way ({names}, anonrisk_at) AS (
SELECT DISTINCT {names}, 0
FROM anonrisk_placed
UNION ALL
SELECT {names}, CASE
  WHEN CASE anonrisk_axis {at} END < anonrisk_place THEN anonrisk_below ELSE anonrisk_above
END
FROM anonrisk_way JOIN anonrisk_cuts ON anonrisk_cut = anonrisk_at
), anonrisk_found AS (
SELECT p.*{carried}, COALESCE(anonrisk_number, -1) AS {_REGION}
FROM anonrisk_placed p
JOIN anonrisk_way w ON {same} AND anonrisk_at < 0
LEFT JOIN anonrisk_regions ON anonrisk_number = -1 - anonrisk_at AND {inside}
)"""  # noqa: S608
    return steps, new


def _values(columns: Iterable[Iterable[object]]) -> str:
    rows = (", ".join(map(str, row)) for row in zip(*columns, strict=True))
    return "VALUES " + ",\n  ".join(f"({row})" for row in rows)


def _starred(write: SqlWriter, label: str) -> str:
    return f"CASE WHEN {_REGION} < 0 THEN {write.text(MARKER)} ELSE {label} END"


def _by_arrays(regions: Regions, write: SqlWriter) -> tuple[list[dict[str, str]], dict[str, str]]:
    """Write what Spark adds to the table, step by step, to find the region; and the new cells.

    Not all of its versions know recursive queries.
    """
    places = _places(regions, write)
    axis, place, below, above = map(_numbers, zip(*_cuts(regions), strict=True))
    way = (
        f"aggregate(sequence(1, {max(regions.depth, 1)}), 0, (cut, i) -> "
        f"CASE WHEN cut < 0 THEN cut WHEN array({', '.join(places)})[{axis}[cut]] < {place}[cut] "
        f"THEN {below}[cut] ELSE {above}[cut] END)"
    )
    number = "(-1 - anonrisk_at)"
    inside = " AND ".join(
        f"{place} BETWEEN {_numbers(first)}[{number}] AND {_numbers(last)}[{number}]"
        for place, (first, last) in zip(
            places, regions.boxes.transpose(1, 2, 0).tolist(), strict=True
        )
    )
    region = f"CASE WHEN {inside} THEN {number} ELSE -1 END"
    new = {}
    for name, (label, texts) in regions.labels().items():
        # The label after the last is a missing one.
        of_region = f"{_numbers(np.where(label < 0, len(texts), label).tolist())}[{_REGION}]"
        text = ", ".join([*map(write.text, texts), write.as_text("NULL")])
        new[str(name)] = _starred(write, f"array({text})[{of_region}]")
    return [places, {"anonrisk_at": way}, {_REGION: region}], new


def _numbers(numbers: Iterable[int]) -> str:
    """Write many numbers as one constant, of which Spark makes an array before it runs."""
    return f"CAST(split('{','.join(map(str, numbers))}', ',') AS ARRAY<INT>)"


def _place(write: SqlWriter, column: str, recoding: ByRegion) -> str:
    """Write the place of a cell, -1 where it has none."""
    if isinstance(recoding, NumberRanges):
        bins = list(map(str, range(len(recoding.edges) + 1)))
        missing = str(recoding.missing)
        if not isinstance(recoding, DateRanges):
            edges = list(map(of_number, recoding.edges))
            return write.between(column, edges, bins, missing, write.or_nan(column))
        days = [dt.date.fromordinal(int(edge) + EPOCH).isoformat() for edge in recoding.edges]
        # SQLite keeps dates as text.
        lite = write.dialect == "sqlite"
        edges = [f"'{day}'" if lite else f"DATE '{day}'" for day in days]
        return write.between(f"DATE({column})" if lite else column, edges, bins, missing)
    assert isinstance(recoding, Parts)  # noqa: S101
    parts = [
        _part(write, column, recoding.places(level), step)
        for level, step in enumerate(recoding.levels)
    ]
    known = ", ".join([part for part in parts if part] + ["-1"])
    nan = write.or_nan(column) if any(isinstance(step, Bins) for step in recoding.levels) else ""
    return f"CASE WHEN {column} IS NULL{nan} THEN {recoding.missing} ELSE COALESCE({known}) END"


def _part(write: SqlWriter, column: str, places: Mapping[str, int], step: Recoding) -> str:
    """Write the part of one step; NULL where no region has it, nothing where none has any."""
    if not places:
        return ""
    if isinstance(step, Star):
        return str(*places.values())
    fields, cell = dict(places), write.as_text(column)
    if isinstance(step, Level):
        fields = {
            leaf: places[source] for leaf, source in step.mapping().items() if source in places
        }
    elif not isinstance(step, Keep):
        cell = write.cell(column, step)
        cell = write.as_text(cell) if isinstance(step, TopBottom) else cell
    values: dict[int, list[str]] = {}
    for value, place in fields.items():
        values.setdefault(place, []).append(write.text(value))
    cases = (
        f"WHEN {cell} IN ({', '.join(source)}) THEN {place}" for place, source in values.items()
    )
    return f"CASE {' '.join(cases)} END"
