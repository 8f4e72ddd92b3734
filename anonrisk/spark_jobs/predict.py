"""Predict how many of a group will be alone in their class, judging by a table.

python -m anonrisk.spark_jobs.predict admissions.parquet --qids zip born --group-size 40

The options are those of `anonrisk predict`; the table is any source of Spark (--format).
"""

from __future__ import annotations

import sys
from functools import partial

from anonrisk.cli import job

main = partial(job.main, "predict")

if __name__ == "__main__":
    sys.exit(main())
