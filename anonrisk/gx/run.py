"""The gate: a suite or a checkpoint stops nobody by itself; here it does, in one call.

Great Expectations drops expectations whose classes are not registered, passes an empty suite, and
returns where one would want it to raise. An unknown *action*, however, stops a checkpoint from
loading. So the checkpoint carries an action that knows what there must be.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from great_expectations import Checkpoint, ExpectationSuite, get_context
from great_expectations.checkpoint.actions import ValidationAction
from great_expectations.compatibility import pydantic
from great_expectations.core.batch_definition import BatchDefinition
from great_expectations.data_context.data_context.context_factory import project_manager
from great_expectations.datasource.fluent.interfaces import Batch
from great_expectations.exceptions.exceptions import (
    DataContextError,
    GreatExpectationsError,
    SuiteParameterError,
)
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.registry import get_expectation_impl

from anonrisk.core.documents import Reader
from anonrisk.core.render import count_of, kind_name, shown
from anonrisk.engines import engine_for
from anonrisk.errors import AnonRiskError, ArgumentError, ReleaseBlocked, raise_alone
from anonrisk.gx.base import OURS as META
from anonrisk.gx.expectations import EXPECTATIONS, ExpectColumnsToBePublishable
from anonrisk.gx.suite import changed, policy_of
from anonrisk.gx.verdict import fail_on, findings_of, together, verdict_of
from anonrisk.policy import Policy, Verdict, release_rules
from anonrisk.policy.finding import LIMITS, unknown
from anonrisk.policy.measure import published_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from great_expectations.checkpoint.actions import ActionContext
    from great_expectations.checkpoint.checkpoint import CheckpointResult

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


_NAME = "anonrisk_gate"


def load_suite(source: str | Path | Mapping[str, Any]) -> ExpectationSuite:
    """Read a suite from JSON, and refuse to lose any of it.

    Great Expectations itself leaves out expectations that it does not know.

    Parameters
    ----------
    source : path or mapping
        A file as in ``expectations/`` or in a project's own store, or what it holds.

    Returns
    -------
    ExpectationSuite

    See Also
    --------
    anonrisk.gx.suite_to_json : writes it
    anonrisk.gx.run_gate : runs it

    Examples
    --------
    >>> from anonrisk.gx import load_suite
    >>> suite = load_suite({"name": "release", "expectations": [
    ...     {"type": "expect_k_anonymity_to_be_at_least", "kwargs": {"qids": ["zip"], "k": 5}}]})
    >>> suite.expectations[0].k
    5
    """
    if isinstance(source, (str, Path)):
        source = _read(source)
    if not isinstance(source, dict) or not isinstance(source.get("expectations"), list):
        raise ArgumentError("a suite is a mapping with a name and a list of expectations")
    stored = source["expectations"]
    expectations = []
    for i, item in enumerate(stored):
        if not isinstance(item, dict) or not isinstance(item.get("type"), str):
            raise ArgumentError(f"expectation {i} of the suite has no type")
        try:
            check_known([item["type"]])
        except ValueError as error:
            raise ArgumentError(f"the suite cannot be loaded whole: {error}") from None
        expectations.append(_expectation(item, i))
    return ExpectationSuite(
        name=str(source.get("name") or _NAME),
        expectations=expectations,
        meta=source.get("meta"),
        notes=source.get("notes"),
    )


def _read(path: str | Path) -> Any:
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ArgumentError(f"cannot read the suite {str(path)!r}: {error.strerror}") from None
    except ValueError:
        raise ArgumentError(f"the suite {str(path)!r} is not JSON in UTF-8") from None
    return Reader(f"suite {str(path)!r}", ArgumentError).json(text)


def _expectation(stored: dict[str, Any], i: int) -> Any:
    """Make an expectation, or say which of its fields cannot be taken."""
    try:
        return ExpectationConfiguration(**stored).to_domain_obj()
    except pydantic.ValidationError as error:
        why = "; ".join(_said(item) for item in error.errors())
    except (TypeError, ValueError, AttributeError, GreatExpectationsError) as error:
        why = f"its parts are not those of an expectation ({type(error).__name__})"
    raise ArgumentError(f"expectation {i} of the suite ({stored['type']}): {why}")


def _said(error: Any) -> str:
    """Return what is wrong with a field; pydantic's own words hold no value."""
    where = ".".join(str(part) for part in error["loc"] if part != "__root__")
    return shown(f"{where}: {error['msg']}" if where else error["msg"])


