"""A table whose session has stopped; in a process of its own, so that other tests keep theirs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SCRIPT = """
import sys
import anonrisk
from anonrisk import errors
from pyspark.sql import SparkSession

builder = SparkSession.builder.config("spark.ui.enabled", "false")
remote = sys.argv[1] == "connect"
spark = (builder.remote("local[1]") if remote else builder.master("local[1]")).getOrCreate()
table = spark.createDataFrame([("secret",)], "zip string")
assert table.anon.k("zip") == 1
spark.stop()
for again in (False, True):
    if again and not remote:
        builder.master("local[1]").getOrCreate()
    try:
        table.anon.k("zip")
    except errors.SessionStoppedError as error:
        assert "secret" not in str(error)
        print("stopped:", error)
"""


@pytest.mark.slow
@pytest.mark.spark("spark")
def test_a_stopped_classic_session():
    check("classic")


@pytest.mark.nightly
@pytest.mark.engine
@pytest.mark.spark("connect")
def test_a_stopped_connect_session():
    check("connect")


def check(mode):
    # Nothing of the session of the other tests, and a port of its own (SPARK_TESTING).
    own = {name: value for name, value in os.environ.items() if "SPARK" not in name}
    own |= {"SPARK_TESTING": "1", "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-c", SCRIPT, mode]
    run = subprocess.run(command, env=own, capture_output=True, text=True, check=False)
    assert run.stdout.count("the Spark session of this table has stopped") == 2, run.stderr[-2000:]
