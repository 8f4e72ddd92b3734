"""A conformance suite: small tables with answers, for anonrisk's engines and for other tools.

``python -m anonrisk.testing`` runs it on every kind of table whose library is installed.
"""

from anonrisk.testing.case import ARX, Case, SmallColumn, SmallTable, cases
from anonrisk.testing.report import Answered, ConformanceReport, run
from anonrisk.testing.tables import OwnTool, engine, pycanon

__all__ = [
    "ARX",
    "Answered",
    "Case",
    "ConformanceReport",
    "OwnTool",
    "SmallColumn",
    "SmallTable",
    "cases",
    "engine",
    "pycanon",
    "run",
]
