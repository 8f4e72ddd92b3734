"""Counts under keyed hashes: the same on every engine, cell by cell, as an oracle makes them."""

import datetime as dt
import hashlib
import hmac
import struct
from collections import Counter
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from keys import KEY

from anonrisk.engines import engine_for, limits
from anonrisk.engines.keyed import Batch
from anonrisk.errors import (
    MissingUnitError,
    MissingValuesError,
    TooManyClassesError,
    UnsupportedColumnError,
    UnsupportedFrameError,
)
from anonrisk.measures.counts.keyed import ALL, KeyedTally, SketchCounts, SketchTally, Smallest
from anonrisk.measures.counts.question import Question
from anonrisk.pseudonyms.encoding import placed

NOON = dt.datetime(2024, 2, 29, 12, 0, 0, 123456)
PARIS = dt.timezone(dt.timedelta(hours=1))
KINDS = {
    "text": ("s", ["Zoë", "zoe", "", " a", "名", "a\0b", None, "Zoë"]),
    "whole": ("i", [0, -7, 2**62, 7, 7, 0, 12, 1]),
    "floats": ("f", [0.0, -0.0, 0.1, -1.5e300, float("inf"), 7.0, None, float("nan")]),
    "booleans": ("b", [True, False, True, None, True, False, False, None]),
    "dates": ("d", [dt.date(1, 1, 1), dt.date(2024, 2, 29), None, dt.date(9999, 12, 31)] * 2),
    "instants": ("t", [NOON, dt.datetime(1901, 1, 1), None, dt.datetime(1969, 12, 31, 23)] * 2),
    "zoned": ("t", [NOON.replace(tzinfo=dt.UTC), NOON.replace(tzinfo=PARIS), None, None] * 2),
    "decimals": ("m", [Decimal("0.5000"), Decimal("-12.3400"), Decimal(100), None, Decimal(0)] * 2),
    "bytes": ("x", [b"", b"\0\xff", None, b"a", b"a"]),
    "nothing": ("n", [None, None, None]),
}


def canonical(letter, value):
    """A cell, written down by hand."""
    if value is None or value != value:
        made = b"n"
    elif letter == "s":
        made = b"s" + value.encode()
    elif letter == "i":
        made = b"i" + str(value).encode()
    elif letter == "f":
        made = b"f" + struct.pack(">d", 0.0 if value == 0 else value)
    elif letter == "b":
        made = b"b1" if value else b"b0"
    elif letter == "d":
        made = b"d" + value.isoformat().encode()
    elif letter == "t":
        aware = value if value.tzinfo else value.replace(tzinfo=dt.UTC)
        since = aware - dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
        made = b"t%d" % ((since.days * 86_400 + since.seconds) * 10**6 + since.microseconds)
    elif letter == "m":
        whole, _, part = f"{value:f}".partition(".")
        part = part.rstrip("0")
        made = b"m" + (f"{whole}.{part}" if part else whole).encode()
    else:
        made = b"x" + value
    return len(made).to_bytes(4, "big") + made


def subkey(purpose):
    extracted = hmac.digest(b"anonrisk", KEY.reveal(), hashlib.sha256)
    return hmac.digest(extracted, purpose.encode() + b"\x01", hashlib.sha256)


def hashed(purpose, message):
    digest = hmac.digest(subkey(purpose), message, hashlib.sha256)
    return int.from_bytes(digest[:8], "big"), int.from_bytes(digest[8:16], "big")


def named(name):
    return len(name.encode()).to_bytes(4, "big") + name.encode()


def expected(cells, letters, qid, unit=None, sensitive=(), missing="value"):
    """Every (class[, person]) and every (class[, person], value) with its rows; slow."""
    entries, values = Counter(), {name: Counter() for name in sensitive}
    for row in [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]:
        if missing == "drop" and any(row[name] is None for name in qid):
            continue
        names = sorted(qid)
        message = b"".join(map(named, names))
        message += b"".join(canonical(letters[name], row[name]) for name in names)
        key = hashed("state class", message)
        if unit is not None:
            key += hashed("state person", canonical(letters[unit], row[unit]))
        entries[key] += 1
        for name in sensitive:
            value = named(name) + canonical(letters[name], row[name])
            values[name][key + hashed("state value", value)] += 1
    return entries, values


def found(counted):
    """The same of what an engine has counted."""

    def entries(*hashes, rows):
        columns = [one.tolist() for one in hashes if one is not None]
        keys = [sum(map(tuple, row), ()) for row in zip(*columns, strict=True)]
        assert keys == sorted(set(keys))
        return Counter(dict(zip(keys, rows.tolist(), strict=True)))

    values = {
        name: entries(of.classes, of.persons, of.values, rows=of.rows)
        for name, of in counted.values.items()
    }
    return entries(counted.classes, counted.persons, rows=counted.rows), values


def keyed(table, qid, unit=None, sensitive=(), missing="value"):
    question = Question((tuple(qid),), unit, missing)
    return engine_for(table).tally(table, KeyedTally(question, tuple(sensitive), KEY))


