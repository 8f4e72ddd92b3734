"""Linked tables, against an attacker who joins them row by row."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter, defaultdict

import oracle
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonrisk import errors
from anonrisk.measures.counts import question
from anonrisk.releases.links import Link, LinkedSizes, MatchedTable, linked

PATIENTS = {"id": [1, 2, 3, 4, 5], "zip": ["a", "a", "b", "b", None]}
VISITS = {"id": [1, 1, 2, 3, 4, 9], "day": [1, 2, 1, 2, 2, 1]}
LINK = Link(["patients", "visits"], on="id")
QIDS = {"patients": ["zip"], "visits": ["day"]}


def test_a_table_without_a_quasi_identifier_is_named(frame):
    tables = {"patients": frame(PATIENTS), "visits": frame(VISITS)}
    with pytest.raises(errors.PolicyError, match="no quasi-identifier of table 'visits' given"):
        linked(tables, LINK, {"patients": ["zip"], "visits": []})


def histogram(sizes):
    return dict(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True))


def rows_of(cells):
    return [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]


def by_person(tables, qids, key):
    """Everybody's combinations of a class, or no row, of each table; who has each."""
    everybody = {row[key] for rows in tables.values() for row in rows}
    having = defaultdict(set)
    for person in everybody:
        own = [
            {oracle.key(row, qids[name]) for row in rows if row[key] == person} or {"no row"}
            for name, rows in tables.items()
        ]
        for combination in itertools.product(*own):
            having[combination].add(person)
    smallest = {
        person: min(len(who) for who in having.values() if person in who) for person in everybody
    }
    return Counter(map(len, having.values())), Counter(smallest.values())


def whole(tables, qids, key):
    everybody = {row[key] for rows in tables.values() for row in rows}
    kinds = Counter(
        tuple(
            frozenset(
                Counter(oracle.key(row, qids[name]) for row in rows if row[key] == person).items()
            )
            for name, rows in tables.items()
        )
        for person in everybody
    )
    return Counter(kinds.values())


def by_values(tables, qids, on, unit=None):
    """Of each combination of classes the most persons who can be the same in every table."""
    seen = {}
    for name, rows in tables.items():
        seen[name] = defaultdict(set)
        for number, row in enumerate(rows):
            who = number if unit is None else row[unit]
            seen[name][oracle.key(row, qids[name]), oracle.key(row, on)].add(who)
    having, of_table = Counter(), defaultdict(lambda: [set() for _ in tables])
    for entries in itertools.product(*(found.items() for found in seen.values())):
        if len({value for (_, value), _ in entries}) == 1:
            combination = tuple(own for (own, _), _ in entries)
            having[combination] += min(len(who) for _, who in entries)
            for everybody, (_, who) in zip(of_table[combination], entries, strict=True):
                everybody.update(who)
    return Counter(min(n, *map(len, of_table[one])) for one, n in having.items())


def test_two_tables_in_which_everybody_has_a_twin_may_tell_everybody_apart(frame):
    tables = {
        "patients": frame({"id": [1, 2, 3, 4], "zip": ["a", "a", "b", "b"]}),
        "visits": frame({"id": [1, 2, 3, 4], "day": [1, 2, 1, 2]}),
    }
    assert [tables[name].anon.k(QIDS[name]) for name in tables] == [2, 2]
    assert linked(tables, LINK, QIDS).k == 1


def test_along_a_key_it_is_what_joining_by_hand_gives(frame):
    rows = {"patients": rows_of(PATIENTS), "visits": rows_of(VISITS)}
    tables = {"patients": frame(PATIENTS), "visits": frame(VISITS)}
    found = linked(tables, LINK, QIDS)
    classes, persons = by_person(rows, QIDS, "id")
    assert histogram(found) == classes
    assert dict(zip(found.sizes.tolist(), found.records.tolist(), strict=True)) == persons
    assert (found.n_records, found.n_rows, found.unit) == (6, 11, "id")
    assert histogram(linked(tables, LINK, QIDS, whole=True)) == whole(rows, QIDS, "id")


def test_along_shared_columns_it_is_what_joining_by_hand_gives(frame):
    patients = {**PATIENTS, "age": [1, 1, 2, 2, 1]}
    visits = {**VISITS, "zip": ["a", "a", "a", "b", "c", None]}
    link = Link(["patients", "visits"], on="zip")
    rows = {"patients": rows_of(patients), "visits": rows_of(visits)}
    tables = {"patients": frame(patients), "visits": frame(visits)}
    for qids in (
        {"patients": ["zip", "age"], "visits": ["zip", "day"]},
        {"patients": ["age"], "visits": ["zip", "day"]},
    ):
        for unit in (None, "id"):
            expected = by_values(rows, qids, ["zip"], unit)
            assert histogram(linked(tables, link, qids, unit=unit)) == expected
    assert linked(tables, Link(["patients", "visits"]), qids | {"patients": ["zip"]}).k == 1


