"""Tables that nobody would write by hand, drawn by a number: the same number, the same table.

A case is asked a question, and its answer is the oracle's or an AnonRiskError.
"""

from __future__ import annotations

import datetime as dt
import decimal
import math
import random
import warnings
from collections import Counter
from dataclasses import dataclass
from zoneinfo import ZoneInfo

import numpy as np
import oracle
import pandas as pd
from tables import to_rows

import anonrisk
from anonrisk import AnonRiskError

AMSTERDAM, NEW_YORK = ZoneInfo("Europe/Amsterdam"), ZoneInfo("America/New_York")
D, T = dt.date, dt.datetime
TEXTS = (
    *("", " ", "a", "A", "a ", "a\n", "a\t", "nan", "NULL", "None", "0", "-0", "1", "1.0"),
    *("é", "e\u0301", "ﬁ", "fi", "ß", "ss", "İ", "i\u0307", "\u212b", "Å", "A\u030a"),
    *("\u202eabc", "אב", "\u200b", "a\u200b", "\ufeffa", "😀", "👩\u200d👩", "\x00", "a\x00"),
    *("'", '"', "`", "\\", "%s", "{}", "$x", "${a}", "a" * 300, "\x7f", "\u0085", "\uffff"),
)
# What a column may hold, of one type each; None may stand anywhere.
POOLS = {
    "integer": (0, 1, -1, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1),
    "small": (0, 1, 2, 3),
    "real": (
        *(0.0, -0.0, 1.0, math.inf, -math.inf, math.nan, 5e-324, -5e-324, 2.2250738585072014e-308),
        *(2.225073858507201e-308, 1.7976931348623157e308, 0.3, 0.1 + 0.2, 2.0**53, 2.0**53 + 2),
    ),
    "text": TEXTS,
    "bytes": (b"", b"\x00", b"\xff", b"a", b"a\x00", b"A"),
    "truth": (True, False),
    "day": (D(1, 1, 1), D(1582, 10, 4), D(1582, 10, 15), D(1900, 2, 28), D(1970, 1, 1),
            D(2000, 2, 29), D(9999, 12, 31)),
    "clock": (T(1970, 1, 1), T(1969, 12, 31, 23, 59, 59, 999999), T(2020, 3, 29, 2, 30),
              T(2020, 10, 25, 2, 30), T(2020, 10, 25, 2, 30, 0, 1), T(1900, 1, 1), T(2200, 1, 1)),
    "instant": (
        *(T(2020, 10, 25, 2, 30, tzinfo=AMSTERDAM, fold=fold) for fold in (0, 1)),
        *(T(2020, 10, 25, hour, 30, tzinfo=dt.UTC) for hour in (0, 1)),
        *(T(2020, 3, 29, 3, 30, tzinfo=AMSTERDAM), T(2020, 3, 29, 1, 30, tzinfo=dt.UTC)),
        *(T(2020, 11, 1, 1, 30, tzinfo=NEW_YORK, fold=fold) for fold in (0, 1)),
    ),
    "decimal": tuple(map(decimal.Decimal, ("0", "-0", "1.0", "1.00", "0.0001", "-9999999.5"))),
    "nothing": (None,),
}  # fmt: skip
NAMES = (
    *("a", "A", "a b", "a.b", "a`b", "a`.`b", 'a"b', "'", "%s", "{a}", "$a", "a,b", "a;b", "a\\"),
    *("é", "e\u0301", "ﬁ", "אב", "\u202ea", "\u200ba", "😀", "nan", "None", "null", "index"),
    *("n", "rows", "class_size", "asked", "q0", "m0", "count", "level_0", "select", "--", "_", " "),
    *("a\nb", "x" * 60, "__index_level_0__", "anon", "0", "1"),
)
OF_CLASSES = (
    "classes",
    "k",
    "uniqueness",
    "entropy",
    "degree",
    "wildcard",
    "sizes",
    "whole_person",
)
# Of a sensitive column: the library's, the oracle's, and what each is asked beside.
OF_VALUES = {
    "ldiv": (anonrisk.ldiv, oracle.ldiv, {}, {}),
    "entropy_ldiv": (anonrisk.ldiv, oracle.ldiv, {"variant": "entropy"}, {"variant": "entropy"}),
    "alpha": (anonrisk.alpha, oracle.alpha, {}, {}),
    "beta": (anonrisk.beta_likeness, oracle.beta, {}, {}),
    "delta": (anonrisk.delta_disclosure, oracle.delta, {}, {}),
    "tcloseness": (
        anonrisk.tcloseness,
        oracle.tcloseness,
        {"distance": "equal"},
        {"cost": oracle.equal_cost},
    ),
}


