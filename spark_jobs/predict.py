"""Predict how many of a group will be alone in their class, judging by a table.

spark-submit spark_jobs/predict.py admissions.parquet --qids zip born --group-size 40

The options are those of `anonrisk predict`; the table is any source of Spark (--format).
"""

from __future__ import annotations

import sys

from anonrisk.cli.job import main

if __name__ == "__main__":
    sys.exit(main("predict"))
