"""Which columns single people out: the search against trying every set, on every engine."""

from __future__ import annotations

import json
import math
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import without_rows

import anonrisk
from anonrisk import ClassSizes, errors
from anonrisk.measures import find_qids
from anonrisk.measures.counts import shapes
from anonrisk.measures.counts.shapes import Shape

PEOPLE = {
    "zip": ["1", "1", "2", "2", "3", "3", None, "1"],
    "age": [30, 31, 30, 31, 30, 30, 31, 30],
    "sex": ["f", "m", "f", "m", "m", "f", "f", "f"],
    "flat": ["x"] * 8,
}


def brute_force(cells, alpha, max_size, unit=None):
    """Every minimal set with its number of singletons, by looking at all of them."""
    rows = list(zip(*cells.values(), strict=True))
    names = list(cells)
    persons = range(len(rows)) if unit is None else unit
    n = len(set(persons))
    found = {}
    for size in range(1, max_size + 1):
        for columns in combinations(range(len(names)), size):
            members = {}
            for person, row in zip(persons, rows, strict=True):
                members.setdefault(tuple(row[i] for i in columns), set()).add(person)
            alone = {next(iter(who)) for who in members.values() if len(who) == 1}
            qid = frozenset(names[i] for i in columns)
            if len(alone) / n > alpha and not any(smaller < qid for smaller in found):
                found[qid] = len(alone)
    return found


def sets_of(report):
    return {frozenset(found.columns): found.singletons for found in report.sets}


# Many ties and few values, so that every rule of the search has something to rule out.
cells_of = st.integers(1, 4).flatmap(
    lambda n_values: st.lists(st.tuples(*[st.integers(0, n_values)] * 5), min_size=1, max_size=30)
)


@pytest.mark.slow
@given(cells_of, st.floats(0.01, 0.95), st.integers(1, 5))
def test_the_search_finds_what_trying_everything_finds(rows, alpha, max_size):
    cells = {
        name: list(column) for name, column in zip("abcde", zip(*rows, strict=True), strict=True)
    }
    table = pd.DataFrame(cells)
    report = anonrisk.find_qids(table, alpha=alpha, max_size=max_size)
    apart = {frozenset([item.column]) for item in report.direct}
    expected = brute_force(cells, alpha, max_size)
    assert sets_of(report) == {q: n for q, n in expected.items() if q not in apart}
    assert report.n_settled == report.n_sets
    assert not report.partial


