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
from anonrisk.recode.quantiles import (
    normalised_error,
    quantile_map,
    rank_difference,
    ranks,
    sample_size,
    sampled_quantiles,
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
    "normalised_error",
    "quantile_map",
    "rank_difference",
    "ranks",
    "sample_size",
    "sampled_quantiles",
]
