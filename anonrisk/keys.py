"""Secret keys, under the path that users import them by."""

from anonrisk.core.keys import Key

__all__ = ["Key"]
