"""States and sketches against `k` of the same table, and against DataSketches: processor time.

A state puts a keyed hash on every class, `k` only counts them; a Theta sketch of DataSketches puts
a hash without a key on every record, and knows no class's size.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import anonrisk

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench
from benchmarks._bench import QID, Row, compared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

KEY = hashlib.sha256(b"anonrisk example, not a secret").digest()
PAGE = _bench.ROOT / "docs" / "ledger.md"
# Different ages, sexes, areas and occupations: the fewest, more, and classes of one or two records.
DOMAINS = [(9, 2, 3, 16), (90, 2, 3, 16), (90, 2, 300, 16)]
AT_MOST = 8


def table(n_records: int, domain: tuple[int, ...]) -> pd.DataFrame:
    random = np.random.default_rng(1)
    words = [[f"{name} {i:03}" for i in range(n)] for name, n in zip(QID, domain, strict=True)]
    columns = {
        name: pd.array(texts, dtype="str").take(random.integers(0, len(texts), n_records))
        for name, texts in zip(QID[1:], words[1:], strict=True)
    }
    return pd.DataFrame({QID[0]: random.integers(0, domain[0], n_records), **columns})


def against_k(frame: pd.DataFrame, rounds: int) -> Iterator[Row]:
    n_classes = anonrisk.classes(frame, QID).n_classes
    contestants: dict[str, Callable[[], Any]] = {
        "k": lambda: anonrisk.k(frame, QID),
        "state": lambda: anonrisk.state(frame, QID, key=KEY),
        "sketch": lambda: anonrisk.sketch(frame, QID, key=KEY),
    }
    times = _bench.interleaved(contestants, rounds=rounds, clock=time.process_time)
    for what in ("state", "sketch"):
        yield compared(f"{what} against k, {n_classes:,} classes", times[what], times["k"], AT_MOST)


def scanned(frame: pd.DataFrame, rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        frame.to_parquet(f"{folder}/t.parquet")
        with anonrisk.scan(f"{folder}/t.parquet") as files:
            contestants: dict[str, Callable[[], Any]] = {
                "k": lambda: files.anon.k(QID),
                "state": lambda: files.anon.state(QID, key=KEY),
            }
            times = _bench.interleaved(contestants, rounds=rounds, clock=time.process_time)
    yield compared("the same by scan, of Parquet", times["state"], times["k"])


def against_datasketches(frame: pd.DataFrame, rounds: int) -> Iterator[Row]:
    try:
        import datasketches
    except ImportError:
        return
    # Theirs takes one text of a record, made before the clock runs.
    texts = frame[QID[0]].astype(str).str.cat(frame[QID[1:]], sep="|").tolist()

    def theta() -> float:
        sketch = datasketches.update_theta_sketch(20)
        for text in texts:
            sketch.update(text)
        return float(sketch.get_estimate())

    contestants: dict[str, Callable[[], Any]] = {
        "ours": lambda: anonrisk.sketch(frame, QID, key=KEY),
        "theirs": theta,
    }
    times = _bench.interleaved(contestants, rounds=rounds, clock=time.process_time)
    yield compared("sketch against DataSketches' Theta, 20", times["ours"], times["theirs"])


def main() -> None:
    asked = _bench.options(__doc__, 1_000_000)
    rows: list[Row] = []
    for domain in DOMAINS:
        frame = table(asked.records, domain)
        rows += against_k(frame, 5)
    rows += scanned(frame, 3)
    rows += against_datasketches(frame, 3)
    title = f"{asked.records:,} records, 4 columns, processor time; {_bench.machine('pandas')}"
    section = f"{title}\n\n{_bench.table_of(rows)}"
    print(section)
    if not asked.no_write:
        _bench.replace("state", section, PAGE)


if __name__ == "__main__":
    main()
