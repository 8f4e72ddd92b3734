"""A table that is explored, counted once, and all that is said of it, above floors."""

from __future__ import annotations

import json
import math
import shlex
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk._version import __version__
from anonrisk.api.assess import MEANINGS
from anonrisk.core.columns import require_hierarchies
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell
from anonrisk.core.render import count_of, shown
from anonrisk.engines.limits import check_finite
from anonrisk.errors import ArgumentError, EmptyTableError, MissingUnitError, PolicyError
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.recode import Bins, Keep, KeepCommon, Level, MergeRare, Star
from anonrisk.planning.class_rules import beside
from anonrisk.planning.lattice.explore import CountedWhenAsked, combinations, levels_of
from anonrisk.planning.lattice.full_domain import value_budget
from anonrisk.planning.lattice.lattice import refinements
from anonrisk.planning.lattice.offer import offers, with_rules
from anonrisk.planning.losses import OF_COLUMNS, entropy_of
from anonrisk.planning.plan import Plan, without_digest
from anonrisk.planning.regions.part import PersonTally
from anonrisk.policy.policy import Policy
from anonrisk.policy.verdict import now
from anonrisk.reporting.text import cut, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.types import ColumnLoss, Cuts, Floats, Integers
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.lattice.explore import Combinations, LeftOutLevel
    from anonrisk.planning.lattice.lattice import Choice

SCHEMA_VERSION = 1
_TITLE = "How coarse must each column be?"
# Shares finer than these are not read by anybody.
_DETAIL_STEP, _T_STEP = 0.001, 0.01
_ROUND_STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
_DETAIL = {
    "entropy": "the share of a column's bits that its cells still reveal, on average over columns: "
    "what one learns by reading a cell, as against before; all where values stay, nothing where "
    "every cell is left out",
    "range": "1 minus the share of a column's range, or of a hierarchy's leaves, that a cell "
    "covers on average (loss metric, Iyengar 2002)",
}
_SUPPRESSIONS = (0.0, 0.01, 0.02, 0.05, 0.1)
# Combinations that are listed, of those that no other beats.
_MOST_BEST = 20
_MOST_LEFT_OUT = 40
NOT_TRIED = {
    "levels": None,
    "passes": None,
    "text": "Nothing was tried on this table: choose levels, apply the plan, and check the result "
    "with the policy.",
}
# Who is counted, without persons and with them.
WHO = ("records", "people")
INTERNAL = (
    "An internal working document: keep it as you keep the table. It holds many counts of "
    "one table, and whoever compares them may learn what none of them reveals alone."
)


@dataclass(frozen=True)
class ExploreRequest:
    """What is explored of a table, and what it must keep to.

    Attributes
    ----------
    qid : tuple of names
    k : int
    unit : name or None
    distances : dict of sensitive column to str
        By which distance t is told.
    limits : dict of sensitive column to dict
        ``l`` and ``t``, where a policy has limits for them.
    fixed, leave_out, insensitive, not_looked_at : tuple of names
        Columns that stay as they are; that are not published; that tell nothing; that nobody has
        looked at.
    not_judged : tuple of str
        Budgets of the policy that a page cannot judge.
    attributes_not_judged : tuple of names
        Sensitive columns whose values no limit is about, as `Coverage` has them.
    goals : PlanRequest or None
        What the policy asks of a plan.
    policy : Policy or None
    """

    qid: Qid
    k: int
    unit: Name | None
    distances: Mapping[Name, str]
    limits: Mapping[Name, Mapping[str, float]] = field(default_factory=dict)
    fixed: Qid = ()
    leave_out: Qid = ()
    insensitive: Qid = ()
    not_looked_at: Qid = ()
    not_judged: tuple[str, ...] = ()
    attributes_not_judged: Qid = ()
    goals: PlanRequest | None = None
    policy: Policy | None = None

    @property
    def asked_by(self) -> str:
        """Return by what more is asked than a page counts: a policy, roles, or k alone.

        A gate looks at what columns hold too, of those that stay as they are.
        """
        if self.policy is not None:
            return "policy"
        return "roles" if self.insensitive or self.unit is not None else "k"

    @property
    def most_suppressed(self) -> float:
        """The largest share that may be left out."""
        return 1.0 if self.goals is None else self.goals.most_suppressed(1.0)