@dataclass(frozen=True)
class Case:
    """Cells, and one question about them."""

    cells: dict
    measure: str
    qid: tuple
    sensitive: object
    unit: object
    missing: str


def drawn(number: int, names=NAMES, pools=POOLS) -> Case:
    """Draw a case."""
    seeded = random.Random(number)
    n_columns = seeded.choice((0, *(1, 2, 3, 4) * 4))
    n_rows = seeded.choice((0, 1, 2, 3, 5, 8, 13))
    cells = {}
    for name in seeded.sample(names, n_columns):
        pool = pools[seeded.choice(tuple(pools))]
        few = seeded.sample(pool, min(len(pool), seeded.choice((1, 2, 4))))
        gaps = seeded.choice((0, 0, 0.2))
        cells[name] = [
            None if seeded.random() < gaps else seeded.choice(few) for _ in range(n_rows)
        ]
    return Case(cells, *asked_about(seeded, tuple(cells) or names[:1]))


def asked_about(seeded: random.Random, known: tuple) -> tuple:
    """Draw a question: mostly one in which no column has two roles."""
    left = seeded.sample(known, len(known))
    measure = seeded.choice([*OF_CLASSES, *OF_VALUES] if len(known) > 1 else OF_CLASSES[:-1])
    sensitive = left.pop() if measure in OF_VALUES else None
    with_unit = seeded.random() < 0.4 or measure == "whole_person"
    unit = left.pop() if len(left) > 1 and with_unit else None
    if seeded.random() < 0.02:
        sensitive = unit = seeded.choice(known)
    return measure, tuple(left), sensitive, unit, seeded.choice(("value", "drop"))


def one_value(cell):
    """A cell by what it equals: the oracle compares by Python's `==`, which ignores `fold`."""
    if isinstance(cell, dt.datetime) and cell.tzinfo is not None:
        return cell.astimezone(dt.UTC)
    return cell


def expected(asked: Case, rows: list[dict]):
    """Return the oracle's answer."""
    qid, unit = asked.qid, asked.unit
    kept = oracle.kept(rows, qid, asked.missing)
    if asked.measure in OF_VALUES:
        _, right, _, how = OF_VALUES[asked.measure]
        return right(kept, qid, asked.sensitive, unit=unit, **how)
    match asked.measure:
        case "classes":
            return oracle.class_sizes(kept, qid, unit)
        case "wildcard":
            return oracle.matched_classes(rows, qid)
        case "whole_person":
            return oracle.whole_persons(kept, qid, unit)
        case "sizes":
            return sorted(oracle.sizes(kept, qid, unit) + [0] * (len(rows) - len(kept)))
        case "entropy" | "degree" as word:
            return getattr(oracle, word)(kept, qid)
        case word:
            return getattr(oracle, word)(kept, qid, unit)


