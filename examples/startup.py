"""`.anon` in every interactive Python, the pyspark shell included.

export PYTHONSTARTUP=/path/to/examples/startup.py
pyspark
>>> spark.table("admissions").anon.k(["zip", "born", "sex"])
"""

import anonrisk  # noqa: F401 - puts .anon on tables
