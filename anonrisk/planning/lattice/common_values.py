"""Which values many people have: rules that name none of them, and what they come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.columns import require
from anonrisk.engines import engine_for
from anonrisk.engines.numpy.count import distinct_pairs
from anonrisk.errors import EmptyTableError
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.recode import KeepCommon, MergeRare
from anonrisk.planning.regions.persons import PersonTally

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.measures.recode import Prefix, Recoding

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
