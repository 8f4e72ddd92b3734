"""Count the classes of a table and print them as JSON; for spark-submit.

spark-submit spark_jobs/measure.py --input admissions.parquet --qids zip born sex
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

import anonrisk

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Count the classes of a table, as JSON.")
    parser.add_argument("--input", required=True, help="path, or name of a table")
    parser.add_argument("--format", default="parquet", help="any source of Spark, or 'table'")
    parser.add_argument("--qids", nargs="+", help="left out: those that the table declares")
    parser.add_argument("--unit")
    parser.add_argument("--missing", default="value", choices=["value", "drop", "error"])
    given = parser.parse_args(arguments)
    spark = SparkSession.builder.appName("anonrisk measure").getOrCreate()
    if given.format == "table":
        table = spark.table(given.input)
    else:
        table = spark.read.format(given.format).option("header", "true").load(given.input)
    try:
        counted = anonrisk.classes(table, given.qids, unit=given.unit, missing=given.missing)
    except anonrisk.AnonRiskError as error:
        print(f"could not assess: {error}", file=sys.stderr)
        return 3
    print(json.dumps(counted.to_dict()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
