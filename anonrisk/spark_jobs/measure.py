"""Measure a table: its classes, and what is learned about a person in them.

python -m anonrisk.spark_jobs.measure admissions.parquet --qids zip born sex --json

The options are those of `anonrisk measure`; the table is any source of Spark (--format).
"""

from __future__ import annotations

import sys
from functools import partial

from anonrisk.cli import job

main = partial(job.main, "measure")

if __name__ == "__main__":
    sys.exit(main())