def sketched(table, qid, most, missing="value"):
    return engine_for(table).tally(
        table, SketchTally(Question((tuple(qid),), None, missing), KEY, most)
    )


def skip_sqlite(frame):
    if frame.kind == "sqlite":
        pytest.skip("SQLite makes no states")


@pytest.mark.contract
def test_a_cell_has_one_hash_on_every_engine(frame):
    """All kinds of cell in one table, for each state is a job where tables are far away."""
    skip_sqlite(frame)
    longest = max(len(values) for _, values in KINDS.values())
    cells = {kind: (values * longest)[:longest] for kind, (_, values) in KINDS.items()}
    if frame.kind.startswith("pandas_on"):
        cells.pop("zoned")  # pandas-on-Spark has no zones
    if frame.kind == "postgresql":
        cells["text"] = [value and value.replace("\0", "") for value in cells["text"]]
    letters = {kind: KINDS[kind][0] for kind in cells}
    qid = sorted(cells)
    table = frame(cells)
    counted = keyed(table, reversed(qid))
    assert counted.kinds == letters
    assert found(counted) == expected(cells, letters, qid)
    assert (counted.qid, counted.n_rows, counted.n_dropped) == (tuple(qid), longest, 0)
    sketch = sketched(table, qid, 1000)
    assert sketch.hashes.tolist() == counted.classes[:, 0].tolist()
    assert sketch.rows.tolist() == counted.rows.tolist()
    assert (sketch.end, sketch.kinds) == (ALL, counted.kinds)
    # Both zeros are one class, and so are all that is missing.
    floats = {"floats": KINDS["floats"][1]}
    assert found(keyed(frame(floats), ["floats"])) == expected(floats, {"floats": "f"}, ["floats"])


PEOPLE = {
    "zip": ["10", "10", "11", None, "11", "10", "10"],
    "age": [7, 7, 8, 9, 8, 7, 7],
    "who": ["a", "b", "c", "d", "c", "a", "b"],
    "ill": ["flu", "hiv", None, "flu", "flu", "flu", "flu"],
    "drug": ["x", "x", "y", "y", "y", "x", "z"],
}
LETTERS = dict.fromkeys(PEOPLE, "s") | {"age": "i"}


@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("unit", [None, "who"])
def test_persons_and_values(frame, unit, missing):
    skip_sqlite(frame)
    sensitive = ["ill", "drug"]
    counted = keyed(frame(PEOPLE), ["zip", "age"], unit, sensitive, missing)
    assert found(counted) == expected(PEOPLE, LETTERS, ["zip", "age"], unit, sensitive, missing)
    assert (counted.n_rows, counted.n_dropped) == ((6, 1) if missing == "drop" else (7, 0))
    names = ["age", "zip", *([unit] if unit else []), *sensitive]
    assert counted.kinds == {name: LETTERS[name] for name in names}


def test_letters_are_of_the_rows_that_count(frame):
    skip_sqlite(frame)
    counted = keyed(
        frame({"a": ["x", None], "b": [None, "y"], "c": ["u", "v"]}), "ab", missing="drop"
    )
    assert counted.kinds == {"a": "n", "b": "n"}
    assert (counted.n_rows, counted.n_dropped) == (0, 2)


@pytest.mark.contract
def test_what_is_missing_is_refused(frame):
    skip_sqlite(frame)
    with pytest.raises(MissingValuesError, match="'zip' in 1 row"):
        keyed(frame(PEOPLE), ["zip", "age"], missing="error")
    with pytest.raises(MissingValuesError, match="'zip' in 1 row"):
        sketched(frame(PEOPLE), ["zip", "age"], 10, missing="error")
    with pytest.raises(MissingUnitError, match="'zip' is missing in 1 row"):
        keyed(frame(PEOPLE), ["age"], unit="zip")


def test_sketches_of_parts_give_that_of_the_whole(frame):
    skip_sqlite(frame)
    rng = np.random.default_rng(18)
    values = rng.integers(0, 400, 1_500).tolist()
    whole = keyed(frame({"a": values}), "a")
    one, two = (sketched(frame({"a": part}), "a", 50) for part in (values[:600], values[600:]))
    merged = one.merge(two)
    assert merged == two.merge(one) == sketched(frame({"a": values}), "a", 50)
    assert merged.hashes.tolist() == whole.classes[:50, 0].tolist()
    assert merged.rows.tolist() == whole.rows[:50].tolist()
    assert (merged.end, merged.n_rows) == (int(whole.classes[50, 0]), 1_500)