def answered(asked: Case, table):
    """Return the library's answer, in the oracle's form."""
    qid, how = list(asked.qid), {"unit": asked.unit, "missing": asked.missing}
    if asked.measure in OF_VALUES:
        ask, _, more, _ = OF_VALUES[asked.measure]
        return ask(table, qid, [asked.sensitive], missing_sensitive="value", **more, **how)
    match asked.measure:
        case "classes":
            return histograms(anonrisk.classes(table, qid, **how))
        case "wildcard":
            return histograms(anonrisk.classes(table, qid, missing="wildcard"))
        case "whole_person":
            return histograms(
                anonrisk.whole_person(table, qid, unit=asked.unit, missing=asked.missing)
            )[0]
        case "sizes":
            sized = anonrisk.sizes(table, qid, **how)
            sizes = (
                sized
                if getattr(sized, "ndim", 2) == 1
                else [row["class_size"] for row in to_rows(sized)]
            )
            return sorted(0 if pd.isna(size) else int(size) for size in sizes)
        case "entropy":
            return anonrisk.entropy(table, qid, missing=asked.missing)
        case "degree":
            return anonrisk.classes(table, qid, missing=asked.missing).degree
        case word:
            return getattr(anonrisk, word)(table, qid, **how)


def histograms(counted: anonrisk.ClassSizes) -> tuple[Counter, Counter]:
    """Return how many classes, and how many records, there are of each size."""
    sizes = counted.sizes.tolist()
    return tuple(
        Counter({size: n for size, n in zip(sizes, numbers.tolist(), strict=True) if n})
        for numbers in (counted.classes, counted.records)
    )


def has_answer(asked: Case, rows: list[dict]) -> bool:
    """Return whether a question has an answer: rows, each of a person, and one role a column."""
    roles = [*asked.qid, *(one for one in (asked.sensitive, asked.unit) if one is not None)]
    if not asked.cells or not asked.qid or len({*roles}) < len(roles):
        return False
    persons = [] if asked.unit is None else [oracle.same(row[asked.unit]) for row in rows]
    named_alike = asked.measure == "sizes" and "class_size" in asked.cells
    return (
        bool(
            oracle.kept(rows, asked.qid, "value" if asked.measure == "wildcard" else asked.missing)
        )
        and ("missing",) not in persons
        and not named_alike
    )