@given(cells_of, st.floats(0.01, 0.95), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_search_of_persons(rows, alpha, max_size, random):
    cells = {
        name: list(column) for name, column in zip("abcde", zip(*rows, strict=True), strict=True)
    }
    unit = [random.randrange(max(len(rows) // 2, 1)) for _ in rows]
    table = pd.DataFrame({**cells, "who": unit})
    report = anonrisk.find_qids(table, alpha=alpha, max_size=max_size, unit="who")
    apart = {frozenset([item.column]) for item in report.direct}
    expected = brute_force(cells, alpha, max_size, unit)
    assert sets_of(report) == {q: n for q, n in expected.items() if q not in apart}
    assert report.n_records == len(set(unit))


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=40),
    st.booleans(),
)
def test_singletons_after_a_cut_are_bounded(rows, by_second):
    """Rule 2, and with one class for all rule 3."""
    first, second = Counter(a for a, _ in rows), {b for _, b in rows}
    sizes = ClassSizes.from_histogram(Counter(first.values() if by_second else [len(rows)]))
    joint = Counter(rows)
    n_values = len(second) if by_second else len(joint)
    alone = sum(n == 1 for n in joint.values())
    assert alone <= find_qids.most_singletons(sizes, n_values)


@pytest.mark.slow
def test_most_sets_are_never_counted():
    random = np.random.default_rng(5)
    n = 400
    table = pd.DataFrame({f"c{d}": random.integers(0, d, n) for d in (2, 2, 3, 4, 5, 6, 30, 200)})
    table = pd.concat(
        [table, pd.DataFrame({f"flag{i}": random.random(n) < 0.01 for i in range(6)})], axis=1
    )
    report = anonrisk.find_qids(table, alpha=0.2)
    assert report.n_counted < report.n_sets / 2
    cells = {name: table[name].tolist() for name in table}
    assert sets_of(report) == brute_force(cells, 0.2, 4)


@pytest.mark.contract
def test_every_engine_finds_the_same(frame):
    table, plain = frame(PEOPLE), pd.DataFrame(PEOPLE)
    report = table.anon.find_qids(alpha=0.05, population_size=1_000)
    assert sets_of(report) == brute_force(PEOPLE, 0.05, 4)
    expected = plain.anon.find_qids(alpha=0.05, population_size=1_000)
    assert report.to_frame().equals(expected.to_frame())
    assert [found.sizes for found in report.sets] == [found.sizes for found in expected.sets]


def test_a_found_set_is_what_classes_say():
    table = pd.DataFrame(PEOPLE)
    report = table.anon.find_qids(alpha=0.05, population_size=1_000)
    ranks = [(-found.share / len(found.columns), len(found.columns)) for found in report.sets]
    assert ranks == sorted(ranks)
    for found in report.sets:
        sizes = table.anon.classes(list(found.columns))
        assert found.sizes == sizes
        assert found.distinction == sizes.n_classes / 8
        pairs = sum(c * (c - 1) for c in np.repeat(sizes.sizes, sizes.classes).tolist())
        assert found.separation == pytest.approx(1 - pairs / (8 * 7), rel=1e-12)
        assert found.population_domain_share < found.domain_share
        assert found.domain == math.prod(table.anon.classes(c).n_classes for c in found.columns)


@pytest.mark.contract
def test_persons_and_dropped_records_on_every_engine(frame):
    who = [1, 1, 2, 2, 3, 4, 5, 5]
    table = frame({**PEOPLE, "who": who})
    report = table.anon.find_qids(alpha=0.1, unit="who")
    assert sets_of(report) == brute_force(PEOPLE, 0.1, 4, who)
    assert report.not_searched == ("who",)
    kept = [i for i, cell in enumerate(PEOPLE["zip"]) if cell is not None]
    complete = {name: [cells[i] for i in kept] for name, cells in PEOPLE.items()}
    dropped = table.anon.find_qids(list(PEOPLE), alpha=0.1, missing="drop")
    assert sets_of(dropped) == brute_force(complete, 0.1, 4)
    assert (dropped.n_records, dropped.n_dropped) == (7, 1)
    assert all(found.sizes.n_dropped == 1 for found in dropped.sets)
    with pytest.raises(errors.MissingValuesError, match="'zip' in 1 row"):
        table.anon.find_qids(list(PEOPLE), alpha=0.1, missing="error")


LOOKS = {
    "mail": [f"p{i % 30}@mail.example" for i in range(60)],
    "iban": [f"NL91ABNA0417{i:06}" for i in range(60)],
    "phone": [f"+31 6 1234 {i:04}" for i in range(60)],
    "ssn": [f"{i:03}-11-{i:04}" for i in range(60)],
    "number": [123_456_000 + i for i in range(60)],
    "uuid": [f"00000000-0000-4000-8000-{i % 6:012}" for i in range(60)],
    "serial": [f"record {i}" for i in range(60)],
    "born": [f"2001-0{1 + i % 9}-1{i % 5}" for i in range(60)],
    "sex": ["f", "m"] * 30,
    "code": ["123456789", "987654321"] * 30,
}


@pytest.mark.contract
def test_look_alikes_are_reported_apart(frame):
    report = frame(LOOKS).anon.find_qids(alpha=0.2, max_size=2)
    found = {item.column: item.reason for item in report.direct}
    assert found == {
        "mail": "looks like an e-mail address",
        "iban": "looks like an IBAN",
        "phone": "looks like a telephone number",
        "ssn": "looks like a national id",
        "number": "looks like a national id",
        "uuid": "looks like a UUID or hash",
        "serial": "nearly every value is different",
    }
    assert {item.column: item.values for item in report.direct}["mail"] == 30
    alone = {found.columns[0] for found in report.sets if len(found.columns) == 1}
    assert not alone & set(found)
    assert report.direct[1].share == 1.0
    shown = repr(report) + report._repr_html_() + json.dumps(report.to_dict())
    for value in ("p1@", "NL91", "1234", "record 1", "2001", "123456"):
        assert value not in shown
    assert "remove it" in shown


@pytest.mark.parametrize(
    ("kind", "values", "no"),
    [
        ("e-mail address", ["a@b.nl", "x.y+z@sub.mail.org"], ["a@b", "a b@c.d", "@x.y"]),
        (
            "IBAN",
            ["DE89 3704 0044 0532 0130 00", "NL91ABNA0417164300"],
            ["NL91", "nl91abna0417164300"],
        ),
        (
            "telephone number",
            ["+31 20 123 4567", "020-1234567", "(415) 555-2671"],
            ["1234", "12.5"],
        ),
        (
            "national id",
            ["123-45-6789", "AB 12 34 56 C", "12345678Z", "131052-308T"],
            ["12345", "ABC"],
        ),
        (
            "UUID or hash",
            ["123e4567-e89b-12d3-a456-426614174000", "D41D8CD98F00B204E9800998ECF8427E", "a" * 64],
            ["123e4567", "g" * 32, "a" * 41],
        ),
    ],
)
def test_shapes(kind, values, no):
    texts = pd.Series([*values, *no])
    matched = texts.str.fullmatch(shapes.SHAPES[kind])
    assert matched.tolist() == [True] * len(values) + [False] * len(no)


def test_a_few_records_look_like_nothing():
    assert shapes.likeness(Shape(19), 19) is None
    assert shapes.likeness(Shape(20), 19) == "nearly every value is different"
    assert shapes.likeness(Shape(100, {"national id": 100}), 49) is None
    assert shapes.likeness(Shape(100, {"national id": 100}), 50) == "looks like a national id"
    assert shapes.likeness(Shape(100, {"IBAN": 94}), 10) is None


def test_declared_roles_are_not_searched():
    table = pd.DataFrame({**PEOPLE, "diagnosis": list("abcdefgh"), "name": list("stuvwxyz")})
    table = table.anon.declare(quasi=["zip"], sensitive="diagnosis", direct="name")
    report = table.anon.find_qids(alpha=0.1)
    assert set(report.not_searched) == {"diagnosis", "name"}
    assert sets_of(report) == brute_force(PEOPLE, 0.1, 4)
    assert "by their declared role: diagnosis, name" in repr(report)
    named = table.anon.find_qids(["diagnosis"], alpha=0.1)
    assert sets_of(named) == {frozenset(["diagnosis"]): 8}


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda t: t.anon.find_qids(alpha=0),
            errors.ArgumentError,
            "alpha must be a share between",
        ),
        (
            lambda t: t.anon.find_qids(alpha=1),
            errors.ArgumentError,
            "alpha must be a share between",
        ),
        (lambda t: t.anon.find_qids(alpha=-0.5), errors.ArgumentError, "alpha"),
        (lambda t: t.anon.find_qids(alpha=float("nan")), errors.ArgumentError, "alpha"),
        (lambda t: t.anon.find_qids(alpha="a"), errors.ArgumentError, "alpha"),
        (lambda t: t.anon.find_qids(max_size=0), errors.ArgumentError, "max_size must be a whole"),
        (
            lambda t: t.anon.find_qids(max_size=2.5),
            errors.ArgumentError,
            "max_size must be a whole",
        ),
        (lambda t: t.anon.find_qids(qids="zp"), errors.ColumnNotFoundError, "mean 'zip'"),
        (lambda t: t.anon.find_qids(qids=[]), errors.NoColumnsError, "empty"),
        (lambda t: t.anon.find_qids(qids=["zip", "zip"]), errors.RepeatedColumnError, "twice"),
        (lambda t: t.anon.find_qids(qids=["zip"], unit="zip"), errors.RoleConflictError, "both"),
        (lambda t: t.anon.find_qids(unit="aeg"), errors.ColumnNotFoundError, "mean 'age'"),
        (lambda t: t.anon.find_qids(unit="zip"), errors.MissingUnitError, "1 row"),
        (lambda t: t.anon.find_qids(missing="dorp"), errors.ArgumentError, "mean 'drop'"),
        (lambda t: t.anon.find_qids(time_limit=0), errors.ArgumentError, "time_limit"),
        (lambda t: t.anon.find_qids(population_size=3), errors.ArgumentError, "smaller than the"),
        (lambda t: t.anon.find_qids(population_size=0), errors.ArgumentError, "population_size"),
    ],
)
def test_wrong_calls(call, error, text):
    with pytest.raises(error, match=text):
        call(pd.DataFrame(PEOPLE))


