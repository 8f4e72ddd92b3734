"""Laws that hold for every table, on tables that hypothesis makes up."""

from __future__ import annotations

import datetime as dt
import decimal

import oracle
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tables import pandas_table, rows_of, spark_table

CELLS = {
    "text": st.sampled_from(["", "a", "A", " a", "é", "1", "None", "nan"]),
    "int": st.sampled_from([0, 1, -1, 2**31, 2**53, 2**53 + 1]),
    "float": st.sampled_from([0.0, -0.0, 1.5, float("nan"), float("inf"), 1e-300]),
    "bool": st.booleans(),
    "date": st.sampled_from([dt.date(2020, 2, 29), dt.date(1900, 1, 1), dt.date(1999, 12, 31)]),
    "timestamp": st.sampled_from([dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, 0, 0, 0, 1)]),
    "decimal": st.sampled_from(
        [decimal.Decimal("1.5"), decimal.Decimal("1.50"), decimal.Decimal(0)]
    ),
}
NAMES = ("a", "b.c", "A", "d e", "n", "`", "😀")


@st.composite
def tables(draw, min_rows=1, max_rows=12):
    """Lists of cells by column name: odd names, every type, missing values."""
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    n = draw(st.integers(min_rows, max_rows))
    cells = {}
    for name in names:
        kind = CELLS[draw(st.sampled_from(sorted(CELLS)))]
        cells[name] = draw(st.lists(st.none() | kind, min_size=n, max_size=n))
    return cells


def whole(cells):
    """Integers that pandas would round to floats beside a missing value."""
    return any(
        None in column and any(type(cell) is int and abs(cell) > 2**52 for cell in column)
        for column in cells.values()
    )


def counted(table, qid, **how):
    return table.anon.classes(list(qid), **how)


@given(tables(), st.sampled_from(["pandas_nullable", "pandas_arrow", "pandas_object"]))
def test_pandas_equals_the_oracle(cells, kind):
    table, rows = pandas_table(kind, cells), rows_of(cells)
    if kind != "pandas_object" and whole(cells):
        return
    for qid in (list(cells), list(cells)[:1]):
        sizes = counted(table, qid)
        classes, records = oracle.class_sizes(rows, qid)
        assert dict(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True)) == classes
        assert sizes.uniqueness == records[1] / len(rows)
        assert table.anon.sizes(qid).tolist() == oracle.sizes(rows, qid)


@given(tables(), st.randoms(use_true_random=False))
def test_row_order_index_and_column_order_change_nothing(cells, random):
    table = pandas_table("pandas_object", cells)
    before = counted(table, cells)
    positions = list(range(len(table)))
    random.shuffle(positions)
    shuffled = table.iloc[positions]
    assert counted(shuffled, cells) == before
    columns = list(cells)
    random.shuffle(columns)
    assert counted(shuffled[columns], cells) == before
    relabelled = shuffled.set_axis([7] * len(table))
    assert counted(relabelled, cells) == before
    back = shuffled.anon.sizes(list(cells)).sort_index()
    assert back.tolist() == table.anon.sizes(list(cells)).tolist()


@given(tables())
def test_recoding_by_a_bijection_changes_nothing(cells):
    table = pandas_table("pandas_object", cells)
    codes = {name: table[name].factorize()[0] for name in cells}
    recoded = pd.DataFrame(codes).map(lambda code: None if code < 0 else f"value {code}")
    assert counted(recoded, cells) == counted(table, cells)


@given(tables())
def test_k_never_falls_and_uniqueness_never_grows_when_a_column_is_dropped(cells):
    table = pandas_table("pandas_object", cells)
    fine = counted(table, cells)
    for name in cells:
        coarse = counted(table, [other for other in cells if other != name])
        assert coarse.k >= fine.k
        assert coarse.uniqueness <= fine.uniqueness
        assert coarse.n_classes <= fine.n_classes


