"""`Release.mend`: whom to hold back, so that this release can go out after those before it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from anonrisk.core import render
from anonrisk.core.arguments import one_of
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import kind_name, with_article
from anonrisk.core.results import Document
from anonrisk.engines import engine_for
from anonrisk.errors import (
    ArgumentError,
    EmptyTableError,
    PolicyError,
    StateError,
    UnsupportedFrameError,
)
from anonrisk.measures.counts.change import RowsAmong, RowsOfPersons
from anonrisk.policy.budgets.differencing import Differencing
from anonrisk.policy.budgets.k import K
from anonrisk.policy.budgets.ldiv import LDiv
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.finding import FAIL
from anonrisk.policy.terms import wanted_by
from anonrisk.pseudonyms import encoding
from anonrisk.releases.compare.compare import blanks_of
from anonrisk.releases.compare.difference import refuse_different
from anonrisk.releases.compare.hold_back import TableHistory, hold_back
from anonrisk.releases.release.check import JudgedTable, check, earlier_of, judged
from anonrisk.releases.release.contents import TableFiles
from anonrisk.releases.release.parts import with_tables
from anonrisk.releases.release.verdict import MendPrice, MendTrial, ReleaseExplanation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name
    from anonrisk.pseudonyms.encoding import Hashes
    from anonrisk.pseudonyms.keys import Key
    from anonrisk.releases.compare.hold_back import HeldBack
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.release.parts import ReleaseParts
    from anonrisk.releases.release.verdict import ReleaseVerdict

LEAVERS = ("keep", "drop")
# Of a group whose values are all the same, everybody's value is known.
_SEVERAL = 2


@dataclass(frozen=True, repr=False)
class Mended(Document, render.PrintedLines):
    """A release from which persons are held back, checked like any other.

    Attributes
    ----------
    release : Release
        What can be published: `publish` it, if `verdict` passes.
    tables : dict of name to table
        Its tables, each of the kind it had; those that were files are pandas tables, to be written
        and published as files.
    price : MendPrice
        How many persons it costs.
    verdict : ReleaseVerdict
        What the gate says of it, differencing with all earlier releases included.
    """

    release: Any
    price: MendPrice
    verdict: ReleaseVerdict

    @property
    def tables(self) -> dict[str, Any]:
        """The tables of the release."""
        return dict(self.release.tables)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON; no cell is among them."""
        return {"price": self.price.to_dict(), "verdict": self.verdict.to_dict()}

    def explain(self) -> str:
        """Return in sentences who is held back and why, and whether the rest can go out."""
        return render.fitted(*self._lines())

    def _lines(self) -> list[str]:
        price, every = self.price, render.count_of(self.price.n_persons, "person")
        what = "The release can go out."
        if not self.verdict.passed:
            what = f"Nothing can go out: what is left does not pass ({self.verdict.status})."
        counts = (
            (price.waiting, "not published yet: too few came to the same class"),
            (price.outdated, "published as the release before has them, though they changed"),
            (price.withheld, "not published any more: company of others who had to go"),
        )
        lines = [what, *(f"{n:,} of {every}: {why}." for n, why in counts if n)]
        if price.left:
            left = render.count_of(price.left, "person")
            lines.append(f"{left} listed still, not in the tables any more: too few left together.")
        if not self.verdict.passed:
            lines += [render.shown(item.sentence) for item in self.verdict.failures[:5]]
        return lines


def mend(
    release: ReleaseParts,
    ledger: Ledger,
    *,
    leavers: str,
    previous: Any = None,
    erased: Iterable[Any] = (),
) -> Mended:
    """Hold persons back until the release passes; see `Release.mend`."""
    keep = one_of(leavers, "leavers", LEAVERS) == "keep"
    gone = _values_of(erased)
    tables = {name: _read(release, name) for name in release.tables}
    before = _previous(release, previous)
    read = with_tables(release, tables)
    every = [judged(read, name, ExitStack()) for name in tables]
    _refuse_tables(every)
    needs = _Needs.of(every)
    histories = [_history(table, read, ledger) for table in every]
    if keep and before is None and any(history.earlier for history in histories):
        raise ArgumentError(
            "leavers='keep' publishes rows of the release before again: give its tables or files "
            "as previous=, or leavers='drop'"
        )
    if before is not None:
        for table, history in zip(every, histories, strict=True):
            _refuse_previous(table, history, before.get(table.name), ledger)
    hashes = _hashes(gone, every[0], histories, ledger.state_key)
    if not len(hashes):
        verdict = check(read, ledger).verdict
        if verdict.passed:
            n_persons = len({*_persons_of(histories)})
            return Mended(read, MendPrice(n_persons, 0, 0, 0, 0, 0), verdict)
    # Where not even that passes, the release before can go out again, without those who must go.
    for as_before in (False, True) if keep else (False,):
        held = hold_back(
            histories,
            k=needs.k,
            n_values=needs.n_values,
            keep_leavers=keep,
            erased=hashes,
            as_before=as_before,
        )
        mended = {
            table.name: _rows(table, history, held, (before or {}).get(table.name), ledger, read)
            for table, history in zip(every, histories, strict=True)
        }
        result = with_tables(release, mended)
        verdict = check(result, ledger).verdict
        if verdict.passed:
            break
    return Mended(result, MendPrice.of(held), verdict)


