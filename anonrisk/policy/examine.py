"""From a table to what its columns hold: one look, and a second only where spellings merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.engines import engine_for
from anonrisk.engines.pandas.encode import remembering
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
from anonrisk.policy.detector import count_names, name_detector
from anonrisk.policy.doubts import Examined
from anonrisk.policy.drafting import hints
from anonrisk.policy.problem import Problem, attempt

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.contents import ColumnContents
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms

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
