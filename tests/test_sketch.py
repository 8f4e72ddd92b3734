"""Sketches: exact where they hold all classes, else numbers with an interval that holds."""

import hashlib
import io
import pickle

import numpy as np
import pandas as pd
import pytest
from keys import KEY, OTHER

import anonrisk
from anonrisk.core.results import Estimated
from anonrisk.errors import ArgumentError, EmptyTableError, StateError, WrongKeyError
from anonrisk.measures.counts.keyed import ALL, MOST, SketchCounts, SketchTally, Smallest, total
from anonrisk.measures.counts.question import Question
from anonrisk.pseudonyms.keys import Key
from anonrisk.releases.state.sketch import Sketch

CELLS = {"zip": ["10", "10", "11", "12", "12", "12", None], "age": [7, 7, 7, 8, 8, 9, 9]}


def drawn(rng, sizes, most):
    """A sketch of classes of these sizes, under hashes that are random."""
    kept = Smallest(most)
    hashes = rng.integers(0, ALL, len(sizes), dtype=np.uint64, endpoint=False)
    kept.add(hashes, np.asarray(sizes, dtype=np.int64))
    asked = SketchTally(Question((("zip",),)), KEY, most)
    n_rows = int(np.sum(sizes))
    return Sketch(SketchCounts.of(asked, {"zip": "s"}, kept, n_rows=n_rows, n_dropped=0), KEY)


def test_a_small_table_is_exact(frame):
    if frame.kind == "sqlite":
        pytest.skip("SQLite makes no states")
    table = frame(CELLS)
    sketch = anonrisk.sketch(table, ["zip", "age"], key=KEY)
    counted = anonrisk.classes(table, ["zip", "age"])
    assert sketch.is_exact
    assert sketch.classes().to_dict() == {**counted.to_dict(), "qid": ["age", "zip"]}
    assert (sketch.k, sketch.uniqueness, sketch.n_records) == (1, counted.uniqueness, 7)
    assert (sketch.n_classes, sketch.singletons) == (counted.n_classes, counted.singletons)
    assert sketch.fraction_below(3) == counted.records_below(3) / 7
    assert sketch.uniqueness.interval.level is None
    half = [
        anonrisk.sketch(frame({n: c[i::2] for n, c in CELLS.items()}), ["age", "zip"], key=KEY)
        for i in (0, 1)
    ]
    assert half[0].merge(half[1]) == half[1].merge(half[0]) == sketch


def test_the_sketch_is_the_head_of_the_state():
    df = pd.DataFrame({"a": np.arange(500) % 170})
    state, sketch = df.anon.state("a", key=KEY), anonrisk.sketch(df, "a", key=KEY)
    assert sketch.counts.hashes.tolist() == state.counts.classes[:, 0].tolist()
    assert sketch.key_id == state.key_id


