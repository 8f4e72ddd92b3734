"""The gate: a checkpoint does not stop anybody by itself, and loses what it does not know.

Great Expectations drops expectations whose classes are not registered, passes an empty suite, and
returns where one would want it to raise. An unknown *action*, however, stops a checkpoint from
loading. So the checkpoint carries an action that knows how many results there must be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from great_expectations.checkpoint.actions import ValidationAction
from great_expectations.compatibility import pydantic
from great_expectations.expectations.registry import get_expectation_impl

from anonrisk.errors import ReleaseBlocked
from anonrisk.gx.expectations import EXPECTATIONS
from anonrisk.render import count_of, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from great_expectations import ExpectationSuite
    from great_expectations.checkpoint.actions import ActionContext
    from great_expectations.checkpoint.checkpoint import CheckpointResult

OURS = {one.expectation_type: one for one in EXPECTATIONS}
_LEVELS = ("info", "warning", "critical")


class AnonriskGateAction(ValidationAction):
    """Raise `ReleaseBlocked` unless every required expectation was evaluated and passed.

    Put it last among a checkpoint's actions: those after it do not run if it raises.

    Attributes
    ----------
    required : dict
        For each suite by name, how many results of each type of expectation there must be; see
        `requiring`.
    block_on : {"critical", "warning", "info"}
        The least severity of an expectation whose failure blocks. Whatever its severity, one that
        was not evaluated or could not be assessed blocks.
    """

    type: Literal["anonrisk_gate"] = "anonrisk_gate"
    name: str = "anonrisk_gate"
    required: dict[str, dict[str, pydantic.StrictInt]]
    block_on: Literal["critical", "warning", "info"] = "critical"

    @pydantic.validator("required")
    def _requires_something(cls, given: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:  # noqa: N805
        check_required(given)
        return given

    @classmethod
    def requiring(
        cls,
        *suites: ExpectationSuite,
        block_on: Literal["critical", "warning", "info"] = "critical",
    ) -> AnonriskGateAction:
        """Make the action that requires all that these suites hold now."""
        return cls(required={suite.name: required_of(suite) for suite in suites}, block_on=block_on)

    def run(
        self,
        checkpoint_result: CheckpointResult,
        action_context: ActionContext | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Raise, or say how many expectations were evaluated."""
        results = list(checkpoint_result.run_results.values())
        whole(checkpoint_result.checkpoint_config.validation_definitions, results)
        check(results, self.required, self.block_on)
        return {"evaluated": sum(len(result.results) for result in results)}


def check_required(required: Any) -> None:
    """Refuse a requirement that nothing, or nothing of anonrisk, would satisfy."""
    if not isinstance(required, Mapping) or not required:
        raise ValueError("a gate that requires no expectation would pass an empty suite")
    for suite, counts in required.items():
        if not isinstance(counts, Mapping) or not counts:
            raise ValueError(f"suite {suite!r} requires nothing")
        check_known(counts)
        for name, count in counts.items():
            if not isinstance(count, int) or isinstance(count, bool) or count < 1:
                raise ValueError(f"suite {suite!r} requires {name} less than once")
    if not any(counts.keys() & OURS.keys() for counts in required.values()):
        raise ValueError("a gate that requires no expectation of anonrisk would check nothing")


def check_known(counts: Iterable[str]) -> None:
    """Refuse a required type that is not registered: it could never be evaluated."""
    from great_expectations.exceptions.exceptions import ExpectationNotFoundError

    for name in counts:
        try:
            get_expectation_impl(name)
        except ExpectationNotFoundError:
            raise ValueError(f"no expectation {name!r} is registered") from None


def required_of(suite: ExpectationSuite) -> dict[str, int]:
    """Count the expectations of a suite by type; refuse a suite without one of ours."""
    counts = dict(Counter(one.expectation_type for one in suite.expectations))
    if not counts.keys() & OURS.keys():
        raise ReleaseBlocked(f"suite {suite.name!r} holds no expectation of anonrisk")
    return counts


