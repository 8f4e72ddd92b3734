"""Plans by region as code: what databases and Spark make of them is what `apply` makes."""

from __future__ import annotations

import datetime as dt
import sqlite3
from functools import cache

import numpy as np
import pandas as pd
import pytest
import tables

import anonrisk
from anonrisk import Plan, errors
from anonrisk.planning import emit
from anonrisk.recode import Bins, Star

TREE = {"any": {"co'ld": ["cou'gh", "flu"], "heart": ["angina", "stroke"], "rest": ['g"out\\n']}}
TYPES = {
    "who": "INT",
    "age": "INT",
    "pay": "DOUBLE",
    "ill": "VARCHAR",
    "job": "VARCHAR",
    "zip": "VARCHAR",
    "born": "DATE",
}
QIDS = [name for name in TYPES if name != "who"]
UNSEEN = ["refuse", "suppress", "top"]


def cells_of(seed, n=240):
    random = np.random.default_rng(seed)

    def drawn(values, missing=0.1):
        chosen = [values[i] for i in random.integers(0, len(values), n)]
        return [None if random.random() < missing else value for value in chosen]

    leaves = [leaf for below in TREE["any"].values() for leaf in below]
    return {
        "who": list(range(n)),
        "age": drawn(list(range(18, 80))),
        "pay": drawn([round(float(pay), 2) for pay in random.lognormal(7, 1, n)]),
        "ill": drawn(leaves),
        "job": drawn(["o'nurse", 'the "cook"', "it\\s", "é", "cl%rk", ""], missing=seed % 2 / 5),
        "zip": drawn([f"{i}" for i in range(1011, 1099)], missing=0),
        "born": drawn([dt.date(1950, 1, 1) + dt.timedelta(days=97 * i) for i in range(200)]),
    }


def table_of(cells):
    return pd.DataFrame(
        {name: pd.Series(column, dtype=object) for name, column in cells.items()}
    ).astype({"age": "Int64", "pay": float, "who": int})


def next_month(cells, n_new):
    """Add other people, of whom every third has a value that was never there."""
    later = cells_of(len(cells["who"]) + n_new)
    for row in range(n_new):
        name, value = (("ill", "Xavier"), ("job", "Yvonne"), ("zip", "Zoe"), ("age", 99))[row % 4]
        later[name][row] = value
    return {name: [*cells[name], *later[name][: 3 * n_new]] for name in cells}


@cache
def plan_of(seed):
    plan = table_of(cells_of(seed)).anon.plan(
        QIDS[seed:],
        4,
        hierarchies={"ill": TREE},
        max_suppressed=0.1,
        options=anonrisk.PlanOptions(method="multidimensional"),
    )
    assert len(plan.regions) > 1
    return plan


def in_sqlite(text, cells):
    base = sqlite3.connect(":memory:")
    base.execute(f"CREATE TABLE records ({', '.join(TYPES)})")
    rows = zip(*cells.values(), strict=True)
    plain = [[str(c) if isinstance(c, dt.date) else c for c in row] for row in rows]
    base.executemany(f"INSERT INTO records VALUES ({', '.join('?' * len(TYPES))})", plain)
    try:
        return base.execute(text).fetchall()
    finally:
        base.close()


def in_duckdb(text, cells, *, nan=False):
    base = pytest.importorskip("duckdb").connect()
    base.execute(f"CREATE TABLE records ({', '.join(f'{n} {t}' for n, t in TYPES.items())})")
    if nan:
        cells = {**cells, "pay": [float("nan") if pay is None else pay for pay in cells["pay"]]}
    rows = list(zip(*cells.values(), strict=True))
    marks = ", ".join([f"({', '.join('?' * len(TYPES))})"] * len(rows))
    base.execute(f"INSERT INTO records VALUES {marks}", [cell for row in rows for cell in row])
    try:
        return base.execute(text).fetchall()
    finally:
        base.close()


def in_duckdb_with_nan(text, cells):
    return in_duckdb(text, cells, nan=True)


def plain(rows):
    told = [["" if cell is None or cell != cell else str(cell) for cell in row] for row in rows]
    return sorted(told)


def agrees(plan, cells, on_unseen, run):
    """Compare code with `apply`: the same rows, or both refuse; say whether they did."""
    try:
        done = table_of(cells).anon.apply(plan, on_unseen=on_unseen)
    except errors.PlanError:
        with pytest.raises(Exception, match="anonrisk: ") as raised:
            run(cells)
        said = str(raised.value).split("anonrisk: ")[1]
        assert not any(name in said for name in ("Xavier", "Yvonne", "Zoe"))
        return False
    expected = done.astype(object).where(done.notna(), None).to_numpy().tolist()
    assert plain(run(cells)) == plain(expected)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("on_unseen", UNSEEN)
