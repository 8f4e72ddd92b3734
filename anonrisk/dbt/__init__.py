"""A policy as parts of a dbt project: tests in SQL alone, or a model in Python."""

from anonrisk.dbt.model import python_model
from anonrisk.dbt.tests import sql_tests

__all__ = ["python_model", "sql_tests"]
