"""A report about a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from anonrisk.api.classes import classes
from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.roles import roles
from anonrisk.api.sensitive import question_about
from anonrisk.core.arguments import list_of, text_or_none, whole_number
from anonrisk.core.columns import check_missing
from anonrisk.core.progress import shown
from anonrisk.engines.one_state import one_state
from anonrisk.errors import ArgumentError, EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.verdict import Verdict
    from anonrisk.reporting.measured import Measured
    from anonrisk.reporting.page import Report


@in_one_state
def report(
    frame: Any,
    qids: Names | None = None,
    sensitive: Names | None = None,
    *,
    policy: Policy | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
    name: str | None = None,
    files: Iterable[str] = (),
    storage: Iterable[Finding] | None = None,
    title: str | None = None,
    population: Any = None,
    population_size: int | None = None,
    group_size: int | None = None,
    n_original: int | None = None,
    progress: bool | None = None,
) -> Report:
    """Report to people who decide how many can be singled out: a page, Markdown, JSON.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take.
    qids : name or list of names, optional
        The quasi-identifier, for a report that decides nothing. Left out, the declared one.
    unit
        As in `anonrisk.classes`; a policy says it itself.
    sensitive, missing
        As in `anonrisk.ldiv`; a policy says them itself.
    policy : Policy, optional
        What the table must satisfy.
    name : str, optional
        What the table is called.
    files : list of str, optional
        The files that it was read from.
    storage : list of Finding, optional
        What these hold besides the rows, in place of what the table does; see `Verdict.storage`.
    title : str, optional
        The heading.
    population : DataFrame, optional
        As in `anonrisk.risk`: whom the journalist and the marketer look among.
    population_size : int, optional
        Number of people that the table is a sample of; left out, what the policy says.
    group_size : int, optional
        One more group to predict the singletons of.
    n_original : int, optional
        Number of rows before records were removed, for ``max_suppressed``.
    progress : bool, optional
        As in `anonrisk.find_qids`.

    Returns
    -------
    Report
        With `save("report.html")`, `to_dict`, `to_json`, `to_markdown` and `verdict`; a notebook
        shows the page.

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.assess : the measures alone
    anonrisk.Policy.check : the verdict alone
    anonrisk.reporting.html : a page of results that were measured already

    Notes
    -----
    The check of the policy counts the classes and scores each sensitive column in one pass; one
    more pass counts the classes without each column. A table in memory that fails is planned for,
    and the plan is applied and checked: advice is what the gate says of it. Whatever the table, no
    cell is in it, and no count of fewer than five people. Only the k of a policy, and what its
    limits are compared with, are as they are.

    Examples
    --------
    >>> import anonrisk
    >>> from anonrisk import datasets
    >>> policy = anonrisk.Policy(
    ...     quasi=["pc4", "date_of_birth"], unit="patient", k=5, unlisted="ignore"
    ... )
    >>> made = datasets.hospital().anon.report(policy=policy)
    >>> made.to_dict()["verdict"]["word"]
    'Fail'
    """
    from anonrisk.policy.finding import LIMITS, Finding
    from anonrisk.policy.policy import Policy, require_policy

    check_missing(missing)
    files = list_of(files, str, "files must be a list of texts")
    if storage is not None:
        storage = list_of(storage, Finding, "storage must be a list of findings")
    if isinstance(qids, Policy):
        raise ArgumentError("a policy goes by its name: report(policy=…)")
    judged = policy is not None
    if policy is None:
        policy = _of_columns(frame, qids, sensitive, unit, missing)
    else:
        require_policy(policy)
        columns = (qids, sensitive, unit)
        if missing != "value" or any(column is not None for column in columns):
            raise ArgumentError("give a policy or columns, not both: a policy names its own")
    with shown(progress=progress):
        made, result = report_of(
            policy,
            frame,
            judged=judged,
            title=title,
            name=name,
            files=files,
            storage=storage,
            population=population,
            population_size=population_size,
            group_size=group_size,
            n_original=n_original,
        )
    if not judged and result.sizes is None:
        # What went wrong is an error to somebody who asked for numbers and no verdict.
        classes(frame, qids, unit=unit, missing=missing)
        # That the policy above asks for nothing is no news.
        failures = (failure for failure in result.verdict.failures if failure.budget != LIMITS)
        raise EngineError(" ".join(failure.sentence for failure in failures))
    return made


def report_of(
    policy: Policy,
    frame: Any,
    *,
    judged: bool = True,
    title: str | None = None,
    typed: Callable[[Verdict], Any] | None = None,
    explain_command: str | None = None,
    **about: Any,
) -> tuple[Report, Measured]:
    """Return a report and what it rests on; see `measured` for the rest."""
    from anonrisk.reporting.measured import measured
    from anonrisk.reporting.page import Report
    from anonrisk.reporting.summary import summarise

    for what in ("group_size", "population_size"):
        if about.get(what) is not None:
            whole_number(about[what], what, at_least=1)
    text_or_none(title, "title")
    with one_state(frame, "report"):
        result = measured(policy, frame, judged=judged, typed=typed, **about)
    result = replace(result, explain_command=explain_command)
    verdict = result.verdict if judged else None
    return Report(summarise(result, title), verdict, result.explanation), result


def _of_columns(
    frame: Any, qids: Any, sensitive: Names | None, unit: Name | None, missing: Missing
) -> Policy:
    """Return the policy that asks for nothing but counts: what is wrong with a name is an error."""
    from anonrisk.policy.policy import Policy

    about: dict[str, Any] = {}
    if sensitive is None and not roles(frame).sensitive:
        _, question = question_of(frame, qids, unit=unit, missing=missing)
    else:
        _, question, columns = question_about(
            frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive="value"
        )
        about = {"sensitive": [column.column for column in columns], "missing_sensitive": "value"}
    if missing == "drop":
        about["max_dropped_fraction"] = 1.0
    if question.unit is not None:
        about["unit"] = question.unit
    return Policy(quasi=list(question.qid), missing=missing, unlisted="ignore", k=1, **about)
