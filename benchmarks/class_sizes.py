"""Class sizes of pandas tables against a plain groupby and DuckDB; memory; time to import."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import QID, Row, compared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pandas as pd

SMALL = 1_000
WITH_GAPS = 1_000_000
SPARSE = ["date of birth", "area", "sex"]
# Every choice of three of the four columns: other questions about columns already encoded.
MORE_QIDS = [list(qid) for qid in combinations(QID, 3)]

# Takes the place of the finder that looks along sys.path, as in an environment without Spark.
WITHOUT_SPARK = """
import sys
from importlib.machinery import PathFinder
class WithoutSpark(PathFinder):
    @classmethod
    def find_spec(cls, name, *args):
        return None if name.partition(".")[0] == "pyspark" else super().find_spec(name, *args)
sys.meta_path[:] = [WithoutSpark if finder is PathFinder else finder for finder in sys.meta_path]
"""
TIMED_IMPORT = """
from time import perf_counter
start = perf_counter()
import {module}
print(perf_counter() - start)
"""


def groupby(frame: pd.DataFrame, qid: list[str]) -> int:
    return int(frame.groupby(qid, observed=True, dropna=False, sort=False).size().min())


def in_duckdb(connection: duckdb.DuckDBPyConnection, frame: pd.DataFrame, qid: list[str]) -> int:
    names = ", ".join(f'"{name}"' for name in qid)
    connection.register("records", frame)
    query = f"select min(n) from (select count(*) as n from records group by {names})"  # noqa: S608
    # All of the result, though it is one row: the connection is not free again before.
    answer: list[Any] = connection.execute(query).fetchall()
    return int(answer[0][0])


def against_groupby(
    what: str, frame: pd.DataFrame, at_most: float, rounds: int = 5, calls: int = 1
) -> Row:
    assert anonrisk.k(frame, QID) == groupby(frame, QID)
    times = _bench.interleaved(
        {"k": lambda: anonrisk.k(frame, QID), "groupby": lambda: groupby(frame, QID)},
        rounds=rounds,
        calls=calls,
    )
    return compared(what, times["k"], times["groupby"], at_most)


def against_both(
    what: str, frame: pd.DataFrame, qid: list[str], bars: tuple[float | None, float | None]
) -> Iterator[Row]:
    with duckdb.connect(config={"threads": _bench.CORES}) as connection:
        assert anonrisk.k(frame, qid) == groupby(frame, qid) == in_duckdb(connection, frame, qid)
        times = _bench.interleaved(
            {
                "k": lambda: anonrisk.k(frame, qid),
                "groupby": lambda: groupby(frame, qid),
                "DuckDB": lambda: in_duckdb(connection, frame, qid),
            }
        )
    for name, at_most in zip(("groupby", "DuckDB"), bars, strict=True):
        yield compared(f"{what}, against {name}", times["k"], times[name], at_most)


def second_question(frame: pd.DataFrame) -> Row:
    times = _bench.interleaved(
        {
            "one": lambda: anonrisk.summary(frame, [QID]),
            "all": lambda: anonrisk.summary(frame, [QID, *MORE_QIDS]),
        }
    )
    pairs = zip(times["all"], times["one"], strict=True)
    another = [(both - first) / len(MORE_QIDS) for both, first in pairs]
    return compared("each further QID, against the first", another, times["one"], 0.35)


def bounds_from_a_sample(frame: pd.DataFrame) -> Row:
    times = _bench.interleaved(
        {
            "risk": lambda: anonrisk.risk(frame, QID, sampling_fraction=0.01, unsuppressed=True),
            "classes": lambda: anonrisk.classes(frame, QID),
        }
    )
    return compared(
        "`risk` from a sample of 1%, against `classes`", times["risk"], times["classes"], 1.5
    )


def with_wildcards() -> Row:
    """Time the rule by which a missing cell matches every value, each tenth cell missing."""
    frame = _bench.people(WITH_GAPS)
    random = np.random.default_rng(1)
    frame = frame.apply(lambda column: column.mask(random.random(WITH_GAPS) < 0.1))
    times = _bench.interleaved(
        {
            "wildcard": lambda: anonrisk.k(frame, QID, missing="wildcard"),
            "value": lambda: anonrisk.k(frame, QID),
        }
    )
    what = f'`missing="wildcard"`, {WITH_GAPS:,} records, against `"value"`'
    return compared(what, times["wildcard"], times["value"], 20)


def sparse(n_records: int) -> pd.DataFrame:
    """Draw a table with far more possible classes than records."""
    frame = _bench.people(n_records)
    days = np.random.default_rng(2).integers(0, 36_525, n_records)
    births = np.datetime64("1925-01-01", "s") + days.astype("timedelta64[D]")
    return frame.assign(**{"date of birth": births})[SPARSE]


def peak(function: str, n_records: int, *, objects: bool) -> int | None:
    """Measure the memory of one function; called in a process of its own."""
    asked: Callable[[pd.DataFrame, list[str]], int]
    asked = anonrisk.k if function == "k" else groupby
    frame = _bench.people(n_records)
    if objects:
        frame = _bench.with_objects(frame)
    # What a first call imports is no memory of the records.
    asked(frame.head(SMALL), QID)
    return _bench.extra_memory(lambda: asked(frame, QID))


def memory(what: str, n_records: int, at_most: int, *, objects: bool) -> Row:
    def a_record(function: str) -> float | None:
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(1, mp_context=context) as fresh:
            found = fresh.submit(peak, function, n_records, objects=objects).result()
        return None if found is None else found / n_records

    ours, baseline = a_record("k"), a_record("groupby")
    bar = f"≤ {at_most} bytes"
    if ours is None or baseline is None:
        return Row(what, "not measured", "not measured", None, bar)
    shown = f"{ours:.1f} bytes", f"{baseline:.1f} bytes"
    return Row(what, *shown, ours / baseline, bar, ours <= at_most)


def import_time(what: str, at_most: float, preparation: str = "") -> Row:
    times: dict[str, list[float]] = {"anonrisk": [], "pandas": []}
    modules = list(times)
    # The first round fills the caches of byte code and of the disk.
    for number in range(32):
        for module in modules:
            program = preparation + TIMED_IMPORT.format(module=module)
            command = [sys.executable, "-c", program]
            printed = subprocess.check_output(command, cwd=_bench.ROOT, text=True)
            if number:
                times[module].append(float(printed))
        modules.reverse()
    return compared(what, times["anonrisk"], times["pandas"], at_most)


def rows(n_records: int) -> Iterator[Row]:
    frame = _bench.people(n_records)
    yield from against_both("`k`, pandas strings", frame, QID, (0.6, 0.9))
    yield second_question(frame)
    yield bounds_from_a_sample(frame)
    yield against_groupby("`k`, object strings", _bench.with_objects(frame), 0.9)
    yield against_groupby(f"`k`, {WITH_GAPS:,} records", _bench.people(WITH_GAPS), 0.5)
    small = _bench.people(SMALL)
    yield against_groupby(f"`k`, {SMALL:,} records", small, 1.5, rounds=11, calls=50)
    del frame
    births = sparse(n_records)
    yield from against_both("`k`, date of birth, area and sex", births, SPARSE, (None, None))
    del births
    yield with_wildcards()
    yield memory("memory a record, pandas strings", n_records, 40, objects=False)
    yield memory("memory a record, object strings", n_records, 60, objects=True)
    yield import_time("import without Spark, against pandas", 1.15, WITHOUT_SPARK)
    if find_spec("pyspark") is not None:
        yield import_time("import with Spark, against pandas", 1.5)


def main() -> None:
    asked = _bench.options(__doc__)
    measured = []
    for row in rows(asked.records):
        print(*row.cells, sep="  ", flush=True)
        measured.append(row)
    _bench.report(
        "class_sizes",
        f"Class sizes on pandas, {asked.records:,} records",
        _bench.machine("numpy", "pandas", "pyarrow", "duckdb"),
        measured,
        write=not asked.no_write,
    )


if __name__ == "__main__":
    main()