def check(results: Iterable[Any], required: Mapping[str, Mapping[str, int]], block_on: str) -> None:
    """Raise `ReleaseBlocked` unless all that is required was evaluated, and all passed."""
    found = list(results)
    reasons = [*_replaced()]
    for suite in required:
        runs = [result for result in found if result.suite_name == suite]
        if not runs:
            reasons.append(f"suite {suite!r} was not run")
        for run in runs:
            reasons += _not_evaluated(suite, run, required[suite])
    for result in found:
        if not result.results:
            reasons.append(f"suite {result.suite_name!r} evaluated nothing")
        reasons += _not_passed(result, block_on)
    if not found:
        reasons.append("nothing was validated")
    if reasons:
        listed = "\n".join(f"- {shown(reason)}" for reason in reasons)
        raise ReleaseBlocked(f"this table must not be published:\n{listed}")


def whole(definitions: Iterable[Any], results: Iterable[Any]) -> None:
    """Block where Great Expectations has validated the last of several batches alone."""
    asked = {result.suite_name: (result.meta or {}).get("batch_parameters") for result in results}
    for one in definitions:
        check_batches(one.data, asked.get(one.suite.name))


def check_batches(definition: Any, parameters: Any = None) -> None:
    """Refuse a batch definition that stands for several batches: only the last is validated."""
    if definition.partitioner is None:
        return
    n = len(definition.get_batch_identifiers_list(parameters))
    if n != 1:
        raise ReleaseBlocked(
            f"batch definition {definition.name!r} stands for {count_of(n, 'batch', 'batches')}, "
            "of which the last alone would be validated: name one by its batch parameters, or "
            "validate the whole table"
        )


def _replaced() -> Iterator[str]:
    """Find our expectations whose names another class has taken: that one would be run."""
    for name, ours in OURS.items():
        registered = get_expectation_impl(name)
        if registered is not ours:
            yield f"{name} is registered by {registered.__module__}, not by anonrisk"


def _not_evaluated(suite: str, run: Any, required: Mapping[str, int]) -> Iterator[str]:
    seen = Counter(one.expectation_config.type for one in run.results if one.expectation_config)
    for name, count in required.items():
        if seen[name] < count:
            yield f"{name} was evaluated {seen[name]} of {count} times in suite {suite!r}"


def _not_passed(run: Any, block_on: str) -> Iterator[str]:
    blocking = _LEVELS[_LEVELS.index(block_on) :]
    for one in run.results:
        config = one.expectation_config
        message = _problem(one.exception_info or {})
        if one.success is True and message is None:
            continue
        severity = "critical" if config is None else str(getattr(config, "severity", "critical"))
        level = severity.rpartition(".")[2].casefold()
        # Nobody knows how bad it is where nothing was measured.
        if message is not None or level not in _LEVELS or level in blocking:
            yield _told(one, message)


def _problem(info: Mapping[str, Any]) -> str | None:
    """Find what was raised: the information is flat, or has an entry for each metric."""
    entries = [info] if "raised_exception" in info else list(info.values())
    for entry in entries:
        if entry.get("raised_exception", True):
            return str(entry.get("exception_message") or "something was raised")
    return None


def _told(one: Any, message: str | None) -> str:
    """Say what one result says; of expectations that are not ours, only that they failed."""
    name = "an expectation" if one.expectation_config is None else one.expectation_config.type
    if name not in OURS:
        return f"{name} {'failed' if message is None else 'could not be evaluated'}"
    sentence = message or ((one.result or {}).get("details") or {}).get("sentence")
    return f"{name}: {sentence or 'failed'}"


def suites_of(checkpoint: Any) -> dict[str, dict[str, int]]:
    """Say what a checkpoint's suites hold, for want of a stated requirement."""
    suites = {one.suite.name: one.suite for one in checkpoint.validation_definitions}
    found = {
        name: dict(Counter(one.expectation_type for one in suite.expectations))
        for name, suite in suites.items()
    }
    if not any(counts.keys() & OURS.keys() for counts in found.values()):
        names = count_of(len(found), "suite")
        raise ReleaseBlocked(
            f"{names} without an expectation of anonrisk: nothing would be checked"
        )
    return {name: counts for name, counts in found.items() if counts}


def check_level(block_on: str) -> None:
    """Refuse a severity that does not exist."""
    from anonrisk.arguments import one_of

    one_of(block_on, "block_on", _LEVELS)
