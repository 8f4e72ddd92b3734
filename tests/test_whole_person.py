"""`whole_person`: persons who have the same rows, against an oracle over lists of dicts."""

from __future__ import annotations

import random

import numpy as np
import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import anonrisk
from anonrisk import errors

QID = ["zip", "sex"]
# Everybody shares every combination with four others; as a whole nobody is like anybody.
HIDDEN = {
    "who": [person for person in range(10) for _ in range(5)],
    "zip": [(person + step) % 10 for person in range(10) for step in (0, 1, 2, 3, 5)],
}


def rows_of(cells):
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def histogram(sizes):
    return dict(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True))


def drawn(seed, n_rows=60, n_persons=25):
    rng = random.Random(seed)
    return {
        "who": [rng.randrange(n_persons) for _ in range(n_rows)],
        "zip": [rng.choice(["a", "b", None]) for _ in range(n_rows)],
        "sex": [rng.choice([0.0, -0.0, 1.5, None]) for _ in range(n_rows)],
    }


@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("seed", [1, 2])
def test_it_is_what_comparing_everybody_gives(frame, seed, missing):
    cells = drawn(seed)
    found = frame(cells).anon.whole_person(QID, unit="who", missing=missing)
    rows = rows_of(cells)
    kept = oracle.kept(rows, QID, missing)
    assert histogram(found) == oracle.whole_persons(rows, QID, "who", missing)
    assert (found.n_rows, found.n_dropped) == (len(kept), len(rows) - len(kept))
    assert found.n_records == len({row["who"] for row in kept})
    assert (found.unit, found.missing, found.whole_persons) == ("who", missing, True)
    assert found.records.tolist() == (found.sizes * found.classes).tolist()


def test_who_hides_row_by_row_may_be_alone_as_a_whole(frame):
    table = frame(HIDDEN)
    assert table.anon.k("zip", unit="who") == 5
    found = table.anon.whole_person("zip", unit="who")
    assert (found.k, found.uniqueness, found.n_records) == (1, 1.0, 10)


def test_rows_count_as_often_as_they_occur(frame):
    table = frame({"who": [1, 1, 2, 2, 2, 3, 3], "zip": ["a", "b", "a", "a", "b", "b", "a"]})
    assert histogram(table.anon.whole_person("zip", unit="who")) == {1: 1, 2: 1}


@pytest.mark.contract
@pytest.mark.parametrize("cells", [[1, 2, 3], ["x", "y", "z"], [1.5, 2.5, 3.5]])
def test_persons_are_told_apart_by_any_kind_of_cell(frame, cells):
    table = frame({"who": [cells[0], *cells], "zip": ["a", "a", "a", "a"]})
    assert histogram(table.anon.whole_person("zip", unit="who")) == {1: 1, 2: 1}


def test_texts_that_join_to_the_same_are_not_the_same(frame):
    table = frame(
        {"who": [1, 1, 2, 2], "zip": ["a,b", "c", "a", "b,c"], "sex": ["1:1", "2", "1", "1:2"]}
    )
    assert table.anon.whole_person(QID, unit="who").k == 1


def test_roles_may_be_declared():
    table = pd.DataFrame(HIDDEN).anon.declare(quasi="zip", unit="who")
    assert table.anon.whole_person() == table.anon.whole_person("zip", unit="who")


@pytest.mark.contract
def test_what_cannot_be_told_is_refused(frame):
    cells = {"who": [1, None, 2], "zip": ["a", "b", None]}
    table = frame(cells)
    with pytest.raises(errors.MissingUnitError, match=r"unit 'who' is missing in 1 row;"):
        table.anon.whole_person("zip", unit="who")
    whole = frame({**cells, "who": [1, 1, 2]})
    with pytest.raises(errors.MissingValuesError, match="'zip' in 1 row"):
        whole.anon.whole_person("zip", unit="who", missing="error")
    with pytest.raises(errors.ArgumentError, match="wildcard"):
        whole.anon.whole_person("zip", unit="who", missing="wildcard")
    with pytest.raises(errors.RolesNotGivenError, match=r"no unit: name the column"):
        whole.anon.whole_person(qids="zip")
    with pytest.raises(errors.ColumnNotFoundError, match="'whom'"):
        whole.anon.whole_person("zip", unit="whom")
    with pytest.raises(errors.RoleConflictError, match="both quasi-identifier and unit"):
        whole.anon.whole_person("zip", unit="zip")
    with pytest.raises(errors.EmptyTableError):
        frame({"who": [1], "zip": [None]}).anon.whole_person("zip", unit="who", missing="drop")


