"""Roles: declared once, kept where they can be, missed where they cannot."""

from __future__ import annotations

import pandas as pd
import pytest
from roles import CELLS, is_spark
from tables import to_rows

from anonrisk import Roles, errors

pytestmark = pytest.mark.contract


@pytest.fixture
def declared(frame):
    return frame(CELLS).anon.declare(quasi=["zip", "age"], sensitive="diagnosis", direct=["name"])


def test_calls_need_no_names(declared):
    assert declared.anon.k() == 1
    assert declared.anon.classes().qid == ("zip", "age")
    assert declared.anon.summary().index.tolist() == ["zip + age"]
    assert len(to_rows(declared.anon.at_risk(k=2))) == 1


def test_roles_are_read_back(declared):
    roles = declared.anon.roles()
    assert (roles.quasi, roles.sensitive, roles.direct, roles.unit) == (
        ("zip", "age"),
        ("diagnosis",),
        ("name",),
        None,
    )
    assert roles.of("zip") == "quasi-identifier"
    assert roles.of("note") is None
    assert "name        direct identifier" in repr(roles)
    assert ">zip</td>" in roles._repr_html_()


def test_arguments_win(declared):
    assert declared.anon.classes("note").qid == ("note",)


def test_a_declared_unit_is_used(frame):
    table = frame(CELLS).anon.declare(quasi="zip", unit="who")
    assert table.anon.classes().unit == "who"
    assert table.anon.classes("age").unit == "who"
    assert table.anon.classes("age", unit="name").unit == "name"


def test_without_roles_both_ways_are_named(frame):
    table = frame(CELLS)
    with pytest.raises(errors.RolesNotGivenError, match=r"df\.anon\.k\(.*declare\(quasi="):
        table.anon.k()
    assert table.anon.roles() == Roles(columns=tuple(CELLS))
    assert not table.anon.roles()


def test_sensitive_alone_gives_no_quasi_identifiers(frame):
    with pytest.raises(errors.RolesNotGivenError):
        frame(CELLS).anon.declare(sensitive="diagnosis").anon.k()


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_roles_survive_what_a_pipeline_does(frame, declared):
    if is_spark(frame):
        changed = declared.where("age > 30").select("zip", "age", "note").orderBy("zip").limit(2)
    else:
        changed = declared[declared["age"] > 30][["zip", "age", "note"]].head(2)
    assert changed.anon.classes().qid == ("zip", "age")


def test_roles_survive_our_own_changes(declared):
    assert declared.anon.at_risk(k=5).anon.roles().quasi == ("zip", "age")


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_a_dropped_column_leaves_the_quasi_identifier(frame, declared):
    less = declared.drop("age") if is_spark(frame) else declared.drop(columns="age")
    assert less.anon.classes().qid == ("zip",)


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_all_quasi_identifiers_dropped_is_an_error(frame, declared):
    names = ["zip", "age"]
    less = declared.drop(*names) if is_spark(frame) else declared.drop(columns=names)
    with pytest.raises(errors.RolesNotGivenError):
        less.anon.k()


def renamed(frame, table, old, new):
    if is_spark(frame):
        return table.withColumnRenamed(old, new)
    return table.rename(columns={old: new})


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_a_renamed_quasi_identifier_is_noticed(frame, declared):
    with pytest.raises(errors.RolesLostError, match="'zip' is gone and column 'postcode' is new"):
        renamed(frame, declared, "zip", "postcode").anon.k()


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_a_renamed_column_that_is_neither_does_not_matter(frame, declared):
    assert renamed(frame, declared, "note", "remark").anon.k() == 1


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_a_renamed_unit_is_noticed(frame):
    table = frame(CELLS).anon.declare(quasi="zip", unit="who")
    with pytest.raises(errors.RolesLostError, match="declared unit 'who' is gone"):
        renamed(frame, table, "who", "person").anon.k()


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_a_dropped_unit_is_noticed(frame):
    table = frame(CELLS).anon.declare(quasi="zip", unit="who")
    less = table.drop("who") if is_spark(frame) else table.drop(columns="who")
    with pytest.raises(errors.RolesLostError, match="rows would be counted as persons"):
        less.anon.k()


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_recomputed_columns_keep_their_role_by_name(frame, declared):
    if is_spark(frame):
        from pyspark.sql import functions as f

        tables = [
            declared.withColumn("zip", f.substring("zip", 1, 3)),
            declared.withColumn("age", f.col("age").cast("string")),
            declared.fillna({"zip": "?"}),
            declared.selectExpr("upper(zip) as zip", "age", "diagnosis"),
        ]
    elif frame.kind == "pandas_on_spark":
        tables = [declared.assign(zip="1"), declared.fillna({"zip": "?"})]
    else:
        tables = [
            declared.assign(zip=declared["zip"].str[:3]),
            declared.astype({"age": str}),
            declared.fillna({"zip": "?"}),
        ]
    for table in tables:
        assert table.anon.classes().qid == ("zip", "age")


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_everything_recomputed_is_an_error_not_fewer_columns(frame, declared):
    if is_spark(frame):
        everything = declared.selectExpr(*(f"upper(string({c})) as {c}" for c in CELLS))
    else:
        everything = declared.copy()
        if frame.kind == "pandas_on_spark":
            everything = everything.astype(str)
            for name in CELLS:
                everything[name] = everything[name] + ""
        else:
            everything.attrs = {}
    with pytest.raises(errors.RolesNotGivenError):
        everything.anon.k()


