"""A suite or a checkpoint run as a gate, in one call."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from great_expectations import Checkpoint, ExpectationSuite, get_context
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

from anonrisk.core.documents import Reader
from anonrisk.core.render import kind_name, shown
from anonrisk.engines import engine_for
from anonrisk.errors import AnonRiskError, ArgumentError, ReleaseBlocked, raise_alone
from anonrisk.gx import gate
from anonrisk.gx.expectations import ExpectColumnsToBePublishable
from anonrisk.policy import Policy, Verdict, release_rules
from anonrisk.policy.finding import unknown
from anonrisk.policy.measure import published_by

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from anonrisk.policy.finding import Finding

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
            gate.check_known([item["type"]])
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
    gate.check_level(block_on)
    if required is not None:
        try:
            gate.check_required(required)
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
                needed = {checkpoint_or_suite.name: gate.required_of(checkpoint_or_suite)}
            if isinstance(batch, (Batch, BatchDefinition)):
                _refuse_several(batch)
            about: list[str] = []
            result = _validated(checkpoint_or_suite, batch, fields, result_format)
            results = [result]
        elif isinstance(checkpoint_or_suite, Checkpoint):
            definitions = checkpoint_or_suite.validation_definitions
            suites = [definition.suite for definition in definitions]
            needed = gate.suites_of(checkpoint_or_suite) if required is None else required
            parameters = batch if batch is None or isinstance(batch, dict) else {"dataframe": batch}
            result = checkpoint_or_suite.run(parameters, fields)
            results = list(result.run_results.values())
            about = [*gate.several_batches(definitions, results)]
        else:
            raise ArgumentError(
                f"run_gate takes a checkpoint or a suite, not {kind_name(checkpoint_or_suite)}"
            )
        pinned = {} if policy_digest is None else {suite.name: policy_digest for suite in suites}
        about += gate.suites_in_order(suites, pinned, unlisted=unlisted)
        direct = _declared_direct(batch, suites)
        gate.judge(results, suites, needed, block_on, about=about, more=direct)
    return result


def _refuse_several(batch: Any) -> None:
    """Stop before a batch is read that is not all there is."""
    for reason in gate.of_batches(batch):
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
