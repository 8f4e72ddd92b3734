"""dbt: a Python model between the table and whoever reads it.

What is published builds on this model with ref('admissions_published'). If the gate does not pass
the model fails, `dbt build` leaves with an error, and what builds on it is skipped. On Spark
(Databricks, EMR) `dbt.ref` gives a Spark table, which is checked where it is.
"""

from typing import Any

from anonrisk import Policy

POLICY = Policy(
    name="release of admissions",
    quasi=["pc4", "year_of_birth", "gender", "admission_date"],
    sensitive=["diagnosis", "cost"],
    direct=["name"],
    unit="patient",
    missing_sensitive="error",
    k=5,
    ldiv={"l": 2},
)


def model(dbt: Any, session: Any) -> Any:  # noqa: ARG001
    dbt.config(materialized="table", packages=["anonrisk"])
    table = dbt.ref("admissions_to_release")
    # dbt-duckdb gives a relation of DuckDB: as a pandas table it needs no extra of anonrisk.
    checked = table.df() if hasattr(table, "df") else table
    POLICY.check(checked).raise_for_status()
    return table
