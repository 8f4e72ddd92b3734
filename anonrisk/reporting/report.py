"""A report about a table: as a page, as Markdown, as JSON, and in a shell."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache, cached_property
from importlib import resources
from typing import TYPE_CHECKING, Any, ClassVar

from anonrisk.api.classes import classes
from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.roles import roles
from anonrisk.api.sensitive import question_about
from anonrisk.core.arguments import as_path, list_of, text_or_none, whole_number, why_not
from anonrisk.core.columns import check_missing
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import shown
from anonrisk.core.render import escaped, escaped_json, fitted
from anonrisk.engines.one_state import one_state
from anonrisk.errors import ArgumentError, EngineError, MissingLibraryError, UnwritableTableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from jinja2 import Template

    from anonrisk.api.assess import Assessment
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing
    from anonrisk.policy.explain import Explanation
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.verdict import Verdict
    from anonrisk.reporting.measured import Measured


# Of the picture of group sizes, in its own units: narrow enough to be read on a phone.
WIDTH, HEIGHT = 360, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 12, 36
# The longest word that a column of a table has room for, in characters.
_LONGEST_WORD = 24


def curve(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the points of expected shares by group size (logarithmic), their band and the axes."""
    sizes = [math.log10(row["size"]) for row in rows]
    first, last = min(sizes), max(sizes)

    def x(size: float) -> float:
        part = 0.5 if last == first else (size - first) / (last - first)
        return round(_LEFT + part * (WIDTH - _LEFT - _RIGHT), 1)

    def y(share: float) -> float:
        return round(_TOP + (1 - share) * (HEIGHT - _TOP - _BOTTOM), 1)

    points = [(x(size), y(row["share"])) for size, row in zip(sizes, rows, strict=True)]
    upper = [(x(size), y(row["high"])) for size, row in zip(sizes, rows, strict=True)]
    lower = [(x(size), y(row["low"])) for size, row in zip(sizes, rows, strict=True)]
    marks = [0, *({len(rows) // 2} if len(rows) > 3 else ()), len(rows) - 1]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "left": _LEFT,
        "right": WIDTH - _RIGHT,
        "bottom": HEIGHT - _BOTTOM,
        "points": points,
        "line": _path(points),
        "band": _path([*upper, *reversed(lower)]),
        "across": [(y(share), f"{share:.0%}") for share in (0.0, 0.5, 1.0)],
        "along": [(x(sizes[i]), rows[i]["size_text"]) for i in dict.fromkeys(marks)],
    }


def _path(points: list[tuple[float, float]]) -> str:
    return " ".join(f"{x},{y}" for x, y in points)


# Not a path: the package may be an archive, as a cluster is sent it.
TEMPLATES = resources.files(__package__) / "templates"
_NEEDS = (
    "a page of HTML needs Jinja2: pip install 'anonrisk[report]'. JSON (.json) needs nothing, nor "
    "does a report in Markdown (.md)"
)


@dataclass(frozen=True, repr=False)
class Summarised:
    """What people see, as plain values that pages and texts are made of."""

    # What writes a file, by the ending of its name; and what is said of any other.
    _writers: ClassVar[Mapping[str, Callable[[Any], str]]]
    _endings: ClassVar[str]

    summary: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON."""
        copied: dict[str, Any] = json.loads(self._json)
        return copied

    @cached_property
    def _json(self) -> str:
        return json.dumps(self.summary, indent=2, ensure_ascii=False, allow_nan=False)

    def to_json(self) -> str:
        """Write it as JSON."""
        return escaped_json(self._json)

    @classmethod
    def ending_of(cls, path: str | Path) -> str:
        """Return the ending of a file's name; reject one that nothing is written by."""
        ending = as_path(path, "a page").suffix.casefold()
        if ending not in cls._writers:
            raise ArgumentError(f"{str(path)!r}: {cls._endings}")
        return ending

    def written(self, path: str | Path) -> str:
        """Return what `save` writes into a file of that name."""
        return self._writers[self.ending_of(path)](self)

    def save(self, path: str | Path) -> None:
        """Write a file; what it holds is told by the ending of its name, see `written`."""
        text = self.written(path)
        try:
            as_path(path, "a page").write_text(text, encoding="utf-8", errors="backslashreplace")
        except (OSError, ValueError) as error:
            raise UnwritableTableError(f"cannot write {str(path)!r}: {why_not(error)}") from None


def json_file(made: Summarised) -> str:
    """Return a file of JSON, which ends in a new line."""
    return made.to_json() + "\n"


@dataclass(frozen=True, repr=False)
class Report(Summarised):
    """What was measured of a table, for people who decide; no cell of the table is in it.

    Attributes
    ----------
    summary : dict
        All that it says, as plain values; pages and texts are made of this alone.
    verdict : Verdict or None
        What the policy says; None where there is no policy.
    explanation : Explanation or None
        What was tried after a failure, with the plan to save; None where nothing was.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> made = df.anon.report(policy=anonrisk.Policy(quasi="zip", k=2, unlisted="ignore"))
    >>> made.verdict.status, made.to_dict()["verdict"]["word"]
    ('fail', 'Fail')
    """

    verdict: Verdict | None = None
    explanation: Explanation | None = None

    def to_markdown(self) -> str:
        """Write it as Markdown, for a ticket or a pull request."""
        from anonrisk.reporting.text import markdown

        return markdown(self.summary)

    def to_html(self) -> str:
        """Write it as one page of HTML that needs no other file and no network (needs Jinja2)."""
        return _rendered(self.summary)

    def written(self, path: str | Path) -> str:
        """Return what `save` writes: a page if it ends in .html, Markdown (.md) or JSON (.json).

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> made = pd.DataFrame({"zip": ["1011", "1011"]}).anon.report("zip")
        >>> made.save("report.pdf")
        Traceback (most recent call last):
        ...
        anonrisk.errors.ArgumentError: 'report.pdf': a report ends in .html, .md or .json; a ...
        """
        return super().written(path)

    _writers: ClassVar = {
        **dict.fromkeys((".html", ".htm"), to_html),
        **dict.fromkeys((".md", ".markdown"), to_markdown),
        ".json": json_file,
    }
    _endings = "a report ends in .html, .md or .json; a browser prints the page as PDF"

    def __repr__(self) -> str:
        """Print what decides, in lines that fit a terminal."""
        summary = self.summary["verdict"]
        budgets = self.summary.get("budgets") or {"rows": []}
        broken = [row["sentence"] for row in budgets["rows"] if row["status"] != "pass"]
        lines = dict.fromkeys((*broken, *summary["notes"]))
        return fitted(
            f"{summary['word']} ({self.summary['masthead']['title']})",
            summary["headline"],
            *(f"- {line}" for line in lines),
            *(f"> {line}" for line in summary["next"]),
            "report.save('report.html') writes the page.",
        )

    def _repr_html_(self) -> str | None:
        try:
            return framed(self.to_html(), "Report")
        except MissingLibraryError:
            return None


def framed(page: str, title: str, allowed: str = "") -> str:
    """Set a page into a cell of a notebook, with an origin of its own: neither reaches the other.

    A frame keeps their styles apart too. Without what is allowed, no script of the page runs.
    """
    from html import escape

    # A build server that prints the cell obeys a line with ##; a browser reads both alike.
    inside = escape(page).replace("##", "&#35;#")
    return (
        f'<iframe title="{title}" sandbox="{allowed}" srcdoc="{inside}" '
        'style="width: 100%; height: 40rem; border: 1px solid #8888"></iframe>'
    )


def html(
    assessment: Assessment, *more: Any, verdict: Verdict | None = None, title: str | None = None
) -> str:
    """Write a page about a table from what was measured of it already (needs Jinja2).

    Parameters
    ----------
    assessment : Assessment
        From `anonrisk.assess`.
    *more : results
        Others of its results to show: predictions and estimates of the population in their place,
        anything else in its own words.
    verdict : Verdict, optional
        What a policy says of the table; it is shown first.
    title : str, optional
        The heading.

    Returns
    -------
    str
        A whole HTML document without scripts, links or pictures from elsewhere.

    See Also
    --------
    anonrisk.report : measures, and writes the page
    anonrisk.assess : what is shown

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["a", "a", "b"]})
    >>> page = anonrisk.reporting.html(df.anon.assess("zip", measures=["k"]), title="Three people")
    >>> "Three people</h1>" in page
    True
    """
    from anonrisk.reporting.measured import of_results
    from anonrisk.reporting.summary import summarise

    known, rest = of_results(assessment, more, verdict)
    return _rendered(summarise(known, title, rest))


def refused(message: str, title: str | None = None) -> Report:
    """Return the report that stands in place of an older one: why there is nothing to show.

    Parameters
    ----------
    message : str
        Why.
    title : str, optional
        The heading.

    Returns
    -------
    Report
        It holds no verdict that could be taken for a pass.

    See Also
    --------
    anonrisk.report : the report itself
    anonrisk.reporting.Report.save : puts it in the place of the older one

    Examples
    --------
    >>> from anonrisk.reporting import refused
    >>> refused("the file is not there").to_dict()["verdict"]["word"]
    'Could not assess'
    """
    from anonrisk.reporting.summary import refused as no_summary

    return Report(no_summary(message, title))


def _rendered(summary: dict[str, Any]) -> str:
    page: str = template("page.html").render(report=summary, curve=curve)
    # Names are escaped in the summary; nothing that was overlooked reaches whoever reads.
    return escaped(page, but="\n").lstrip()


def template_text(name: str) -> str:
    """Read a file of templates."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def template(name: str) -> Template:
    """Return a template of pages; everything that it is filled with is escaped."""
    try:
        import jinja2
    except ImportError:
        raise MissingLibraryError(_NEEDS) from None
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(template_text),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.tests["too_long"] = _too_long
    return environment.get_template(name)


def _too_long(text: str) -> bool:
    """Return whether a text has a word that a column has no room for."""
    return max(map(len, text.split()), default=0) > _LONGEST_WORD


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
