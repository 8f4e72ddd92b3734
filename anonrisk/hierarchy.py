"""Trees over the values of a column, under the path that users import them by."""

from anonrisk.core.hierarchy import Hierarchy

__all__ = ["Hierarchy"]
