"""What calls cost on Spark: jobs, scans, shuffles and rows to the driver, counted on a small table.

`python tests/spark_costs.py` writes the table into docs/engines.md; test_spark_costs.py compares.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import anonrisk

PAGE = Path(__file__).resolve().parents[1] / "docs" / "engines.md"
FIRST, LAST = "<!-- begin calls by Spark cost -->", "<!-- end calls by Spark cost -->"
N_RECORDS = 2_000
QID = ["zip", "born", "sex"]

_SCANS = ("Scan", "Range", "LocalTableScan", "FileScan")
_ROWS = ("number of output rows", "shuffle records written")


class Cost(NamedTuple):
    """One call: the last is about all rows that went to the driver, also to be broadcast."""

    jobs: int
    scans: int
    shuffles: int
    shuffled: float
    rows: int


def visits(spark, n=N_RECORDS):
    """A table of visits; what is drawn depends on the number of the record alone."""

    def drawn(seed, n_values):
        return f"pmod(xxhash64({seed}, id), {n_values})"

    return spark.range(n, numPartitions=2).selectExpr(
        f"{drawn(1, n // 2)} as patient",
        f"concat('z', {drawn(2, 20)}) as zip",
        f"1950 + {drawn(3, 30)} as born",
        f"if({drawn(4, 2)} = 0, 'f', 'm') as sex",
        f"concat('job', {drawn(5, 9)}) as job",
        f"concat('illness', {drawn(6, 6)}) as illness",
        f"{drawn(7, 100)} as cost",
        f"1.0D + {drawn(8, 9)} as weight",
        f"concat('c', {drawn(9, n // 10)}) as card",
        f"concat('s', {drawn(10, 40)}) as station",
        f"{drawn(11, 365)} as day",
    )


def calls(table):
    """The calls by their name, as a page shows them; tables that come back are computed."""
    everybody = table.select(*QID).unionAll(table.select(*QID))
    coarse = table.anon.generalize("born", bins=5)
    closeness = {"t": 0.9, "distance": "equal"}
    policy = anonrisk.Policy(
        quasi=QID, sensitive="illness", k=2, ldiv={"l": 2}, tcloseness=closeness
    )
    sets = [["zip"], ["zip", "born"], QID]
    return {
        "k": lambda: table.anon.k(QID),
        "classes": lambda: table.anon.classes(QID),
        "classes(unit=)": lambda: table.anon.classes(QID, unit="patient"),
        "whole_person": lambda: table.anon.whole_person(QID, unit="patient"),
        "summary, 3 quasi-identifiers": lambda: table.anon.summary(sets),
        "summary(by=)": lambda: table.anon.summary(QID, by="job"),
        "risk": lambda: table.anon.risk(QID),
        "risk(population)": lambda: table.anon.risk(QID, everybody),
        "risk(weight=)": lambda: table.anon.risk(QID, weight="weight"),
        "kmap": lambda: table.anon.kmap(QID, everybody),
        "ldiv": lambda: table.anon.ldiv(QID, "illness"),
        "tcloseness, equal": lambda: table.anon.tcloseness(QID, "illness", distance="equal"),
        "tcloseness, ordered": lambda: table.anon.tcloseness(QID, "cost", distance="ordered"),
        "assess": lambda: table.anon.assess(QID, "illness"),
        "Policy.check": lambda: policy.check(table),
        "find_qids, 11 columns": lambda: table.anon.find_qids(max_size=2),
        "explain_risk": lambda: table.anon.explain_risk(QID),
        "suda": lambda: _computed(table.anon.suda(QID, max_size=2).scores),
        "plan": lambda: table.anon.plan(QID, k=2),
        "utility": lambda: coarse.anon.utility(QID, "illness", original=table),
        "sizes": lambda: _computed(table.anon.sizes(QID)),
        "at_risk": lambda: _computed(table.anon.at_risk(QID)),
        "suppress": lambda: _computed(table.anon.suppress(QID, k=2)),
        "suppress(cells=True)": lambda: _computed(table.anon.suppress(QID, k=2, cells=True)),
        "trajectory": lambda: table.anon.trajectory("station", unit="card", seed=1),
        "linkability": lambda: anonrisk.linkability(table, "station", unit="card", time="day"),
    }


def _computed(table):
    table.write.format("noop").mode("overwrite").save()


def cost(spark, call) -> Cost:
    """Run something, and read from Spark's own books what it took; adaptive execution is off."""
    store = spark._jsparkSession.sharedState().statusStore()
    context = spark.sparkContext
    bus = context._jsc.sc().listenerBus()
    bus.waitUntilEmpty()
    before = {execution.executionId() for execution in _list(store.executionsList())}
    with _plain(spark), _collected(spark) as seen:
        call()
        bus.waitUntilEmpty()
    jobs = scans = shuffles = shuffled = 0
    for execution in _list(store.executionsList()):
        number = execution.executionId()
        if number in before:
            continue
        jobs += execution.jobs().size()
        metrics = dict(_pairs(store.executionMetrics(number)))
        for node in _list(store.planGraph(number).allNodes()):
            name = node.name()
            scans += name.startswith(_SCANS)
            shuffles += name == "Exchange"
            if name in ("Exchange", "BroadcastExchange"):
                n_rows = _written(node, metrics)
                shuffled += n_rows if name == "Exchange" else 0
                seen.append(n_rows if name == "BroadcastExchange" else 0)
    return Cost(jobs, scans, shuffles, shuffled, sum(seen))