def test_tables_at_the_edge():
    assert not pd.DataFrame({"a": ["x"] * 3, "b": [1] * 3}).anon.find_qids(alpha=0.01).sets
    one = pd.DataFrame({"a": ["x"], "b": [1]})
    report = one.anon.find_qids(alpha=0.99)
    assert sets_of(report) == {frozenset("a"): 1, frozenset("b"): 1}
    assert (report.sets[0].separation, report.sets[0].domain_share) == (1.0, 1.0)
    with pytest.raises(errors.EmptyTableError, match="1 row dropped"):
        pd.DataFrame({"a": [None], "b": [1]}).anon.find_qids(missing="drop")


def test_an_empty_table_is_refused(frame):
    table = frame({"a": ["x"], "b": [1]})
    empty = without_rows(table)
    with pytest.raises(errors.EmptyTableError, match="no records"):
        empty.anon.find_qids()


def test_columns_that_cannot_be_searched_are_set_apart():
    table = pd.DataFrame({"a": [1, 2], "l": [[1], [2]], "m": [1, "secret"]}, dtype=object)
    report = anonrisk.find_qids(table)
    assert sets_of(report) == {frozenset("a"): 2}
    assert set(report.unsupported) == {"l", "m"}
    assert "not searched: column 'l' holds values" in repr(report)
    assert "secret" not in repr(report) + report._repr_html_()
    with pytest.raises(errors.NoColumnsError, match="none of the columns can be searched"):
        anonrisk.find_qids(table, qids=["l", "m"])