def _values_of(erased: Any) -> list[Any]:
    if isinstance(erased, (str, bytes)) or not isinstance(erased, Iterable):
        raise ArgumentError(f"erased= is a list of values of the unit, not {kind_name(erased)}")
    return list(erased)


def _persons_of(histories: Sequence[TableHistory]) -> list[tuple[int, ...]]:
    """List the persons of the tables as they would be now."""
    hashes = [h.current.persons for h in histories if h.current.persons is not None]
    return [tuple(row) for item in hashes for row in item.tolist()]


def _refuse_tables(tables: Sequence[JudgedTable]) -> None:
    """Reject tables that cannot be changed, and those of different people."""
    for table in tables:
        if engine_for(table.frame).name in ("sql", "scan"):
            raise UnsupportedFrameError(
                f"table {table.name!r} is in a database or scanned, and mend returns a changed "
                "table: read it into pandas or Spark"
            )
        if table.counted is not None and table.unit != tables[0].unit:
            raise PolicyError(
                "tables of one release are mended as tables of the same persons: the unit of "
                f"{tables[0].name!r} is {tables[0].unit!r}, that of {table.name!r} {table.unit!r}; "
                "publish those of other persons in a release of their own"
            )


def _read(release: ReleaseParts, name: str) -> Any:
    """Read a table of files; any other is there."""
    table = release.tables[name]
    wanted = wanted_by(release.policies[name])
    return table.in_memory(wanted) if isinstance(table, TableFiles) else table


def _previous(release: ReleaseParts, previous: Any) -> dict[str, Any] | None:
    """Read the tables of the release before, by their names."""
    if previous is None:
        return None
    by_name = previous if isinstance(previous, Mapping) else {}
    if not isinstance(previous, Mapping):
        if len(release.tables) > 1:
            raise ArgumentError("previous= names the table of each, as {'visits': 'visits.csv'}")
        by_name = dict.fromkeys(release.tables, previous)
    for name in by_name:
        if name not in release.tables:
            raise ArgumentError(
                f"previous= names table {name!r}, which is not in the release"
                f"{nearest(name, release.tables)}"
            )
    return {name: _earlier_table(release, name, table) for name, table in by_name.items()}


def _earlier_table(release: ReleaseParts, name: str, table: Any) -> Any:
    """Read files; those of a table are written in one way from month to month."""
    if isinstance(table, (str, Path, list, tuple, dict)):
        current = release.tables[name]
        if isinstance(current, TableFiles) and not isinstance(table, dict):
            table = {**current.to_dict(), "files": table}
        table = TableFiles.of(table, f"previous.{name}", Path())
    if isinstance(table, TableFiles):
        table = table.in_memory(wanted_by(release.policies[name]))
    return table


def _history(table: JudgedTable, release: ReleaseParts, ledger: Ledger) -> TableHistory:
    if table.counted is None:
        table.verdict.raise_for_status()
    current = table.state(ledger.state_key)
    held = list(earlier_of(table.name, current, release, ledger))
    for place, state in held:
        try:
            # Of an empty table the gate decides, after those who stay listed are in it.
            with suppress(EmptyTableError):
                refuse_different(state.counts, current.counts)
        except StateError as error:
            which = place.called(table.name)
            raise StateError(f"table {table.name!r} and release {which!r}: {error}") from None
    blanks = blanks_of(current, table.policy.missing_sensitive)
    return TableHistory(tuple(state.counts for _, state in held), current.counts, blanks)


@dataclass(frozen=True)
class _Needs:
    """Among how many persons, with how many values, everybody is to hide."""

    k: int
    n_values: int

    @classmethod
    def of(cls, tables: Sequence[JudgedTable]) -> _Needs:
        """Take the strictest of what the policies ask."""
        ks, values = [], [_SEVERAL]
        for table in tables:
            if not table.budgets("differencing"):
                raise PolicyError(
                    f"the policy of table {table.name!r} does not say what it may reveal together "
                    "with earlier releases: add the budget differencing, as differencing: {k: 5}"
                )
            # Of fewer columns, classes are larger; the check decides about those.
            rules = [(rule, item) for rule in table.policy.rules for item in rule.budgets]
            for rule, budget in rules:
                if isinstance(budget, Differencing):
                    ks.append(budget.k)
                elif not table.is_whole(rule):
                    continue
                elif isinstance(budget, K):
                    ks.append(int(budget.limit))
                elif isinstance(budget, LDiv) and budget.variant == "distinct":
                    values.append(int(budget.limit))
        return cls(max(ks), max(values))