def test_who_matches_by_several_values_is_one_person(frame):
    """One person in each table, in three years: nobody else can have the combination."""
    patients = frame({"p": [1, 1, 1, 2], "zip": ["a"] * 4, "year": [1, 2, 3, 9]})
    visits = frame({"q": [7, 7, 7], "day": ["x"] * 3, "year": [1, 2, 3]})
    tables = {"patients": patients, "visits": visits}
    link, unit = Link(["patients", "visits"], on="year"), {"patients": "p", "visits": "q"}
    assert histogram(linked(tables, link, QIDS, unit=unit)) == {1: 1}
    # Three persons who match by one value each are three.
    several = frame({"q": [7, 8, 9], "day": ["x"] * 3, "year": [1, 2, 3]})
    alone = frame({"p": [1, 2, 3], "zip": ["a"] * 3, "year": [1, 2, 3]})
    for name, table, expected in (("visits", several, 1), ("patients", alone, 3)):
        tables[name] = table
        assert linked(tables, link, QIDS, unit=unit).k == expected


@pytest.mark.contract
def test_numbers_match_whether_they_happen_to_be_whole_or_not(frame):
    link, shared = Link(["patients", "visits"], on=["dose"]), {"patients": "dose", "visits": "dose"}
    tables = {"patients": frame({"dose": [1.0, 2.0, 2.0]}), "visits": frame({"dose": [2.0, 0.5]})}
    assert histogram(linked(tables, link, shared)) == {1: 1}
    tables["visits"] = frame({"dose": [None, 2.0]})
    assert histogram(linked(tables, link, shared)) == {1: 1}


ids = st.integers(0, 5)
small = st.sampled_from(["a", "b", None])
table = st.lists(st.tuples(ids, small, small), min_size=1, max_size=12)


@pytest.mark.slow
@given(st.lists(table, min_size=2, max_size=3))
def test_any_tables_of_a_few_rows(made):
    tables = {f"t{i}": pd.DataFrame(rows, columns=["id", "x", "y"]) for i, rows in enumerate(made)}
    rows = {name: one.astype(object).to_dict("records") for name, one in tables.items()}
    qids = {name: ["x", "y"] if name == "t0" else ["x"] for name in tables}
    link = Link(list(tables), on="id")
    everybody = [{row["id"] for row in own} for own in rows.values()]
    others = [set().union(*everybody[:i], *everybody[i + 1 :]) for i in range(len(everybody))]
    if any(own.isdisjoint(other) for own, other in zip(everybody, others, strict=True)):
        with pytest.raises(errors.EmptyTableError, match="no join to measure"):
            linked(tables, link, qids)
        return
    found = linked(tables, link, qids)
    classes, persons = by_person(rows, qids, "id")
    assert histogram(found) == classes
    assert found.records.tolist() == [persons[size] for size in found.sizes]
    all_rows = linked(tables, link, qids, whole=True)
    assert histogram(all_rows) == whole(rows, qids, "id")
    assert all_rows.k <= found.k
    for name, one in tables.items():
        assert found.k <= one.anon.k(qids[name], unit="id")
    shared = Link(list(tables), on=["x", "y"])
    for unit in (None, "id"):
        expected = by_values(rows, qids, ["x", "y"], unit)
        if expected:
            assert histogram(linked(tables, shared, qids, unit=unit)) == expected
        else:
            with pytest.raises(errors.EmptyTableError, match="no join to measure"):
                linked(tables, shared, qids, unit=unit)


def test_a_join_that_matches_nobody_is_no_join(frame):
    visits = frame({**VISITS, "id": [11, 12, 13, 14, 15, 16]})
    with pytest.raises(errors.EmptyTableError, match="table 1 of the link has no value of 'id'"):
        linked({"patients": frame(PATIENTS), "visits": visits}, LINK, QIDS)


def test_a_third_table_that_shares_nobody_is_named():
    of_table = {"a": PATIENTS, "b": VISITS, "c": {"id": [70], "day": [1]}}
    tables = {name: pd.DataFrame(cells) for name, cells in of_table.items()}
    with pytest.raises(errors.EmptyTableError, match="table 3 of the link has no value of 'id'"):
        linked(tables, Link(["a", "b", "c"], on="id"), {"a": "zip", "b": "day", "c": "day"})
    with pytest.raises(errors.EmptyTableError, match="no join to measure"):
        linked({"patients": tables["a"], "visits": tables["b"].head(0)}, LINK, QIDS)


