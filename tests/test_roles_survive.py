"""Where declared roles survive, are refused aloud, and are lost: docs/roles.md says what is true.

Whatever happens to them, a table with a name in it passes no gate by losing its roles.
"""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

import anonrisk
from anonrisk.errors import AnonRiskError

PAGE = Path(__file__).parents[1] / "docs" / "roles.md"
CELLS = {
    "zip": ["a", "a", "b", "b"],
    "age": [30, 30, 41, 41],
    "ill": ["flu", "hiv", "flu", "hiv"],
    "name": ["Ann", "Bob", "Cas", "Dee"],
}
ROLES = {"quasi": ["zip", "age"], "sensitive": "ill", "direct": "name"}
POLICY = anonrisk.Policy(max_unique_records=99)
# The columns of a table that has more of them than roles.
WIDE = {"quasi": ["zip"], "insensitive": ["ill"]}


def outcome(change):
    """Do something with a table, and say what became of its roles."""
    changed = change()
    try:
        roles = anonrisk.roles(changed)
        columns = roles.columns
        anonrisk.k(changed)
    except AnonRiskError as error:
        lost = isinstance(error, anonrisk.errors.RolesNotGivenError)
        said = "lost" if lost else "refused"
        columns = [str(name) for name in changed.columns]
    else:
        whole = set(roles.quasi) == {"zip", "age"} & set(columns)
        named = "name" not in columns or "name" in roles.direct
        said = "kept" if whole and named else "the left table's only"
    if "name" in columns:
        assert not POLICY.check(changed)
    return said


def table_of(rows):
    lines = [f"| {what} | {said} |" for what, said in rows]
    return "\n".join(["| after | roles |", "| --- | --- |", *lines])


def compare(title, rows):
    """Hold the page against what was found; UPDATE_DOCS=1 writes it instead."""
    text = PAGE.read_text(encoding="utf-8")
    begin, end = f"<!-- {title} -->\n", f"<!-- end of {title} -->"
    before, _, rest = text.partition(begin)
    stands, _, after = rest.partition(end)
    made = f"\n{table_of(rows)}\n\n"
    if os.environ.get("UPDATE_DOCS"):
        PAGE.write_text(before + begin + made + end + after, encoding="utf-8")
        stands = made
    assert stands == made


def test_pandas(tmp_path):
    df = pd.DataFrame(CELLS).anon.declare(**ROLES)
    other = pd.DataFrame({"zip": ["a", "b"], "region": ["n", "s"]})
    wide = pd.DataFrame(CELLS).anon.declare(**WIDE)
    file = tmp_path / "t.parquet"
    df.to_parquet(file)
    changes = {
        "a filter, `query`, `head`, `sample`, `sort_values`": lambda: df[df.age > 1],
        "a selection of columns, `drop(columns=…)`": lambda: df[["zip", "name"]],
        "`assign` of a new column": lambda: df.assign(note=1),
        "`copy`, `astype`, `fillna`, `reset_index(drop=True)`": lambda: df.astype({"age": float}),
        "`rename` of a quasi-identifier": lambda: df.rename(columns={"zip": "postcode"}),
        "`set_index` of a quasi-identifier": lambda: df.set_index("zip"),
        "`to_parquet` and `pd.read_parquet`": lambda: pd.read_parquet(file),
        "`merge`, `join`": lambda: df.merge(other, on="zip"),
        "`pd.concat` of tables that declare the same": lambda: pd.concat([df, df]),
        "`pd.concat` with a table that declares other roles": lambda: pd.concat([df, wide]),
        "`groupby(…).agg(…)`": lambda: df.groupby(["zip", "age"], as_index=False).agg("first"),
        "`to_csv`, `to_json` and back": lambda: pd.DataFrame(df.to_dict("list")),
    }
    for one in (lambda: df.query("age > 1"), lambda: df.head(3), lambda: df.sort_values("age")):
        assert outcome(one) == "kept"
    compare("pandas", [(what, outcome(change)) for what, change in changes.items()])


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_spark(spark, tmp_path):
    def made(cells, **roles):
        return spark.createDataFrame(pd.DataFrame(cells)).anon.declare(**roles)

    df, wide = made(CELLS, **ROLES), made(CELLS, **WIDE)
    other = spark.createDataFrame(pd.DataFrame({"zip": ["a", "b"], "region": ["n", "s"]}))
    for kind in ("parquet", "json", "orc"):
        df.write.format(kind).save(str(tmp_path / kind))

    def stored(kind):
        return spark.read.format(kind).load(str(tmp_path / kind))

    def in_sql():
        df.createOrReplaceTempView("roles_survive")
        return spark.sql("select * from roles_survive where age > 1")

    def same(batches):
        yield from batches

    changes = {
        "`where`, `orderBy`, `limit`, `repartition`, `cache`": lambda: df.where("age > 1"),
        "`select` of columns, `drop`": lambda: df.select("zip", "name"),
        "`withColumn` of a new column": lambda: df.selectExpr("*", "1 as note"),
        "`withColumn` in place of a quasi-identifier": lambda: df.withColumn(
            "zip", df["age"].cast("string")
        ),
        "`withColumnRenamed` of a quasi-identifier": lambda: df.withColumnRenamed("zip", "pc"),
        "a view and `select *` in SQL": in_sql,
        "`write.parquet` and `read.parquet`": lambda: stored("parquet"),
        "`join`": lambda: df.join(other, "zip"),
        "`union`, `unionByName` with a table that declares less": lambda: wide.union(df),
        "`union` the other way round": lambda: df.union(wide),
        "`groupBy(…).agg(…)` by the quasi-identifier": lambda: df.groupBy("zip", "age").count(),
        "`write.json`, `write.orc` and back": lambda: stored("json"),
        "`toPandas()`": df.toPandas,
        "`createDataFrame` of a declared pandas table": lambda: spark.createDataFrame(
            pd.DataFrame(CELLS).anon.declare(**ROLES)
        ),
        "`mapInPandas`": lambda: df.mapInPandas(
            same, "zip string, age long, ill string, name string"
        ),
        "`pd.read_parquet` of a file that Spark wrote": lambda: pd.read_parquet(
            tmp_path / "parquet"
        ),
    }
    assert outcome(lambda: stored("orc")) == outcome(lambda: stored("json"))
    compare("Spark", [(what, outcome(change)) for what, change in changes.items()])
