"""Which recodings are offered for a column, and which values many people have."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.columns import require
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.engines import engine_for
from anonrisk.engines.numpy.count import distinct_pairs
from anonrisk.errors import ArgumentError, EmptyTableError, HierarchyError
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.counts.tally import DATES, NUMBERS
from anonrisk.measures.recode import (
    Bins,
    DatePart,
    Keep,
    KeepCommon,
    Level,
    MergeRare,
    Prefix,
    Recoding,
    Star,
)
from anonrisk.measures.recode.edges import (
    apart,
    bins_at,
    optimal_bins,
    quantile_bins,
    sampled_bins,
    width_bins,
    widths,
    with_records,
    without_tails,
)
from anonrisk.measures.recode.kinds import PARTS, ZIP
from anonrisk.measures.recode.recoding import of_others, of_rest
from anonrisk.planning.regions.part import PersonTally

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.core.types import Floats, Integers
    from anonrisk.measures.counts.tally import Domain, Tally


# So few that a person can choose among them, and a search can try all combinations.
_PREFIXES, _MERGES = 4, 5
# A plan that names more values than this would be a table of its own.
_MOST_KEPT = 1_000
# By region, where a rare value may be told among others like it, the commonest are enough.
_TOP = 8
# The share of the records whose values must have a shape, and how many values are looked at.
_ALIKE, _LOOKED_AT = 0.9, 10_000
# What is longer is no code: its beginning says little.
_LONGEST = 40
_CODE = re.compile(rf"(?=[^0-9]{{0,{_LONGEST}}}[0-9])[0-9A-Za-z .-]{{2,{_LONGEST}}}")
# Codes that may be of several lengths, and at how many characters it says something to cut them:
# ZIP codes; days, at months and years; post codes of the Netherlands and of Britain; telephone
# numbers, which begin with the country or the area.
_SHAPES = (
    (ZIP, (4, 3, 2, 1)),
    (re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9:.+Z-]{2,30})?"), (7, 4, 3)),
    (re.compile("[1-9][0-9]{3} ?[A-Za-z]{2}"), (4, 3, 2, 1)),
    (re.compile("[A-Z]{1,2}[0-9][0-9A-Z]? ?[0-9][A-Z]{2}"), (4, 3, 2, 1)),
    (re.compile("[+(0][0-9 ()./-]{6,24}"), (6, 4, 3)),
)


def offer_texts(domain: Domain, counts: Integers, k: int, *, nested: bool) -> list[Recoding]:
    """List ways to put texts together, the finest first.

    Beginnings are offered where they keep more bits than merging into as many groups does. Nested,
    each puts together what the one before it does, and more.
    """
    texts, prefixes = domain.texts(), _prefixes(domain, counts, k)
    if nested and prefixes:
        return [*prefixes]
    if nested:
        # One step is enough, and all regions mean the same by it, which may also tell rarer values.
        sizes = _sizes(counts, k, 1, most_kept=_TOP)
        return [_merged(texts, counts, size, of_rest(size)) for size in sizes]
    # Of many, those that are evenly apart.
    places = np.linspace(0, len(prefixes) - 1, min(len(prefixes), _PREFIXES)).round().astype(int)
    prefixes = [prefixes[i] for i in places]
    other = of_others(texts)
    offered: list[Recoding] = [*prefixes]
    for prefix in prefixes[:1]:
        labels, sums = _by_label(prefix, domain, counts)
        offered += [_merged(labels, sums, size, other, prefix) for size in _sizes(sums, k, 1)]
    most = max(_MERGES - len(offered), 1)
    return [*offered, *(_merged(texts, counts, size, other) for size in _sizes(counts, k, most))]


def _sizes(counts: Integers, k: int, most: int, most_kept: int = _MOST_KEPT) -> list[int]:
    """Choose how many of the commonest values stay: each has k records, and the others together."""
    common = np.sort(counts[counts >= k])[::-1]
    left = int(counts.sum()) - np.cumsum(common)
    # Where too few are left the rarest of the kept goes to them; one value alone is no group.
    able = min(int((left >= k).sum()), len(counts) - 2, most_kept)
    if able < 1:
        return []
    return sorted({round(float(size)) for size in np.geomspace(able, 1, most)}, reverse=True)


def _merged(
    texts: list[str], counts: Integers, size: int, other: str, first: Prefix | None = None
) -> MergeRare:
    common = np.argsort(-counts, kind="stable")[:size]
    length, width = (None, None) if first is None else (first.length, first.width)
    return MergeRare(tuple(texts[i] for i in common), other, length, width)


def _prefixes(domain: Domain, counts: Integers, k: int) -> list[Prefix]:
    """Cut codes, known by their shape, where that keeps more than to merge the rare ones."""
    results = []
    texts = domain.texts()
    width, lengths = _lengths(texts, counts)
    n_before = len(texts)
    for length in lengths:
        prefix = Prefix(length, width=width)
        _, sums = _by_label(prefix, domain, counts)
        groups = _together(sums, k)
        helps = _bits(groups) > _bits(_merged_to(counts, k, len(groups)))
        if helps and 1 < len(sums) < n_before:
            results.append(prefix)
            n_before = len(sums)
    return results


def _lengths(texts: list[str], counts: Integers) -> tuple[int, list[int]]:
    """Return the usual length of codes, and the lengths at which they may be cut; none of words."""
    every = -(-len(texts) // _LOOKED_AT) or 1
    looked_at, records = texts[::every], counts[::every]

    def share(alike: Iterable[Any]) -> float:
        alike_records = records[[bool(item) for item in alike]]
        return int(alike_records.sum()) / int(records.sum())

    if not records.sum():
        return 0, []
    sizes = np.array([len(text) for text in looked_at])
    width = int(np.argmax(np.bincount(np.minimum(sizes, _LONGEST + 1), records)))
    for shape, lengths in _SHAPES:
        if share(map(shape.fullmatch, looked_at)) >= _ALIKE:
            return width, [length for length in lengths if length < width]
    coded = share(map(_CODE.fullmatch, looked_at))
    if min(share(sizes == width), coded) < _ALIKE:
        return width, []
    # Of lengths with the same beginnings the shortest says it all.
    different = [len({text[:length] for text in texts}) for length in range(width)]
    return width, [i for i in range(width - 1, 0, -1) if different[i] > different[i - 1]]


def _by_label(prefix: Prefix, domain: Domain, counts: Integers) -> tuple[list[str], Integers]:
    groups, labels = prefix.groups(domain)
    return labels or [], np.rint(np.bincount(groups, counts)).astype(np.int64)


def _together(sums: Integers, k: int) -> Integers:
    """Put groups below k together."""
    small = sums < k
    return np.append(sums[~small], sums[small].sum()) if small.any() else sums


def _merged_to(counts: Integers, k: int, n_groups: int) -> Integers:
    """Let the commonest values stay, the others together."""
    common = np.sort(counts[counts >= k])[::-1][: n_groups - 1]
    return np.append(common, counts.sum() - common.sum())


def _bits(sums: Integers) -> float:
    shares = sums[sums > 0] / max(int(sums.sum()), 1)
    return float(-(shares @ np.log2(shares)))


# More bins than this are hardly coarser than the values themselves. Chosen, as the numbers of
# quantiles: each is one step more that a search may take, halving what is told.
_MOST_BINS = 40
_QUANTILES = (16, 8, 4, 2)

# How a plan can be told to cut numbers; "auto" offers widths, quantiles and the least distance.
CUTS = ("auto", "width", "quantile", "sampled", "rank", "median", "centre")


def offer(
    domain: Domain,
    margin: Integers,
    *,
    k: int,
    share: int,
    recodings: Any,
    column: Name,
    bins: str = "auto",
    nested: bool = False,
) -> list[Recoding]:
    """List the recodings of a column, the finest first.

    Parameters
    ----------
    domain, margin
        The column's values and how often each occurs, missing last.
    share : int
        How many values the budget gives the column.
    recodings
        A hierarchy, a list of recodings, or None.
    bins : str
        How numbers are cut, one of `CUTS`.
    nested : bool
        Whether each must put together what the one before it does, and more.
    """
    if recodings is not None:
        return _named_recodings(domain, recodings, column)
    offered: list[Recoding] = [] if domain.collapsed else [Keep()]
    counts = margin[:-1]
    if domain.kind in NUMBERS and len(domain) > 1:
        offered += _bins(domain, counts, k, share, bins)
    elif domain.kind in DATES and len(domain) > 1:
        offered += [DatePart(part) for part in _parts(domain)]
    elif domain.kind == "text":
        offered += offer_texts(domain, counts, k, nested=nested)
    return [*offered, Star()]


def offers(
    tally: Tally, shares: Mapping[Name, int], mapping: Mapping[Any, Any], *, k: int, bins: str
) -> dict[Name, list[Recoding]]:
    """List the recodings of every column that the budget has a share for."""
    return {
        name: offer(
            tally.domains[name],
            tally.margin(name),
            k=k,
            share=share,
            recodings=mapping.get(name),
            column=name,
            bins=bins,
        )
        for name, share in shares.items()
    }


def _named_recodings(domain: Domain, value: Any, column: Name) -> list[Recoding]:
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Recoding):
        wrong = [r for r in value if not isinstance(r, Recoding)]
        unfit = [r for r in value if r.takes is not None and domain.kind not in r.takes]
        if wrong or unfit:
            raise ArgumentError(
                f"an offered recoding does not fit column {column!r}, which holds {domain.kind}"
            )
        return list(value)
    hierarchy = Hierarchy.of(value)
    if domain.kind not in (Level.takes or ()):
        raise HierarchyError(
            f"column {column!r} holds {domain.kind}; a hierarchy is over text, whole numbers, "
            "dates or booleans"
        )
    lost = sum(text not in hierarchy.leaves for text in domain.texts())
    if lost:
        raise HierarchyError(f"the hierarchy lacks {lost} of the values of column {column!r}")
    return [Level.of(hierarchy, level) for level in range(hierarchy.height + 1)]


def _parts(domain: Domain) -> tuple[str, ...]:
    """List the periods that are coarser than the values: days are, where a day has several."""
    several = len(np.unique(domain.positions())) < len(domain)
    finest = "month" if domain.collapsed else "day" if several else "week"
    return PARTS[PARTS.index(finest) :]


def _bins(domain: Domain, counts: Integers, k: int, share: int, how: str) -> list[Recoding]:
    whole = domain.kind == "whole"
    every, of_every = domain.values.astype(np.float64), counts
    values, counts = without_tails(every, of_every, k)
    if len(values) < 2:
        return []
    results: list[Bins] = []
    if how in ("auto", "width"):
        made = (
            width_bins(values, counts, width, k, whole=whole)
            for width in widths(values, whole=whole, most=_MOST_BINS)
        )
        results += [bins for bins in made if bins is not None]
    few = {n for n in (*_QUANTILES, share) if 2 <= n <= _MOST_BINS and n < len(values)}
    sizes = sorted(few, reverse=True)
    if how in ("auto", "quantile"):
        results += [quantile_bins(values, counts, n, whole=whole) for n in sizes]
    if how == "sampled":
        results += [sampled_bins(values, counts, n, whole=whole) for n in sizes]
    if how in ("rank", "median", "centre"):
        results += [optimal_bins(values, counts, n, whole=whole, cost=how) for n in sizes]
    if how == "auto" and 2 <= share <= _MOST_BINS:
        wanted = optimal_bins(values, counts, share, whole=whole).edges
        results.append(bins_at(wanted, values[0], values[-1], whole=whole))
    if domain.collapsed:
        # The last value stands for the last bin and is not its lower edge.
        inner = with_records(every[1:-1] if len(every) > 2 else every[1:], every, of_every, k)
        return [_snapped(bins, np.array(inner)) for bins in results] if inner else []
    return [moved for bins in results if (moved := apart(bins, every)) is not None]


def _snapped(bins: Bins, inner: Floats) -> Bins:
    """Move edges to where values were put together: no such bin may be cut."""
    nearest = np.abs(inner[:, None] - np.asarray(bins.edges)).argmin(axis=0)
    return Bins(tuple(sorted({float(x) for x in inner[nearest]})), whole=bins.whole)


# How many people a value must have to stay, in units of the smallest number: round numbers, so that
# none of them is the count of a value.
_STEPS = tuple(step * 10**power for power in range(8) for step in (1, 2, 5))
# So few that a person can choose among them.
_MOST_RULES = 5


def people_by_label(tally: Tally, name: Name, first: Prefix | None) -> dict[str, int]:
    """Count who has each value of a column of texts, or each beginning."""
    domain = tally.domains[name]
    texts = domain.texts() if first is None else [first.label(text) for text in domain.texts()]
    labels, groups = np.unique(np.array(texts, dtype=object), return_inverse=True)
    known = tally.codes[name] < len(domain)
    held = groups[tally.codes[name][known]]
    if isinstance(tally, PersonTally):
        units, n_units = tally.codes[tally.unit][known], len(tally.domains[tally.unit]) + 1
        held, _ = distinct_pairs(held, len(labels), units, n_units)
        counts = np.bincount(held, minlength=len(labels))
    else:
        counts = np.rint(np.bincount(held, tally.counts[known], len(labels))).astype(np.int64)
    return dict(zip(labels.tolist(), counts.tolist(), strict=True))


def with_rules(
    offered: Mapping[Name, Sequence[Recoding]], tally: Tally, k: int
) -> tuple[dict[Name, list[Recoding]], dict[tuple[Name, MergeRare], KeepCommon]]:
    """Offer rules in place of recodings that list values; give also the rule of each recoding."""
    rules: dict[tuple[Name, MergeRare], KeepCommon] = {}
    result: dict[Name, list[Recoding]] = {}
    for name, recodings in offered.items():
        merges = [item for item in recodings if isinstance(item, MergeRare)]
        result[name] = [item for item in recodings if item not in merges]
        for merge in {item.beginning: item for item in merges}.values():
            people = people_by_label(tally, name, merge.beginning)
            made = [
                (rule, rule.resolve(people))
                for rule in (
                    KeepCommon(k * step, merge.other, merge.prefix, merge.width) for step in _STEPS
                )
            ]
            useful = [
                (rule, kept)
                for rule, kept in made
                if kept.kept and sum(people.values()) - sum(people[x] for x in kept.kept) >= k
            ]
            different = list({kept: (rule, kept) for rule, kept in reversed(useful)}.values())
            for rule, kept in different[-_MOST_RULES:]:
                rules[name, kept] = rule
                result[name].append(kept)
    return result, rules


def resolved(
    recodings: Mapping[Name, Recoding], unit: Name | None, frame: Any
) -> dict[Name, Recoding]:
    """Put the values that stay in place of rules, by who has them in a table."""
    engine = engine_for(frame)
    beside = () if unit is None else (unit,)
    columns = engine.schema(frame).columns
    require(recodings, "the plan's column", columns)
    require(beside, "unit", columns)
    result = dict(recodings)
    for name, rule in recodings.items():
        if isinstance(rule, KeepCommon):
            tally = engine.tally(frame, ClassesWithValues((name, *beside)))
            if not tally.n_records:
                raise EmptyTableError(
                    f"the table is empty: no value of column {name!r} would stay, in any month; "
                    "resolve the plan with the table of the first one"
                )
            if unit is not None:
                tally = PersonTally.of(tally, unit)
            result[name] = rule.resolve(people_by_label(tally, name, rule.beginning))
    return result
