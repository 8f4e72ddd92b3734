"""Recodings as data: what becomes of the values of one column, the same on every engine."""

from anonrisk.measures.recode.kinds import (
    Bins,
    DatePart,
    Keep,
    KeepCommon,
    Level,
    MergeRare,
    Prefix,
    Star,
    TopBottom,
    ZipArea,
    from_dict,
)
from anonrisk.measures.recode.quantiles import (
    normalised_error,
    quantile_map,
    rank_difference,
    ranks,
    sample_size,
    sampled_quantiles,
)
from anonrisk.measures.recode.recoding import Recoding

__all__ = [
    "Bins",
    "DatePart",
    "Keep",
    "KeepCommon",
    "Level",
    "MergeRare",
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