def run_gate(
    checkpoint_or_suite: Any,
    batch: Any = None,
    *,
    expectation_parameters: Mapping[str, Any] | None = None,
    required: Mapping[str, Mapping[str, int]] | None = None,
    policy_digest: str | None = None,
    unlisted: str | None = None,
    block_on: str = "critical",
    result_format: str = "SUMMARY",
) -> Any:
    """Validate a batch, and raise `ReleaseBlocked` unless all of it passed.

    Parameters
    ----------
    checkpoint_or_suite : Checkpoint, ExpectationSuite, or path of a suite's JSON
        What to run.
    batch : DataFrame, Batch, BatchDefinition or dict
        What to validate. With a suite: a pandas or Spark table, or a batch or batch definition of
        Great Expectations. With a checkpoint: the parameters of the batch, as
        ``{"dataframe": df}``, or the table itself; left out where it knows its data by itself.
    expectation_parameters : dict, optional
        The values of suite parameters.
    required : dict, optional
        For each suite by name, how many results of each type there must be; left out, all that the
        suites hold now. Give it where a suite is stored: it may have been saved by somebody who
        did not import `anonrisk.gx`, and thereby lost its expectations.
    policy_digest : str, optional
        The digest of the policy that the suite must have been made from (`Policy.digest`). A suite
        that holds its policy is compared with it in any case.
    unlisted : "ignore", optional
        Run a suite that was made by hand without `ExpectColumnsToBePublishable`, so that nobody
        looks at columns that no expectation names.
    block_on : {"critical", "warning", "info"}
        The least severity of an expectation whose failure blocks. Whatever its severity, one that
        was not evaluated or could not be assessed blocks.
    result_format : str
        As in Great Expectations; for suites.

    Returns
    -------
    CheckpointResult or ExpectationSuiteValidationResult
        What Great Expectations says, if everything passed; its meta holds our `Verdict`, as
        plain values under ``"anonrisk"``.

    Raises
    ------
    ReleaseBlocked
        If an expectation failed, could not be assessed or was not evaluated, or if the run itself
        broke down; if a batch definition stands for several batches, of which Great Expectations
        would validate the last alone; if a suite is not the one that its policy gives; also if a
        pandas or Spark table still has a column that it declares to be a direct identifier
        (`anonrisk.declare`), or may have it under another name. Its `verdict` says all of it.

    See Also
    --------
    anonrisk.gx.to_suite : makes a suite of a policy
    anonrisk.gx.AnonriskGateAction : the same in a checkpoint of one's own
    anonrisk.Policy.check : without Great Expectations

    Examples
    --------
    >>> import anonrisk
    >>> import pandas as pd
    >>> from anonrisk import gx
    >>> suite = anonrisk.Policy(quasi="zip", k=2).to_suite()
    >>> gx.run_gate(suite, pd.DataFrame({"zip": ["1011", "1011"]})).success
    True
    >>> gx.run_gate(suite, pd.DataFrame({"zip": ["1011", "1012"]}))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    anonrisk.errors.ReleaseBlocked: this table must not be published:
    - expect_k_anonymity_to_be_at_least: ...
    """
    check_level(block_on)
    if required is not None:
        try:
            check_required(required)
        except ValueError as error:
            raise ArgumentError(f"required: {error}") from None
    if isinstance(checkpoint_or_suite, (str, Path)):
        checkpoint_or_suite = load_suite(checkpoint_or_suite)
    if unlisted not in (None, "ignore"):
        raise ArgumentError("unlisted is 'ignore', or left out")
    fields = dict(expectation_parameters or {})
    with _blocking():
        if isinstance(checkpoint_or_suite, ExpectationSuite):
            suites = [checkpoint_or_suite]
            needed = required
            if needed is None:
                needed = {checkpoint_or_suite.name: required_of(checkpoint_or_suite)}
            if isinstance(batch, (Batch, BatchDefinition)):
                _refuse_several(batch)
            about: list[str] = []
            result = _validated(checkpoint_or_suite, batch, fields, result_format)
            results = [result]
        elif isinstance(checkpoint_or_suite, Checkpoint):
            definitions = checkpoint_or_suite.validation_definitions
            suites = [definition.suite for definition in definitions]
            needed = suites_of(checkpoint_or_suite) if required is None else required
            parameters = batch if batch is None or isinstance(batch, dict) else {"dataframe": batch}
            result = checkpoint_or_suite.run(parameters, fields)
            results = list(result.run_results.values())
            about = [*several_batches(definitions, results)]
        else:
            raise ArgumentError(
                f"run_gate takes a checkpoint or a suite, not {kind_name(checkpoint_or_suite)}"
            )
        pinned = {} if policy_digest is None else {suite.name: policy_digest for suite in suites}
        about += suites_in_order(suites, pinned, unlisted=unlisted)
        direct = _declared_direct(batch, suites)
        judge(results, suites, needed, block_on, about=about, more=direct)
    return result