# Sizes of classes and how often; of 2,048 classes kept, from few that are left out to nearly all.
WORLDS = {
    "few left out": {1: 1_000, 2: 900, 5: 500},
    "half left out": {1: 400, 3: 2_500, 40: 1_500},
    "most left out": {1: 2_000, 2: 19_000, 4: 5_000, 1_000: 100},
    "all alone": {1: 20_000},
    "rare": {1: 1_000, 9: 12_000},
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_as_often_as_they_say(world):
    """The hashes are drawn anew 4,000 times, by their laws: only how many are kept matters."""
    most, times = 2**11, 4_000
    rng = np.random.default_rng(18)
    sizes, numbers = (np.array(list(x)) for x in zip(*WORLDS[world].items(), strict=True))
    n, n_classes = int((sizes * numbers).sum()), int(numbers.sum())
    # The first hash left out is an order statistic; those below it are a simple random sample.
    ends = rng.beta(most + 1, n_classes - most, times)
    kept = rng.multivariate_hypergeometric(numbers, most, times, method="marginals")
    truth = {None: n_classes, 2: numbers[sizes < 2].sum(), 5: (sizes * numbers)[sizes < 5].sum()}
    for k, true in truth.items():
        inside = np.ones(len(sizes)) if k is None else np.where(sizes < k, sizes, 0)
        held = 0
        for end, of_size in zip(ends, kept, strict=True):
            parts = np.repeat(inside.astype(np.int64), of_size)
            found = total(parts, end, largest=1 if k in (None, 2) else 4, at_most=n)
            held += found.interval.low <= true <= found.interval.high
        # Four standard errors of a share of 95% in 4,000.
        assert 0.95 - 0.0138 <= held / times <= 0.96 + 0.0138, (k, held / times)


@pytest.mark.slow
def test_small_samples_are_never_too_sure():
    rng = np.random.default_rng(7)
    most, times = 256, 2_000
    for alone in (0, 3, 30, 200):
        held = 0
        ends = rng.beta(most + 1, 20_000 - most, times)
        for end, seen in zip(
            ends, rng.hypergeometric(alone, 20_000 - alone, most, times), strict=True
        ):
            found = total(np.ones(seen, dtype=np.int64), end, largest=1, at_most=10**6)
            held += found.interval.low <= alone <= found.interval.high
        assert held / times >= 0.935, alone


@pytest.mark.slow
def test_hashes_of_the_library_are_random_enough_for_that():
    """The whole way, from cells to an interval, under many keys."""
    sizes = np.repeat([1, 2, 5], [300, 500, 100])
    df = pd.DataFrame({"a": np.repeat(np.arange(len(sizes)), sizes)})
    held = 0
    for number in range(100):
        key = Key.from_bytes(hashlib.sha256(number.to_bytes(16, "big")).digest())
        engine = anonrisk.engines.engine_for(df)
        counted = engine.tally(df, SketchTally(Question((("a",),)), key, 200))
        sketch = Sketch(counted, key)
        assert not sketch.is_exact
        low, high = sketch.uniqueness.interval
        held += low <= 300 / len(df) <= high
    assert 88 <= held <= 100


def test_a_share_of_one_percent_is_within_two_percent():
    """By the least favourable table: all others in pairs, so that fewest classes are alone."""
    n = 10**9
    alone, pairs = n // 100, (n - n // 100) // 2
    seen = round(MOST * alone / (alone + pairs))
    found = total(np.ones(seen, dtype=np.int64), MOST / (alone + pairs), largest=1, at_most=n)
    low, high = found.interval
    assert max(high / alone - 1, 1 - low / alone) < 0.02


def test_room_of_a_hundred_million_classes():
    rng = np.random.default_rng(1)
    hashes = np.sort(rng.integers(0, ALL // 95, MOST, dtype=np.uint64))
    rows = rng.integers(1, 9, MOST)
    counts = SketchCounts(("zip",), "value", {"zip": "s"}, hashes, rows, ALL // 95, MOST, 10**9, 0)
    sketch = Sketch(counts, KEY)
    assert 0.9e8 < sketch.n_classes < 1.1e8
    held = counts.hashes.nbytes + counts.rows.nbytes
    assert held == 16 * MOST
    assert len(sketch.to_bytes()) < held < 64 * 2**20


def test_what_a_sample_cannot_tell_is_refused():
    sketch = drawn(np.random.default_rng(3), [2] * 100 + [1], 50)
    for ask in (lambda: sketch.k, sketch.classes):
        with pytest.raises(StateError, match=r"holds 50 of about .* the smallest may be among"):
            ask()
    with pytest.raises(ArgumentError):
        sketch.fraction_below(1)
    empty = Sketch(
        SketchCounts(
            ("a",), "value", {"a": "n"}, np.empty(0, np.uint64), np.empty(0, np.int64), ALL, 5, 0, 0
        ),
        KEY,
    )
    with pytest.raises(EmptyTableError):
        _ = empty.uniqueness
    assert "0 rows" in repr(empty)


def test_no_bound_leaves_the_table():
    sketch = drawn(np.random.default_rng(5), [1] * 60 + [10**6], 50)
    for found in (sketch.n_classes, sketch.singletons, sketch.uniqueness):
        assert isinstance(found, Estimated)
        assert found.interval.low <= found <= found.interval.high
    assert sketch.uniqueness.interval.high <= 1


def test_a_unit_is_refused():
    df = pd.DataFrame(CELLS).anon.declare(quasi=["zip"], unit="age")
    with pytest.raises(
        ArgumentError, match="counts records, and the table declares the unit 'age'"
    ):
        anonrisk.sketch(df, key=KEY)


def test_files(tmp_path):
    sketch = drawn(np.random.default_rng(3), [1, 2, 3] * 40, 50)
    path = tmp_path / "a.sketch"
    sketch.save(path)
    assert Sketch.load(path, key=KEY) == sketch
    assert path.stat().st_mode & 0o777 == 0o600
    data = path.read_bytes()
    with pytest.raises(WrongKeyError, match="another key"):
        Sketch.from_bytes(data, key=OTHER)
    with pytest.raises(StateError, match="not a sketch"):
        Sketch.from_bytes(str(path), key=KEY)
    with pytest.raises(TypeError):
        pickle.dump(sketch, io.BytesIO())


def test_merging_refuses_what_does_not_fit():
    df = pd.DataFrame(CELLS)
    sketch = anonrisk.sketch(df, "zip", key=KEY)
    with pytest.raises(WrongKeyError, match="different keys"):
        sketch.merge(anonrisk.sketch(df, "zip", key=OTHER))
    with pytest.raises(StateError, match="merged with another one"):
        sketch.merge(df)
    with pytest.raises(StateError, match="columns"):
        sketch.merge(anonrisk.sketch(df, "age", key=KEY))
    with pytest.raises(StateError, match="missing"):
        sketch.merge(anonrisk.sketch(df, "zip", key=KEY, missing="drop"))
    with pytest.raises(StateError, match="of type text and is of type integer"):
        sketch.merge(anonrisk.sketch(df[["age"]].rename(columns={"age": "zip"}), "zip", key=KEY))


def test_printing():
    sketch = drawn(np.random.default_rng(3), [1, 2, 3] * 40, 50)
    said = repr(sketch)
    assert "Sketch of zip: 240 rows" in said
    assert "holds 50 of about" in said
    assert "(95%: " in said
    assert "not anonymous" in said