people = st.lists(
    st.tuples(st.integers(0, 6), st.sampled_from(["a", "b", None]), st.booleans()),
    min_size=1,
    max_size=40,
)


@given(people, st.randoms(use_true_random=False))
def test_properties(rows, rng):
    table = pd.DataFrame(rows, columns=["who", "zip", "sex"])
    found = table.anon.whole_person(QID, unit="who")
    cells = table.astype(object).to_dict("records")
    assert histogram(found) == oracle.whole_persons(cells, QID, "who")
    assert found.k <= table.anon.k(QID, unit="who")
    # Fewer columns tell persons apart no better.
    assert table.anon.whole_person("zip", unit="who").k >= found.k
    shuffled = table.sample(frac=1, random_state=rng.randrange(1000))
    assert shuffled.anon.whole_person(QID, unit="who") == found
    twice = pd.concat([table, table])
    assert histogram(twice.anon.whole_person(QID, unit="who")) == histogram(found)
    one_each = table.drop_duplicates("who")
    alone = one_each.anon.whole_person(QID, unit="who")
    assert histogram(alone) == histogram(one_each.anon.classes(QID))


@given(st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=70), min_size=1, max_size=6))
def test_persons_of_any_length_are_compared_exactly(persons):
    # The same rows, those of a longer person, and both once more.
    persons = [*persons, *(own[: len(own) // 2 + 1] for own in persons), *persons]
    cells = [(who, cell) for who, own in enumerate(persons) for cell in own]
    table = pd.DataFrame(cells, columns=["who", "zip"])
    expected = oracle.whole_persons(table.to_dict("records"), ["zip"], "who")
    assert histogram(table.anon.whole_person("zip", unit="who")) == expected


def test_numbers_that_fill_64_bits_are_closed_up():
    rng = np.random.default_rng(4)
    wide = {f"c{i}": rng.integers(0, 2, 4000) * rng.integers(0, 10**9, 4000) for i in range(8)}
    table = pd.DataFrame({"who": rng.integers(0, 2**40, 4000), **wide})
    table = pd.concat([table, table.assign(who=-table.who - 1)])
    found = anonrisk.whole_person(table, list(wide), unit="who")
    rows = table.to_dict("records")
    assert histogram(found) == oracle.whole_persons(rows, list(wide), "who")
    assert found.k == 2


def test_it_prints_what_it_counts():
    found = pd.DataFrame(HIDDEN).anon.whole_person("zip", unit="who")
    assert repr(found).startswith("Whole persons of zip: 10 persons in 10 classes, k = 1")
    assert "50 rows; a person (who) is like those who have the same rows" in repr(found)
    assert found.to_dict()["whole_persons"] is True
    assert found != pd.DataFrame(HIDDEN).anon.classes("zip", unit="who")


def test_a_database_is_asked_once(frame):
    if frame.kind not in ("sqlite", "duckdb_sql", "postgresql"):
        pytest.skip("of databases")
    from anonrisk.engines.sql.source import SqlSource

    table, asked = frame(drawn(3)), []
    fetch = SqlSource.fetch

    def noted(self, query, doing):
        asked.append(doing)
        return fetch(self, query, doing)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqlSource, "fetch", noted)
        table.anon.whole_person(QID, unit="who")
    assert asked.count("count the classes") == 1
    assert {*asked} <= {"count the classes", "read the types", "read the collation"}
