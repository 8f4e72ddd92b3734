"""`Release.check`: every table by its policy, then joined, then after what came before."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Self

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of, shown
from anonrisk.errors import StateError
from anonrisk.policy.budgets.base import ReleaseBudget, Value
from anonrisk.policy.check import checked
from anonrisk.policy.evidence import Problem, attempt
from anonrisk.policy.examine import of_storage, with_files
from anonrisk.policy.finding import FAIL, PASS, Finding, unknown
from anonrisk.policy.judge import finding_of, worst
from anonrisk.policy.lint import weaker
from anonrisk.policy.terms import wanted_by
from anonrisk.policy.verdict import Verdict
from anonrisk.releases.compare.compare import compare_all
from anonrisk.releases.compare.comparison import Comparisons, EarlierComparison
from anonrisk.releases.compare.difference import of_one_table
from anonrisk.releases.links import linked
from anonrisk.releases.release import approvals as approving
from anonrisk.releases.release.contents import Contents, TableFiles, contents_of, held_still
from anonrisk.releases.release.parts import statement_of, with_tables
from anonrisk.releases.release.verdict import ReleaseVerdict
from anonrisk.releases.state.state import State, state

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.policy.measure import Counted
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.terms import Rule
    from anonrisk.pseudonyms.keys import Key
    from anonrisk.releases.compare.comparison import Comparison
    from anonrisk.releases.ledger.chain import LedgerEntry
    from anonrisk.releases.ledger.ledger import Ledger
    from anonrisk.releases.links import Link, LinkedSizes
    from anonrisk.releases.release.approvals import Approval
    from anonrisk.releases.release.parts import ReleaseParts

# What all earlier releases of a table are called, whoever holds every one of them.
TOGETHER = "all of them together"
_NOT_ASKED = (
    "there is a ledger of earlier releases, and the policy does not say what this one may reveal "
    "together with them: add the budget differencing, as differencing: {k: 5}"
)
_NO_DIGEST = "the contents of these tables cannot be verified later, since they have no digest"
_CHANGED = "they were changed while they were checked; check again"


@dataclass(frozen=True)
class JudgedTable:
    """A table of a release that was measured by itself."""

    name: str
    policy: Policy
    frame: Any
    verdict: Verdict
    counted: Counted | None

    @property
    def qid(self) -> Qid:
        """Every column of any quasi-identifier: whoever knows all of them knows most."""
        measured = {} if self.counted is None else self.counted.measured
        return tuple(dict.fromkeys(column for qid in measured for column in qid))

    @property
    def unit(self) -> Name | None:
        """The column that says which person a row belongs to."""
        return None if self.counted is None else self.counted.roles.unit

    @property
    def by_parts(self) -> bool:
        """Whether the policy judges some of the columns alone: people may know just these."""
        return not all(map(self.is_whole, self.policy.rules))

    def is_whole(self, rule: Rule) -> bool:
        """Return whether a rule is about every column of any quasi-identifier."""
        return rule.every_subset_of is None and {*(rule.columns or self.qid)} == {*self.qid}

    def budgets(self, name: str) -> list[ReleaseBudget]:
        """The budgets of that name which need more than this table."""
        every = (budget for rule in self.policy.rules for budget in rule.budgets)
        return [item for item in every if isinstance(item, ReleaseBudget) and item.name == name]

    def state(self, key: Key) -> State:
        """Return what is remembered of the table."""
        roles = self.counted.roles if self.counted is not None else self.policy.roles
        return state(
            self.frame,
            list(self.qid),
            unit=roles.unit,
            sensitive=list(roles.sensitive) or None,
            key=key,
            missing=self.policy.missing,  # type: ignore[arg-type] # any value is refused there
        )

    def with_findings(self, budget: str, result: Sequence[Finding]) -> JudgedTable:
        """Put what was found with others in the place of what one table could not tell."""
        kept = [finding for finding in self.verdict.findings if finding.budget != budget]
        return replace(self, verdict=replace(self.verdict, findings=(*kept, *result)))


@dataclass(frozen=True)
class CheckedRelease:
    """The verdict, and what publishing needs beside it."""

    verdict: ReleaseVerdict
    contents: Contents
    states: Mapping[str, State]


def check(
    release: ReleaseParts,
    ledger: Ledger | None = None,
    *,
    approvals: Iterable[Approval] = (),
    by: str | None = None,
) -> CheckedRelease:
    """Judge a release; see `Release.check`. With `by` it is published, and approvals decide."""
    approving.refuse_expired(release.waivers)
    # The head is read first: whatever is published meanwhile makes publishing fail.
    head = None if ledger is None else ledger.head
    key = None if ledger is None else ledger.key
    with ExitStack() as opened:
        before, still = opened.enter_context(held_still(release.tables, key))
        measured = with_tables(release, still)
        tables = [judged(measured, name, opened) for name in still]
        joins = _joins(tables, release.links)
        tables = _joined(tables, joins)
        states: dict[str, State] = {}
        earlier: dict[str, list[EarlierTable]] = {}
        if ledger is not None:
            tables, states = _remembered(tables, ledger.state_key, every=by is not None)
            tables = [_after(table, states, release, ledger, earlier) for table in tables]
    findings = [] if contents_of(release.tables, key) == before else [unknown("files", _CHANGED)]
    if key is not None and before.unknown:
        named = ", ".join(map(repr, before.unknown))
        findings.append(unknown("files", f"{_NO_DIGEST}: {named}"))
    digest = None
    kept: tuple[Approval, ...] = ()
    if not before.unknown:
        agreed = statement_of(release, before)
        digest = approving.digest_of(agreed)
        kept, why = approving.counted(
            approvals, statement=agreed, approvers=release.approvers, by=by
        )
        if by is not None and release.approvals:
            findings.append(approving.finding(kept, why, release.approvals))
    if ledger is not None:
        findings += [item for table in tables for item in _weakened(table, earlier, ledger, kept)]
    verdict = ReleaseVerdict(
        tables={table.name: approving.waive(table.verdict, release.waivers) for table in tables},
        findings=tuple(findings),
        name=release.name,
        audience=release.audience,
        separate=release.separate,
        earlier=tuple(dict.fromkeys(item.release for items in earlier.values() for item in items)),
        joined=tuple(item.summary for item in joins),
        digest=digest,
        head=head,
        waivers=release.waivers,
        approvals=kept,
        approvals_asked=release.approvals,
    )
    return CheckedRelease(verdict, before, states)


# ---- each by itself -----------------------------------------------------------------------------


def judged(release: ReleaseParts, name: str, opened: ExitStack) -> JudgedTable:
    """Measure a table by its policy; files stay open as long as the stack is."""
    policy, value = release.policies[name], release.tables[name]
    files: tuple[str, ...] = ()
    if isinstance(value, TableFiles):
        wanted = wanted_by(policy)
        files = tuple(part.place for part in value.parts())
        frame = attempt(lambda: opened.enter_context(value.opened(wanted)))
        if isinstance(frame, Problem):
            result = (unknown("table", frame.message),)
            verdict = Verdict(result, policy.digest, policy.name, missing=policy.missing)
            return JudgedTable(name, policy, None, verdict.about(name, files), None)
    else:
        frame = value
    verdict, counted = checked(policy, frame, name=name)
    if isinstance(value, TableFiles):
        verdict = with_files(verdict, of_storage(value.stored))
    return JudgedTable(name, policy, frame, verdict.about(name, files), counted)


# ---- joined -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Join:
    """A link along which tables were joined, and what came of it."""

    link: Link
    sizes: LinkedSizes | Problem
    columns: Qid

    @property
    def value(self) -> Value | Problem:
        """The smallest combination, which decides."""
        return self.sizes if isinstance(self.sizes, Problem) else Value(self.sizes.k)

    @property
    def summary(self) -> str:
        """Which tables, and how much of them was joined."""
        about = f"joined: {' and '.join(map(shown, self.link.tables))}"
        return about if isinstance(self.sizes, Problem) else f"{about}; {self.sizes.match_text}"

    def warnings(self, qid: Qid) -> list[Finding]:
        """Return it where hardly anything was joined: a pass is then of little."""
        if isinstance(self.sizes, Problem) or not self.sizes.hardly_matched:
            return []
        few = ", ".join(map(str, self.sizes.hardly_matched))
        said = (
            f"Hardly anything was joined: only {few} could be. Check whether the keys are written "
            f"alike; whoever writes them alike joins more. {_sentence(self)}"
        )
        return [Finding("linked", FAIL, "warn", said, qid=qid)]


def _joins(tables: Sequence[JudgedTable], links: Sequence[Link]) -> list[_Join]:
    by_name = {table.name: table for table in tables}
    return [_Join(link, *_sizes(link, by_name)) for link in links]


def _joined(tables: list[JudgedTable], joins: Sequence[_Join]) -> list[JudgedTable]:
    """Judge the join along every link by the budgets of each of its tables."""
    made = []
    for table in tables:
        own = [join for join in joins if table.name in join.link.tables]
        nothing = Problem("no link of the release joins this table: name it under links")
        values = [_Measured(_sentence(join), join.value, join.columns) for join in own]
        values = values or [_Measured("", nothing, table.qid)]
        budgets = table.budgets("linked")
        results = [_worst(table, budget, values, "link") for budget in budgets]
        results += [warning for join in own for warning in join.warnings(table.qid)]
        made.append(table.with_findings("linked", results) if budgets else table)
    return made


def _sentence(join: _Join) -> str:
    return f"{join.summary[0].upper()}{join.summary[1:]}."


def _sizes(link: Link, tables: Mapping[str, JudgedTable]) -> tuple[LinkedSizes | Problem, Qid]:
    """Count the join along a link."""
    asked = [tables[name] for name in link.tables]
    columns = tuple(f"{item.name}.{column}" for item in asked for column in item.qid)
    unread = [item.name for item in asked if item.counted is None]
    if unread:
        return Problem(f"table {unread[0]!r} could not be measured by itself"), columns
    (missing, *others) = {item.policy.missing for item in asked}
    if others:
        return Problem("the joined tables' policies take missing values differently"), columns

    def count() -> LinkedSizes:
        return linked(
            {item.name: item.frame for item in asked},
            link,
            {item.name: list(item.qid) for item in asked},
            unit={item.name: item.unit for item in asked},
            missing=missing,  # type: ignore[arg-type] # any value is refused there
        )

    return attempt(count), columns


# ---- by less than before -------------------------------------------------------------------------


def _weakened(
    table: JudgedTable,
    earlier: Mapping[str, Sequence[EarlierTable]],
    ledger: Ledger,
    approvals: Sequence[Approval],
) -> Iterator[Finding]:
    """Return where a policy asks for less than that of the release before: to be approved.

    Before is the last release that had the table by its name, whoever got it, and all that it is
    compared with of the last such release, whatever they were called there: neither another table
    nor another name in between or beside it makes room for a weaker policy.
    """
    last = ledger.entries().last_with(table.name)
    own = [] if last is None else [EarlierTable.of(last, table.name)]
    compared = earlier.get(table.name, ())
    others = [item for item in compared if item.entry == compared[-1].entry]
    for place in dict.fromkeys((*own, *others)):
        manifest = ledger.manifest(place.release, revision=place.revision)
        stated = next(item.verdict for item in manifest.tables if item.name == place.table)
        before = Verdict.from_json(json.dumps(stated))
        # Columns that a policy does not name may be other ones, by the same policy.
        if before.policy_digest == table.policy.digest:
            continue
        changes = [words for _, words in weaker(table.policy, before)]
        if before.policy_name != table.policy.name:
            names = (shown(item.policy_name or "no name") for item in (before, table.verdict))
            changes.append(f"It was called {' and is called '.join(names)}.")
        if not changes:
            continue
        agreed = ", ".join(shown(item.by) for item in approvals)
        yield Finding(
            budget="approvals",
            status=PASS if agreed else FAIL,
            severity="fail",
            sentence=f"The policy of table {shown(table.name)} asks for less than in release "
            f"{shown(place.called(table.name))}. {' '.join(changes)} "
            + (
                f"Approved by {agreed}." if agreed else "Somebody must approve it: release approve."
            ),
            value=0 if agreed else 1,
            limit=0,
            margin=0 if agreed else -1,
        )


# ---- after earlier releases ---------------------------------------------------------------------


def _remembered(
    tables: list[JudgedTable], key: Key, *, every: bool
) -> tuple[list[JudgedTable], dict[str, State]]:
    """Make the states of tables that are compared or published; who has none is not published."""
    made: list[JudgedTable] = []
    states: dict[str, State] = {}
    for table in tables:
        if table.counted is None or not (every or table.budgets("differencing")):
            made.append(table)
            continue
        result = attempt(lambda table=table: table.state(key))  # type: ignore[misc]
        if isinstance(result, State):
            states[table.name] = result
            made.append(table)
        else:
            why = f"no state of it can be kept in a ledger: {result.message}"
            doubt = (*table.verdict.findings, unknown("table", why))
            made.append(replace(table, verdict=replace(table.verdict, findings=doubt)))
    return made, states


def _after(
    table: JudgedTable,
    states: Mapping[str, State],
    release: ReleaseParts,
    ledger: Ledger,
    earlier: dict[str, list[EarlierTable]],
) -> JudgedTable:
    """Judge what somebody learns who holds earlier releases of the table as well."""
    budgets = table.budgets("differencing")
    if not budgets:
        return table.with_findings("differencing", [unknown("differencing", _NOT_ASKED)])
    if table.name not in states:
        return table
    current = states[table.name]
    held = list(earlier_of(table.name, current, release, ledger))
    compared = list(_compared(table, current, held))
    earlier[table.name] = [place for place, _ in held]
    return table.with_findings(
        "differencing", [_differing(table, budget, compared) for budget in budgets]
    )


@dataclass(frozen=True)
class EarlierTable:
    """Where a table was published before, and what it was called there."""

    release: str
    revision: int
    table: str

    @classmethod
    def of(cls, entry: LedgerEntry, table: str) -> Self:
        """Take the place of an entry."""
        return cls(entry.release, entry.revision, table)

    @property
    def entry(self) -> tuple[str, int]:
        """What names the entry, whatever the table is called."""
        return self.release, self.revision

    def called(self, table: str) -> str:
        """Name the release, and the table where it had another name than now."""
        return self.release if self.table == table else f"{self.release}, table {self.table}"


def earlier_of(
    table: str, current: State, release: ReleaseParts, ledger: Ledger
) -> Iterator[tuple[EarlierTable, State]]:
    """Yield what was published of a table, under whatever name.

    All audiences share what they have, but those that the release declares separate. A table of
    another name is left to the table that has its name now, unless it has people of this one.
    """
    for entry, name, kept in ledger.states_like(table, current.counts.qid):
        own = name == table or name not in release.tables
        if entry.audience not in release.separate and (
            own or of_one_table(kept.counts, current.counts)
        ):
            yield EarlierTable.of(entry, name), kept


def _compared(
    table: JudgedTable, current: State, held: Sequence[tuple[EarlierTable, State]]
) -> Iterator[tuple[str, Comparison | Problem]]:
    """Compare a table with each that was published before, and with all of them together."""
    states, missing = [state for _, state in held], table.policy.missing_sensitive
    outcomes = compare_all(states, current, by_parts=table.by_parts, missing_sensitive=missing)
    result = attempt(lambda: list(outcomes))
    names = [place.called(table.name) for place, _ in held]
    if isinstance(result, Problem):
        # Also where there is nothing to compare with: without a name it would not be reported.
        yield from ((name, result) for name in names or [TOGETHER])
        return
    yield from zip_longest(names, result, fillvalue=TOGETHER)


def _differing(
    table: JudgedTable, budget: Any, compared: Sequence[tuple[str, Comparison | Problem]]
) -> Finding:
    """Judge every comparison by a budget; what has no earlier release tells nothing new.

    Where the unit was renewed, no comparison can be trusted, nor one that fails be waived.
    """
    stable = table.policy.stable_unit
    renewed = [pair for pair in compared if not isinstance(pair[1], Problem) and pair[1].renewed]
    values = [
        _Measured(
            f"Compared with {shown(name)}.",
            item if isinstance(item, Problem) else budget.of(item, stable),
            table.qid,
        )
        for name, item in (renewed if stable is None and renewed else compared)
    ]
    first = [_Measured("No earlier release has this table.", Value(0), table.qid)]
    return _worst(table, budget, values or first, "comparison")


# ---- what decides -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Measured:
    """A number of several tables, what it is of, and the columns that it is about."""

    about: str
    value: Value | Problem
    columns: Qid


def _worst(
    table: JudgedTable, budget: ReleaseBudget, values: Sequence[_Measured], what: str
) -> Finding:
    """Return the finding that decides, and say which it is of."""
    who = "record" if table.unit is None else "person"
    each = []
    for value in values:
        item = finding_of(budget, value.columns, value.value, who=who)
        sentence = f"{item.sentence} {value.about}".rstrip()
        # A verdict is about columns that its table has.
        each.append(replace(item, sentence=sentence, qid=table.qid))
    bad = sum(not item.passed for item in each)
    item = worst(each)
    if len(each) < 2:
        return item
    every = f" (The worst of {count_of(len(each), what)}; {bad:,} of them do not pass.)"
    return replace(item, sentence=item.sentence + every)


def comparisons(release: ReleaseParts, ledger: Ledger) -> Comparisons:
    """Compare each table with every earlier release of it; see `Release.compare`."""
    made: list[EarlierComparison] = []
    with ExitStack() as opened:
        for name in release.tables:
            table = judged(release, name, opened)
            if table.counted is None:
                table.verdict.raise_for_status()
            current = table.state(ledger.state_key)
            held = list(earlier_of(name, current, release, ledger))
            for before, result in _compared(table, current, held):
                if isinstance(result, Problem):
                    raise StateError(f"table {name!r} and release {before!r}: {result.message}")
                made.append(EarlierComparison(name, before, result))
    return Comparisons(tuple(made))
