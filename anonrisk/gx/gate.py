"""The gate: a checkpoint does not stop anybody by itself, and loses what it does not know.

Great Expectations drops expectations whose classes are not registered, passes an empty suite, and
returns where one would want it to raise. An unknown *action*, however, stops a checkpoint from
loading. So the checkpoint carries an action that knows what there must be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from great_expectations.checkpoint.actions import ValidationAction
from great_expectations.compatibility import pydantic
from great_expectations.datasource.fluent.interfaces import Batch
from great_expectations.expectations.registry import get_expectation_impl

from anonrisk.core.render import count_of, shown
from anonrisk.errors import ReleaseBlocked
from anonrisk.gx.base import OURS as META
from anonrisk.gx.expectations import EXPECTATIONS, ExpectColumnsToBePublishable
from anonrisk.gx.suite import changed, policy_of
from anonrisk.gx.verdict import fail_on, findings_of, together, verdict_of
from anonrisk.policy.finding import LIMITS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from great_expectations import ExpectationSuite
    from great_expectations.checkpoint.actions import ActionContext
    from great_expectations.checkpoint.checkpoint import CheckpointResult

    from anonrisk.policy import Verdict
    from anonrisk.policy.finding import Finding

OURS = {expectation.expectation_type: expectation for expectation in EXPECTATIONS}
LEVELS = ("info", "warning", "critical")


class AnonriskGateAction(ValidationAction):
    """Raise `ReleaseBlocked` unless every required expectation was evaluated and passed.

    Put it last among a checkpoint's actions: those after it do not run if it raises.

    Attributes
    ----------
    required : dict
        For each suite by name, how many results of each type of expectation there must be; see
        `requiring`.
    policy_digests : dict
        For each suite by name, the digest of the policy that it must have been made from. A suite
        that was made from another one, was changed since, or does not say, blocks.
    unlisted : "ignore" or None
        Whether a suite that was made by hand may do without `ExpectColumnsToBePublishable`, so that
        nobody looks at columns that no expectation names.
    block_on : {"critical", "warning", "info"}
        The least severity of an expectation whose failure blocks. Whatever its severity, one that
        was not evaluated or could not be assessed blocks.
    """

    type: Literal["anonrisk_gate"] = "anonrisk_gate"
    name: str = "anonrisk_gate"
    required: dict[str, dict[str, pydantic.StrictInt]]
    policy_digests: dict[str, str] = pydantic.Field(default_factory=dict)
    unlisted: Literal["ignore"] | None = None
    block_on: Literal["critical", "warning", "info"] = "critical"

    @pydantic.validator("required")
    def _requires_something(cls, value: dict[str, dict[str, int]]) -> dict[str, dict[str, int]]:  # noqa: N805
        check_required(value)
        return value

    @classmethod
    def requiring(
        cls,
        *suites: ExpectationSuite,
        unlisted: Literal["ignore"] | None = None,
        block_on: Literal["critical", "warning", "info"] = "critical",
    ) -> AnonriskGateAction:
        """Make the action that requires all that these suites hold now, and pins their policies."""
        policies = {suite.name: policy_of(suite) for suite in suites}
        return cls(
            required={suite.name: required_of(suite) for suite in suites},
            policy_digests={name: p.digest for name, p in policies.items() if p is not None},
            unlisted=unlisted,
            block_on=block_on,
        )

    def run(
        self,
        checkpoint_result: CheckpointResult,
        action_context: ActionContext | None = None,  # noqa: ARG002
    ) -> dict[str, Any]:
        """Raise, or say how many expectations were evaluated."""
        results = list(checkpoint_result.run_results.values())
        definitions = checkpoint_result.checkpoint_config.validation_definitions
        about = [*several_batches(definitions, results)]
        suites = [definition.suite for definition in definitions]
        about += suites_in_order(suites, self.policy_digests, unlisted=self.unlisted)
        judge(results, suites, self.required, self.block_on, about=about)
        return {"evaluated": sum(len(result.results) for result in results)}


def check_required(required: Any) -> None:
    """Reject a requirement that nothing, or nothing of anonrisk, would satisfy."""
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
    """Reject a required type that is not registered: it could never be evaluated."""
    from great_expectations.exceptions.exceptions import ExpectationNotFoundError

    for name in counts:
        try:
            get_expectation_impl(name)
        except ExpectationNotFoundError:
            raise ValueError(f"no expectation {name!r} is registered") from None


def required_of(suite: ExpectationSuite) -> dict[str, int]:
    """Count the expectations of a suite by type; refuse a suite without one of ours."""
    counts = dict(Counter(expectation.expectation_type for expectation in suite.expectations))
    if not counts.keys() & OURS.keys():
        raise ReleaseBlocked(f"suite {suite.name!r} holds no expectation of anonrisk")
    return counts


def suites_in_order(
    suites: Iterable[ExpectationSuite],
    digests: Mapping[str, str],
    *,
    unlisted: str | None,
) -> Iterator[str]:
    """Return what is wrong with the suites themselves: weakened, of another policy, or blind."""
    for suite in suites:
        try:
            policy = policy_of(suite)
        except (ValueError, TypeError, KeyError):
            yield f"the policy in the meta of suite {suite.name!r} cannot be read"
            continue
        pinned = digests.get(suite.name)
        if pinned is not None and (policy is None or policy.digest != pinned):
            yield f"suite {suite.name!r} was not made from the policy {pinned}"
        if policy is not None:
            if policy.digest != suite.meta[META].get("digest"):
                yield f"the policy in the meta of suite {suite.name!r} is not that of its digest"
            for name in dict.fromkeys(changed(suite, policy)):
                yield (
                    f"suite {suite.name!r} is not the one that its policy gives: {name} was "
                    "changed or left out"
                )
        elif any(expectation.expectation_type in OURS for expectation in suite.expectations):
            yield from _blind(suite, unlisted)


def _blind(suite: ExpectationSuite, unlisted: str | None) -> Iterator[str]:
    """Return where nobody looks at the columns that a suite made by hand does not name."""
    about = [
        expectation
        for expectation in suite.expectations
        if isinstance(expectation, ExpectColumnsToBePublishable)
    ]
    if not about and unlisted != "ignore":
        yield (
            f"suite {suite.name!r} does not look at columns that it does not name: add "
            "ExpectColumnsToBePublishable, make the suite from a policy, or say "
            "unlisted='ignore' to the gate"
        )
    # Only the expectation that lets them join knows which ones they are.
    joining = [
        getattr(expectation, "unlisted", None)
        for expectation in suite.expectations
        if hasattr(expectation, "qids")
    ]
    if any(expectation.unlisted == "quasi" for expectation in about) and set(joining) != {"quasi"}:
        yield (
            f"suite {suite.name!r} lets columns without a role join the quasi-identifier in one "
            "expectation and not in others: say unlisted='quasi' in all"
        )


def several_batches(definitions: Iterable[Any], results: Iterable[Any]) -> Iterator[str]:
    """Return where Great Expectations has validated the last of several batches alone."""
    asked = [(result.meta or {}).get("batch_parameters") for result in results]
    for definition in definitions:
        yield from of_batches(definition.data, asked[0] if asked else None)


def of_batches(data: Any, parameters: Any = None) -> Iterator[str]:
    """Count the batches that a definition, or a batch, stands for: only the last is validated."""
    about = "this batch" if isinstance(data, Batch) else f"batch definition {data.name!r}"
    try:
        n = _n_batches(data, parameters)
    except Exception as error:  # noqa: BLE001
        yield (
            f"the batches of {about} cannot be counted ({type(error).__name__}), and only the last "
            "of several would be validated"
        )
        return
    if n != 1 and isinstance(data, Batch):
        yield (
            f"this batch is one of {n:,}, and does not say whether it was chosen or is just the "
            "last: give a batch definition of one, a checkpoint with batch parameters, or the "
            "whole table"
        )
    elif n != 1:
        yield (
            f"{about} stands for {count_of(n, 'batch', 'batches')}, "
            "of which only the last would be validated: name one by its batch parameters, or "
            "validate the whole table"
        )


def _n_batches(data: Any, parameters: Any) -> int:
    asset = data.data_asset
    if asset.type == "dataframe":
        # A table in memory is one; which, a checkpoint has forgotten by the time it is counted.
        return 1
    if isinstance(data, Batch):
        # The request that a batch holds has been filled in, and names one in any case.
        request = asset.build_batch_request(partitioner=data.batch_request.partitioner)
        return len(asset.get_batch_identifiers_list(request))
    return len(data.get_batch_identifiers_list(parameters))


def judge(
    results: Iterable[Any],
    suites: Iterable[ExpectationSuite],
    required: Mapping[str, Mapping[str, int]],
    block_on: str,
    *,
    about: Iterable[str] = (),
    more: Iterable[Finding] = (),
) -> Verdict:
    """Raise `ReleaseBlocked` unless all that is required was evaluated, and all passed.

    The verdict of each result goes into its meta; that of all together is given.
    """
    outcome = list(results)
    reasons = [*_replaced(), *about]
    for suite in required:
        runs = [result for result in outcome if result.suite_name == suite]
        if not runs:
            reasons.append(f"suite {suite!r} was not run")
        for run in runs:
            reasons += _not_evaluated(suite, run, required[suite])
    reasons += [
        f"suite {result.suite_name!r} evaluated nothing" for result in outcome if not result.results
    ]
    if not outcome:
        reasons.append("nothing was validated")
    by_name = {suite.name: suite for suite in suites}
    added = list(more)
    verdicts = [
        verdict_of(result, by_name.get(result.suite_name), reasons, block_on) for result in outcome
    ]
    verdict = together(verdicts, reasons, added, block_on)
    if not verdict.passed:
        lines = [*reasons, *(f.sentence for f in added if not f.passed)]
        lines += [f.sentence for f in verdict.failures if f.budget == LIMITS]
        lines += [line for result in outcome for line in _not_passed(result, block_on)]
        lines = lines or [finding.sentence for finding in verdict.failures]
        listed = "\n".join(f"- {shown(line)}" for line in lines)
        raise ReleaseBlocked(f"this table must not be published:\n{listed}", verdict)
    return verdict


def _replaced() -> Iterator[str]:
    """Find our expectations whose names another class has taken: that one would be run."""
    for name, ours in OURS.items():
        registered = get_expectation_impl(name)
        if registered is not ours:
            yield f"{name} is registered by {registered.__module__}, not by anonrisk"


def _not_evaluated(suite: str, run: Any, required: Mapping[str, int]) -> Iterator[str]:
    seen = Counter(
        result.expectation_config.type for result in run.results if result.expectation_config
    )
    for name, count in required.items():
        if seen[name] < count:
            yield f"{name} was evaluated {seen[name]} of {count} times in suite {suite!r}"


def _not_passed(run: Any, block_on: str) -> Iterator[str]:
    """List the results of a run that block, in the words of their findings."""
    for result in run.results:
        # That no limit decides is a line of its own, of hand-made suites too.
        findings = (f for f in findings_of(result, block_on) if f.budget != LIMITS)
        bad = [f for f in findings if f.blocks(fail_on(block_on))]
        if bad:
            config = result.expectation_config
            name = "an expectation" if config is None else config.type
            yield f"{name}: {' '.join(finding.sentence for finding in bad)}"


def suites_of(checkpoint: Any) -> dict[str, dict[str, int]]:
    """Return what a checkpoint's suites hold, for want of a stated requirement."""
    suites = {
        definition.suite.name: definition.suite for definition in checkpoint.validation_definitions
    }
    results = {
        name: dict(Counter(expectation.expectation_type for expectation in suite.expectations))
        for name, suite in suites.items()
    }
    if not any(counts.keys() & OURS.keys() for counts in results.values()):
        names = count_of(len(results), "suite")
        raise ReleaseBlocked(
            f"{names} without an expectation of anonrisk: nothing would be checked"
        )
    return {name: counts for name, counts in results.items() if counts}


def check_level(block_on: str) -> None:
    """Reject a severity that does not exist."""
    from anonrisk.core.arguments import one_of

    one_of(block_on, "block_on", LEVELS)
