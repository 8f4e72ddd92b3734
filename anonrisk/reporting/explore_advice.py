"""What an explorer advises: a combination of its page, applied to the table, judged by the gate."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.interrupt import limited, time_is_up
from anonrisk.core.progress import tell
from anonrisk.planning.plan import Plan
from anonrisk.policy.check import check
from anonrisk.policy.coverage import ATTRIBUTE_NOT_JUDGED
from anonrisk.policy.finding import PASS
from anonrisk.policy.trial import (
    UNASKED_SECONDS,
    Gate,
    Trials,
    in_memory,
    outcome_sentence,
    rows_of,
    seconds_unasked,
    told_original,
)
from anonrisk.reporting.explored import NOT_TRIED, detail_of, policy_of
from anonrisk.reporting.explorer import plan_json
from anonrisk.reporting.summary import NEXT_UNSEEN, NOTHING_HELPS
from anonrisk.reporting.text import and_more, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Name
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.trial import PlanTrial
    from anonrisk.reporting.explored import ExploreRequest

_AS_IT_IS = "The policy passes for the table as it is."
_ROWS_ALONE = "Its rows pass the policy as they are."
# Combinations that are tried, ever coarser ones, until one passes; then those halfway to the last
# that did not.
_MOST_TRIED = 6
_MOST_NAMED = 12


def with_advice(
    held: dict[str, Any], asked: ExploreRequest, frame: Any, trees: Mapping[Name, Hierarchy]
) -> dict[str, Any]:
    """Add what to do next to a summary, for each k as long as there is time."""
    if not in_memory(frame):
        return held
    tell("trying what would help")
    with limited(UNASKED_SECONDS):
        advice = _advise(held, policy_of(asked), frame, trees)
        others = []
        for other in held["other_k"]:
            k = other["k"]
            below = held["counts"]["smaller"][held["sizes"].index(k)]
            view = {**held, "k": k, "counts": {**held["counts"], "below": below}}
            policy = policy_of(replace(asked, k=k))
            tried = NOT_TRIED if time_is_up() else _advise(view, policy, frame, trees)
            others.append({**other, "next": tried})
    return {**held, "next": advice, "other_k": others}


def with_storage(held: dict[str, Any], storage: Iterable[Finding]) -> dict[str, Any]:
    """Report of a table that passes as it is what its files hold besides, and fail with."""
    said = " ".join(finding.sentence for finding in storage if finding.blocks())

    def revised(view: dict[str, Any]) -> dict[str, Any]:
        advice = view["next"]
        if not said or advice["levels"] is not None or not advice["passes"]:
            return view
        text = advice["text"].replace(_AS_IT_IS, f"{said} {_ROWS_ALONE}")
        return {**view, "next": {**advice, "passes": False, "text": cut(text)}}

    return {**revised(held), "other_k": [revised(view) for view in held["other_k"]]}


def _advise(
    held: Mapping[str, Any], policy: Policy | None, frame: Any, trees: Mapping[Name, Hierarchy]
) -> dict[str, Any]:
    """Try what the page calls good, the gentlest first, until the policy passes for the result.

    The gate decides; numbers are those of the page, which are rounded.
    """
    if policy is None:
        return NOT_TRIED
    verdict = check(policy, frame)
    if verdict.status == PASS:
        unseen = [NEXT_UNSEEN] if held["not_looked_at"] else []
        return _passes(held, None, [_AS_IT_IS, *unseen])
    if seconds_unasked(verdict, frame) is None:
        return NOT_TRIED
    trials = Trials(Gate(policy, frame, None, None, check), verdict.failures, rows_of(verdict))
    shape = [len(column["levels"]) for column in held["columns"]]
    nodes = _ever_coarser(held)
    sentences: list[str] = []
    passing: tuple[list[int], PlanTrial] | None = None
    # Places among them: the last that did not pass, the first that did, and those to try before.
    failed, passed, steps = -1, len(nodes), _places(len(nodes))
    while passed - failed > 1 and not ((passing or sentences) and time_is_up()):
        place = steps.pop(0) if passing is None else (failed + passed) // 2
        levels = [int(level) for level in np.unravel_index(nodes[place], shape)]
        plan = plan_json(held, levels, held["max_suppressed"], parts="plan_without")
        trial = trials.of(partial(_resolved, plan, frame, trees))
        if trial.passed:
            passing, passed = (levels, trial), place
            continue
        failed = place
        # Why it could not be applied may hold counts that were not rounded.
        status = trial.status or "it could not be applied"
        sentences.append(outcome_sentence(trial.what, status, ""))
    if passing is not None:
        levels, trial = passing
        result = outcome_sentence(trial.what, PASS, _result(held, nodes[passed], policy, trial))
        return _passes(held, levels, [result + told_original(held["n_original"])])
    text = cut(" ".join([NOTHING_HELPS, *dict.fromkeys(sentences)]))
    return {"levels": None, "passes": False if sentences else None, "text": text}


def _passes(
    held: Mapping[str, Any], levels: list[int] | None, sentences: list[str]
) -> dict[str, Any]:
    """Return advice that passes, with what keeps the pass from being a plain one."""
    if open_ := held["attributes_not_judged"]:
        about = f"{ATTRIBUTE_NOT_JUDGED.capitalize()} for {and_more(open_, _MOST_NAMED)}"
        sentences = [*sentences, f"{about}: limit ldiv or tcloseness in the policy."]
    return {"levels": levels, "passes": True, "text": cut(" ".join(sentences))}


def _resolved(text: str, frame: Any, trees: Mapping[Name, Hierarchy]) -> Plan:
    return Plan.from_json(text, trees).resolve(frame)


def _places(number: int) -> list[int]:
    """List the first of so many, the last, and few between, ever farther from each other."""
    steps = np.geomspace(1, max(number, 1), _MOST_TRIED).round().astype(int) - 1
    return [int(place) for place in np.unique(steps)]


def _ever_coarser(held: Mapping[str, Any]) -> list[int]:
    """List combinations that the page calls good, by the detail they keep.

    Of people who may be left out, and of those who are, numbers are rounded as on the page.
    """
    below = np.array(held["counts"]["below"])
    least = held["people"] - held["floor"] + 1
    good = below <= np.floor(held["max_suppressed"] * least + 1e-9)
    for item in held["sensitive"]:
        if "l" in item["limits"]:
            good &= np.array(item["ldiv"]) >= item["limits"]["l"]
        if "t" in item["limits"]:
            close = np.array(item["tcloseness"], dtype=float)
            good &= ~(close > item["limits"]["t"] + 1e-9)
    order: Integers = np.lexsort((below, -detail_of(held["columns"]).round(9)))
    return [int(node) for node in order[good[order]]]


def _result(held: Mapping[str, Any], node: int, policy: Policy, trial: PlanTrial) -> str:
    """Return what a combination comes to, by the numbers of the page.

    Of other limits that were broken it is said that they are kept: their numbers are not rounded.
    """
    counts, k = held["counts"], held["k"]
    left_out, smallest = counts["below"][node], counts["smallest"]
    was = f"{smallest[0]:,}" if smallest[0] else f"fewer than {held['floor']:,}"
    then = f"{k:,} or more" if left_out or not smallest[node] else f"{smallest[node]:,}"
    # The page may have a k that is enough for other limits.
    asked = any(
        (budget.key, budget.limit, budget.severity) == ("k", k, "fail")
        for rule in policy.rules
        for budget in rule.budgets
    )
    parts = [f"k from {was} to {then}" + (f" (limit {k:,})" if asked else "")]
    for item in held["sensitive"]:
        for word, values in (("l", item["ldiv"]), ("t", item["tcloseness"])):
            if word in item["limits"]:
                limit = item["limits"][word]
                parts.append(f"{word} of {item['name']} {values[node]} (limit {limit})")
    kept = (
        f"{before.budget} within its limit ({before.numbers[1]})"
        for before, _ in trial.changes
        if before.budget != "k" and before.sensitive is None
    )
    parts += dict.fromkeys(kept)
    if left_out:
        parts.append(f"without up to {left_out:,} {held['who']}")
    return ", ".join(parts)