def test_columns_may_be_called_differently(frame):
    tables = {
        "patients": frame(PATIENTS),
        "visits": frame({"who": VISITS["id"], "day": VISITS["day"]}),
    }
    link = Link(["patients", "visits"], {"patients": "id", "visits": "who"})
    same = linked({"patients": frame(PATIENTS), "visits": frame(VISITS)}, LINK, QIDS)
    assert linked(tables, link, QIDS) == same


def test_how_much_of_each_table_was_joined_is_told(frame):
    found = linked({"patients": frame(PATIENTS), "visits": frame(VISITS)}, LINK, QIDS)
    told = [(one.table, one.matched, one.n, one.who) for one in found.matched]
    assert told == [("patients", 4, 5, "person"), ("visits", 4, 5, "person")]
    assert found.hardly_matched == ()
    assert "Matched: 4 of 5 persons of patients, 4 of 5 persons of visits" in repr(found)
    assert found.to_dict()["matched"][0]["matched"] == 4


def test_rows_that_match_along_shared_columns_are_told():
    tables = {
        "one": pd.DataFrame({"zip": ["a", "a", "b"], "age": [1, 2, 3]}),
        "two": pd.DataFrame({"zip": ["a", "c", "c", "c"], "day": [1, 2, 3, 3]}),
    }
    qids = {"one": ["zip", "age"], "two": ["zip", "day"]}
    assert linked(tables, Link(["one", "two"]), qids).match_text == (
        "matched: 2 of 3 rows of one, 1 of 4 rows of two"
    )


@pytest.mark.parametrize(
    ("n", "matched", "hardly"),
    [
        ((100, 100), (9, 9), [0, 1]),
        ((100, 100), (10, 10), []),
        # A small table that is all in a large one.
        ((1_000, 5), (5, 5), []),
        # The third is written otherwise, the others are not.
        ((100, 100, 50), (100, 100, 1), [2]),
    ],
)
def test_hardly_anybody_is_less_than_a_tenth_of_who_could_match(n, matched, hardly):
    of = [MatchedTable(str(i), *two) for i, two in enumerate(zip(n, matched, strict=True))]
    found = LinkedSizes([1], [1], matched=of)
    assert [int(one.table) for one in found.hardly_matched] == hardly
    assert pickle.loads(pickle.dumps(found)).matched == found.matched


def test_a_key_with_more_beside_it_is_told_what_to_write():
    tables = {"patients": pd.DataFrame(PATIENTS), "visits": pd.DataFrame(VISITS).assign(zip="a")}
    both = Link(["patients", "visits"], on=["id", "zip"])
    with pytest.raises(errors.ArgumentError, match="Write on: id; zip counts if"):
        linked(tables, both, QIDS, unit="id")
    with pytest.raises(errors.ArgumentError, match=r"patients\.id, visits\.zip: 'id' is the unit"):
        linked(tables, Link([*tables], {"patients": "id", "visits": "zip"}), QIDS, unit="id")


@pytest.mark.contract
@pytest.mark.parametrize("on", ["id", "zip"])
def test_missing_cells_are_left_out_or_refused(frame, on):
    visits = {**VISITS, "zip": ["a", "a", "a", "b", "c", None]}
    tables = {"patients": frame(PATIENTS), "visits": frame(visits)}
    link, qids = Link(["patients", "visits"], on=on), {"patients": ["zip"], "visits": ["zip"]}
    assert linked(tables, link, qids, missing="drop").n_dropped == 2
    with pytest.raises(errors.MissingValuesError, match="'zip' in 1 row"):
        linked(tables, link, qids, missing="error")


def test_a_person_with_many_rows_in_both_is_refused_before_anything_is_joined(monkeypatch):
    monkeypatch.setattr(question, "MAX_COMBINATIONS", 99)
    one = pd.DataFrame({"id": [1] * 10, "zip": range(10)})
    other = pd.DataFrame({"id": [1] * 10, "day": range(10)})
    with pytest.raises(errors.TooManyClassesError, match="100 combinations of classes, more than"):
        linked({"patients": one, "visits": other}, LINK, QIDS)
    # Rows that are alike are one class.
    assert linked({"patients": one, "visits": other.assign(day=1)}, LINK, QIDS).n_classes == 10