def _hashes(
    values: list[Any], table: JudgedTable, histories: Sequence[TableHistory], key: Key
) -> Hashes:
    """Hash values of the unit; out of a file they come as texts, whatever the unit is."""
    unit = table.unit
    if not values or unit is None:
        return np.empty((0, 2), dtype=np.uint64)
    cells = encoding.encoded_like(values, unit, histories[0].current.kinds[unit])
    # Of another type they would be nobody, and somebody would not be erased.
    if cells is None:
        raise ArgumentError(
            f"erased= holds values of another type than unit {unit!r}: write numbers in digits, "
            "dates and instants as in 2026-11-18"
        )
    hashes = encoding.person_hashes(key, cells)
    persons = [c.persons for h in histories for c in h.every if c.persons is not None]
    known = {tuple(row) for item in persons for row in item.tolist()}
    n_strange = sum(tuple(row) not in known for row in hashes.tolist())
    if n_strange:
        raise ArgumentError(
            f"{n_strange:,} of {len(values):,} values of erased= are nobody's, in no release and "
            f"not in the tables: write them as unit {unit!r} has them, and leave out who was never "
            "published"
        )
    return hashes


def _refuse_previous(
    table: JudgedTable, history: TableHistory, previous: Any, ledger: Ledger
) -> None:
    """Reject a table that is not the one that was published last: its rows would be news."""
    if not history.earlier:
        return
    if previous is None:
        raise ArgumentError(f"previous= lacks table {table.name!r}")
    if type(engine_for(previous)) is not type(engine_for(table.frame)):
        raise ArgumentError(
            f"previous= has table {table.name!r} as {_kind(previous)}, and the one to be released "
            f"is {_kind(table.frame)}: rows are taken from a table of the same kind, convert one"
        )
    engine = engine_for(previous)
    columns = [set(engine.schema(item).columns) for item in (table.frame, previous)]
    if columns[0] != columns[1]:
        raise StateError(
            f"the earlier table {table.name!r} has other columns than the one to be released"
        )
    # Before the rows: by another policy not even the right table has the same counts.
    last = history.earlier[-1]
    if last.qid != history.current.qid:
        raise StateError(
            f"the policy of table {table.name!r} has changed since it was published last: its "
            f"quasi-identifier was {list(last.qid)} and is {list(history.current.qid)} now. Rows "
            "are kept by the policy of then; leavers='drop' (--leavers drop) takes the new one"
        )
    if replace(table, frame=previous).state(ledger.state_key).counts != last:
        raise StateError(
            f"the earlier table {table.name!r} is not the one that was published last: its rows, "
            "or the types of its columns, are not those that the ledger remembers"
        )


def _kind(frame: Any) -> str:
    """Return what a table is, with its library: several call theirs a DataFrame."""
    return with_article(f"{type(frame).__module__.partition('.')[0]} {type(frame).__name__}")


def _rows(  # noqa: PLR0917
    table: JudgedTable,
    history: TableHistory,
    held: HeldBack,
    previous: Any,
    ledger: Ledger,
    release: ReleaseParts,
) -> Any:
    """Leave out the rows of persons who are held back, and add those that stay as they were."""
    engine, unit = engine_for(table.frame), cast("Name", table.unit)
    frame = engine.keep(table.frame, RowsOfPersons(unit, ledger.state_key, held.held, others=True))
    if not len(held.kept) or not history.earlier:
        return frame
    kept = engine.keep(previous, RowsOfPersons(unit, ledger.state_key, held.kept))
    # By the key, so that nobody else puts the rows back into their places.
    drawn = ledger.state_key.derived(f"mended rows {release.name} {table.name}")
    return engine.rewrite(frame, RowsAmong(kept, int.from_bytes(drawn[:4], "big")))


# Budgets about more than one table, which no column of it decides.
_TOGETHER = ("differencing", "linked")


def explain(
    verdict: ReleaseVerdict, release: ReleaseParts, ledger: Ledger | None, previous: Any = None
) -> ReleaseExplanation:
    """Try what may help against the findings that block; see `ReleaseVerdict.explain`."""
    tables = {}
    with ExitStack() as opened:
        for name in fails_alone(verdict):
            table = judged(release, name, opened)
            if table.counted is not None:
                tables[name] = table.verdict.explain()
    failed = any(f.budget == "differencing" and f.status == FAIL for f in verdict.failures)
    if ledger is None or not failed:
        return ReleaseExplanation(tables)
    leavers = "drop" if previous is None else "keep"
    mended = attempt(lambda: mend(release, ledger, leavers=leavers, previous=previous))
    if isinstance(mended, Problem):
        return ReleaseExplanation(tables, MendTrial(leavers, why_not=mended.message))
    return ReleaseExplanation(tables, MendTrial(leavers, mended.price, mended.verdict.status))


def fails_alone(verdict: ReleaseVerdict) -> list[str]:
    """List the tables that do not pass by themselves, whatever there is beside them."""
    return [
        name
        for name, item in verdict.tables.items()
        if any(f.blocks() and f.budget not in _TOGETHER for f in item.all_findings)
    ]