def not_all(n_missing: int) -> str:
    """Return the sentence that names how many combinations the time limit left out."""
    return (
        f"stopped by time_limit=: {count_of(n_missing, 'combination')} of levels that are listed "
        "as left out were not counted; a longer one counts them"
    )


def rounded_up(counts: Integers, floor: int) -> Integers:
    """Round counts of people up to multiples of the floor: 0 means nobody.

    Examples
    --------
    >>> rounded_up(np.array([0, 1, 5, 6]), 5).tolist()
    [0, 5, 5, 10]
    """
    return -(-counts // floor) * floor


def told_as(count: int, floor: int) -> int:
    """Return a count of people as it is printed: rounded up to a multiple of the floor."""
    return int(rounded_up(np.array(count), floor))


def summarise(
    combinations: Combinations,
    levels: Mapping[Name, Sequence[Choice]],
    left_out: Sequence[LeftOutLevel],
    *,
    asked: ExploreRequest,
    people: int,
    n_rows: int,
    rules: Mapping[tuple[Name, MergeRare], KeepCommon],
    margins: Mapping[Name, Integers],
    loss: str,
    columns: Qid,
    floor: int,
    max_suppressed: float,
    engine: str,
    name: str | None,
    title: str | None,
    other_k: Sequence[int] = (),
    n_missing: int = 0,
    served: bool = False,
) -> dict[str, Any]:
    """Return all that an explorer holds as plain values that serialise as JSON.

    `other_k` may be chosen on the page. `n_missing` combinations there was no time for. Of a page
    that is served, `combinations` are those that were counted so far.
    """
    n = told_as(people, floor)
    lines: list[dict[str, Any]] = []
    for column, choices in levels.items():
        step = _step(loss, margins[column], floor / n)
        lines.append(
            {
                "name": name_of(column),
                "levels": [
                    _level(
                        column,
                        _ruled(rules, column, choice.recoding),
                        told_as(choice.n_groups, floor),
                        choice.mean_loss(margins[column]),
                        step,
                    )
                    for choice in choices
                ],
                "detail_step": step,
                **_for_hierarchies(column),
            }
        )
    shape = [len(column["levels"]) for column in lines]
    # What a check of the result has to be told; below the floor nothing is told.
    asks = asked.policy is not None and asked.policy.about_removed and n_rows >= floor
    n_original = n_rows if asks else None
    figures = told_of(combinations, asked, people, floor)
    sizes, detail = list(combinations.smaller), detail_of(lines)
    by_k = [
        {
            "k": k,
            "best": [] if served else _best(figures["counts"]["smaller"][sizes.index(k)], detail),
            "policy": _policy(replace(asked, k=k)),
            "next": NOT_TRIED,
        }
        for k in (asked.k, *other_k)
    ]
    return {
        "schema_version": SCHEMA_VERSION,
        "library": "anonrisk",
        "library_version": __version__,
        "masthead": _masthead(
            n, shape, name, title, engine, asked, n_missing=n_missing, served=served
        ),
        "partial": n_missing > 0,
        "not_counted": n_missing,
        **by_k[0],
        "other_k": by_k[1:],
        "who": WHO[asked.unit is not None],
        "floor": floor,
        "people": n,
        "n_original": n_original,
        "max_suppressed": max_suppressed,
        "suppressions": sorted(
            share for share in {*_SUPPRESSIONS, max_suppressed} if share <= asked.most_suppressed
        ),
        "columns": lines,
        "loss": loss,
        "left_out": [
            {
                "column": name_of(item.column),
                # Its edges may be the reason why it went.
                "level": cut(_label(_ruled(rules, item.column, item.recoding))),
                "why": item.why,
            }
            for item in left_out[:_MOST_LEFT_OUT]
        ],
        "more_left_out": max(0, len(left_out) - _MOST_LEFT_OUT),
        "sizes": sizes,
        "bands": [_band(*band) for band in zip((1, *sizes), (*sizes, None), strict=True)],
        **figures,
        "t_step": t_step(n, floor),
        "not_looked_at": [name_of(column) for column in asked.not_looked_at],
        "not_judged": list(asked.not_judged),
        "attributes_not_judged": [name_of(column) for column in asked.attributes_not_judged],
        "asked_by": asked.asked_by,
        "plan": _plan_parts(columns, loss, asked),
        "plan_without": _plan_parts(columns, loss, asked, leave_out=asked.not_looked_at),
        "meanings": {
            **{word: MEANINGS[word] for word in ("k", "uniqueness", "ldiv", "tcloseness")},
            "detail": _DETAIL[loss],
        },
        "internal": INTERNAL,
        "never_shown": _never(floor, WHO[asked.unit is not None], n_original),
    }


def told_of(
    combinations: Combinations, asked: ExploreRequest, people: int, floor: int
) -> dict[str, Any]:
    """Return what may be told of some combinations, whichever others there are."""
    step = t_step(told_as(people, floor), floor)
    # Each is rounded for itself, and a band is the difference of two: no sum of them tells by how
    # much they were rounded to whoever knows how many records there are.
    smaller = {
        size: rounded_up(counts, floor).tolist() for size, counts in combinations.smaller.items()
    }

    def given_away(column: Name, least: int) -> dict[str, Any]:
        return {
            "ldiv": combinations.ldiv[column, least].tolist(),
            "tcloseness": _coarse(combinations.tcloseness[column, least], step),
        }

    kept = max(asked.k, floor)
    return {
        "counts": {
            "alone": smaller[2],
            "below": smaller[asked.k],
            "smaller": [*smaller.values()],
            "classes": rounded_up(combinations.classes, floor).tolist(),
            "smallest": np.where(combinations.smallest < floor, 0, combinations.smallest).tolist(),
        },
        "sensitive": [
            {
                "name": name_of(column),
                "distance": distance,
                "limits": dict(asked.limits.get(column, {})),
                **given_away(column, kept),
                # By the size of the classes that are looked at, where another k may be chosen.
                "of_classes_from": {
                    str(least): given_away(column, least)
                    for name, least in combinations.ldiv
                    if name == column and least != kept
                },
            }
            for column, distance in asked.distances.items()
        ],
    }


def _masthead(  # noqa: PLR0917
    n: int,
    shape: Sequence[int],
    name: str | None,
    title: str | None,
    engine: str,
    asked: ExploreRequest,
    *,
    n_missing: int,
    served: bool,
) -> dict[str, Any]:
    counted = (
        ("Records", f"up to {n:,}, each taken for a person")
        if asked.unit is None
        else ("People", f"up to {n:,}, known by {name_of(asked.unit)}")
    )
    policy = None if asked.policy is None else asked.policy.name or asked.policy.digest[:19]
    how = "each counted when it is chosen" if served else "all measured from one count of the table"
    facts = [
        ("Table", None if name is None else cut(name)),
        ("Policy", None if policy is None else cut(policy)),
        counted,
        ("Combinations", f"{math.prod(shape):,}, {how}"),
        ("PARTIAL", not_all(n_missing) if n_missing else None),
        ("Counted", f"{now().replace('T', ' ').removesuffix('+00:00')} UTC by {engine}"),
        ("Made by", f"anonrisk {__version__}"),
    ]
    lines = [{"label": label, "text": text} for label, text in facts if text]
    return {"title": cut(title or _TITLE), "facts": lines}


# ---- levels --------------------------------------------------------------------------------------


def _step(loss: str, margin: Integers, moved: float) -> float:
    """Return a step that a loss does not move by if such a share goes from one value to another.

    An entropy moves by h(share) at most, and the loss is a quotient of two. That of the column is
    not told by its step: that is a round number.
    """
    if loss != "entropy":
        return max(_DETAIL_STEP, moved)
    share = min(moved, 0.5)
    most = -share * math.log2(share) - (1 - share) * math.log2(1 - share)
    step = 2 * most / max(entropy_of(margin), 1e-9)
    return next(item for item in _ROUND_STEPS if item >= min(step, 1.0))


def _level(
    column: Name, recoding: Recoding, n_values: int, loss: float, step: float
) -> dict[str, Any]:
    """Return one level, without a value of the column, and the piece of a plan that makes it."""
    text = f"{_label(recoding)}, up to {n_values:,} values"
    if isinstance(recoding, Star):
        text = f"left out: every cell is {recoding.label!r}"
    elif isinstance(recoding, (Bins, Level, MergeRare, KeepCommon)):
        text = str(recoding)
    stored = Plan({column: recoding}).to_dict()["recodings"][0]
    stored.pop("nodes", None)
    return {
        "label": cut(_label(recoding)),
        "text": cut(text),
        "as_it_is": isinstance(recoding, Keep),
        "hierarchy": isinstance(recoding, Level),
        "rule": isinstance(recoding, KeepCommon),
        # All and nothing are known without a count.
        "loss": loss if loss in (0.0, 1.0) else min(round(round(loss / step) * step, 9), 1.0),
        "piece": json.dumps(stored),
    }


def _ruled(
    rules: Mapping[tuple[Name, MergeRare], KeepCommon], column: Name, recoding: Recoding
) -> Recoding:
    """Return the rule that a list of values follows from, or what there is without one."""
    if isinstance(recoding, MergeRare) and (column, recoding) in rules:
        return rules[column, recoding]
    return recoding


def _label(recoding: Recoding) -> str:
    """Name a level by what it is, not by what it holds: bins and groups are counted in it."""
    if isinstance(recoding, Star):
        return "left out"
    if isinstance(recoding, Bins):
        return f"{len(recoding.edges) + 1:,} bins"
    if isinstance(recoding, KeepCommon):
        return f"those of {recoding.at_least:,} or more"
    if isinstance(recoding, Level):
        return f"{len(set(recoding.mapping().values())):,} groups"
    return str(recoding).partition(":")[0]


def detail_of(columns: Sequence[Mapping[str, Any]]) -> Floats:
    """Return the detail that each combination keeps: 1 minus the mean loss of its levels."""
    total = np.zeros(())
    for column in columns:
        total = np.add.outer(total, [level["loss"] for level in column["levels"]])
    return np.asarray(1 - total.ravel() / len(columns))


def _best(below: Sequence[int], detail: Floats) -> list[int]:
    """List combinations than which no other keeps more detail with as few people below k."""
    order = np.lexsort((-detail, np.array(below)))
    most = np.maximum.accumulate(detail[order])
    first = np.concatenate(([True], most[1:] > most[:-1] + 1e-9))
    best = order[first]
    places = np.linspace(0, len(best) - 1, min(len(best), _MOST_BEST)).round().astype(int)
    return [int(node) for node in best[np.unique(places)]]


def t_step(n: int, floor: int) -> float:
    """Return the steps in which distances of so many people are told."""
    return max(_T_STEP, floor / n)


def _coarse(values: Floats, step: float) -> list[float | None]:
    """Round distances up to multiples of a step; None where there is none."""
    steps = np.minimum(np.ceil(values / step - 1e-9) * step, 1.0)
    # The last of six digits goes up too, and nothing is below zero.
    rounded = np.ceil(steps * 1e6 - 1e-6) / 1e6 + 0.0
    return [None if np.isnan(value) else float(value) for value in rounded]


def _band(low: int, end: int | None) -> str:
    if end is None:
        return f"{low:,} or more"
    return f"{low:,}" if low == end - 1 else f"{low:,} to {end - 1:,}"


def _never(floor: int, who: str, n_original: int | None) -> str:
    but = "" if n_original is None else ", but for all rows together, whose number a check asks for"
    return (
        "No text of the table is on this page or in its data, but for names of columns and of "
        f"nodes of hierarchies. Counts of {who} and of classes are rounded up to multiples of "
        f"{floor:,}{but}, so that 0 means nobody, and bands of sizes are differences of those; a "
        f"smallest class of fewer than {floor:,} is not shown. Shares and risks follow from those. "
        f"Detail kept and t are rounded to steps that {floor:,} {who} "
        f"make; l and t are given for classes of {floor:,} or more. Edges of bins have as many "
        f"{who} on either side. Still, many counts of one table together may reveal what none of "
        "them does."
    )


# ---- what is taken away --------------------------------------------------------------------------


def _plan_parts(columns: Qid, loss: str, asked: ExploreRequest, leave_out: Qid = ()) -> list[str]:
    """Return a plan as JSON without k, the largest suppression and the recodings, in four parts."""
    plan = Plan(
        {},
        columns=columns,
        loss=loss,
        note="chosen in the explorer",
        unit=asked.unit,
        leave_out=(*asked.leave_out, *leave_out),
    )
    stored = without_digest(plan)
    parts, opened = ["{"], ""
    for key, value in stored.items():
        parts[-1] += f"{opened}\n  {json.dumps(key)}: "
        opened = ","
        if key in ("k", "max_suppressed"):
            parts.append("")
        elif key == "recodings":
            parts[-1] += "[\n    "
            parts.append("\n  ]")
        else:
            parts[-1] += json.dumps(value)
    parts[-1] += "\n}"
    return parts


def _for_hierarchies(column: Name) -> dict[str, str]:
    """Return how the hierarchy of a column is named again, where a plan is applied."""
    return {"shell": shlex.quote(f"{shown(column)}=FILE"), "python": f"{column!r}: 'FILE'"}


def _policy(asked: ExploreRequest) -> str | None:
    policy = policy_of(asked)
    return None if policy is None else json.dumps(policy.to_dict(), indent=2)


def policy_of(asked: ExploreRequest) -> Policy | None:
    """Return the policy that asks of the published table what was chosen here.

    None where a policy, which is a file, cannot name a column.
    """
    roles = {
        "quasi": [*asked.qid],
        "sensitive": [*asked.distances],
        "direct": [*asked.leave_out],
        "insensitive": [*asked.insensitive],
        "unit": asked.unit,
    }
    about: Any = {role: named for role, named in roles.items() if named not in ([], None)}
    try:
        return asked.policy or Policy(k=asked.k, **about)
    except PolicyError:
        return None


# Those of statistical offices, of health data, and of whoever asks for nobody to be alone.
_USUAL_K = (2, 3, 5, 10, 11, 20)
# Where bands of larger classes begin, in units of k.
_BANDS = (2, 10)


@dataclass(frozen=True)
class ExploreOptions:
    """What a caller of `explore` says beside the columns; see there."""

    hierarchies: Mapping[Any, Any]
    bins: Cuts
    loss: ColumnLoss
    max_suppressed: float
    floor: int
    name: str | None
    title: str | None


@dataclass(frozen=True)
class OpenedTable:
    """One count of a table, and the levels that are offered for it; no part of it is told as it is.

    Attributes
    ----------
    asked : ExploreRequest
    options : ExploreOptions
    engine : str
    columns : tuple of names
        All columns of the table.
    tally : Tally
    people : int
        Records, or persons.
    levels : dict of column to levels
    left_out : list of LeftOutLevel
    rules : dict
        From `with_rules`.
    margins : dict of column to array
    """

    asked: ExploreRequest
    options: ExploreOptions
    engine: str
    columns: Qid
    tally: Tally
    people: int
    levels: dict[Name, list[Choice]]
    left_out: list[LeftOutLevel]
    rules: Mapping[tuple[Name, MergeRare], KeepCommon]
    margins: dict[Name, Integers]

    @classmethod
    def of(
        cls, engine: Engine, frame: Any, asked: ExploreRequest, options: ExploreOptions
    ) -> OpenedTable:
        """Count a table, and find the levels of its columns."""
        k, qid, floor = asked.k, asked.qid, options.floor
        require_hierarchies(options.hierarchies, qid)
        fields = {**options.hierarchies, **{column: [Keep()] for column in asked.fixed}}
        free = tuple(column for column in qid if column not in fields)
        persons = () if asked.unit is None else (asked.unit,)
        tell("counting the classes")
        goal_columns = () if asked.goals is None else beside(asked.goals.about, None)
        columns = tuple(dict.fromkeys((*qid, *persons, *asked.distances, *goal_columns)))
        tally = engine.tally(frame, ClassesWithValues(columns, free))
        if asked.goals is not None:
            # The page counts a missing cell as a value; a gate may not.
            asked.goals.check_values(tally)
        if asked.unit is not None:
            if missing := told_as(int(tally.margin(asked.unit)[-1]), floor):
                raise MissingUnitError(
                    f"unit {asked.unit!r} is missing in up to {count_of(missing, 'row')}; every "
                    "row must belong to a person"
                )
            tally = PersonTally.of(tally, asked.unit)
        who = "record" if asked.unit is None else "person"
        n = tally.n_records if asked.unit is None else len(tally.domains[asked.unit])
        if not n:
            raise EmptyTableError("the table is empty: there is no record to explore")
        # A page that is served must not tell by what it refuses what it rounds.
        if k > (most := told_as(n, floor)):
            raise ArgumentError(
                f"k={k} is larger than the table, which has up to {count_of(most, who)}"
            )
        margins = {column: tally.margin(column) for column in qid}
        for column in qid:
            check_finite(tally.domains[column].values, margins[column][:-1], column)
        about = value_budget(tally, qid, k=k, n=n)
        shares = dict(zip(qid, about.per_column, strict=True))
        least = max(k, floor)
        offered = offers(tally, shares, fields, k=least, bins=options.bins)
        if options.bins == "auto":
            # Bands of 5 or 10 years are read sooner than quantiles.
            even = offers(tally, shares, fields, k=least, bins="width")
            offered |= {name: kinds for name, kinds in even.items() if _has_steps(kinds)}
        by_rule, rules = with_rules({name: offered[name] for name in free}, tally, least)
        levels, left_out = levels_of(tally, {**offered, **by_rule}, OF_COLUMNS[options.loss])
        everything = tuple(engine.schema(frame).columns)
        return cls(
            asked, options, engine.name, everything, tally, n, levels, left_out, rules, margins
        )

    def every(self) -> dict[str, Any]:
        """Count every combination, or those that a time limit leaves time for; sum it up."""
        result, levels, no_time = combinations(self.tally, self.levels, **self._how)
        n_missing = math.prod(map(len, self.levels.values())) - len(result.classes)
        left_out = [*no_time, *self.left_out]
        return self._summary(result, levels, left_out, n_missing=n_missing)

    def first(self) -> dict[str, Any]:
        """Count the finest levels and sum up what a page begins with that asks for the others."""
        held = self._summary(self._when_asked.at([0]), self.levels, self.left_out, served=True)
        held["nodes"] = [0]
        for column, choices in zip(held["columns"], self.levels.values(), strict=True):
            column["coarsens"] = refinements(choices).tolist()
        return held

    def counts_of(self, nodes: Sequence[int]) -> dict[str, Any]:
        """Return what may be told of some combinations, counted now; reject what is none."""
        number = self._when_asked.number
        if not all(type(node) is int and 0 <= node < number for node in nodes):
            raise ArgumentError(f"combinations are numbered from 0 to {number - 1:,}")
        counted = self._when_asked.at(nodes)
        return told_of(counted, self.asked, self.people, self.options.floor)

    @property
    def trees(self) -> dict[Name, Hierarchy]:
        """The hierarchies that levels are of, which a plan that is read back needs again."""
        return {
            column: choice.recoding.hierarchy
            for column, choices in self.levels.items()
            for choice in choices
            if isinstance(choice.recoding, Level) and choice.recoding.hierarchy is not None
        }

    @property
    def people_told(self) -> int:
        """Records, or persons, as they are told: rounded up to the floor."""
        return told_as(self.people, self.options.floor)

    def may_be_k(self, k: int) -> bool:
        """Return whether k may be changed to that: between 2 and the floor none may.

        With it, a smallest class would be told that is not shown.
        """
        return k <= 2 or k >= self.options.floor

    @property
    def other_k(self) -> tuple[int, ...]:
        """What k may be changed to on the page, where no policy says it."""
        most = self.people_told - self.options.floor + 1
        if self.asked.policy is not None:
            return ()
        return tuple(k for k in _USUAL_K if k != self.asked.k and self.may_be_k(k) and k <= most)

    @cached_property
    def _when_asked(self) -> CountedWhenAsked:
        return CountedWhenAsked(self.tally, self.levels, **self._how)

    @property
    def _how(self) -> dict[str, Any]:
        k = self.asked.k
        of_k = (k, *self.other_k)
        return {
            "sizes": sorted({2, *of_k, *(times * k for times in _BANDS)}),
            "sensitive": self.asked.distances,
            "kept": sorted({max(each, self.options.floor) for each in of_k}),
            "unit": self.asked.unit,
        }

    def _summary(
        self,
        result: Combinations,
        levels: Mapping[Name, Sequence[Choice]],
        left_out: Sequence[LeftOutLevel],
        **about: Any,
    ) -> dict[str, Any]:
        options = self.options
        return summarise(
            result,
            levels,
            left_out,
            asked=self.asked,
            people=self.people,
            n_rows=self.tally.n_records,
            rules=self.rules,
            margins=self.margins,
            loss=options.loss,
            columns=self.columns,
            floor=options.floor,
            max_suppressed=min(options.max_suppressed, self.asked.most_suppressed),
            engine=self.engine,
            name=options.name,
            title=options.title,
            other_k=self.other_k,
            **about,
        )


def _has_steps(recodings: Sequence[Recoding]) -> bool:
    """Return whether numbers are cut in two ways or more."""
    return sum(isinstance(recoding, Bins) for recoding in recodings) > 1
