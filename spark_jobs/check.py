"""Check a table against a policy; the exit code stops a pipeline: 0 only if it passes.

spark-submit spark_jobs/check.py admissions.parquet --policy release.json --output verdict.json

The options are those of `anonrisk check`; the table is any source of Spark (--format).
"""

from __future__ import annotations

import sys

from anonrisk.cli.job import main

if __name__ == "__main__":
    sys.exit(main("check"))
