"""Airflow 3: admissions are published only if the gate passes.

A task fails on every exit code but 0, and what follows it does not run. `check` reads files on the
worker; `check_on_spark` is the same on a cluster.
"""

# Not installed where this library is checked.
# mypy: disable-error-code="import-not-found, untyped-decorator"

from __future__ import annotations

from datetime import UTC, datetime

from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

RELEASE = "/data/release"
POLICY = "/etc/anonrisk/release.json"

with DAG(
    dag_id="publish_admissions",
    schedule="@daily",
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    catchup=False,
    # The table is the same the second time: a gate that failed is not tried again.
    default_args={"retries": 0},
) as dag:
    check = BashOperator(
        task_id="check",
        bash_command=(
            f"anonrisk check {RELEASE}/admissions.parquet --policy {POLICY} "
            f"--output {RELEASE}/verdict.json"
        ),
    )
    check_on_spark = SparkSubmitOperator(
        task_id="check_on_spark",
        application="/opt/anonrisk/spark_jobs/check.py",
        application_args=[
            "warehouse.admissions_history",
            *("--format", "table"),
            *("--policy", POLICY),
            *("--output", "s3a://verdicts/{{ ds }}"),
        ],
    )
    publish = BashOperator(
        task_id="publish",
        bash_command=f"cp {RELEASE}/admissions.parquet /data/public/",
    )
    [check, check_on_spark] >> publish