def _list(of_scala):
    return [of_scala.apply(i) for i in range(of_scala.size())]


def _pairs(of_scala):
    each = of_scala.iterator()
    while each.hasNext():
        pair = each.next()
        yield pair._1(), pair._2()


def _written(node, metrics) -> int:
    """The rows that an exchange has passed on."""
    texts = (
        metrics.get(metric.accumulatorId(), "0")
        for metric in _list(node.metrics())
        if metric.name() in _ROWS
    )
    return max((int(text.replace(",", "")) for text in texts), default=0)


@contextmanager
def _plain(spark):
    """Adaptive execution off: it splits one action into several jobs."""
    was = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        yield
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", was)


@contextmanager
def _collected(spark):
    """The number of rows of everything that Python collects."""
    kind, seen = type(spark.range(1)), []
    collect = kind.collect

    def counting(self):
        rows = collect(self)
        seen.append(len(rows))
        return rows

    kind.collect = counting
    try:
        yield seen
    finally:
        kind.collect = collect


def costs(spark) -> dict[str, Cost]:
    """What every call costs."""
    return {name: cost(spark, call) for name, call in calls(visits(spark)).items()}


def written(found: dict[str, Cost]) -> str:
    """The costs as a table of Markdown, between its marks."""
    lines = [
        "| call | jobs | scans | shuffles | shuffled rows a record | rows to the driver |",
        "| --- | --: | --: | --: | --: | --: |",
    ]
    for name, (jobs, scans, shuffles, shuffled, rows) in found.items():
        share = f"{shuffled / N_RECORDS:.1f}"
        lines.append(f"| `{name}` | {jobs} | {scans} | {shuffles} | {share} | {rows:,} |")
    return "\n".join([FIRST, *lines, LAST])


def on_page() -> str:
    """The table as the page has it."""
    text = PAGE.read_text(encoding="utf-8")
    return text[text.index(FIRST) : text.index(LAST) + len(LAST)]


def main() -> None:
    from pyspark.sql import SparkSession

    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        # A small table is compiled for longer than it is counted.
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    }
    spark = SparkSession.builder.master("local[1]").config(map=options).getOrCreate()
    table = written(costs(spark))
    spark.stop()
    PAGE.write_text(PAGE.read_text(encoding="utf-8").replace(on_page(), table), encoding="utf-8")


if __name__ == "__main__":
    main()
