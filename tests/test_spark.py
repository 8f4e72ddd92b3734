"""What only Spark has: jobs, shuffles, laziness, sessions that stop, errors that quote cells."""

from __future__ import annotations

import datetime as dt
import math
import os
import re
import subprocess
import sys
import uuid
from dataclasses import replace
from decimal import Decimal
from random import Random

import oracle
import pytest
from tables import spark_table

import anonrisk
from anonrisk import errors
from anonrisk.hierarchy import Hierarchy
from anonrisk.recode import Bins, Level

f = pytest.importorskip("pyspark.sql.functions")
pytestmark = [pytest.mark.spark("spark"), pytest.mark.slow]

CELLS = {
    "zip": ["1011", "1011", "1012", None],
    "x": [0.0, -0.0, float("nan"), None],
    "who": [1, 1, 2, 3],
}


@pytest.fixture
def people(spark):
    return spark_table(spark, CELLS)


@pytest.fixture
def plain(spark):
    """Adaptive execution off: it splits one action into several jobs."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield spark
    spark.conf.set("spark.sql.adaptive.enabled", "true")


@pytest.fixture
def jobs(plain):
    """A function that runs something and says how many Spark jobs it took."""
    tracker = plain.sparkContext.statusTracker()

    def count(call):
        group = uuid.uuid4().hex
        plain.sparkContext.setJobGroup(group, "counted")
        call()
        found = len(tracker.getJobIdsForGroup(group))
        plain.sparkContext.setLocalProperty("spark.jobGroup.id", None)
        return found

    return count


@pytest.fixture
def plans(plain, monkeypatch):
    """The physical plan of everything that the library collects, and how many rows came."""
    seen = []
    kind = type(plain.range(1))
    collect = kind.collect

    def collected(table):
        rows = collect(table)
        seen.append((table._jdf.queryExecution().executedPlan().toString(), len(rows)))
        return rows

    monkeypatch.setattr(kind, "collect", collected)
    return seen


def shuffles(plan):
    """The keys of each hash exchange, those of reused ones left out."""
    return re.findall(r"\+- Exchange hashpartitioning\(([^)]*)", plan)


@pytest.fixture
def big(plain):
    table = plain.range(20_000, numPartitions=4)
    return table.select(
        (f.col("id") % 97).alias("a"),
        f.concat(f.lit("v"), f.col("id") * f.col("id") % 31).alias("b"),
        (f.col("id") % 4000).alias("who"),
    )


def test_k_is_one_job_with_one_data_sized_shuffle(big, jobs, plans):
    assert jobs(lambda: big.anon.k(["a", "b"])) == 1
    plan, rows = plans[0]
    by_size, by_class = shuffles(plan)
    assert "q0" in by_class
    assert "q1" in by_class
    assert re.match(r"n#", by_size), "the second shuffle is by class size: a few hundred rows"
    assert rows <= math.isqrt(2 * 20_000) + 1
    assert plan.count("Range") == 1


@pytest.mark.parametrize("missing", ["value", "drop", "error"])
def test_several_quasi_identifiers_are_one_job_over_one_scan(big, jobs, plans, missing):
    sets = [["a"], ["b"], ["a", "b"]]
    assert jobs(lambda: big.anon.summary(sets, missing=missing)) == 1
    plan, _ = plans[0]
    assert plan.count("Range") == 1
    assert len(shuffles(plan)) == 2


def test_every_combination_comes_from_one_job(big, jobs):
    assert jobs(lambda: big.anon.explore(["a", "b"])) == 1


def test_persons_are_one_job(big, jobs, plans):
    assert jobs(lambda: big.anon.k(["a", "b"], unit="who")) == 1
    assert plans[0][1] <= 2 * math.isqrt(2 * 20_000) + 2


def test_a_plan_is_applied_after_one_job(big, jobs):
    tree = {"any": {"low": [f"v{i}" for i in range(15)], "high": [f"v{i}" for i in range(15, 31)]}}
    level = Level.of(Hierarchy.of(tree), 1)
    plan = anonrisk.Plan({"a": Bins((50,), whole=True), "b": level}, k=5)
    for on_unseen, expected in (("refuse", 1), ("top", 1), ("suppress", 2)):
        assert jobs(lambda how=on_unseen: big.anon.apply(plan, on_unseen=how)) == expected


def test_groups_are_two_jobs(big, jobs):
    assert jobs(lambda: big.anon.summary("a", by="b")) <= 3


def test_wildcards_are_a_small_job_and_one_over_one_scan(plain, jobs, monkeypatch):
    from anonrisk.engines.spark import count

    table = plain.range(2_000, numPartitions=2).selectExpr(
        "if(id % 7 = 0, null, id % 5) as a", "if(id % 3 = 0, null, id % 4) as b"
    )
    seen = []
    fetch = count.SparkMatchedKeys.fetch

    def recorded(self, asked, most):
        rows = fetch(self, asked, most)
        seen.append((asked._jdf.queryExecution().executedPlan().toString(), len(rows)))
        return rows

    monkeypatch.setattr(count.SparkMatchedKeys, "fetch", recorded)
    plain.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        assert jobs(lambda: table.anon.k(["a", "b"], missing="wildcard")) == 2
        assert jobs(lambda: table.anon.sizes(["a", "b"], missing="wildcard")) == 1
    finally:
        plain.conf.unset("spark.sql.autoBroadcastJoinThreshold")
    (patterns, n_patterns), (plan, _), _ = seen
    assert n_patterns == 4
    assert len(shuffles(patterns)) == 1
    # Keys, what they have in common with others, both sides of the join, sums a key, and sizes.
    assert len(shuffles(plan)) <= 5
    assert plan.count("Range (") == 1


def test_schema_errors_come_before_any_job(people, jobs):
    def wrong():
        nested = people.withColumn("l", f.array("who"))
        for table, qid, unit in (
            (people, "zp", None),
            (people, [], None),
            (people, "zip", "wo"),
            (nested, "l", None),
            (people, None, None),
        ):
            with pytest.raises(errors.AnonRiskError):
                table.anon.k(qid, unit=unit)

    assert jobs(wrong) == 0


def test_frames_are_lazy(people, jobs):
    def lazily():
        people.anon.sizes("zip", unit="who", missing="error")
        people.anon.at_risk("zip")
        people.anon.declare(quasi="zip").anon.roles()

    assert jobs(lazily) == 0


def test_nothing_is_cached_or_persisted(people, spark):
    people.anon.k("zip")
    people.anon.summary([["zip"], ["x"]], by="who")
    people.anon.at_risk("zip").collect()
    assert not people.is_cached
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == 0


def test_class_size_that_exists_is_refused(people):
    taken = people.withColumnRenamed("x", "Class_Size")
    with pytest.raises(errors.ArgumentError, match="already has a column 'class_size'"):
        taken.anon.sizes("zip")
    assert taken.anon.sizes("zip", name="size").columns[-1] == "size"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda t: t.anon.sizes("zip", missing="error"), "anonrisk: a quasi-identifier is missing"),
        (lambda t: t.anon.at_risk("who", unit="zip"), "anonrisk: unit 'zip' is missing"),
    ],
)
def test_a_lazy_table_refuses_when_it_is_computed(people, call, text):
    with pytest.raises(Exception, match=text) as raised:
        call(people).collect()
    assert "1011" not in str(raised.value)


def test_an_error_of_spark_is_replaced(people):
    bad = people.withColumn("y", f.expr("cast(concat(zip, 'secret') as int)"))
    with pytest.raises(errors.EngineError, match="could not count the classes") as raised:
        bad.anon.k("y")
    assert "1011" not in str(raised.value)
    assert raised.value.__suppress_context__
    assert raised.value.__cause__ is None


def test_an_error_of_spark_is_not_printed(people, capfd):
    bad = people.selectExpr("cast(concat('secret', zip) as int) as y")
    capfd.readouterr()
    with pytest.raises(errors.EngineError):
        bad.anon.k("y")
    assert '"logger"' not in capfd.readouterr().err, "pyspark logs errors, cells and all, as JSON"


def test_errors_of_the_users_own_queries_stay_what_they_are(people):
    from pyspark.errors import AnalysisException

    people.anon.k("zip")
    with pytest.raises(AnalysisException):
        people.select(f.col("nope")).count()


def test_orders_are_checked_before_any_job(people, jobs):
    def wrong():
        with pytest.raises(errors.ArgumentError):
            people.anon.entropy("zip", alpha=-1)

    assert jobs(wrong) == 0


def test_a_column_is_not_a_name(people):
    for call in (
        lambda: people.anon.k(f.col("zip")),
        lambda: people.anon.k("zip", unit=f.col("who")),
        lambda: people.anon.summary("zip", by=f.col("who")),
    ):
        with pytest.raises(errors.ArgumentError, match="by the name of a column, not by a Column"):
            call()


def test_a_streaming_table_is_refused(spark):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(errors.UnsupportedFrameError, match="streaming"):
        stream.anon.k("value")


@pytest.mark.parametrize("nested", ["array(who)", "map(who, 1)", "struct(who)", "make_interval(1)"])
def test_nested_types_are_refused_by_name(people, nested):
    with pytest.raises(errors.UnsupportedColumnError, match="quasi-identifier 'l' holds values of"):
        people.selectExpr(f"{nested} as l").anon.k("l")


@pytest.mark.parametrize(
    "literal",
    [
        "interval 1 day",
        "interval 1 month",
        "null",
        "timestamp_ntz'2020-01-01'",
        "x'00'",
        "1Y",
        "1.5F",
    ],
)
def test_every_scalar_type_of_spark(spark, literal):
    assert spark.sql(f"select {literal} as x").anon.k("x") == 1


def test_collated_strings_are_compared_as_bytes(spark):
    if not hasattr(f, "collate"):
        pytest.skip("collations came with Spark 4")
    table = spark.sql("select collate(v, 'UTF8_LCASE') as v from values ('a'), ('A') as t(v)")
    assert table.groupBy("v").count().count() == 1, "Spark itself calls them equal"
    assert table.anon.k("v") == 1
    assert table.anon.sizes("v").where("class_size = 1").count() == 2


def test_instants_do_not_depend_on_the_zone(spark):
    table = spark.sql(
        "select timestamp'2020-06-01 12:00:00+02:00' as t union all "
        "select timestamp'2020-06-01 19:00:00+09:00'"
    )
    assert table.anon.k("t") == 2


def test_columns_that_differ_by_case(spark):
    spark.conf.set("spark.sql.caseSensitive", "true")
    table = spark.createDataFrame([("x", "y"), ("x", "z")], "a string, A string")
    spark.conf.set("spark.sql.caseSensitive", "false")
    assert table.anon.k("a") == 2
    assert table.anon.k("A") == 1


def test_duplicate_columns_are_refused_only_if_asked_about(spark):
    table = spark.createDataFrame([("x", "y", 1)], "a string, b string, c int").toDF("a", "a", "c")
    assert table.anon.k("c") == 1
    with pytest.raises(errors.DuplicateColumnError, match="'a' is the name of 2 columns"):
        table.anon.k("a")


def test_a_window_over_floats_knows_one_zero_and_one_missing(people):
    assert sorted(row["class_size"] for row in people.anon.sizes("x").collect()) == [2, 2, 2, 2]


def test_frames_compare_as_frames(spark, people):
    from chispa import assert_df_equality

    expected = spark.createDataFrame(
        [("1011", 1, 2), ("1011", 1, 2), ("1012", 2, 1), (None, 3, 1)],
        "zip string, who bigint, class_size bigint",
    )
    assert_df_equality(
        people.select("zip", "who").anon.sizes("zip"),
        expected,
        ignore_row_order=True,
        ignore_nullable=True,
    )
    assert_df_equality(
        people.select("zip").anon.at_risk("zip", k=2),
        spark.createDataFrame([("1012",), (None,)], "zip string"),
        ignore_row_order=True,
    )


def test_the_executors_need_nothing_of_ours(big, plans):
    big.anon.k(["a", "b"], unit="who")
    assert not re.search("Python|Arrow|UDF", plans[0][0])
    sized = big.anon.sizes("a", unit="who")._jdf.queryExecution().executedPlan().toString()
    assert not re.search("Python|Arrow|UDF", sized)


def test_k_l_and_equal_t_are_one_job_over_one_scan(big, jobs, plans):
    measures = ["k", "ldiv", "entropy_ldiv", "recursive_ldiv", "tcloseness"]
    # A broadcast is a job of its own to the listener, but no action of ours; the first records are
    # looked at in another.
    assert jobs(lambda: big.anon.assess("a", "b", measures, c=2)) <= 3
    _, (plan, _) = plans
    assert plan.count("Range (") == 1
    by_data = [keys for keys in shuffles(plan) if "q0" in keys]
    assert len(by_data) == 2
    assert plan.count("Sort [") == 1
    assert not re.search("Python|Arrow|UDF", plan)


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("missing", ["value", "drop"])
def test_records_that_differ_are_scanned_and_shuffled_once(plain, plans, unit, missing):
    value = f.when(f.col("id") % 3 > 0, f.col("id") % 9)
    table = plain.range(700, numPartitions=4).select(
        (f.col("id") % 350).alias("a"), value.alias("b"), (f.col("id") % 300).alias("who")
    )
    measures = ["ldiv", "entropy_ldiv", "recursive_ldiv", "tcloseness"]
    about = {"unit": unit, "missing": missing, "missing_sensitive": missing}
    table.anon.assess("a", "b", measures, c=2, distance="equal", **about)
    plan, _ = plans[-1]
    assert plan.count("Range (") == 1
    by_class = [keys for keys in shuffles(plan) if "q0" in keys]
    assert len(by_class) == 1
    assert "s#" not in by_class[0]


@pytest.mark.parametrize("missing", ["value", "drop"])
def test_records_that_are_alike_are_grouped_before_they_move(big, plans, missing):
    about = {"missing": missing, "missing_sensitive": missing}
    big.anon.assess("a", "b", ["ldiv", "tcloseness"], distance="equal", **about)
    plan, _ = plans[-1]
    assert plan.count("Range (") == 1
    by_class = [keys for keys in shuffles(plan) if "q0" in keys]
    assert sorted("s#" in keys for keys in by_class) == [False, True]


@pytest.mark.parametrize("measure", ["ordered", "hierarchical"])
def test_closeness_counts_the_pairs_once(big, plans, measure):
    if measure == "ordered":
        anonrisk.tcloseness(big.select("a", f.length("b").cast("double").alias("s")), "a", "s")
    else:
        values = [row["b"] for row in big.select("b").distinct().collect()]
        plans.clear()
        tree = {"all": {"these": values[:2], "those": values[2:]}}
        anonrisk.tcloseness(big, "a", "b", hierarchies=tree)
    plan, _ = plans[-1]
    looks = 2 if measure == "ordered" else 1
    assert len(plans) == looks + 1, "at the first records, and for an order at the values"
    assert plan.count("Range (") == 1
    assert sum("s#" in keys for keys in shuffles(plan) if "q0" in keys) == 1


def test_an_order_of_clock_times_knows_no_zone(plain):
    at = [dt.datetime(2020, 1, 1, hour) for hour in (10, 12, 11, 15, 16, 17)]
    rows = [(0, at[0]), (0, at[2]), (0, at[0]), (1, at[1]), (1, at[2]), (1, at[1])]
    table = plain.createDataFrame(rows, "q int, s timestamp_ntz")
    plain.conf.set("spark.sql.session.timeZone", "America/New_York")
    assert table.anon.tcloseness("q", "s", order=at) == pytest.approx(1 / 6, abs=1e-12)


def test_an_order_of_what_python_does_not_hold_itself(plain):
    large = [Decimal(2**63 + 1), Decimal(2**63)]
    table = plain.createDataFrame([(0, large[0]), (1, large[1])], "q int, s decimal(20,0)")
    assert table.anon.tcloseness("q", "s", order=large) == 0.5
    old = [dt.date(999, 1, 1), dt.date(1582, 10, 10), dt.date(2020, 1, 1)]
    rows = [f"({i}, date'{day.isoformat()}')" for i, day in enumerate(old)]
    table = plain.sql(f"select * from values {', '.join(rows)} as t(q, s)")
    assert table.anon.tcloseness("q", "s", order=old) == pytest.approx(0.5)


@pytest.mark.nightly
def test_no_number_of_classes_is_refused(plain):
    """Classes that all look different: nothing but the worst of each size reaches the driver."""
    n = 300_000
    # So many rows are worth compiling for.
    plain.conf.set("spark.sql.codegen.wholeStage", "true")
    plain.conf.set("spark.sql.codegen.factoryMode", "FALLBACK")
    q = f.col("id") % n
    # Two values by which a class is known: the remainder of its number, and the quotient.
    low, high = q % 600, 600 + f.floor(q / 600)
    again = f.when(q % 7 != 0, f.when(q % 3 == 0, low).otherwise(high))
    value = f.when(f.col("id") < n, low).when(f.col("id") < 2 * n, high).otherwise(again)
    table = plain.range(3 * n, numPartitions=4).select(q.alias("q"), (value + 0.5).alias("s"))
    twin = table.toPandas()
    assert anonrisk.profiles(twin, "q", "s").classes.tolist() == [1] * n
    measures = ["k", "ldiv", "entropy_ldiv", "recursive_ldiv", "tcloseness", "beta_likeness"]
    for distance in ("ordered", "equal"):
        found, expected = (
            t.anon.assess("q", "s", measures, c=2, distance=distance) for t in (table, twin)
        )
        assert found.sizes == expected.sizes
        for name in measures:
            assert found[name] == pytest.approx(expected[name], rel=1e-12), (name, distance)


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("missing", ["value", "drop"])
@pytest.mark.parametrize("moved", [False, True])
def test_every_class_is_scored_as_the_definitions_say(spark, unit, missing, moved):
    """Not only the worst: the scores of all classes of a random table."""
    from anonrisk.engines.pushed.score import class_values, scored_classes
    from anonrisk.engines.spark.rows import SparkTable, frame_of
    from anonrisk.measures.counts.question import Question, Score, Sensitive

    random = Random(1)
    cells = {
        "zip": random.choices(["a", "b", "c", "d", None], k=240),
        "x": random.choices([0.0, -0.0, 1.5, 2.5, float("nan"), None], k=240),
        "who": random.choices(range(70), k=240),
        "cost": random.choices([1.5, 2.5, -3.5, 1e15, 7.5, float("nan"), None], k=240),
    }
    rows = [dict(zip(cells, row, strict=True)) for row in zip(*cells.values(), strict=True)]
    kept = oracle.kept(rows, ["zip", "x"], missing)
    if missing == "drop":
        kept = [row for row in kept if oracle.same(row["cost"]) != ("missing",)]
    question = Question((("zip", "x"),), unit, missing)
    sensitive = Sensitive("cost", missing, ordered=True)
    names = ["distinct", "entropy", "alpha", "equal", "ordered", "beta", "delta"]
    asked = [Score("recursive", 1.5), *map(Score, names)]
    table = SparkTable(spark_table(spark, cells))
    about = replace(class_values(table, question, sensitive, asked), moved=moved)
    scored = {
        oracle.key(row, ["q0", "q1"]): [row["n"], *(row[f"x{i}"] for i in range(len(asked)))]
        for row in frame_of(about.kept(scored_classes(about, asked))).collect()
    }
    whole = oracle.shares(oracle.value_counts(kept, "cost", unit))
    order = oracle.ordered_cost(kept, "cost")
    classes = oracle.classes_of(kept, ["zip", "x"], unit)
    assert len(classes) == len(scored) > 10
    for inside, size in classes:
        counts = oracle.value_counts(inside, "cost", unit)
        p = oracle.shares(counts)
        expected = [
            size,
            oracle.class_ldiv(counts, size, "recursive", 1.5),
            oracle.class_ldiv(counts, size, "distinct", None),
            oracle.class_ldiv(counts, size, "entropy", None),
            max(counts.values()) / size,
            oracle.transport(p, whole, oracle.equal_cost),
            oracle.transport(p, whole, order),
            max(0.0, *((p[v] - whole[v]) / whole[v] for v in p)),
            max(abs(math.log(p[v] / whole[v])) for v in p),
        ]
        assert scored[oracle.key(inside[0], ["zip", "x"])] == pytest.approx(expected, abs=1e-9)


def test_profiles_are_bounded(people, monkeypatch):
    monkeypatch.setattr("anonrisk.measures.counts.question.MAX_PROFILES", 1)
    with pytest.raises(errors.TooManyProfilesError, match="more than 1 kinds of class"):
        anonrisk.profiles(people, "zip", "who")


def test_too_many_ordered_values_are_refused(people, monkeypatch):
    monkeypatch.setattr("anonrisk.measures.counts.question.MAX_ORDERED", 1)
    with pytest.raises(errors.TooManyValuesError, match="more than 1 different values; bin"):
        people.anon.tcloseness("zip", "who", "ordered")


# Each job's first attempt at one of two partitions fails; a session retries it, or does not.
FLAKY = """
import sys
import anonrisk
from anonrisk import errors
from pyspark import TaskContext
from pyspark.sql import SparkSession

