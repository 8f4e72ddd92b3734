"""From a table to what its columns hold, and what is stored besides its rows."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import count_of, kind_name
from anonrisk.engines import engine_for
from anonrisk.engines.pandas.encode import remembering
from anonrisk.errors import ArgumentError
from anonrisk.measures.counts.change import FoldSpellings, LabelsAsColumns
from anonrisk.measures.counts.contents import (
    FOLDABLE,
    NESTED,
    NUMBER,
    TEXT,
    CellContents,
    SomeTexts,
)
from anonrisk.measures.counts.question import Question
from anonrisk.measures.counts.shapes import ENOUGH
from anonrisk.policy import doubts, release_rules
from anonrisk.policy.budgets.base import SensitiveBudget
from anonrisk.policy.doubts import Examined
from anonrisk.policy.drafting import hints
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, Finding, unknown

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.contents import ColumnContents
    from anonrisk.measures.counts.schema import Stored
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms
    from anonrisk.policy.verdict import Verdict

Detector = Callable[[Sequence[str]], Sequence[bool]]

# Names a detector where no code of the caller runs, as module:function.
VARIABLE = "ANONRISK_NAME_DETECTOR"
_chosen: Detector | None = None


def set_name_detector(detector: Detector | None) -> None:
    """Choose what says which texts name a person, for every gate of this process.

    A gate then shows it up to 1,000 different texts of each column of texts that is not a direct
    identifier, here and not on the executors of Spark or in a database. The column blocks
    (``names``) if it says yes to a fifth of them; a detector that fails blocks, too. Where no code
    of yours runs, as on the command line, the variable ``ANONRISK_NAME_DETECTOR`` of the
    environment names it: ``module:function``.

    Parameters
    ----------
    detector : callable or None
        Takes a list of texts and returns a truth value for each; None for no detector.

    See Also
    --------
    anonrisk.Policy.check : shows it the texts

    Examples
    --------
    >>> import pandas as pd
    >>> from anonrisk.policy import Policy, set_name_detector
    >>> table = pd.DataFrame({"zip": ["1011"] * 20, "job": [f"nurse Smith {i}" for i in range(20)]})
    >>> policy = Policy(quasi="zip", sensitive="job", k=2)
    >>> set_name_detector(lambda texts: ["Smith" in text for text in texts])
    >>> policy.check(table).status
    'could_not_assess'
    >>> set_name_detector(None)
    >>> policy.check(table).status
    'pass'
    """
    global _chosen  # noqa: PLW0603 - one detector for all gates of the process
    if detector is not None and not callable(detector):
        raise ArgumentError(f"detector must be a function of texts, not {kind_name(detector)}")
    _chosen = detector


def name_detector() -> Detector | None:
    """Return the detector of this process, or the one that its environment names."""
    written = os.environ.get(VARIABLE, "")
    if _chosen is not None or not written:
        return _chosen
    module, _, function = written.partition(":")
    detector = _foreign(
        lambda: getattr(import_module(module), function),
        f"{VARIABLE} names no function that can be imported; write module:function",
    )
    if not callable(detector):
        raise ArgumentError(f"{VARIABLE} names {kind_name(detector)}, not a function")
    made: Detector = detector
    return made


def count_names(detector: Detector, texts: list[str]) -> int:
    """Count the texts that a detector takes for names, or for texts with names."""
    # It gets a list of its own: what it does to that changes nothing here.
    answers = _foreign(lambda: list(detector([*texts])), "the detector of names failed")
    if len(answers) != len(texts):
        raise ArgumentError(
            f"the detector of names answered {len(answers):,} times to {len(texts):,} texts"
        )
    n: int = _foreign(lambda: sum(map(bool, answers)), "the detector of names failed")
    return n


def _foreign(call: Callable[[], Any], failed: str) -> Any:
    """Run code of somebody else: whatever it raises, also to end the program, is an error here."""
    try:
        return call()
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # noqa: BLE001
        raise ArgumentError(f"{failed} ({type(error).__name__})") from None


# A sentence names no more than somebody reads, and of each no more than tells which it is.
_SHOWN, _LONGEST = 5, 60


def of_storage(examine: Callable[[], Stored]) -> tuple[Finding, ...]:
    """Judge what is stored; where nobody can tell what that is, nothing passes."""
    result = attempt(examine)
    if isinstance(result, Problem):
        return (unknown("storage", result.message),)
    severity = "fail" if result.in_file else "warn"
    return tuple(
        Finding("storage", FAIL, severity, sentence, value=n, limit=0, margin=-n)
        for n, sentence in ((_of_values(result)), (_of_metadata(result)))
        if n
    )


def with_files(verdict: Verdict, storage: Iterable[Finding]) -> Verdict:
    """Return what files hold, in place of their table in memory, unless that is unknown."""
    doubts = [finding for finding in verdict.storage if finding.status == COULD_NOT_ASSESS]
    return replace(verdict, storage=(*storage, *doubts))


def _of_values(stored: Stored) -> tuple[int, str]:
    n = sum(stored.unused.values())
    summary = _listed(f"{count:,} in {_short(name)}" for name, count in stored.unused.items())
    if stored.in_file:
        held = f"The files hold {count_of(n, 'value')} that no row has ({summary})"
        return (
            n,
            f"{held}, as removed people leave behind. Write them anew: {stored.remedy}.",
        )
    listed = f"The columns list {count_of(n, 'value')} that no row has ({summary})"
    return n, f"{listed}, which a file of the table may hold. Remove them: {stored.remedy}"


def _of_metadata(stored: Stored) -> tuple[int, str]:
    n = len(stored.metadata)
    summary = _listed(map(_short, stored.metadata))
    keys = count_of(n, "entry", "entries")
    return n, (
        f"The files carry {keys} of metadata that are not known to be harmless ({summary}). Write "
        f"them anew: {stored.remedy}."
    )


def _listed(summary: Iterable[str]) -> str:
    every = list(summary)
    more = [f"{len(every) - _SHOWN:,} more"] if len(every) > _SHOWN else []
    return ", ".join([*every[:_SHOWN], *more])


def _short(name: str) -> str:
    return repr(name if len(name) <= _LONGEST else f"{name[:_LONGEST]}…")


# So many texts of a column are shown to a detector of names.
SHOWN = 1000


def examine(
    policy: Terms,
    frame: Any,
    published: Published,
    judged: Callable[[Any], list[Finding]],
    *,
    classified: Sequence[Name] = (),
    n_rows: int | None = None,
) -> Examined:
    """Look at every column that has a role, or that the policy refuses for having none.

    `judged` gives the findings of the policy's budgets about a table; it is asked only where
    values of a sensitive column differ by nothing but their spelling. Columns that are
    `classified` elsewhere are looked at too. Who knows how many rows there are spares a database
    or Spark what nobody can tell of few.
    """
    engine = engine_for(frame)
    roles = release_rules.roles_of(policy, published, classified)
    looked_at = tuple(
        name
        for name, role in roles.items()
        if role != "direct" and (role is not None or policy.unlisted == "refuse")
    )
    names = [*published.columns, *published.index]
    looked_at = tuple(name for name in looked_at if names.count(name) == 1)
    if not looked_at:
        return Examined()
    whole = frame
    if {*looked_at} & {*published.index}:
        whole = engine.rewrite(frame, LabelsAsColumns(release_rules.ROW_LABELS))
    many = n_rows is None or n_rows >= ENOUGH
    count = engine.count(whole, CellContents(looked_at, hints.keys_of_persons(), many))
    return Examined(
        count,
        unique_rows=_unique_rows(engine, whole, count, roles),
        respelt=_respelt(policy, published, engine, frame, count, roles, judged),
        names=_names(engine, whole, count),
    )


def _names(
    engine: Engine, frame: Any, result: Mapping[Name, ColumnContents]
) -> dict[Name, tuple[int, int]]:
    """Count the texts that somebody's detector takes for names, and those that it was shown."""
    detector = name_detector()
    texts = tuple(
        name for name, cells in result.items() if cells.kind == TEXT and cells.n_known >= ENOUGH
    )
    if detector is None or not texts:
        return {}
    shown = engine.count(frame, SomeTexts(texts, SHOWN))
    return {name: (count_names(detector, some), len(some)) for name, some in shown.items()}


