"""The search for a plan: by whole columns, by region, or by what loses less of the two."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.core.columns import as_names, require
from anonrisk.core.frozen import dataclass
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.core.progress import limited, tell, time_is_up
from anonrisk.core.render import count_of, exact, kind_name, named, visible
from anonrisk.engines import engine_for
from anonrisk.engines.limits import check_finite
from anonrisk.engines.one_state import one_state
from anonrisk.errors import (
    ArgumentError,
    EmptyTableError,
    HierarchyError,
    PlanError,
    TooManyClassesError,
)
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.recode import Bins, DatePart, Keep, Level, MergeRare, Prefix, Recoding, Star
from anonrisk.measures.recode.kinds import PARTS, is_within
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning.class_rules import MET, Coded, PlanGoal, Requirements, beside
from anonrisk.planning.goals import with_rules
from anonrisk.planning.knows_method import attacked
from anonrisk.planning.lattice.full_domain import best_of
from anonrisk.planning.losses import (
    OF_COLUMNS,
    ClassLoss,
    GroupedClasses,
    GroupedColumn,
    entropy_of,
    loss_of,
)
from anonrisk.planning.outcome import PlanOutcome
from anonrisk.planning.prices import NOT_SEARCHED, PlanPrice, PlanPrices
from anonrisk.planning.regions.large import WHY_IN_STAGES, countable_in_stages, large_plan
from anonrisk.planning.regions.least import gap_of
from anonrisk.planning.regions.multidimensional import best, multidimensional, worthwhile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.types import PlanMethod
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.planning.attack import PlanAttack
    from anonrisk.planning.goals import PlanRequest
    from anonrisk.planning.losses import Loss
    from anonrisk.planning.options import PlanOptions
    from anonrisk.planning.plan import Plan
    from anonrisk.planning.prices import PlanGap


def before_plan(tally: Tally, request: PlanRequest, loss: Loss) -> PlanOutcome:
    """Measure the table as it is; what breaks a rule stands below."""
    qid, n = request.qid, tally.n_records
    required = Requirements(tally, qid, request.rules, unit=request.unit, allowed=n)
    coded = Coded(
        [tally.codes[name] for name in (*qid, *required.beside)],
        tally.counts,
        [len(tally.domains[name]) + 1 for name in (*qid, *required.beside)],
    )
    sizes = required.counted(coded, qid, np.ones(len(tally.counts), dtype=bool))
    whole = tally.only(qid)
    margins = [whole.margin(name) for name in qid]
    return PlanOutcome(
        n,
        sizes.n_classes,
        sizes.k,
        n - int(required.kept(coded).records.sum()),
        _loss(whole, qid, loss),
        int((whole.counts**2).sum()),
        tuple(int((margin > 0).sum()) for margin in margins),
        None if request.unit is None else sizes.n_records,
        bits=float(np.mean([entropy_of(margin) for margin in margins])),
        range_loss=0.0,
    )


def _loss(tally: Tally, qid: Qid, loss: Loss) -> float:
    """Return what is lost before anything has become coarse: classes and secrets as they are."""
    columns = [GroupedColumn.of(Keep(), c, tally.domains[c], tally.margin(c)) for c in qid]
    if not isinstance(loss, ClassLoss):
        return float(np.mean([column.mean(loss.of_groups(column)) for column in columns]))
    classes = GroupedClasses(
        [tally.codes[name] for name in qid],
        {column.name: column.groups for column in columns},
        [column.n_groups for column in columns],
        tally.counts,
        np.ones(len(tally.counts), dtype=bool),
    )
    return float(loss.of_classes(classes) @ tally.counts / tally.n_records)


# More steps of one column than this make a search longer, and a plan hardly finer.
_STEPS = 40


def check_previous(previous: Plan | None, qid: Qid) -> None:
    """Reject a plan that the next one cannot follow."""
    if previous is None:
        return
    if not hasattr(previous, "recodings"):
        raise ArgumentError(
            f"previous= is a Plan, not {kind_name(previous)}: Plan.from_json reads one"
        )
    if previous.regions is not None:
        raise ArgumentError(
            "a multidimensional plan is kept by applying it again: anonrisk.apply says whether it "
            "still holds. A new one is made without previous="
        )
    gone = [visible(name) for name in previous.recodings if name not in qid]
    if gone:
        raise ArgumentError(
            f"the previous plan recodes {', '.join(gone)}, which would then be published in full: "
            f"name {'it' if len(gone) == 1 else 'them'} among the quasi-identifiers"
        )


def as_before(
    previous: Plan | None,
    tally: Tally,
    by_column: Mapping[Name, Any],
    make: Callable[[Mapping[Name, Any]], Plan],
) -> Plan:
    """Make a plan with the recodings of another, or with coarser ones where these will not do.

    `make` takes what each column is offered.
    """
    if previous is None:
        return make(by_column)
    chains = {
        name: _coarser(recoding, tally, name, by_column.get(name))
        for name, recoding in previous.recodings.items()
    }
    try:
        return _noted(
            make({**by_column, **{name: chain[:1] for name, chain in chains.items()}}), ""
        )
    except PlanError:
        # A column that was told in full may get whatever would be offered to it now.
        full = [name for name, chain in chains.items() if isinstance(chain[0], Keep)]
        offered = {**by_column, **{n: chain for n, chain in chains.items() if n not in full}}
        made = make(offered)
    changed = [visible(c) for c, old in previous.recodings.items() if made.recodings[c] != old]
    return _noted(made, ", ".join(changed))


def _noted(made: Plan, changed: str) -> Plan:
    text = f"coarser than before: {changed}" if changed else "the same recodings as before"
    return replace(made, note=f"{made.note}; {text}" if made.note else text)


def _coarser(recoding: Recoding, tally: Tally, name: Name, value: Any) -> list[Recoding]:
    """List a recoding and those that it is within, the finest first."""
    steps: list[Recoding] = [recoding]
    if isinstance(recoding, Bins):
        steps += _joined(recoding, tally, name)
    elif isinstance(recoding, Prefix):
        steps += [replace(recoding, length=n) for n in range(recoding.length - 1, 0, -1)]
    elif isinstance(recoding, DatePart):
        parts = (DatePart(part) for part in PARTS)
        steps += [part for part in parts if part != recoding and is_within(recoding, part)]
    elif isinstance(recoding, MergeRare):
        steps += _fewer(recoding, tally, name)
    elif isinstance(recoding, Level):
        steps = _levels(recoding, tally, name, value)
    return steps if isinstance(steps[-1], Star) else [*steps, Star()]


def _joined(bins: Bins, tally: Tally, name: Name) -> list[Recoding]:
    """Join two neighbours after another, those first that have the fewest records together."""
    edges = list(bins.edges)
    places = bins.places(tally.domains[name].values.astype(np.float64))
    counts = np.bincount(places, tally.margin(name)[:-1], minlength=len(edges) + 1).tolist()
    steps: list[Recoding] = []
    while len(edges) > 1:
        together = [a + b for a, b in pairwise(counts)]
        least = together.index(min(together))
        counts[least : least + 2] = [together[least]]
        del edges[least]
        steps.append(Bins(tuple(edges), whole=bins.whole))
    return steps


def _fewer(merge: MergeRare, tally: Tally, name: Name) -> list[Recoding]:
    """Put one after another of the kept values with the others, the rarest first."""
    groups, labels = merge.groups(tally.domains[name])
    counts = np.bincount(groups, tally.margin(name)[:-1])
    often = dict(zip(labels or (), counts.tolist(), strict=True))
    kept = sorted(merge.kept, key=lambda value: -often.get(value, 0))
    # Of many, some that are evenly apart.
    numbers = np.unique(np.linspace(1, len(kept) - 1, min(len(kept) - 1, _STEPS)).astype(int))
    return [replace(merge, kept=tuple(sorted(kept[:n]))) for n in numbers[::-1].tolist()]


def _levels(recoding: Level, tally: Tally, name: Name, value: Any) -> list[Recoding]:
    tree = recoding.hierarchy
    if tree is None and value is not None:
        tree = Hierarchy.of(value)
    known = Level(recoding.level, recoding.fingerprint, tree)
    lost = int((~known.knows(tally.domains[name])).sum())
    if tree is None or lost:
        raise HierarchyError(f"the hierarchy lacks {lost} of the values of column {name!r}")
    steps = [Level.of(tree, level) for level in range(recoding.level, tree.height + 1)]
    if steps[0] != known:
        raise PlanError(f"the hierarchy of {name!r} is not the one of the previous plan")
    return steps


# How much larger the larger k of a price list is.
_TIMES = 2


@dataclass(frozen=True)
class PlanSearch:
    """What is searched for, and among what.

    Attributes
    ----------
    request : PlanRequest
        The goals, and the columns they are about.
    start : Plan
        The plan without recodings.
    options : PlanOptions
        What an expert set.
    method : str
        The method that follows from the options.
    by_column : mapping of column to recodings or a hierarchy
        What the caller offers.
    weights : list of float, optional
        What the detail of each column is worth.
    loss_about : tuple of names
        The columns that the loss looks at, beside the quasi-identifiers.
    previous : Plan, optional
        The plan of the release before.
    """

    request: PlanRequest
    start: Plan
    options: PlanOptions
    method: PlanMethod
    by_column: Mapping[Name, Any]
    weights: list[float] | None
    loss_about: Qid
    previous: Plan | None = None

    def run(self, engine: Engine, frame: Any) -> Plan:
        """Count the table, and return the plan of least loss."""
        with limited(self.options.time_limit) as clock:
            make = self.counted(engine, frame)
            made = self._in_stages(engine, frame) if make is None else make(self.request.deciding)
        made = replace(made, made_by=self)
        if not clock.cut_short:
            return made
        short = f"time_limit= ended {' and '.join(clock.cut_short)}"
        note = f"{made.note}; {short}" if made.note else short
        return replace(made, partial=True, note=note)

    def counted(self, engine: Engine, frame: Any) -> Callable[..., Plan] | None:
        """Count the table, and return what makes the plan of least loss for a request.

        That may be told what each column is offered. None where there are too many classes.
        """
        tell("counting the classes")
        whole = self._tally(engine, frame, self._looked_at)
        return None if whole is None else self._best_of(whole)

    @property
    def _looked_at(self) -> Qid:
        """The columns that the search looks at: those to recode, and others."""
        about = beside(self.request.about, self.request.unit)
        return (*dict.fromkeys((*self.request.qid, *about, *self.loss_about)),)

    def _best_of(self, whole: Tally) -> Callable[..., Plan]:
        """Return what makes the plan of least loss of a counted table, as `counted` does."""
        request, lost = self.request, self.loss_about
        request.check_values(whole)
        loss = loss_of(self.options.loss, whole, request.qid, *lost)
        counted = (*request.qid, *beside(request.about, request.unit))
        tally = whole.only(counted) if lost else whole
        n, who = tally.n_records, "record"
        if request.unit is not None:
            n, who = int((tally.margin(request.unit) > 0).sum()), "person"
        # Of a policy's budgets some may only warn: then no plan reaches them, and says so.
        least = 1 if request.of_policy else request.k
        _check_size(n, least, self.options.population_size, who)
        for name in request.qid:
            check_finite(tally.domains[name].values, tally.margin(name)[:-1], name)
        make = partial(self._make, tally, whole, loss, n)

        def best_for(wanted: PlanRequest, by_column: Mapping[Name, Any] = self.by_column) -> Plan:
            offering = partial(make, wanted)
            return as_before(
                self.previous, tally, by_column, lambda offered: offering(by_column=offered)
            )

        return best_for

    def prices(self, plan: Plan, frame: Any, time_limit: float | None) -> PlanPrices:
        """Count the table once, and search a plan for each line of a price list."""
        # What may be lost at most is not asked of a price.
        search = replace(self, options=replace(self.options, max_loss=None))
        prices: list[PlanPrice] = []
        with one_state(frame, "plan"), limited(time_limit):
            make = search.counted(engine_for(frame), frame)
            if make is None:
                raise PlanError("the table has too many classes to be counted at once for prices")
            for what, wanted, by_column in search.lines(plan):
                with limited(None) as clock:
                    late = bool(prices) and time_is_up(what)
                    price = PlanPrice(what, partial=True, why=NOT_SEARCHED)
                    if not late:
                        price = _price(what, partial(make, wanted, by_column))
                    prices.append(replace(price, partial=bool(clock.cut_short)))
        return PlanPrices(_price("as planned", lambda: plan), tuple(prices))

    def attack(self, plan: Plan, frame: Any, sensitive: Any) -> PlanAttack:
        """Count the table once, and measure what is learned by whoever could make the plan."""
        request = self.request
        if request.unit is not None:
            raise PlanError(
                "who learns what of a plan about persons with several records is not measured: "
                "plan without unit= on a table of one row per person"
            )
        if self.previous is not None:
            # That one may have looked at sensitive values, of this table or of others.
            raise PlanError(
                "who learns what of a plan that follows another one (previous=) is not measured: "
                "the recodings may tell what that one looked at; plan without previous="
            )
        if plan.partial:
            raise PlanError(
                "the search of this plan was stopped, so that nobody could make it again: let it "
                "end, then ask who learns what"
            )
        with one_state(frame, "plan"), limited(None):
            engine = engine_for(frame)
            # Not those of the plan, which can be changed.
            goals = request.deciding.about
            about = (*(goal.column for goal in goals), *self.loss_about)
            hidden = tuple(name for name in dict.fromkeys(about) if name not in request.qid)
            names = hidden
            if sensitive is not None:
                columns = engine.schema(frame).columns
                names = as_names(sensitive, "sensitive", columns)
                require(names, "sensitive", columns)
            wrong = next((name for name in names if name in request.qid), None)
            if wrong is not None:
                raise ArgumentError(f"sensitive {wrong!r} is a quasi-identifier of the plan")
            looked_at = self._looked_at
            tally = self._counted_again(engine, frame, names)

            def make(world: Tally) -> Plan:
                return self._best_of(world.only(looked_at))(request.deciding)

            by_counts = not self.loss_about and all(
                FORMULAS[goal.score].order != "r" for goal in goals
            )
            return attacked(
                plan, tally, make,
                goals=goals, sensitive=names, hidden=hidden, by_counts=by_counts,
            )  # fmt: skip

    def gap(self, plan: Plan, frame: Any, sample: int | None, seed: int) -> PlanGap:
        """Count the table once, and compare a plan by region with the least loss."""
        if plan.regions is None:
            raise PlanError(
                "how far from the best is asked of plans by region; of this one, with whole "
                "columns, plan.proven_gap says it. Make another with "
                "options=anonrisk.PlanOptions(method='multidimensional')"
            )
        if plan.loss not in OF_COLUMNS:
            raise PlanError(
                f"how far from the best is measured by {' or '.join(OF_COLUMNS)}, not by the loss "
                f"of this plan, {plan.loss}"
            )
        with one_state(frame, "plan"), limited(None):
            tally = self._counted_again(engine_for(frame), frame)
            return gap_of(
                plan, tally, self.request.deciding.on_all_columns(), by_column=self.by_column,
                weights=self.weights, unit=self.request.unit, sample=sample, seed=seed,
            )  # fmt: skip

    def lines(self, plan: Plan) -> Iterator[tuple[str, PlanRequest, Mapping[Name, Any]]]:
        """Yield what could be otherwise than in a plan: a request, and what columns are offered."""
        wanted, offered = self.request.deciding, self.by_column
        met = {(b.budget, b.limit, b.qid, b.sensitive) for b in plan.budgets if b.status == MET}
        for goal in self.request.goals:
            column = None if goal.about is None else goal.about.column
            known = (goal.budget, goal.limit, goal.qid, column) in met
            if goal.severity == "fail" or goal.why_not or known:
                continue
            about = "" if column is None else f" of {named(column)}"
            more = (*wanted.goals, replace(goal, severity="fail"))
            yield (
                f"{goal.budget}{about} within {exact(goal.limit)}",
                replace(wanted, goals=more),
                offered,
            )
        larger = tuple(
            PlanGoal("k", rule.qid, rule.k * _TIMES, k=rule.k * _TIMES)
            for rule in wanted.rules
            if rule.k > 1
        )
        if larger:
            what = f"k = {max(goal.k for goal in larger):,}"
            yield what, replace(wanted, goals=(*wanted.goals, *larger)), offered
        for name in wanted.qid if len(wanted.qid) > 1 else ():
            if name not in wanted.fixed:
                yield f"{named(name)} left out", wanted, {**offered, name: [Star()]}

    @property
    def _free(self) -> Qid:
        return tuple(name for name in self.request.qid if name not in self.by_column)

    @property
    def _median(self) -> bool:
        return self.options.split == "median"

    def _make(
        self,
        tally: Tally,
        whole: Tally,
        loss: Loss,
        n: int,
        wanted: PlanRequest,
        *,
        by_column: Mapping[Name, Any],
    ) -> Plan:
        """Make the plan for some of the goals, by the method that was asked for."""
        options, max_loss = self.options, self.options.max_loss
        made = with_rules(self.start, wanted)
        made = replace(made, before=before_plan(tally, wanted, loss))
        offered: dict[str, Any] = {
            "asked": self.request,
            "by_column": by_column,
            "weights": self.weights,
        }
        whole_columns = partial(
            best_of, wanted, made, tally, loss=loss, **offered,
            n=options.population_size or n, beta=options.beta,
            bins=options.bins, budget=options.budget, max_loss=max_loss,
        )  # fmt: skip
        if self.method == "full-domain":
            return whole_columns()
        tell("cutting the table into regions")
        by_region = partial(
            multidimensional, made, whole, wanted, loss, **offered, median=self._median
        )
        if self.method == "auto":
            return best(whole_columns, lambda start: by_region(start=start), max_loss, self.weights)
        return worthwhile(by_region(), max_loss)

    def _tally(self, engine: Engine, frame: Any, columns: Qid) -> Tally | None:
        """Count the classes; None where they are too many, but can be counted in stages."""
        by_region = self.method != "full-domain" and self.start.loss in OF_COLUMNS
        by_place = by_region and countable_in_stages(self.request)
        try:
            return engine.tally(frame, ClassesWithValues(columns, self._free, by_place))
        except TooManyClassesError as error:
            if by_place:
                return None
            raise TooManyClassesError(
                f"{error}; where persons or sensitive values are counted too, plan on a sample of "
                "the persons, then apply the plan to the whole table, which is counted before it "
                "is given"
            ) from None

    def _counted_again(self, engine: Engine, frame: Any, names: Qid = ()) -> Tally:
        """Count the table of a plan, with more columns; reject one that lacks those of the plan."""
        columns = (*dict.fromkeys((*self._looked_at, *names)),)
        require(columns, "the plan's", engine.schema(frame).columns)
        tally = self._tally(engine, frame, columns)
        if tally is None:
            raise PlanError("the table has too many classes to be counted at once")
        return tally

    def _in_stages(self, engine: Engine, frame: Any) -> Plan:
        tell("cutting the table into regions, in stages")
        large = large_plan(
            with_rules(self.start, self.request), engine, frame, self.request,
            OF_COLUMNS[self.start.loss], free=self._free, by_column=self.by_column,
            weights=self.weights, median=self._median,
        )  # fmt: skip
        large = replace(large, note=WHY_IN_STAGES if self.method == "auto" else "")
        return worthwhile(large, self.options.max_loss)


def _price(what: str, make: Callable[[], Plan]) -> PlanPrice:
    """Return what a plan loses, or why there is none."""
    try:
        plan = make()
    except PlanError as error:
        return PlanPrice(what, why=str(error))
    after = plan.after
    assert after is not None  # noqa: S101 - it was made from a table
    losses = {step.column: step.loss for step in plan.steps}
    by_column = tuple((name, losses[name]) for name in plan.qids)
    return PlanPrice(what, after.loss, by_column, after.n_below, plan.partial)


def _check_size(n: int, k: int, population_size: int | None, who: str) -> None:
    if not n:
        raise EmptyTableError("the table is empty: there is no record to plan for")
    if k > n:
        raise ArgumentError(f"k={k} is larger than the table, which has {count_of(n, who)}")
    if population_size is not None and population_size < n:
        raise ArgumentError(
            f"population_size={population_size:,} is smaller than the table, which has "
            f"{count_of(n, who)}: a sample is no larger than its population"
        )
