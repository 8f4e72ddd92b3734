"""Files larger than memory: scanned Parquet against DuckDB's own queries, written by hand."""

from __future__ import annotations

import shutil
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import Row, compared

if TYPE_CHECKING:
    from collections.abc import Callable

QID = ["area", "sex", "age", "year"]
MEMORY = "2GB"
MOST = 3_000_000_000
# Of a table that was coarsened to be published, and columns that nobody asks about.
AREAS, BANDS, YEARS, ILLNESSES = 400, 20, 10, 50
CHUNK = 2_000_000
PER_FILE = 5
POLICY = anonrisk.Policy(
    quasi=QID,
    sensitive=["illness"],
    k=2,
    ldiv={"l": 2, "variant": "distinct"},
    tcloseness={"t": 1.0, "distance": "equal"},
    unlisted="ignore",
)


def files(folder: Path, n_records: int) -> None:
    """Write a table in chunks; all columns are drawn evenly, so that every class is there."""
    random = np.random.default_rng(1)
    words = {
        "area": [f"area {i:04}" for i in range(AREAS)],
        "sex": ["female", "male"],
        "illness": [f"illness {i:02}" for i in range(ILLNESSES)],
    }
    writer: Any = None
    for number in range(-(-n_records // CHUNK)):
        n = min(CHUNK, n_records - number * CHUNK)
        columns: dict[str, Any] = {
            name: pa.DictionaryArray.from_arrays(
                pa.array(random.integers(0, len(values), n, dtype=np.int16)), pa.array(values)
            )
            for name, values in words.items()
        }
        columns["age"] = random.integers(0, BANDS, n) * 5
        columns["year"] = random.integers(2016, 2016 + YEARS, n)
        columns["record"] = random.integers(0, 2**62, n)
        columns["cost"] = random.random(n)
        columns["minute"] = random.integers(0, 2**40, n)
        made = pa.table(columns)
        if number % PER_FILE == 0:
            if writer is not None:
                writer.close()
            path = folder / f"{number // PER_FILE:04}.parquet"
            writer = parquet.ParquetWriter(path, made.schema, use_dictionary=[*words, *QID])
        writer.write_table(made)
    writer.close()


QUERIES = {
    "k": "SELECT min(n) FROM (SELECT count(*) AS n FROM {f} GROUP BY {q})",
    "risk": "SELECT max(1 / n), count(*) / sum(n) FROM "
    "(SELECT count(*) AS n FROM {f} GROUP BY {q})",
    "ldiv": "SELECT min(l) FROM (SELECT count(*) AS l FROM (SELECT {q}, illness FROM {f} "
    "GROUP BY {q}, illness) GROUP BY {q})",
    "tcloseness": "WITH p AS (SELECT {q}, illness, count(*) AS c FROM {f} GROUP BY {q}, illness), "
    "g AS (SELECT illness, sum(c) / sum(sum(c)) OVER () AS share FROM p GROUP BY illness), "
    "n AS (SELECT {q}, sum(c) AS n FROM p GROUP BY {q}) SELECT max(t) FROM (SELECT "
    "sum(greatest(c / n - share, 0)) AS t FROM p JOIN g USING (illness) JOIN n USING ({q}) "
    "GROUP BY {q})",
    "check": "WITH p AS (SELECT {q}, illness, count(*) AS c FROM {f} GROUP BY {q}, illness), "
    "g AS (SELECT illness, sum(c) / sum(sum(c)) OVER () AS share FROM p GROUP BY illness), "
    "n AS (SELECT {q}, sum(c) AS n FROM p GROUP BY {q}) SELECT min(n), min(l), max(t) FROM "
    "(SELECT any_value(n) AS n, count(*) AS l, sum(greatest(c / n - share, 0)) AS t FROM p "
    "JOIN g USING (illness) JOIN n USING ({q}) GROUP BY {q})",
}


def questions(table: Any) -> dict[str, Callable[[], Any]]:
    return {
        "k": lambda: table.anon.k(QID),
        "risk": lambda: table.anon.risk(QID),
        "ldiv": lambda: table.anon.ldiv(QID, "illness"),
        "tcloseness": lambda: table.anon.tcloseness(QID, "illness", "equal"),
        "check": lambda: POLICY.check(table),
    }


def _run(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchall()


def measures(folder: Path, rounds: int) -> list[Row]:
    """Ask both in turn, one pair after the other; the memory is that of our turns."""
    import duckdb

    place = tempfile.mkdtemp()
    own = duckdb.connect(config={"memory_limit": MEMORY, "temp_directory": place})
    rows, most = [], 0
    # As DuckDB's own queries do; encrypted it takes an extension that not every machine has.
    with anonrisk.scan(folder, memory=MEMORY, spill="plain") as table:
        for word, ours in questions(table).items():
            query = QUERIES[word].format(f=f"read_parquet('{folder}/*.parquet')", q=", ".join(QID))
            times: dict[str, list[float]] = {"ours": [], "theirs": []}
            for _ in range(rounds):
                used, taken = _bench.peak_memory(ours)
                most = max(most, used)
                times["ours"].append(taken)
                _, taken = _bench.peak_memory(partial(_run, own, query))
                times["theirs"].append(taken)
            rows.append(compared(f"`{word}`", times["ours"], times["theirs"], 1.2))
            print(rows[-1].cells, f"{most / 1e9:.2f} GB", flush=True)
    own.close()
    shutil.rmtree(place, ignore_errors=True)
    limit = f"≤ {MOST / 1e9:.0f} GB"
    shown = f"{most / 1e9:.2f} GB"
    return [*rows, Row("memory of the process", shown, "", None, limit, most <= MOST)]


def main() -> None:
    given = _bench.options(__doc__, records=100_000_000)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        files(folder, given.records)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{size / 1e9:.2f} GB", flush=True)
        rows = measures(folder, 1 if given.records > CHUNK * PER_FILE else 3)
    title = f"Scanned Parquet, {given.records:,} records, {size / 1e9:.1f} GB"
    machine = _bench.machine("duckdb", "pyarrow", "SQLAlchemy", more=f"memory={MEMORY!r}")
    _bench.report("scan", title, machine, rows, write=not given.no_write)


if __name__ == "__main__":
    main()
