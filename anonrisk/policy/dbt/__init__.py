"""A policy as parts of a dbt project: tests in SQL alone, or a model in Python."""