@given(
    st.lists(st.lists(st.integers(0, 40)), min_size=2, max_size=4),
    st.integers(1, 12),
    st.randoms(use_true_random=False),
)
def test_merging_sketches_is_exact_in_any_order(parts, most, random):
    def of(numbers):
        kept = Smallest(most)
        for number in numbers:
            # Hashes of any size, the largest too.
            kept.add(np.array([ALL - 1 - number * (ALL // 41)], dtype=np.uint64), np.ones(1, int))
        question = SketchTally(Question((("a",),)), KEY, most)
        return SketchCounts.of(question, {"a": "i"}, kept, n_rows=len(numbers), n_dropped=0)

    whole = of([number for part in parts for number in part])
    sketches = [of(part) for part in parts]
    random.shuffle(sketches)
    first, *others = sketches
    for other in others:
        first = first.merge(other)
    assert first == whole
    classes = sorted(Counter(ALL - 1 - n * (ALL // 41) for part in parts for n in part).items())
    assert list(zip(whole.hashes.tolist(), whole.rows.tolist(), strict=True)) == classes[:most]
    assert whole.end == (classes[most][0] if len(classes) > most else ALL)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3))))
def test_hashes_are_placed_by_both_halves(pairs):
    hashes = np.array(pairs, dtype=np.uint64).reshape(-1, 2)
    there, place = placed(hashes)
    assert list(map(tuple, there.tolist())) == sorted(set(pairs))
    assert there[place].tolist() == hashes.tolist()


@given(st.lists(st.none() | st.integers(0, 3)), st.sampled_from("itT"))
def test_cells_of_a_batch_are_encoded_as_alone(cells, letter):
    scale = 1_000 if letter == "T" else 1
    given = [cell if cell is None else cell * scale for cell in cells]
    batch = Batch({"a": given}, {"a": letter}, np.ones(len(cells), dtype=np.int64))
    made, found = batch.encoded("a")
    since = dt.datetime(1970, 1, 1)
    alone = [
        cell if cell is None or letter == "i" else since + dt.timedelta(microseconds=cell)
        for cell in cells
    ]
    assert made == [canonical(letter.lower(), cell) for cell in alone]
    assert found == ("n" if set(cells) <= {None} else letter.lower())
    assert batch.n_missing("a") == cells.count(None)


def test_cells_that_python_takes_for_equal_are_not_merged_in_a_batch():
    batch = Batch({"a": [1, True]}, {"a": "i"}, np.ones(2, dtype=np.int64))
    with pytest.raises(UnsupportedColumnError, match="'a' mixes types"):
        batch.encoded("a")
    finer = Batch({"a": [1_000, 1_001]}, {"a": "T"}, np.ones(2, dtype=np.int64))
    with pytest.raises(UnsupportedColumnError, match="finer than a microsecond"):
        finer.encoded("a")


# The others are in this process already.
@pytest.mark.kinds("spark", "connect", "pandas_on_spark", "duckdb_sql", "postgresql", "scan")
def test_too_many_entries_name_the_way_out(frame, monkeypatch):
    monkeypatch.setattr(limits, "MAX_KEYED", 3)
    with pytest.raises(TooManyClassesError, match=r"more than 3 .* merge them, or .* sketch"):
        keyed(frame({"a": [1, 2, 3, 4]}), "a")
    assert sketched(frame({"a": [1, 2, 3, 4]}), "a", 2).n_rows == 4


def test_sqlite_refuses_in_words(frame):
    if frame.kind != "sqlite":
        pytest.skip("the others answer")
    for ask in (lambda: keyed(frame({"a": [1]}), "a"), lambda: sketched(frame({"a": [1]}), "a", 2)):
        with pytest.raises(UnsupportedFrameError, match="SQLite, which has no types for dates"):
            ask()


def test_what_has_no_letter_is_refused(frame):
    skip_sqlite(frame)
    if frame.kind not in ("duckdb_sql", "postgresql"):
        pytest.skip("has no such type here")
    import anonrisk

    connection = frame({"a": [1]}).connection
    table = anonrisk.sql.table(connection, "SELECT CAST('12:00' AS TIME) AS a")
    with pytest.raises(
        UnsupportedColumnError, match=r"'a' holds values of type .*have no keyed hash"
    ):
        keyed(table, "a")


@pytest.mark.spark("spark")
@pytest.mark.slow
def test_executors_need_nothing_of_ours(spark):
    """What travels to the executors, unpickled where anonrisk cannot be imported."""
    import subprocess
    import sys

    from pyspark import cloudpickle

    from anonrisk.engines.spark import keyed as on_spark

    asked = KeyedTally(Question((("a",),), "u"), ("s",), KEY)
    letters = {"a": "m", "u": "f", "s": "s"}
    first = SketchTally(asked.question, KEY)
    functions = on_spark._hashes(asked, letters), on_spark._first_bits(first, {"a": "m"})
    assert KEY.reveal() not in cloudpickle.dumps(functions)
    code = (
        "import sys, pickle, decimal\n"
        "sys.modules['anonrisk'] = None\n"
        "from pyspark import cloudpickle\n"
        "hashes, bits = pickle.load(sys.stdin.buffer)\n"
        "print(hashes(decimal.Decimal('0.50'), 1.0, None).hex(), bits(decimal.Decimal('0.50')))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        input=cloudpickle.dumps(functions),
        capture_output=True,
        check=True,
    )
    made, bits = run.stdout.decode().split()
    ((key, value),) = expected(
        {"a": [Decimal("0.50")], "u": [1.0], "s": [None]}, letters, "a", "u", ["s"]
    )[1]["s"].items()
    assert value == 1
    assert made == "010100" + "".join(f"{word:016x}" for word in key)
    assert int(bits) == key[0] - 2**63
