"""Measure a table: its classes, and what is learned about a person in them.

spark-submit spark_jobs/measure.py admissions.parquet --qids zip born sex --json

The options are those of `anonrisk measure`; the table is any source of Spark (--format).
"""

from __future__ import annotations

import sys

from anonrisk.cli.job import main

if __name__ == "__main__":
    sys.exit(main("measure"))
