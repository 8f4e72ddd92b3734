"""Run the suite, and report who answers what: agrees, differs or refuses."""

from __future__ import annotations

import contextlib
import warnings
from fnmatch import fnmatchcase
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedTable, count_of, shown
from anonrisk.core.results import Document
from anonrisk.errors import AnonRiskError
from anonrisk.testing.case import cases
from anonrisk.testing.tables import OwnTool

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from anonrisk.testing.case import Case

    Adapter = Callable[[Case], Any]

AGREES, DIFFERS, REFUSES = "agrees", "differs", "refuses"
_LISTED = 40


@dataclass(frozen=True)
class Answered:
    """What a tool has made of one case.

    Parameters
    ----------
    tool, case, measure, source : str
        Who was asked, the id of the case, the measure and its kind, where the answer is from.
    outcome : str
        ``"agrees"``, ``"differs"`` or ``"refuses"``.
    expected : bool
        Whether it agrees, or refuses what is listed among its refusals or what it does not have.
    has : bool
        Whether the tool has the measure at all, by its own word.
    said : str
        The answer beside the right one, or the class of the error; nothing where it agrees.
    """

    tool: str
    case: str
    measure: str
    source: str
    outcome: str
    expected: bool
    has: bool = True
    said: str = ""


@dataclass(frozen=True, repr=False)
class ConformanceReport(Document, PrintedTable):
    """Who answers how many cases right, and where they differ; it prints as text and as HTML.

    Parameters
    ----------
    answers : tuple of Answered
        What every tool has made of every case.
    versions : mapping
        The version of each tool, where it is known.

    Examples
    --------
    >>> from anonrisk import testing
    >>> some = [case for case in testing.cases() if case.id.startswith("minus-zero")]
    >>> testing.run(testing.engine("pandas"), cases=some).passed
    True
    """

    answers: tuple[Answered, ...]
    versions: Mapping[str, str]
    _document = ("versions", "answers")

    @property
    def passed(self) -> bool:
        """Whether every tool agrees with every case, or refuses what it is listed to refuse."""
        return bool(self.answers) and not self.differences and not self._silent

    @property
    def differences(self) -> tuple[Answered, ...]:
        """The answers that are wrong, and the refusals that nobody listed."""
        return tuple(answer for answer in self.answers if not answer.expected)

    @property
    def tools(self) -> tuple[str, ...]:
        """Who was asked."""
        return tuple(dict.fromkeys(answer.tool for answer in self.answers))

    @property
    def _silent(self) -> tuple[str, ...]:
        """Who has none of the measures, by their own word."""
        heard = {answer.tool for answer in self.answers if answer.has}
        return tuple(tool for tool in self.tools if tool not in heard)

    def counts(self, tool: str) -> dict[str, dict[str, int]]:
        """Count the outcomes of a tool, by measure."""
        results: dict[str, dict[str, int]] = {}
        for answer in self.answers:
            if answer.tool == tool:
                row = results.setdefault(
                    answer.measure, dict.fromkeys((AGREES, DIFFERS, REFUSES), 0)
                )
                row[answer.outcome] += 1
        return dict(sorted(results.items()))

    def to_markdown(self) -> str:
        """Write the table and the list of differences as Markdown."""
        rows = [self._header(), ["---"] * len(self._header()), *self._rows()]
        table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
        lines = [f"- {note}" for note in self._notes()]
        return "\n\n".join([" ".join(self._lines()), table, *(["\n".join(lines)] if lines else [])])

    def _lines(self) -> list[str]:
        wrong = self.differences
        verdict = "every answer is right, or refused as listed"
        if wrong:
            verdict = count_of(len(wrong), "difference")
        elif not self.passed:
            verdict = f"no answer by {', '.join(map(shown, self._silent)) or 'anybody'}"
        n_cases = len({answer.case for answer in self.answers})
        return [f"{count_of(n_cases, 'case')}, {count_of(len(self.tools), 'tool')}: {verdict}"]

    def _header(self) -> list[str]:
        return ["tool", "measure", "right", "differs", "refuses"]

    def _rows(self) -> list[list[str]]:
        """Build one row per tool, and one per measure of a tool that differs or is alone."""
        rows = []
        for tool in self.tools:
            counts = self.counts(tool)
            total = {name: sum(row[name] for row in counts.values()) for name in _OUTCOMES}
            rows.append([shown(tool), "all", *_numbers(total)])
            for measure, row in counts.items():
                if len(self.tools) == 1 or row[DIFFERS]:
                    rows.append([shown(tool), measure, *_numbers(row)])
        return rows

    def _notes(self) -> list[str]:
        wrong = self.differences
        notes = [f"{shown(each.tool)}, {each.case}: {shown(each.said)}" for each in wrong[:_LISTED]]
        if len(wrong) > _LISTED:
            notes.append(f"and {len(wrong) - _LISTED:,} more: --json has all")
        return notes