told = sys.argv[1]

def flaky(batches):
    context = TaskContext.get()
    for batch in batches:
        if context.partitionId() == 1:
            with open(told, "a") as lines:
                print("attempt", context.attemptNumber(), file=lines)
            if context.attemptNumber() == 0:
                raise RuntimeError("secret")
        yield batch

builder = SparkSession.builder.config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "2")
policy = anonrisk.Policy(quasi=["zip"], sensitive="s", k=3, ldiv={"l": 2})
for master in ("local[2,2]", "local[2,1]"):
    spark = builder.master(master).getOrCreate()
    steady = spark.range(60, numPartitions=2).selectExpr("id % 17 as zip", "id % 5 as s")
    table = steady.mapInArrow(flaky, steady.schema)
    if master == "local[2,2]":
        assert table.anon.k("zip") == steady.anon.k("zip") == 3
        assert table.anon.classes("zip") == steady.anon.classes("zip")
        assert policy.check(table).status == policy.check(steady).status == "pass"
    else:
        try:
            table.anon.k("zip")
        except errors.EngineError as error:
            assert "secret" not in str(error)
        else:
            raise AssertionError("a table that could not be read has no k")
        verdict = policy.check(table)
        assert verdict.status == "could_not_assess"
        assert "secret" not in str(verdict)
    spark.stop()
print("as if nothing had failed")
"""


@pytest.mark.nightly
def test_a_task_that_fails_and_is_tried_again_changes_nothing(tmp_path):
    """In a process of its own: how often a task is tried is a matter of the session's master."""
    own = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    own |= {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    told = tmp_path / "attempts"
    command = [sys.executable, "-c", FLAKY, str(told)]
    run = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert run.stdout == "as if nothing had failed\n", run.stderr[-2000:]
    attempts = told.read_text().split("\n")
    assert attempts.count("attempt 0") > attempts.count("attempt 1") >= 3