@pytest.mark.kinds("pandas", "spark", "connect")
def test_union_keeps_the_roles_or_says_so(frame, declared):
    other = frame(CELLS)
    if is_spark(frame):
        tables = [declared.union(declared), declared.union(other), other.union(declared)]
    else:
        tables = [pd.concat([declared, declared]), pd.concat([declared, other])]
    for table in tables:
        try:
            assert table.anon.classes().qid == ("zip", "age")
        except errors.RolesNotGivenError:
            assert not table.anon.roles()


@pytest.mark.kinds("spark", "connect")
def test_different_declarations_in_one_table_are_noticed(frame):
    left = frame({"id": [1], "zip": ["a"]}).anon.declare(quasi="zip")
    right = frame({"id": [1], "age": [3]}).anon.declare(quasi="age")
    with pytest.raises(errors.RolesLostError, match="different declarations"):
        left.join(right, "id").anon.k()
    again = left.join(right, "id").anon.declare(quasi=["zip", "age"])
    assert again.anon.classes().qid == ("zip", "age")


@pytest.mark.kinds("spark", "connect")
def test_a_joined_table_keeps_its_roles(frame):
    left = frame({"id": [1], "zip": ["a"]}).anon.declare(quasi="zip")
    assert left.join(frame({"id": [1], "age": [3]}), "id").anon.classes().qid == ("zip",)


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_parquet_keeps_the_roles(frame, declared, tmp_path, request):
    path = str(tmp_path / "t.parquet")
    again = written(frame, declared, path, request)
    assert again.anon.roles() == declared.anon.roles()
    assert again.anon.classes().qid == ("zip", "age")


@pytest.mark.kinds("pandas", "spark", "connect")
def test_partitioned_parquet_keeps_the_roles_or_says_so(frame, declared, tmp_path, request):
    path = str(tmp_path / "t.parquet")
    again = written(frame, declared, path, request, partition="zip")
    assert set(again.columns) == set(CELLS)
    try:
        assert set(again.anon.classes().qid) == {"zip", "age"}
    except errors.RolesNotGivenError:
        assert not again.anon.roles()


def written(frame, table, path, request, partition=None):
    if is_spark(frame):
        writer = table.write.partitionBy(partition) if partition else table.write
        writer.parquet(path)
        return request.getfixturevalue("spark").read.parquet(path)
    if frame.kind == "pandas_on_spark":
        table.to_parquet(path)
        return request.getfixturevalue("spark").read.parquet(path).pandas_api()
    pyarrow = pytest.importorskip("pyarrow")
    if frame.kind == "pandas_arrow" and partition and int(pyarrow.__version__.split(".")[0]) < 15:
        pytest.skip("pandas cannot read its own partitions of Arrow's strings with pyarrow 14")
    table.to_parquet(path, engine="pyarrow", partition_cols=[partition] if partition else None)
    return pd.read_parquet(path, engine="pyarrow")


@pytest.mark.kinds("pandas", "spark", "connect", "pandas_on_spark")
def test_a_column_without_a_role_is_no_matter_to_measures(frame, declared):
    more = declared.selectExpr("*", "1 as extra") if is_spark(frame) else declared.assign(extra=1)
    assert more.anon.k() == 1
    assert more.anon.k("zip") == 1
    with pytest.raises(TypeError, match="strict"):
        declared.anon.declare(quasi="zip", strict=True)
