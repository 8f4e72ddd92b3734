"""All that crosses the border between a table and arithmetic: questions, and frozen counts."""

from anonrisk.counts.class_sizes import ClassSizes

__all__ = ["ClassSizes"]
