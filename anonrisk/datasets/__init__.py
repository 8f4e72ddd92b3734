"""Synthetic tables to measure, made from a seed: no download, and nobody real in them.

`citizens` is a registry of people with where they live and when they were born, `hospital` a
table of admissions of such people, `figures` what was published about the real registry;
`write_example` puts such a table and a policy into files.
"""

from __future__ import annotations

from anonrisk.datasets import figures
from anonrisk.datasets.admissions import hospital, write_example
from anonrisk.datasets.registry import citizens

__all__ = ["citizens", "figures", "hospital", "write_example"]
