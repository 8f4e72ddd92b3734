"""Stored plans and policies, as commands read them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.cli.deliver import print_error
from anonrisk.core.render import shown
from anonrisk.errors import ArgumentError, PlanError
from anonrisk.measures.recode import Bins, DatePart, Level
from anonrisk.measures.recode.regions import DateRanges, NumberRanges, Parts
from anonrisk.planning.plan import Plan
from anonrisk.policy import Policy, judge

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from anonrisk.measures.recode import Recoding


_ENDINGS = (".json", ".yaml", ".yml")


def read_plan(name: str, hierarchies: Mapping[Any, Any], *, edited: bool = False) -> Plan:
    """Read a plan and its hierarchies; what is wrong with them is wrong usage."""
    path = Path(name)
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ArgumentError(
            f"cannot read the plan {name!r}: {error.strerror}; make one with: anonrisk plan TABLE "
            f"--policy FILE -o {shlex.quote(name)}"
        ) from None
    except UnicodeDecodeError:
        raise ArgumentError(f"the plan {name!r} is not text in UTF-8") from None
    reads = Plan.from_yaml if path.suffix in _ENDINGS[1:] else Plan.from_json
    try:
        plan = reads(text, hierarchies, edited=edited)
    except PlanError as error:
        first = "" if path.suffix in _ENDINGS else "; put the plan first: anonrisk apply PLAN TABLE"
        if str(error) == "this is not a stored plan":
            first = ": anonrisk plan TABLE --policy FILE -o plan.json writes one"
        raise ArgumentError(f"{name!r}: {error}{first}") from None
    return plan


def require_hierarchies(plan: Plan) -> None:
    """Reject a plan whose hierarchies were not given again."""
    bare = _having(plan, lambda step: isinstance(step, Level) and step.hierarchy is None)
    if bare:
        listed = " ".join(f"{shown(column)}=FILE" for column in bare)
        raise ArgumentError(f"the plan has levels of hierarchies: say --hierarchies {listed}")


def scales_of(plan: Plan) -> tuple[list[Any], list[Any]]:
    """List the columns that are numbers to a plan, and those that are dates."""
    dates = _having(plan, lambda step: isinstance(step, (DatePart, DateRanges)))
    numbers = _having(plan, lambda step: isinstance(step, (Bins, NumberRanges)))
    return [name for name in numbers if name not in dates], dates


def _having(plan: Plan, fits: Callable[[Recoding], bool]) -> list[Any]:
    """List the columns with a recoding, or a step of one by region, that fits."""
    steps = {
        name: recoding.levels if isinstance(recoding, Parts) else (recoding,)
        for name, recoding in plan.recodings.items()
    }
    return [name for name, taken in steps.items() if any(map(fits, taken))]


def load_policy(path: str) -> Policy:
    """Read a policy, and say what no table can break in it."""
    policy = Policy.load(path)
    for finding in judge.unbroken_limits(policy):
        print_error(finding.sentence)
    return policy