@given(tables())
def test_k_never_falls_when_a_column_is_coarsened(cells):
    first = next(iter(cells))
    table = pandas_table("pandas_object", cells)
    coarse = table.assign(**{first: [code // 2 for code in table[first].factorize()[0]]})
    assert counted(coarse, cells).k >= counted(table, cells).k


@given(tables())
def test_doubling_the_table_doubles_every_class(cells):
    table = pandas_table("pandas_object", cells)
    once, twice = counted(table, cells), counted(pd.concat([table, table]), cells)
    assert twice.sizes.tolist() == (once.sizes * 2).tolist()
    assert twice.classes.tolist() == once.classes.tolist()
    assert twice.entropy(2) == pytest.approx(once.entropy(2), abs=1e-12)


@given(tables())
def test_a_unit_of_its_own_per_row_changes_nothing(cells):
    table = pandas_table("pandas_object", cells).assign(who=range(len(next(iter(cells.values())))))
    with_unit, without = counted(table, cells, unit="who"), counted(table, cells)
    assert with_unit.records.tolist() == without.records.tolist()
    assert with_unit.classes.tolist() == without.classes.tolist()


@pytest.mark.slow
@given(tables(min_rows=2), st.data())
def test_persons_equal_the_oracle(cells, data):
    n = len(next(iter(cells.values())))
    who = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    table = pandas_table("pandas_object", cells).assign(who=who)
    rows = [{**row, "who": w} for row, w in zip(rows_of(cells), who, strict=True)]
    for missing in ("value", "drop"):
        if not oracle.kept(rows, list(cells), missing):
            continue
        sizes = counted(table, cells, unit="who", missing=missing)
        classes, records = oracle.class_sizes(rows, list(cells), "who", missing)
        assert dict(zip(sizes.sizes.tolist(), sizes.classes.tolist(), strict=True)) == classes
        assert sizes.n_records == sum(records.values())
        assert {s: r for s, r in zip(sizes.sizes, sizes.records, strict=True) if r} == records
        assert sizes.n_records <= sizes.n_memberships <= sizes.n_rows


@st.composite
def with_sensitive(draw):
    """A table with a coarse and a fine quasi-identifier and a sensitive column."""
    n = draw(st.integers(1, 14))
    column = st.lists(st.none() | st.sampled_from("abc"), min_size=n, max_size=n)
    numbers = st.lists(st.sampled_from([0.0, -0.0, 1.5, 2.5, float("nan")]), min_size=n, max_size=n)
    return {"coarse": draw(column), "finer": draw(column), "s": draw(column), "x": draw(numbers)}


def measured(table, qid):
    return {
        "l": table.anon.ldiv(qid, "s"),
        "exp H": table.anon.ldiv(qid, "s", "entropy"),
        "c, l": table.anon.ldiv(qid, "s", "recursive", c=2),
        "equal": table.anon.tcloseness(qid, "s"),
        "ordered": table.anon.tcloseness(qid, "x", "ordered"),
        "alpha": table.anon.alpha(qid, "s"),
        "beta": table.anon.beta_likeness(qid, "s"),
        "delta": table.anon.delta_disclosure(qid, "s"),
    }


@pytest.mark.slow
@given(with_sensitive())
def test_sensitive_measures_equal_the_oracle(cells):
    table, rows = pandas_table("pandas_object", cells), rows_of(cells)
    found = measured(table, ["coarse", "finer"])
    qid = ["coarse", "finer"]
    assert found["l"] == oracle.ldiv(rows, qid, "s")
    assert found["exp H"] == pytest.approx(oracle.ldiv(rows, qid, "s", "entropy"), rel=1e-12)
    assert found["c, l"] == oracle.ldiv(rows, qid, "s", "recursive", 2)
    cost = oracle.ordered_cost(rows, "x")
    assert found["ordered"] == pytest.approx(oracle.tcloseness(rows, qid, "x", cost), abs=1e-9)
    equal = oracle.tcloseness(rows, qid, "s", oracle.equal_cost)
    assert found["equal"] == pytest.approx(equal, abs=1e-9)
    assert found["alpha"] == pytest.approx(oracle.alpha(rows, qid, "s"), rel=1e-12)
    assert found["beta"] == pytest.approx(oracle.beta(rows, qid, "s"), rel=1e-12, abs=1e-12)
    assert found["delta"] == pytest.approx(oracle.delta(rows, qid, "s"), rel=1e-12, abs=1e-12)


@pytest.mark.slow
@given(with_sensitive(), st.randoms(use_true_random=False))
def test_order_and_labels_of_rows_do_not_matter_to_values(cells, random):
    table = pandas_table("pandas_object", cells)
    positions = list(range(len(table)))
    random.shuffle(positions)
    shuffled = table.iloc[positions].set_axis([3] * len(table))
    again = measured(shuffled, ["coarse", "finer"])
    assert again == pytest.approx(measured(table, ["coarse", "finer"]), rel=1e-12, abs=1e-12)


@pytest.mark.slow
@given(with_sensitive())
def test_splitting_classes_never_protects(cells):
    table = pandas_table("pandas_object", cells)
    coarse, fine = measured(table, ["coarse"]), measured(table, ["coarse", "finer"])
    for name in ("l", "exp H"):
        assert fine[name] <= coarse[name] * (1 + 1e-12)
    for name in ("equal", "ordered", "alpha", "beta"):
        assert fine[name] >= coarse[name] - 1e-12


@given(with_sensitive())
def test_one_class_is_the_table(cells):
    table = pandas_table("pandas_object", cells).assign(one=1)
    found = measured(table, ["one"])
    assert [found[name] for name in ("equal", "ordered", "beta", "delta")] == pytest.approx([0] * 4)


@pytest.mark.nightly
@pytest.mark.spark("spark")
@pytest.mark.slow
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cells=with_sensitive())
def test_spark_scores_equal_pandas(spark, cells):
    table, twin = spark_table(spark, cells), pandas_table("pandas_object", cells)
    for column, distance in (("s", "equal"), ("x", "ordered")):
        how = {"c": 2, "distance": distance}
        ours = table.anon.assess(["coarse", "finer"], column, **how)
        theirs = twin.anon.assess(["coarse", "finer"], column, **how)
        assert list(ours.values) == list(theirs.values)
        assert list(ours.values.values()) == pytest.approx(
            list(theirs.values.values()), rel=1e-12, abs=1e-12
        )


@pytest.mark.spark("spark")
@pytest.mark.slow
@settings(
    # Ten by day: on Spark each takes as long as hundreds on pandas.
    max_examples=settings.default.max_examples * 2 // 5,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(cells=tables(), partitions=st.integers(1, 3), missing=st.sampled_from(["value", "drop"]))
def test_spark_equals_pandas(spark, cells, partitions, missing):
    if len({name.casefold() for name in cells}) < len(cells):
        spark.conf.set("spark.sql.caseSensitive", "true")
    table = spark_table(spark, cells, partitions)
    spark.conf.set("spark.sql.caseSensitive", "false")
    twin = pandas_table("pandas_object", cells)
    rows = rows_of(cells)
    qids = [list(cells), list(cells)[:1], list(cells)[1:]]
    if not all(oracle.kept(rows, qid, missing) for qid in qids):
        return
    ours = table.anon.summary(qids, missing=missing)
    pd.testing.assert_frame_equal(ours, twin.anon.summary(qids, missing=missing), rtol=1e-12)