def _refuse_several(batch: Any) -> None:
    """Stop before a batch is read that is not all there is."""
    for reason in of_batches(batch):
        raise _blocked(reason)


def _declared_direct(batch: Any, suites: list[ExpectationSuite]) -> list[Finding]:
    """Look for what a table declares to be direct identifiers, where no expectation does."""
    table = batch.get("dataframe") if isinstance(batch, dict) else batch
    every = [expectation for suite in suites for expectation in suite.expectations]
    if table is None or isinstance(table, (Batch, BatchDefinition)):
        return []
    if any(isinstance(item, ExpectColumnsToBePublishable) for item in every):
        return []
    # A column that the suite speaks of is no direct identifier that nobody has seen.
    known = list(dict.fromkeys(name for item in every for name in _names(item)))
    policy = Policy(insensitive=known, unlisted="ignore", k=1)
    result = release_rules.of_columns(policy, published_by(table))
    return [finding for finding in result if not finding.passed]


def _names(expectation: Any) -> Iterator[str]:
    """List the columns that an expectation names, in whatever role."""
    for field in ("qids", "sensitive", "unit", "classified", "columns", "declared"):
        value = getattr(expectation, field, None)
        yield from [value] if isinstance(value, str) else value if isinstance(value, list) else []


@contextmanager
def _blocking() -> Iterator[None]:
    """Block the release on whatever goes wrong; errors of others may quote a cell."""
    try:
        yield
    except AnonRiskError as error:
        if isinstance(error, ReleaseBlocked) and error.verdict is None:
            error.verdict = Verdict((unknown("table", str(error)),), None)
        raise_alone(error)
    except SuiteParameterError as error:
        raise _blocked(f"a suite parameter is missing or wrong: {error}") from None
    except pydantic.ValidationError as error:
        # The suite itself was valid: a value that was filled in is not.
        why = "; ".join(_said(item) for item in error.errors())
        raise _blocked(f"a suite parameter is missing or wrong: {why}") from None
    except Exception as error:  # noqa: BLE001
        raise_alone(
            _blocked(
                f"the validation broke down ({type(error).__name__}); its message is withheld "
                "because it may quote a cell"
            )
        )


def _blocked(message: str) -> ReleaseBlocked:
    return ReleaseBlocked(message, Verdict((unknown("table", message),), None))


def _validated(suite: ExpectationSuite, batch: Any, parameters: Any, result_format: Any) -> Any:
    if isinstance(batch, BatchDefinition):
        batch = batch.get_batch()
    if isinstance(batch, Batch):
        return batch.validate(suite, result_format=result_format, expectation_parameters=parameters)
    engine = engine_for(batch).name
    if engine not in ("pandas", "spark"):
        raise _blocked(
            "Great Expectations takes tables of pandas and Spark: convert this one, or give it to "
            "Policy.check, which takes it as it is"
        )
    with _own_context() as context:
        if engine == "pandas":
            source = context.data_sources.add_pandas(_NAME)
        else:
            # Great Expectations would else keep the table in memory, for good.
            source = context.data_sources.add_spark(_NAME, persist=False)
        asset = source.add_dataframe_asset(_NAME)
        definition = asset.add_batch_definition_whole_dataframe(_NAME)
        made = definition.get_batch({"dataframe": batch})
        return made.validate(suite, result_format=result_format, expectation_parameters=parameters)


@contextmanager
def _own_context() -> Iterator[Any]:
    """Work in a context of our own, and give the caller theirs back."""
    try:
        before = project_manager.get_current_project()
    except DataContextError:
        before = None
    try:
        yield get_context(mode="ephemeral")
    finally:
        project_manager.set_project(before)
