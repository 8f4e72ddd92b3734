"""A door for the checkout; the job is `python -m anonrisk.spark_jobs.predict` of the package."""

import sys

from anonrisk.spark_jobs.predict import main

if __name__ == "__main__":
    sys.exit(main())
