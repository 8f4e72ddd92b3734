"""A door for the checkout; the job is `python -m anonrisk.spark_jobs.measure` of the package."""

import sys

from anonrisk.spark_jobs.measure import main

if __name__ == "__main__":
    sys.exit(main())