def agrees(case: Case, table, rows: list[dict], excused) -> bool:
    """Ask, and compare; tell whether there was an answer.

    An error of ours is none where the question has no answer, or where it is `excused`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = answered(case, table)
        except Exception as error:
            # A lazy table of Spark has no other time to refuse than when it is computed.
            ours = isinstance(error, AnonRiskError) or "] anonrisk: " in str(error)
            if ours and (excused(error) or not has_answer(case, rows)):
                return False
            raise
    right = expected(case, [{name: one_value(row[name]) for name in row} for row in rows])
    if isinstance(right, float | int):
        assert math.isclose(found, right, rel_tol=1e-9, abs_tol=1e-12), (found, right)
    else:
        assert found == right, (found, right)
    return True


# ---- what only pandas holds ---------------------------------------------------------------------

ODD_COLUMNS = {
    "Int64": lambda s: pd.array(s.choices([1, 2, None, 2**63 - 1], k=6), "Int64"),
    "UInt64": lambda s: pd.array(s.choices([0, 2**64 - 1, 2**64 - 2, None], k=6), "UInt64"),
    "uint64": lambda s: np.array(s.choices([0, 2**64 - 1, 2**64 - 2, 2**63], k=6), "uint64"),
    "Float64": lambda s: pd.array(s.choices([0.0, -0.0, math.inf, None], k=6), "Float64"),
    "float32": lambda s: np.array(s.choices([0.1, 1e-45, math.nan, 16777216], k=6), "float32"),
    "float16": lambda s: np.array(s.choices([0.1, 6e-8, math.nan, 65504], k=6), "float16"),
    "boolean": lambda s: pd.array(s.choices([True, False, None], k=6), "boolean"),
    "string": lambda s: pd.array(s.choices(["a", "A", "", None], k=6), "string"),
    "category": lambda s: pd.Categorical(s.choices(["a", "b", None], k=6), ["c", "b", "a"]),
    "ordered": lambda s: pd.Categorical(s.choices([1, 2, None], k=6), [3, 2, 1], ordered=True),
    "sparse": lambda s: pd.arrays.SparseArray(s.choices([0, 0, 1], k=6)),
    "period": lambda s: pd.PeriodIndex(s.choices(["2020-01", "2020-02", None], k=6), freq="M"),
    "interval": lambda s: pd.arrays.IntervalArray.from_tuples(s.choices([(0, 1), (1, 2)], k=6)),
    "timedelta": lambda s: pd.to_timedelta(s.choices([0, 1, None, 2**62], k=6)),
    "nanoseconds": lambda s: pd.to_datetime(s.choices([0, 1, 2, 10**18], k=6)),
    "zoned": lambda s: pd.to_datetime(
        s.choices(["2020-10-25 00:30", "2020-10-25 01:30", None], k=6), utc=True
    ).tz_convert("Europe/Amsterdam"),
    "seconds": lambda s: np.array(s.choices([0, 1, 2**40], k=6), "datetime64[s]"),
    "complex": lambda s: np.array(s.choices([1j, 0, -0.0], k=6)),
    "surrogate": lambda s: pd.Series(s.choices(["\ud800", "\udfff", "a"], k=6), dtype=object),
    "mixed": lambda s: pd.Series(s.choices([1, 1.0, True, "1", None], k=6), dtype=object),
    "lists": lambda s: pd.Series(s.choices([[1], [2], None], k=6), dtype=object),
    "dicts": lambda s: pd.Series([{"a": s.randint(0, 1)} for _ in range(6)], dtype=object),
    "tuples": lambda s: pd.Series(s.choices([(1, 2), (1, 3)], k=6), dtype=object),
    "sets": lambda s: pd.Series([{1}, {2}, {1}, {1}, {2}, None], dtype=object),
    "arrays": lambda s: pd.Series([np.array([1, 2])] * 6, dtype=object),
    "huge": lambda s: pd.Series(s.choices([2**64, 2**64 + 1, 10**40], k=6), dtype=object),
    "numpy": lambda s: pd.Series([np.int8(s.randint(0, 2)) for _ in range(6)], dtype=object),
    "gaps": lambda s: pd.Series(
        s.choices([None, math.nan, pd.NA, pd.NaT, np.datetime64("NaT")], k=6), dtype=object
    ),
    "zones": lambda s: pd.Series(s.choices(POOLS["instant"], k=6), dtype=object),
    "classes": lambda s: pd.Series(s.choices([int, str, list], k=6), dtype=object),
    "text": lambda s: pd.Series(s.choices(["a", "b"], k=6), dtype=object),
    "int": lambda s: pd.Series(s.choices([1, 2], k=6)),
}
ODD_NAMES = ("a", 0, 2, 1.0, -1, None, math.nan, ("a", 1), b"a", D(2020, 1, 1), "\ud800", "b", "c")
INDEXES = (
    pd.RangeIndex(6),
    pd.Index([0, 0, 1, 1, 2, 2]),
    pd.MultiIndex.from_product([["x", "y"], [1, 2, 3]], names=["a", None]),
    pd.Index(list("uvwxyz"), name="a"),
    pd.DatetimeIndex(["2020-01-01"] * 6, tz="UTC"),
    pd.CategoricalIndex(["p", "q", None] * 2),
)


def odd_table(number: int) -> tuple[Case, pd.DataFrame, list[dict]]:
    """Draw a table of pandas with odd types, names, labels and levels, and a question about it."""
    seeded = random.Random(number)
    names = seeded.sample(ODD_NAMES, seeded.randint(1, 3))
    twice = seeded.random() < 0.1
    columns = [ODD_COLUMNS[seeded.choice(tuple(ODD_COLUMNS))](seeded) for _ in names]
    table = pd.concat([pd.Series(column) for column in columns], axis=1)
    table.columns = pd.Index([names[0]] * len(names) if twice else names, dtype=object)
    if seeded.random() < 0.1 and "\ud800" not in names:  # which pandas puts into no level
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pandas sorts a name that is a tuple among others
            table.columns = pd.MultiIndex.from_tuples([("t", name) for name in names])
        names = list(table.columns)
    table.index = seeded.choice(INDEXES)
    keep = seeded.choice((0, 1, 6, 6, 6))
    rows = [
        {name: gone(column.iloc[row]) for name, column in zip(names, in_order(table), strict=True)}
        for row in range(keep)
    ]
    case = Case(dict.fromkeys(names), *asked_about(seeded, tuple(names)))
    return case, table.iloc[:keep], rows


def in_order(table: pd.DataFrame):
    """The columns of a table by their places, for names may be the same."""
    return [table.iloc[:, place] for place in range(table.shape[1])]


def gone(cell):
    """A cell, or None where pandas says that it is missing."""
    missing = pd.isna(cell) if np.ndim(cell) == 0 else False
    return None if missing is True or missing is np.True_ or missing is pd.NA else cell


# ---- what only Arrow holds ----------------------------------------------------------------------


def arrow_types(pa) -> dict:
    """Return two different cells of each type of Arrow, or three of which the first two are one."""
    day, time = D(2020, 2, 29), dt.time(1, 2, 3)
    return {
        **{pa.type_for_alias(f"uint{bits}"): (0, 2**bits - 1) for bits in (8, 16, 32, 64)},
        **{pa.type_for_alias(f"int{bits}"): (-(2 ** (bits - 1)), -1) for bits in (8, 16, 32)},
        pa.float16(): (np.float16(0.1), np.float16(6e-8)),
        pa.float32(): (0.0, -0.0, 1e-45),
        pa.large_string(): ("é", "e\u0301"),
        pa.large_binary(): (b"a", b"a\0"),
        pa.binary(2): (b"ab", b"aB"),
        pa.dictionary(pa.int8(), pa.string()): ("a", "b"),
        pa.decimal128(38, 10): (decimal.Decimal(10**27), decimal.Decimal(10**27 + 1)),
        pa.decimal256(76, 0): (decimal.Decimal(10**70), decimal.Decimal(10**70 + 1)),
        pa.date64(): (day, D(2020, 3, 1)),
        pa.time32("s"): (time, dt.time(1, 2, 4)),
        pa.time64("ns"): (time, time.replace(microsecond=1)),
        pa.duration("us"): (dt.timedelta(0), dt.timedelta(microseconds=1)),
        pa.timestamp("ns"): (T(2020, 1, 1), T(2020, 1, 1, 0, 0, 0, 1)),
        pa.timestamp("s", "Asia/Tokyo"): (T(2020, 1, 1), T(2020, 1, 1, 0, 0, 1)),
        pa.month_day_nano_interval(): ((1, 0, 0), (0, 30, 0)),
        pa.list_(pa.int8()): ([1], [2]),
        pa.struct({"a": pa.int8()}): ({"a": 1}, {"a": 2}),
        pa.map_(pa.string(), pa.int8()): ([("a", 1)], [("a", 2)]),
    }


# Half past two by the clocks of Amsterdam, twice in one night.
NIGHT = ("2020-10-25 00:30:00Z", "2020-10-25 02:30:00+02:00", "2020-10-25 01:30:00Z")
# Columns of databases and of Spark by their types: two texts of one cell, then another cell.
SQL_COLUMNS = {
    "spark": {
        "tinyint": ("-128", "-128", "127"), "smallint": ("1", "01", "2"),
        "float": ("0.0", "-0.0", "1e-45"), "double": ("0.0", "-0.0", "4.9e-324"),
        "decimal(38,18)": ("1", "1.0", "1.000000000000000001"), "boolean": ("true", "1", "false"),
        "char(3)": ("a", "a", "b"), "varchar(3)": ("a", "a", "a "), "binary": ("a", "a", "A"),
        "timestamp": NIGHT,
        "timestamp_ntz": ("2020-03-29 02:30:00", "2020-03-29 02:30:00", "2020-03-29 03:30:00"),
        "date": ("2020-02-29", "2020-2-29", "2020-03-01"),
        "interval day to second": ("1 0:0:0", "1 00:00:00", "0 0:0:0"),
    },
    "duckdb_sql": {
        "UTINYINT": ("0", "00", "255"), "HUGEINT": ("1", "01", str(2**127 - 1)),
        "UHUGEINT": ("1", "01", str(2**128 - 1)), "FLOAT": ("0.0", "-0.0", "1e-45"),
        "DECIMAL(38,18)": ("1", "1.0", "1.000000000000000001"), "BIT": ("01", "01", "001"),
        "UUID": ("0" * 32, "0" * 32, "0" * 31 + "1"), "TIME": ("1:2:3", "01:02:03", "01:02:04"),
        "TIMESTAMPTZ": NIGHT,
        "TIMESTAMP_NS": ("2020-01-01", "2020-01-01 00:00:00", "2020-01-01 00:00:00.000000001"),
        "TIMETZ": ("01:02:03+00", "01:02:03+00", "01:02:03+01"),
        "INTERVAL": ("1 day", "1 day", "2 day"), "JSON": ("1", "1", "2"), "BLOB": ("a", "a", "A"),
        "INTEGER[]": ("[1]", "[1]", "[2]"), "STRUCT(a INTEGER)": ("{a: 1}", "{a: 1}", "{a: 2}"),
    },
    "datafusion": {
        "tinyint": ("-128", "-128", "127"), "bigint unsigned": ("1", "01", str(2**64 - 1)),
        "real": ("0.0", "-0.0", "1e-45"), "double": ("0.0", "-0.0", "4.9e-324"),
        "decimal(38,18)": ("1", "1.0", "1.000000000000000001"), "boolean": ("true", "1", "false"),
        "varchar": ("a", "a", "a "), "bytea": ("a", "a", "A"),
        "date": ("2020-02-29", "2020-02-29", "2020-03-01"),
        "time": ("01:02:03", "01:02:03.0", "01:02:04"), "timestamptz": NIGHT,
        "timestamp": ("2020-01-01", "2020-01-01 00:00:00", "2020-01-01 00:00:00.000000001"),
        "interval": ("1 day", "1 day", "2 days"),
    },
    "postgresql": {
        "smallint": ("1", "01", "2"), "real": ("0.0", "-0.0", "1e-45"),
        "numeric": ("1", "1.0", "1.000000000000000001"), "money": ("1", "1.00", "2"),
        "char(3)": ("a", "a  ", "b"), "varchar": ("a", "a", "a "), "name": ("a", "a", "b"),
        "uuid": ("0" * 32, "0" * 32, "0" * 31 + "1"), "bit(2)": ("01", "01", "10"),
        "bytea": ("a", r"\x61", "A"), "inet": ("1.2.3.4", "1.2.3.4/32", "1.2.3.5"),
        "timestamptz": NIGHT,
        "timetz": ("01:02:03+00", "01:02:03+00", "01:02:03+01"),
        "interval": ("1 day", "24 hours", "2 days"), "jsonb": ("1", " 1", "2"),
        "integer[]": ("{1}", "{ 1 }", "{2}"), "int4range": ("[1,3)", "[1,2]", "[1,4)"),
        "point": ("(1,2)", "(1,2)", "(1,3)"), "xml": ("<a/>", "<a/>", "<b/>"),
    },
    "sqlite": {
        "INTEGER": ("1", "01", "2"), "REAL": ("0.0", "-0.0", "5e-324"), "BLOB": ("a", "a", "A"),
        "TEXT": ("a", "a", "a "), "NUMERIC": ("1", "1.0", "2"),
    },
}  # fmt: skip