def _unique_rows(
    engine: Engine,
    frame: Any,
    result: Mapping[Name, ColumnContents],
    roles: Mapping[Name, str | None],
) -> bool:
    """Return whether a count stands beside columns in which no two rows agree."""
    if not any(doubts.may_be_count(name, cells) for name, cells in result.items()):
        return False
    if next(iter(result.values())).n_rows < ENOUGH:
        return False
    by = tuple(
        name
        for name, cells in result.items()
        if not doubts.may_be_count(name, cells) and _is_dimension(cells) and roles[name] != "unit"
    )
    if not by:
        return False
    (sizes,) = engine.count(frame, Question((by,)))
    return bool(sizes.n_classes == sizes.n_rows)


def _is_dimension(cells: ColumnContents) -> bool:
    """Return whether a table of counts may be broken down by a column: few values, no measures."""
    few = 0 < cells.n_values <= cells.n_rows / 2
    return few and cells.kind != NESTED and not (cells.kind == NUMBER and cells.rows("fraction"))


def _respelt(  # noqa: PLR0917
    policy: Terms,
    published: Published,
    engine: Engine,
    frame: Any,
    result: Mapping[Name, ColumnContents],
    roles: Mapping[Name, str | None],
    judged: Callable[[Any], list[Finding]],
) -> Qid:
    """List the sensitive columns of which a budget is broken once spellings are folded."""
    merged = [
        name
        for name, cells in result.items()
        if roles[name] == "sensitive" and cells.kind == TEXT and cells.n_values <= FOLDABLE
        if cells.n_folded is not None and cells.n_folded < cells.n_values
    ]
    about_values = any(
        isinstance(b, SensitiveBudget) for rule in policy.rules for b in rule.budgets
    )
    if not merged or not about_values:
        return ()
    # A column that classes are made of is folded by itself: it would change what is said of others.
    in_classes = {policy.by, *published.declared.quasi}
    apart = [name for name in merged if name in in_classes]
    before = _kept(judged(frame), merged)
    changed: list[Name] = []
    for names in ([name for name in merged if name not in in_classes], *([n] for n in apart)):
        if not names:
            continue
        folded = engine.rewrite(frame, FoldSpellings(tuple(names)))
        with remembering(folded):
            lost = before - _kept(judged(folded), names)
        changed += [name for name in names if any(key[0] == name for key in lost)]
    return tuple(changed)


def _kept(findings: list[Finding], columns: list[Name]) -> set[tuple[Any, ...]]:
    """List the budgets that are kept, of some sensitive columns."""
    return {
        (finding.sensitive, finding.budget, finding.qid, finding.group, str(finding.parameters))
        for finding in findings
        if finding.sensitive in columns and finding.passed
    }


def examined(
    policy: Terms,
    frame: Any,
    published: Published,
    judged: Callable[[Any], list[Finding]],
    *,
    classified: Sequence[Name] = (),
    n_rows: int | None = None,
) -> Examined | Problem:
    """Look at the contents of a table, or say why that could not be done."""
    return attempt(
        lambda: examine(policy, frame, published, judged, classified=classified, n_rows=n_rows)
    )