_OUTCOMES = (AGREES, DIFFERS, REFUSES)


def _numbers(row: Mapping[str, int]) -> list[str]:
    asked = sum(row.values())
    return [f"{row[AGREES]} of {asked}", str(row[DIFFERS]), str(row[REFUSES])]


def run(*adapters: Adapter, cases: Iterable[Case] | None = None) -> ConformanceReport:
    """Ask tools every case of the suite, and report where they differ.

    Parameters
    ----------
    *adapters : function
        Each takes a `Case` and returns the answer: a number, or the attributes that
        `Case.attributes` names as a mapping. What the tool does not have is a NotImplementedError;
        any other error is listed as refused, and is a difference unless the function has an
        attribute `refusals`, from a pattern of ids of cases to the reason. Its ``__name__``, or an
        attribute `name`, is the tool's name. `anonrisk.testing.engine` gives those of anonrisk.
    cases : iterable of Case, optional
        Left out, all of `anonrisk.testing.cases`.

    Returns
    -------
    ConformanceReport
        Of all of them together.

    Examples
    --------
    A tool that takes −0.0 for another value than 0.0:

    >>> from anonrisk import testing
    >>> def hasty(case):
    ...     frame = case.table.to_pandas().astype(str)
    ...     if case.label != "k" or case.options:
    ...         raise NotImplementedError
    ...     return int(frame.groupby(list(case.qids)).size().min())
    >>> some = [case for case in testing.cases() if case.id == "minus-zero"]
    >>> testing.run(hasty, cases=some)
    1 case, 1 tool: 1 difference
    tool    measure    right   differs   refuses
    hasty   all       0 of 1         1         0
    hasty   k         0 of 1         1         0
    hasty, minus-zero: 1 where 2 is right
    """
    asked = list(_all() if cases is None else cases)
    versions = {_name(each): _version(each) for each in adapters}
    return ConformanceReport(
        tuple(answer for each in adapters for answer in _asked(each, asked)), versions
    )


_all = cases


def _name(adapter: Adapter) -> str:
    return str(getattr(adapter, "name", None) or getattr(adapter, "__name__", "tool"))


def _version(adapter: Adapter) -> str:
    """Return the version of a tool: its own word, or that of the package of its name."""
    with contextlib.suppress(PackageNotFoundError):
        return str(getattr(adapter, "version", None) or version(_name(adapter)))
    return ""


def _asked(adapter: Adapter, asked: list[Case]) -> Iterable[Answered]:
    refusals: Mapping[str, str] = getattr(adapter, "refusals", {})
    known: dict[str, Any] = {}
    for case in asked:
        listed = any(fnmatchcase(case.id, pattern) for pattern in refusals)
        if case.question not in known:
            known[case.question] = _answer(adapter, case)
        answer = known[case.question]
        outcome, said, own = _judged(case, answer)
        # anonrisk refuses by an error of its own.
        ours = isinstance(adapter, OwnTool)
        in_words = outcome == REFUSES and (isinstance(answer, AnonRiskError) or not ours)
        expected = in_words if listed else outcome == AGREES or own
        said = "is listed as refused, and answers" if listed and outcome == AGREES else said
        about = (_name(adapter), case.id, case.label, case.source)
        yield Answered(*about, outcome, expected, not own, said)


def _answer(adapter: Adapter, case: Case) -> Any:
    """Ask once; an error is kept as it is, since another case may ask the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return adapter(case)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it raises, it refuses
            return error


def _judged(case: Case, answer: Any) -> tuple[str, str, bool]:
    """Return the outcome, what is said of it, and whether the tool says that it has no answer."""
    if isinstance(answer, BaseException):
        if case.is_right_error(answer):
            return AGREES, "", False
        # An error's text may quote a cell.
        own = isinstance(answer, NotImplementedError)
        return REFUSES, f"refuses with {type(answer).__name__}", own
    right = False
    # Another tool may return anything at all, such as arrays and numbers that no float holds.
    with contextlib.suppress(Exception):
        right = bool(case.is_right(answer))
    if right:
        return AGREES, "", False
    wanted = case.error or (case.answer if case.limit is None else f"{case.answer} at {case.limit}")
    return DIFFERS, f"{_written(answer)} where {_written(wanted)} is right", False


def _written(answer: Any) -> str:
    if isinstance(answer, dict):
        return ", ".join(f"{name} {_written(value)}" for name, value in answer.items())
    if isinstance(answer, (bool, str, list, tuple, type(None))):
        return str(answer)
    try:
        return f"{answer:.6g}" if isinstance(answer, float) else f"{answer}"
    except (TypeError, ValueError):
        return f"a {type(answer).__name__}"
