"""The same hard files by both readers: the same table, or none."""

from __future__ import annotations

import math
from decimal import Decimal

import pandas as pd
import pytest
from hard_files import CASES, MIXED, SECRET

import anonrisk
from anonrisk.engines.pandas.files import read as pandas_read
from anonrisk.engines.reading.files import TextFormat, Wanted
from anonrisk.errors import AnonRiskError, ArgumentError, UnreadableTableError

ON_SPARK = [pytest.mark.slow, pytest.mark.spark("spark")]
ON_CONNECT = [pytest.mark.slow, pytest.mark.nightly, pytest.mark.spark("connect")]
# One of each way through the reader.
SOME = (
    "quoted",
    "CRLF in a cell",
    "another order",
    "cp1252",
    "utf-16",
    "folders that are a column",
)
SOME += ("Latin-1 that is not said", "keys that differ by case", "a key twice", "too few cells")


def but_every(number):
    """Files that are read by night alone: readers change seldom."""
    return [name for i, name in enumerate(CASES) if i % number and name not in SOME]


RARE, RARE_ON_SPARK = but_every(3), but_every(9)


def laid(case, folder):
    """Write the files of a case; give the path that names them."""
    for name, content in case.files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return str(folder / next(iter(case.files)).split("/")[0])


def plain(cell):
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return None
    return int(cell) if isinstance(cell, Decimal) else cell


def same_table(names, rows, case):
    """Compare with the truth; JSON has no order of columns, and no table one of rows."""
    assert sorted(names) == sorted(case.names)
    if case.format == "csv":
        assert names == case.names
    places = [names.index(name) for name in case.names]
    found = [tuple(plain(row[place]) for place in places) for row in rows]
    assert sorted(found, key=repr) == sorted(case.rows, key=repr)


def said_why(error, words):
    assert any(word in str(error) for word in ([words] if isinstance(words, str) else words))
    assert SECRET not in str(error)


@pytest.mark.parametrize("name", CASES)
def test_by_pandas(name, tmp_path):
    case = CASES[name]
    about = TextFormat(sep=case.sep, encoding=case.encoding)

    def read():
        return pandas_read([laid(case, tmp_path)], Wanted(), about)

    if case.names is None:
        with pytest.raises((UnreadableTableError, ArgumentError)) as found:
            read()
        said_why(found.value, case.refused)
    else:
        frame = read()
        same_table(list(frame.columns), frame.astype(object).to_numpy().tolist(), case)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.nightly] if name in RARE else [])
        for name in CASES
        if CASES[name].format == "csv"
    ],
)
def test_by_scan(name, tmp_path):
    pytest.importorskip("duckdb")
    pytest.importorskip("sqlglot")
    case = CASES[name]

    def read():
        about = {"sep": case.sep, "encoding": case.encoding}
        with anonrisk.scan(laid(case, tmp_path), **about) as table:
            every = f"SELECT * FROM {table.source.name}"
            rows = table.connection.connection.execute(every).fetchall()
            return table.names, rows

    if case.names is None:
        with pytest.raises((UnreadableTableError, ArgumentError)) as found:
            read()
        said_why(found.value, case.refused)
    else:
        same_table(*read(), case)


@pytest.fixture(scope="module")
def spark_read(spark):
    from anonrisk.engines.spark import read as module

    with module.session("tests") as session:

        def read(path, about, kind):
            called = {"jsonl": "json"}.get(kind, kind)
            return module.read(session, [path], Wanted(), about, format=called, options={})

        yield read


@pytest.mark.parametrize(
    "name",
    [
        *(
            pytest.param(
                name, marks=[*ON_SPARK, pytest.mark.nightly][: 2 + (name in RARE_ON_SPARK)]
            )
            for name in CASES
        ),
        *(pytest.param(name, marks=ON_CONNECT, id=f"connect-{name}") for name in SOME),
    ],
)
def test_by_spark(name, tmp_path, spark_read):
    from anonrisk.engines.spark.jobs import guarded

    case = CASES[name]
    about = TextFormat(sep=case.sep, encoding=case.encoding)

    def read():
        with guarded("read"):
            frame = spark_read(laid(case, tmp_path), about, case.format)
            return frame.columns, frame.collect()

    words = case.spark_refuses or (case.refused if case.names is None else "")
    if words:
        with pytest.raises(AnonRiskError) as found:
            read()
        said_why(found.value, words)
    else:
        same_table(*read(), case)


LONG = ["0.1234567890123456789", "9007199254740993.0", "1e400"]


@pytest.mark.parametrize("name", MIXED)
def test_a_column_of_two_kinds_by_pandas(name, tmp_path):
    (tmp_path / "t.jsonl").write_text(MIXED[name])
    frame = pandas_read([str(tmp_path / "t.jsonl")], Wanted(("a",)), TextFormat())
    with pytest.raises(AnonRiskError, match="'a'"):
        anonrisk.k(frame, "a")


@pytest.mark.parametrize("number", LONG)
def test_a_number_of_json_that_no_float_keeps(number, tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"a": {number}, "b": 1}}\n{{"a": 0.5}}\n')
    frame = pandas_read([str(path)], Wanted(), TextFormat())
    assert anonrisk.k(frame, "b") == 1
    assert frame["a"].map(str).tolist() == [number, "0.5"]
    with pytest.raises(AnonRiskError, match="'a' holds values of type NumberWithTooManyDigits"):
        anonrisk.k(frame, "a")
    # A weight is a size, not a name.
    scale = pandas_read([str(path)], Wanted(numbers=frozenset("a")), TextFormat())
    assert scale["a"].tolist() == [float(number), 0.5]


@pytest.mark.parametrize("number", [pytest.param(number, marks=ON_SPARK) for number in LONG])
def test_a_number_of_json_that_no_float_keeps_by_spark(number, tmp_path, spark_read):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"a": {number}, "b": 1}}\n{{"a": 0.5}}\n')
    with pytest.raises(AnonRiskError, match="'a' has numbers with more digits"):
        spark_read(str(path), TextFormat(), "jsonl")
    path.write_text(f'{{"b": {{"a": 1.5}}, "a": {number}}}\n{{"a": 0.5}}\n')
    with pytest.raises(AnonRiskError, match="'a' has numbers with more digits"):
        spark_read(str(path), TextFormat(), "jsonl")
    path.write_text('{"a": 0.30000000000000004, "b": "0.1234567890123456789"}\n{"a": 1e-3}\n')
    assert anonrisk.k(spark_read(str(path), TextFormat(), "jsonl"), "a") == 1


@pytest.mark.parametrize("name", [pytest.param(name, marks=ON_SPARK) for name in MIXED])
def test_a_column_of_two_kinds_by_spark(name, tmp_path, spark_read):
    (tmp_path / "t.jsonl").write_text(MIXED[name])
    with pytest.raises(AnonRiskError, match="'a'"):
        anonrisk.k(spark_read(str(tmp_path / "t.jsonl"), TextFormat(), "jsonl"), "a")