def test_what_cannot_be_joined_is_refused_in_words():
    patients, visits = pd.DataFrame(PATIENTS), pd.DataFrame(VISITS)
    tables = {"patients": patients, "visits": visits}
    with pytest.raises(errors.UnsupportedColumnError, match=r"'patients\.id' is text, "):
        linked(tables | {"patients": patients.astype({"id": str})}, LINK, QIDS)
    with pytest.raises(errors.UnsupportedColumnError, match="astype"):
        linked(tables | {"visits": visits.astype({"id": float})}, LINK, QIDS)
    with pytest.raises(errors.MissingUnitError, match="unit 'id' is missing in 1 row"):
        linked(tables | {"visits": visits.assign(id=[1, 1, 2, 3, 4, None])}, LINK, QIDS)
    with pytest.raises(errors.ColumnNotFoundError, match="'idd'"):
        linked(tables, Link(["patients", "visits"], on="idd"), QIDS)
    with pytest.raises(errors.ArgumentError, match="share no quasi-identifier"):
        linked(tables, Link(["patients", "visits"]), QIDS)
    for wrong in ((None, LINK, QIDS), (tables, "id", QIDS), (tables, LINK, ["zip"])):
        with pytest.raises(errors.ArgumentError, match="linked takes tables by their names"):
            linked(*wrong)
    with pytest.raises(errors.ArgumentError, match="'visits' of a link is not given"):
        linked({"patients": patients}, LINK, QIDS)
    shared = {"patients": ["zip"], "visits": ["zip"]}
    by_zip = tables | {"visits": visits.assign(zip="a")}
    with pytest.raises(errors.ArgumentError, match="along a person's key"):
        linked(by_zip, Link(["patients", "visits"]), shared, whole=True)
    numbers = tables | {"visits": visits.assign(zip=1)}
    with pytest.raises(errors.UnsupportedColumnError, match="of one type"):
        linked(numbers, Link(["patients", "visits"]), shared)


def test_on_spark_tables_are_grouped_and_joined_where_they_are(frame, monkeypatch):
    if frame.kind != "spark":
        pytest.skip("of Spark")
    from anonrisk.engines.spark import SparkEngine, count

    def nothing(*_):
        raise AssertionError("persons came to the driver")

    monkeypatch.setattr(SparkEngine, "tally", nothing)
    tables = {"patients": frame(PATIENTS), "visits": frame(VISITS)}
    assert linked(tables, LINK, QIDS).k == 1
    text = frame({**VISITS, "id": [str(who) for who in VISITS["id"]]})
    with pytest.raises(errors.UnsupportedColumnError, match="'id' is integer, 'id' is text"):
        linked(tables | {"visits": text}, LINK, QIDS)
    # Six persons, of whom one has two combinations.
    monkeypatch.setattr(count, "MOST", 6)
    with pytest.raises(errors.TooManyClassesError, match="have 7 combinations of classes"):
        linked(tables, LINK, QIDS)


@pytest.mark.parametrize(
    ("tables", "on"),
    [
        (["patients"], "id"),
        ("patients", "id"),
        (None, "id"),
        (5, "id"),
        (["patients", "patients"], "id"),
        ([["patients"], "visits"], "id"),
        (["patients", "visits"], {"patients": "id"}),
        (["patients", "visits"], {"patients": "id", "visits": ["a", "b"]}),
        (["patients", "visits"], []),
        (["patients", "visits"], "id, zip"),
    ],
)
def test_what_is_no_link_is_refused(tables, on):
    with pytest.raises(errors.PolicyError):
        Link(tables, on)


def test_a_link_comes_back_as_it_was_written():
    for link in (LINK, Link(["a", "b"]), Link(["a", "b"], {"a": "x", "b": "y"})):
        assert Link(**link.to_dict()) == link


@pytest.mark.slow
def test_tables_of_different_engines_are_joined_by_persons_only():
    polars = pytest.importorskip("polars")
    patients = pd.DataFrame({**PATIENTS, "day": 1})
    visits = polars.DataFrame(VISITS)
    same = linked({"patients": patients, "visits": visits.to_pandas()}, LINK, QIDS)
    assert linked({"patients": patients, "visits": visits}, LINK, QIDS) == same
    days = {"patients": ["zip", "day"], "visits": ["day"]}
    with pytest.raises(errors.UnsupportedFrameError, match="bring them to one engine"):
        linked({"patients": patients, "visits": visits}, Link(["patients", "visits"]), days)


@pytest.mark.parametrize("on", [["id", "id"], {"a": ["id", "id"], "b": ["id", "x"]}])
def test_a_link_names_a_column_once(on):
    with pytest.raises(errors.PolicyError, match="'id' is named twice"):
        Link(("a", "b"), on)