@pytest.mark.parametrize(
    ("dialect", "execute"),
    [
        ("sqlite", in_sqlite),
        ("duckdb", in_duckdb_with_nan),
        ("postgresql", in_duckdb),
        pytest.param("ansi", in_duckdb, marks=pytest.mark.nightly),
    ],
)
def test_databases_do_what_apply_does(dialect, execute, on_unseen):
    done = []
    for seed in range(3):
        cells = cells_of(seed)
        plan = plan_of(seed)
        text = plan.to_sql(dialect, on_unseen=on_unseen)

        def run(some, text=text):
            return execute(text, some)

        batches = cells, next_month(cells, 4), next_month(cells, 80)
        done += [agrees(plan, batch, on_unseen, run) for batch in batches]
    some, many = on_unseen != "refuse", on_unseen == "top"
    assert done == [True, some, many] * 3


def test_one_region_and_columns_that_stay():
    few = pd.DataFrame({"age": [1, 2, 3, None], "ill": ["flu", None, "gout", "flu"]})
    plan = few.anon.plan(["age", "ill"], 3, options=anonrisk.PlanOptions(method="multidimensional"))
    assert len(plan.regions) == 1
    kept = pd.DataFrame({"a": ["x", "y"] * 4, "b": ["u", "u", "v", "v"] * 2})
    all_kept = kept.anon.plan(
        ["a", "b"], 2, options=anonrisk.PlanOptions(method="multidimensional")
    )
    assert all_kept.regions.labels() == {}
    base = sqlite3.connect(":memory:")
    few.to_sql("records", base, index=False)
    assert base.execute(plan.to_sql("sqlite")).fetchall() == [("*", "*")] * 4
    kept.to_sql("stay", base, index=False)
    found = base.execute(all_kept.to_sql("sqlite", table="stay")).fetchall()
    assert sorted(found) == sorted(map(tuple, kept.to_numpy().tolist()))
    base.execute("INSERT INTO stay VALUES ('Xavier', 'u')")
    with pytest.raises(sqlite3.OperationalError, match="anonrisk: the plan has no region"):
        base.execute(all_kept.to_sql("sqlite", table="stay")).fetchall()
    base.close()


def test_bins_that_were_given_are_parts():
    cells = cells_of(1)
    steps = {"age": [Bins((30, 50, 60), whole=True), Bins((50,), whole=True), Star()]}
    plan = table_of(cells).anon.plan(
        ["age", "job"],
        5,
        hierarchies=steps,
        max_suppressed=0.1,
        options=anonrisk.PlanOptions(method="multidimensional"),
    )
    assert agrees(plan, cells, "refuse", lambda c: in_sqlite(plan.to_sql("sqlite"), c))
    assert agrees(plan, cells, "refuse", lambda c: in_duckdb(plan.to_sql("duckdb"), c))


def test_too_many_regions_are_refused_in_words(monkeypatch):
    plan = plan_of(0)
    assert Plan.from_json(plan.to_json(), {"ill": TREE}).to_sql() == plan.to_sql()
    monkeypatch.setattr(emit, "MAX_REGIONS", len(plan.regions) - 1)
    for write in (plan.to_sql, plan.to_pyspark):
        with pytest.raises(errors.PlanError, match=f"a plan of {len(plan.regions)} regions is mo"):
            write()


@pytest.mark.spark("spark")
@pytest.mark.parametrize("on_unseen", UNSEEN)
def test_spark_does_what_apply_does(spark, on_unseen):
    cells, plan = cells_of(0), plan_of(0)
    namespace = {}
    exec(plan.to_pyspark(on_unseen=on_unseen), namespace)

    def by_function(some):
        return namespace["anonymise"](tables.spark_table(spark, some)).collect()

    def by_query(some):
        tables.spark_table(spark, some).createOrReplaceTempView("records")
        return spark.sql(plan.to_sql("spark", on_unseen=on_unseen)).collect()

    assert agrees(plan, cells, on_unseen, by_function)
    for run in (by_function, by_query):
        assert agrees(plan, next_month(cells, 4), on_unseen, run) == (on_unseen != "refuse")
    spark.catalog.dropTempView("records")
