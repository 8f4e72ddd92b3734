"""What pandas-on-Spark has and Spark has not: an index, categories, nullable types."""

from __future__ import annotations

import secrets
import warnings

import pandas as pd
import pytest

from anonrisk import errors

pytestmark = [pytest.mark.spark("pandas_on_spark"), pytest.mark.engine]


@pytest.fixture
def ps(spark):
    pandas = pytest.importorskip("pyspark.pandas")
    __import__("anonrisk.pandas_on_spark")
    return pandas


def test_categories_are_refused_because_they_are_codes_underneath(ps):
    table = ps.from_pandas(pd.DataFrame({"c": pd.Categorical(["a", None]), "x": [1, 2]}))
    for call in (
        lambda: table.anon.k("c"),
        lambda: table.anon.k("x", unit="c"),
        lambda: table.anon.summary("x", by="c"),
        lambda: table.anon.at_risk("x"),
        lambda: table.anon.declare(quasi="x"),
    ):
        with pytest.raises(errors.UnsupportedColumnError, match="'c' is categorical"):
            call()
    assert table.anon.k("x") == 1


def test_index_and_types_are_kept(ps):
    twin = pd.DataFrame(
        {"x": pd.array([1, 1, None], dtype="Int64"), "y": ["a", "b", "c"]},
        index=pd.Index(["p", "q", "r"], name="id"),
    )
    found = ps.from_pandas(twin).anon.at_risk("x", k=2).to_pandas()
    assert found.index.tolist() == ["r"]
    assert found.index.name == "id"
    assert str(found["x"].dtype) == "Int64"


def test_a_quasi_identifier_in_the_index_is_noticed(ps):
    table = ps.from_pandas(pd.DataFrame({"zip": ["a", "b"], "age": [1, 1]}))
    declared = table.anon.declare(quasi=["zip", "age"])
    with pytest.raises(errors.RolesLostError, match="in the index now"):
        declared.set_index("zip").anon.k()


def test_counts_need_no_arrow_and_a_java_that_lacks_it_is_named(spark):
    from anonrisk.engines.spark.jobs import guarded
    from conftest import arrow_works

    key = "spark.sql.execution.arrow.pyspark.enabled"
    before = spark.conf.get(key)
    spark.conf.set(key, "true")
    try:
        table = spark.range(6).selectExpr("id", "id % 2 AS odd")
        assert table.anon.k("odd") == 3
        safe = table.anon.pseudonymize("id", key=secrets.token_bytes(32))
        assert len({row.id for row in safe.collect()}) == 6
        if arrow_works(spark):
            assert len(table.toPandas()) == 6
        else:
            with (
                warnings.catch_warnings(action="ignore"),
                pytest.raises(errors.EngineError, match=r"Spark 3\.5 goes with Java 8, 11 or 17"),
                guarded("hand over the table"),
            ):
                table.toPandas()
    finally:
        spark.conf.set(key, before)
