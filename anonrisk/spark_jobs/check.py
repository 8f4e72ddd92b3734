"""Check a table against a policy; the exit code stops a pipeline: 0 only if it passes.

python -m anonrisk.spark_jobs.check admissions.parquet --policy release.json --output verdict.json

The options are those of `anonrisk check`; the table is any source of Spark (--format).
"""

from __future__ import annotations

import sys
from functools import partial

from anonrisk.cli import job

main = partial(job.main, "check")

if __name__ == "__main__":
    sys.exit(main())