def test_names_that_occur_twice_are_set_apart():
    table = pd.DataFrame([[1, 2, 3], [1, 5, 6]], columns=["a", "a", "b"])
    report = anonrisk.find_qids(table)
    assert report.unsupported == {"a": "column 'a' is the name of 2 columns"}
    assert sets_of(report) == {frozenset("b"): 2}
    with pytest.raises(errors.DuplicateColumnError):
        anonrisk.find_qids(table, qids=["a"])
    with pytest.raises(errors.NoColumnsError):
        anonrisk.find_qids(table[["a"]])


def test_columns_with_the_same_cells_are_both_found():
    table = pd.DataFrame({"a": [1, 2, 3], "b": [1, 2, 3], "c": [1, 1, 1]})
    assert sets_of(anonrisk.find_qids(table)) == {frozenset("a"): 3, frozenset("b"): 3}


@pytest.fixture(scope="module")
def wide():
    random = np.random.default_rng(1)
    return pd.DataFrame({f"c{i}": random.integers(0, 3 + i // 4, 4_000) for i in range(60)})


def test_too_many_sets_are_foreseen(wide):
    plan = anonrisk.find_qids(wide, explain=True)
    assert plan.sets == (60, 1770, 34220, 487635)
    assert plan.n_sets == plan.passes == 523_685
    assert "523,685 sets of 60 columns" in repr(plan)
    assert ">487,635</td>" in plan._repr_html_()
    assert plan.to_dict()["sets"] == [60, 1770, 34220, 487635]


@pytest.mark.slow
def test_a_time_limit_gives_what_was_found_so_far(wide):
    report = anonrisk.find_qids(wide, alpha=0.3, time_limit=0.5)
    assert report.partial
    assert report.n_settled < report.n_sets
    assert "PARTIAL: time ran out with" in repr(report)
    assert report.to_dict()["partial"] is True
    for found in report.sets[:3]:
        assert found.share > 0.3
        for smaller in combinations(found.columns, len(found.columns) - 1):
            assert not smaller or wide.anon.uniqueness(list(smaller)) <= 0.3
    fewest = anonrisk.find_qids(wide, alpha=0.3, time_limit=1e-9)
    assert fewest.partial
    assert fewest.n_settled == 60
    assert "searched: all sets of 1 column; no set of 2 columns; no set of 3 columns" in repr(
        fewest
    )


@pytest.mark.slow
def test_a_partial_report_says_what_it_covers(wide):
    report = anonrisk.find_qids(wide, alpha=0.3, time_limit=0.5)
    covered = report.coverage
    assert [one.size for one in covered] == [1, 2, 3, 4]
    assert [one.sets for one in covered] == [60, 1770, 34220, 487635]
    assert sum(one.decided for one in covered) == report.n_settled
    assert covered[0].decided == 60
    # A size is begun when the one before is done.
    begun = [one for one in covered if one.decided]
    assert all(one.decided == one.sets for one in begun[:-1])
    stored = report.to_dict()["coverage"]
    assert stored == [{"size": c.size, "sets": c.sets, "decided": c.decided} for c in covered]
    done = [size for size in range(1, 4) if covered[size - 1].decided == covered[size - 1].sets]
    whole = anonrisk.find_qids(wide, alpha=0.3, max_size=max(done))
    assert not whole.partial
    assert [one.decided for one in whole.coverage] == [one.sets for one in whole.coverage]
    small = {found.columns for found in report.sets if len(found.columns) <= max(done)}
    assert small == {found.columns for found in whole.sets}


def test_more_sets_than_anybody_reads_are_not_printed():
    table = pd.DataFrame({f"c{i}": range(3) for i in range(80)})
    report = anonrisk.find_qids(table)
    assert len(report.sets) == len(report.to_dict()["sets"]) == 80
    assert "and 30 more sets, which come after these" in repr(report)
    assert len(repr(report).splitlines()) < 60
    assert report._repr_html_().count("<tr>") == 51


def test_the_report_is_a_table():
    report = anonrisk.find_qids(pd.DataFrame(PEOPLE), alpha=0.3, population_size=10**6)
    table = report.to_frame()
    assert table["columns"].tolist() == [found.columns for found in report.sets]
    assert (table["share"] > 0.3).all()
    assert (table["population_domain_share"] < 1e-3).all()
    assert "in population" in report._repr_html_()
    assert report.least_domain == pytest.approx(0.3 * 8 / (7 / 8) ** 7)
    assert report.population_least_domain > report.least_domain
    nothing = anonrisk.find_qids(pd.DataFrame(PEOPLE), alpha=0.9, max_size=1)
    assert len(nothing.to_frame()) == 0
    assert list(nothing.to_frame()) == list(table)[:-1]
    assert repr(nothing).startswith("0 minimal sets of at most 1 column single out more than 90.0%")


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_sets_share_jobs_on_spark(spark):
    import uuid

    spark.conf.set("spark.sql.adaptive.enabled", "false")
    random = np.random.default_rng(2)
    cells = {f"c{i}": random.integers(0, 2 + 3 * i, 300).tolist() for i in range(8)}
    rows = list(zip(*cells.values(), strict=True))
    table = spark.createDataFrame(rows, list(cells))
    group = uuid.uuid4().hex
    spark.sparkContext.setJobGroup(group, "counted")
    report = table.anon.find_qids(alpha=0.6, max_size=3)
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    spark.conf.set("spark.sql.adaptive.enabled", "true")
    assert sets_of(report) == brute_force(cells, 0.6, 3)
    plan = table.anon.find_qids(alpha=0.6, max_size=3, explain=True)
    assert plan.sets == (8, 28, 56)
    # A pass a size, and one to look at shapes.
    assert jobs <= plan.passes == 4
    assert report.n_counted > 20, "sets were counted together, not left out"


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_values_in_a_row_are_told_apart_whatever_they_hold_on_spark(spark):
    from itertools import product

    from anonrisk.engines.spark.sets import SparkSets
    from anonrisk.measures.counts.question import Question

    odd = ["", "-", ":", ";", "0", "0:", "1", "1:", "1:1", "2:1:", "-1;", "\u00e9", None]
    words = spark.createDataFrame(list(product(odd, odd, odd[:4])), "a string, b string, c string")
    sizes = SparkSets(words, Question((("a", "b", "c"),))).count([(0, 1, 2), (1, 2), (0,)])
    assert [of_set.n_classes for of_set in sizes] == [13 * 13 * 4, 13 * 4, 13]
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    # The clock shows the same at the first two instants, an hour apart.
    kinds = spark.sql(
        "select timestamp_seconds(s) as t, float(x) as f, double(x) as d, b, decimal(n) as n "
        "from values (1604206800, '0', x'00', 1), (1604210400, '-0', x'0000', 10), "
        "(null, 'NaN', x'', null), (null, null, null, null) as v(s, x, b, n)"
    )
    try:
        counter = SparkSets(kinds, Question((tuple(kinds.columns),)))
        sizes = counter.count([(0,), (1,), (2,), (3,), (4,), (1, 2)])
        assert [of_set.n_classes for of_set in sizes] == [3, 2, 2, 4, 3, 2]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_columns_look_the_same_by_their_classes_and_by_their_cells_on_spark(spark):
    from anonrisk.engines.spark.sets import SparkSets
    from anonrisk.measures.counts.question import Question

    rows = [
        ("a:1@b.c", 123456789, "-", 0.5),
        ("a:1@b.c", 12345678901, "123456789;", 0.5),
        ("2021-01-02 10", -123456789, "7:a@b.c", None),
        (None, None, None, 1.5),
    ]
    table = spark.createDataFrame(rows, "mail string, number long, odd string, x double")
    for missing, n_known in (("value", [3, 3, 3, 3]), ("drop", [2, 2, 2, 2])):
        question = Question((tuple(table.columns),), missing=missing)
        by_cells, by_classes = SparkSets(table, question), SparkSets(table, question)
        list(by_classes.count([(3,), (0, 1), (1,), (0,), (2,)]))
        assert by_classes.shapes() == by_cells.shapes()
        assert [shape.n_known for shape in by_classes.shapes()] == n_known
        assert by_classes.shapes()[0].matches["e-mail address"] == 2
        assert by_classes.shapes()[1].matches == {"national id": 2}


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_nested_and_odd_columns_on_spark(spark):
    table = spark.sql(
        "select * from values (1, array(1), 'x', date'2020-01-01'), (2, array(1), 'x', null) "
        "as t(`a.b`, l, `c ``d`, e)"
    )
    report = table.anon.find_qids(alpha=0.2)
    assert sets_of(report) == {frozenset(["a.b"]): 2, frozenset("e"): 2}
    assert set(report.unsupported) == {"l"}


def test_what_so_many_values_lead_one_to_expect_is_no_bound_of_what_was_measured():
    table = pd.DataFrame({"zip": list("aabb"), "age": [1, 2, 1, 2]})
    report = table.anon.find_qids(alpha=0.5)
    found = report.sets[0]
    assert found.share == 1.0 > found.domain_share
    assert "domain_share" in report.to_frame()
    assert "bound" not in {*found.to_dict(), *report.to_frame()}
    for shown in (repr(report), report._repr_html_()):
        assert "by domain" in shown
        assert "bound" not in shown
        assert "what was measured may be more" in shown


def test_nothing_found_says_what_is_nearest_and_why_that_is_not_safety():
    # Two of twenty are alone by a, b and c together; no column alone, and no set exceeds 20%.
    rows = [(i % 2, i // 2 % 2, i // 4 % 2) for i in range(16)] + [(0, 0, 0)] * 2
    rows += [(2, 0, 0), (2, 1, 1)]
    table = pd.DataFrame(rows, columns=list("abc")).assign(d="x")
    found = table.anon.find_qids(alpha=0.2, max_size=2)
    assert found.sets == ()
    alone = {
        pair: int((table.groupby(list(pair)).size() == 1).sum())
        for size in (1, 2)
        for pair in combinations("abcd", size)
    }
    assert found.nearest.singletons == max(alone.values()) == 2
    assert len(found.nearest.columns) == 2
    assert (found.together.columns, found.together.singletons) == (("a", "b", "c", "d"), 2)
    text = " ".join(repr(found).split())
    assert "nearest: a + b, with which 2 records (10.0%) are alone" in text
    assert "nothing found is no safety: up to 20.0% may be alone all the same" in text
    assert "or more than 2 columns are known" in text
    assert "With all 4 columns 2 records (10.0%) are alone; the smallest class has 1" in text
    # Where all columns are searched together, that is the nearest.
    whole = table.anon.find_qids(alpha=0.2)
    assert whole.nearest.columns == whole.together.columns
    assert "columns are known" not in repr(whole)
    assert table.anon.find_qids(alpha=0.05).nearest is None
