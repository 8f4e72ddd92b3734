"""Recodings as data: what becomes of the values of one column, the same on every engine."""

from anonrisk.recode.kinds import (
    Bins,
    DatePart,
    Keep,
    Level,
    Prefix,
    Recoding,
    Star,
    TopBottom,
    ZipArea,
    from_dict,
)

__all__ = [
    "Bins",
    "DatePart",
    "Keep",
    "Level",
    "Prefix",
    "Recoding",
    "Star",
    "TopBottom",
    "ZipArea",
    "from_dict",
]
