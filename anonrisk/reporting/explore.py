"""How coarse must each column be? Every combination of levels, for a person to choose among."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np

from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.roles import roles
from anonrisk.api.sensitive import question_about, with_distance
from anonrisk.core.arguments import by_column, one_of, text_or_none, true_or_false, whole_number
from anonrisk.core.column_roles import Roles
from anonrisk.core.progress import limited, seconds_of, shown, tell, time_is_up
from anonrisk.core.types import ColumnLoss
from anonrisk.engines import engine_for
from anonrisk.engines.one_state import one_state
from anonrisk.errors import ArgumentError, NoColumnsError
from anonrisk.measures.counts.question import Question, Sensitive
from anonrisk.planning.goals import DEFAULT_K
from anonrisk.planning.lattice.offer import CUTS
from anonrisk.planning.options import require_share
from anonrisk.planning.plan import Plan
from anonrisk.policy.check import check
from anonrisk.policy.coverage import ATTRIBUTE_NOT_JUDGED, of_table
from anonrisk.policy.finding import PASS
from anonrisk.policy.measure import published_by
from anonrisk.policy.policy import Policy, require_policy
from anonrisk.policy.release_rules import unlisted
from anonrisk.policy.trial import (
    UNASKED_SECONDS,
    Gate,
    Trials,
    in_memory,
    outcome_sentence,
    rows_of,
    seconds_unasked,
    told_original,
)
from anonrisk.reporting.explored import (
    NOT_TRIED,
    ExploreOptions,
    ExploreRequest,
    OpenedTable,
    detail_of,
    policy_of,
)
from anonrisk.reporting.explorer import plan_json
from anonrisk.reporting.summary import NEXT_UNSEEN, NOTHING_HELPS
from anonrisk.reporting.text import and_more, cut

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.types import Cuts, Integers
    from anonrisk.engines.base import Engine
    from anonrisk.policy.finding import Finding
    from anonrisk.policy.trial import PlanTrial
    from anonrisk.reporting.explorer import Explorer
    from anonrisk.reporting.served import ServedExplorer

# With 3, a smallest class that is not told while nobody is alone would be one of two.
LEAST_FLOOR = 4
# Multiples of it are counted in 64 bits.
_MOST_FLOOR = 10**9
# Longer, and nobody waits for a page.
EXPLORE_SECONDS = 60.0
# For the search of columns that single people out, where a page begins with proposed roles.
DRAFT_SECONDS = 10


@overload
def explore(
    frame: Any,
    qids: Names | None = ...,
    k: int | None = ...,
    *,
    policy: Policy | str | PathLike[str] | None = ...,
    unit: Name | None = ...,
    sensitive: Names | None = ...,
    hierarchies: Mapping[Any, Any] | None = ...,
    bins: Cuts = ...,
    loss: ColumnLoss = ...,
    max_suppressed: float = ...,
    floor: int = ...,
    name: str | None = ...,
    title: str | None = ...,
    time_limit: float | None = ...,
    serve: Literal[False] = ...,
    progress: bool | None = ...,
) -> Explorer: ...


@overload
def explore(
    frame: Any,
    qids: Names | None = ...,
    k: int | None = ...,
    *,
    policy: Policy | str | PathLike[str] | None = ...,
    unit: Name | None = ...,
    sensitive: Names | None = ...,
    hierarchies: Mapping[Any, Any] | None = ...,
    bins: Cuts = ...,
    loss: ColumnLoss = ...,
    max_suppressed: float = ...,
    floor: int = ...,
    name: str | None = ...,
    title: str | None = ...,
    time_limit: float | None = ...,
    serve: Literal[True],
    progress: bool | None = ...,
) -> ServedExplorer: ...


@in_one_state
def explore(
    frame: Any,
    qids: Names | None = None,
    k: int | None = None,
    *,
    policy: Policy | str | PathLike[str] | None = None,
    unit: Name | None = None,
    sensitive: Names | None = None,
    hierarchies: Mapping[Any, Any] | None = None,
    bins: Cuts = "auto",
    loss: ColumnLoss = "entropy",
    max_suppressed: float = 0.02,
    floor: int = 5,
    name: str | None = None,
    title: str | None = None,
    time_limit: float | None = None,
    serve: bool = False,
    progress: bool | None = None,
) -> Explorer | ServedExplorer:
    """Measure every combination of levels of the columns: a page on which a person chooses.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.plan`.
    k : int, optional
        The size that every class should have, at least 2; left out, that of the policy, or 5.
    policy : Policy or path, optional
        What the table must keep to: it says which columns are explored, who is counted, k, and the
        limits of l and t, and the page gives it away with the plan. Its budgets that the page
        cannot judge are named on it.
    unit : name, optional
        The column that says which person a record belongs to: persons are then counted, each once.
    sensitive : name or list of names, optional
        Columns whose l and t are told too; left out, those declared.
    hierarchies
        As in `anonrisk.plan`: which levels are offered for a column.
    bins : {"auto", "width", "quantile", "sampled", "rank", "median", "centre"}
        How numbers are cut where no recodings are given; see `anonrisk.PlanOptions`.
    loss : {"entropy", "range"}
        How the detail that a level keeps is measured, as in `anonrisk.PlanOptions`: by losses that
        add up over columns, because the page adds them up.
    max_suppressed : float
        The largest share of the people that may be left out, to begin with.
    floor : int
        Counts of people are rounded up to multiples of this, at least 4: 0 means nobody.
    name : str, optional
        What the table is called.
    title : str, optional
        The heading.
    time_limit : float, optional
        Seconds after which no further level is measured, 60 if left out: those that are missing
        are among ``left_out``, and the explorer is ``partial``. The table is counted, and the
        finest and the coarsest level of each column are measured, however long that takes. A
        served page has none.
    serve : bool
        Whether the page is served on this machine until it is closed or Python ends, and counts
        a combination when it is chosen (needs tornado): of a large table not all can be counted
        beforehand. Roles and k can be changed on it; without `qids`, a policy or declared roles it
        begins with those that `Policy.draft` proposes.
    progress : bool, optional
        As in `anonrisk.find_qids`.

    Returns
    -------
    Explorer
        With `save("explore.html")`, `to_dict` and `plan`; it prints what it holds. With `serve`, a
        ServedExplorer: `url` is what to open, and `close()` ends it.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingUnitError, EmptyTableError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    HierarchyError
        As in `anonrisk.generalize`.

    See Also
    --------
    anonrisk.plan : the combination of least loss, found by search
    anonrisk.apply : does what the chosen plan says
    anonrisk.utility : the loss, and other measures, of a changed table

    Notes
    -----
    One count of the table, then arithmetic. A column has the levels that `anonrisk.plan` would
    choose among, ten at most, and all columns together 10,000 combinations at most; `to_dict`
    and the page say which levels were left out and why. Detail kept is 1 minus the loss of the
    recoding (T11 or T9), people who are left out not counted. l and t are those of the table
    without the classes smaller than `k`, or than `floor` where that is more.

    What it says to do next was tried, if the table is in memory: the gentlest combination is
    applied, and the policy, or the one that the page gives away, is checked for the result.

    The page is an internal working document. It holds many counts of one table, and
    whoever compares them may learn what none of them tells. It names no text of the table: where
    rare words are put together, the plan that is taken away holds the rule, values of at least so
    many people stay, and `Plan.resolve` makes of it the plan that is applied.

    References
    ----------
    - V. S. Iyengar, *Transforming Data to Satisfy Privacy Constraints*, KDD 2002, 279-288.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> ages = [31, 33, 35, 38, 41, 44, 46, 49]
    >>> df = pd.DataFrame({"age": ages * 3, "sex": list("ffmmffmm") * 3})
    >>> made = df.anon.explore(["age", "sex"])
    >>> made
    Explorer of age + sex: 10 combinations for up to 25 records, k = 5
    column   levels   from the finest to the coarsest
    age           5   as it is, 8 bins, 4 bins, 2 bins, left out
    sex           2   as it is, left out
    As it is, up to 25 records (100.0%) hide among fewer than 5.
    Making age coarser is enough, the result passes: k from fewer than 5 to 6 (limit
      5).
    explorer.save('explore.html') writes the page.
    >>> df.anon.apply(made.plan([3, 0])).anon.k(["age", "sex"])
    6
    """
    from anonrisk.reporting.explorer import Explorer
    from anonrisk.reporting.served import ServedExplorer, require_server

    floor = whole_number(floor, "floor", at_least=LEAST_FLOOR, at_most=_MOST_FLOOR)
    text_or_none(name, "name")
    text_or_none(title, "title")
    one_of(bins, "bins", CUTS)
    one_of(loss, "loss", get_args(ColumnLoss))
    require_share(max_suppressed, "max_suppressed")
    seconds_of(time_limit)
    if true_or_false(serve, "serve"):
        require_server()
        if time_limit is not None:
            raise ArgumentError("a served page counts when it is asked: leave out time_limit=")
    engine = engine_for(frame)
    if policy is None and serve and qids is None and not roles(frame).quasi:
        asked = _asked_of(engine, frame, _drafted(frame, unit, sensitive), k)
    elif policy is None:
        asked = _asked(engine, frame, qids, k, unit, sensitive)
    elif any(value is not None for value in (qids, k, unit, sensitive)):
        raise ArgumentError("a policy says what is explored: give it without qids, k, unit, …")
    else:
        asked = _asked_by(policy, engine, frame, floor)
    column_hierarchies = by_column(hierarchies, "hierarchies")
    options = ExploreOptions(
        column_hierarchies, bins, loss, float(max_suppressed), floor, name, title
    )
    if time_limit is None and not serve:
        time_limit = EXPLORE_SECONDS
    with shown(progress=progress), limited(time_limit):
        opened = OpenedTable.of(engine, frame, asked, options)
        if not serve:
            held = opened.every()
            return Explorer(with_advice(held, asked, frame, opened.trees))

    def again(chosen: Roles, k: int) -> OpenedTable:
        known = {
            column: kinds for column, kinds in column_hierarchies.items() if column in chosen.quasi
        }
        with one_state(frame, "explore"):
            asked = _asked_of(engine, frame, chosen, k)
            return OpenedTable.of(engine, frame, asked, replace(options, hierarchies=known))

    return ServedExplorer(opened, again if policy is None else None)


def _drafted(frame: Any, unit: Name | None, sensitive: Names | None) -> Roles:
    """Propose roles for a person to change, but for those that the caller has named."""
    if unit is not None or sensitive is not None:
        raise ArgumentError("unit= and sensitive= go with qids=: all roles are proposed, or none")
    roles = Policy.draft(frame, time_limit=DRAFT_SECONDS).roles
    return Roles(roles.quasi, roles.sensitive, roles.direct, roles.insensitive, roles.unit)


def _asked(  # noqa: PLR0917
    engine: Engine,
    frame: Any,
    qids: Names | None,
    k: int | None,
    unit: Name | None,
    sensitive: Names | None,
) -> ExploreRequest:
    """Find the columns, and by which distance each sensitive one is compared."""
    declared = roles(frame)
    named: Qid = ()
    if sensitive is None and not declared.sensitive:
        _, question = question_of(frame, qids, unit=unit, missing="value")
    else:
        _, question, about = question_about(
            frame, qids, sensitive, unit=unit, missing="value", missing_sensitive="value"
        )
        named = tuple(item.column for item in about)
    chosen = Roles(question.qid, named, declared.direct, declared.insensitive, question.unit)
    return _asked_of(engine, frame, chosen, k)


def _asked_of(engine: Engine, frame: Any, chosen: Roles, k: int | None) -> ExploreRequest:
    """Read what roles ask; by which distance a sensitive column is compared follows from it."""
    k = DEFAULT_K if k is None else whole_number(k, "k", at_least=2)
    if not chosen.quasi:
        raise NoColumnsError("no quasi-identifiers: say of a column at least that others know it")
    schema = engine.schema(frame)
    asked = Question((chosen.quasi,), chosen.unit, "value").roles()
    schema.check({**asked, **dict.fromkeys(chosen.sensitive, "sensitive column")})
    distances = {
        name: with_distance(engine, frame, Sensitive(name, "value"), "auto")[1]
        for name in chosen.sensitive
    }
    return ExploreRequest(
        chosen.quasi,
        k,
        chosen.unit,
        distances,
        leave_out=chosen.direct,
        insensitive=chosen.insensitive,
        not_looked_at=tuple(name for name in schema.columns if name not in chosen.classified),
        attributes_not_judged=chosen.sensitive,
    )


def _asked_by(
    policy: Policy | str | PathLike[str], engine: Engine, frame: Any, floor: int
) -> ExploreRequest:
    """Read what a policy asks; a table that no recoding helps is refused as by `plan`."""
    if isinstance(policy, str | PathLike):
        policy = Policy.load(Path(policy))
    require_policy(policy)
    request = policy.plan_goals(frame)
    k = max(request.deciding.k, 2)
    limits: dict[Name, dict[str, float]] = {}
    distances: dict[Name, str] = {}
    not_judged = []
    for goal in request.deciding.goals:
        about = goal.about
        if about is not None and k < floor:
            # l and t are told of classes of the floor or more, and others would be published.
            not_judged.append(goal.budget)
        elif goal.of_suppression and request.unit is not None:
            # The page counts persons, and a gate the records that are gone.
            not_judged.append(goal.budget)
        elif about is not None and about.score == "distinct":
            limit = limits.setdefault(about.column, {})
            limit["l"] = max(goal.limit, limit.get("l", 0))
        elif (
            about is not None
            and about.score in ("equal", "ordered")
            and about.order is None
            # By one distance for each column: limits of two are not compared.
            and distances.setdefault(about.column, about.score) == about.score
        ):
            limit = limits.setdefault(about.column, {})
            limit["t"] = min(goal.limit, limit.get("t", 1.0))
        elif goal.k == 1 and not goal.of_suppression and (goal.enough or k + 1) > k:
            not_judged.append(goal.budget)
    if policy.roles.sensitive:
        named = question_about(
            frame,
            [*request.qid],
            [*policy.roles.sensitive],
            unit=None,
            missing="value",
            missing_sensitive="value",
        )[2]
        for item in named:
            auto = with_distance(engine, frame, item, "auto")[1]
            distances.setdefault(item.column, auto)
    published = published_by(frame)
    return ExploreRequest(
        request.qid,
        k,
        request.unit,
        distances,
        limits=limits,
        fixed=request.fixed,
        leave_out=request.leave_out,
        not_looked_at=tuple(
            name
            for name in unlisted(policy, published)
            if name not in (*request.qid, *request.leave_out)
        ),
        not_judged=tuple(dict.fromkeys(not_judged)),
        attributes_not_judged=of_table(policy, published).attributes_not_judged,
        goals=request,
        policy=policy,
    )


_AS_IT_IS = "The policy passes for the table as it is."
_ROWS_ALONE = "Its rows pass the policy as they are."
# Combinations that are tried, ever coarser ones, until one passes; then those halfway to the last
# that did not.
_MOST_TRIED = 6
_MOST_NAMED = 12


def with_advice(
    held: dict[str, Any], asked: ExploreRequest, frame: Any, trees: Mapping[Name, Hierarchy]
) -> dict[str, Any]:
    """Add what to do next to a summary, for each k as long as there is time."""
    if not in_memory(frame):
        return held
    tell("trying what would help")
    with limited(UNASKED_SECONDS):
        advice = _advise(held, policy_of(asked), frame, trees)
        others = []
        for other in held["other_k"]:
            k = other["k"]
            below = held["counts"]["smaller"][held["sizes"].index(k)]
            view = {**held, "k": k, "counts": {**held["counts"], "below": below}}
            policy = policy_of(replace(asked, k=k))
            tried = NOT_TRIED if time_is_up() else _advise(view, policy, frame, trees)
            others.append({**other, "next": tried})
    return {**held, "next": advice, "other_k": others}


def with_storage(held: dict[str, Any], storage: Iterable[Finding]) -> dict[str, Any]:
    """Report of a table that passes as it is what its files hold besides, and fail with."""
    said = " ".join(finding.sentence for finding in storage if finding.blocks())

    def revised(view: dict[str, Any]) -> dict[str, Any]:
        advice = view["next"]
        if not said or advice["levels"] is not None or not advice["passes"]:
            return view
        text = advice["text"].replace(_AS_IT_IS, f"{said} {_ROWS_ALONE}")
        return {**view, "next": {**advice, "passes": False, "text": cut(text)}}

    return {**revised(held), "other_k": [revised(view) for view in held["other_k"]]}


def _advise(
    held: Mapping[str, Any], policy: Policy | None, frame: Any, trees: Mapping[Name, Hierarchy]
) -> dict[str, Any]:
    """Try what the page calls good, the gentlest first, until the policy passes for the result.

    The gate decides; numbers are those of the page, which are rounded.
    """
    if policy is None:
        return NOT_TRIED
    verdict = check(policy, frame)
    if verdict.status == PASS:
        unseen = [NEXT_UNSEEN] if held["not_looked_at"] else []
        return _passes(held, None, [_AS_IT_IS, *unseen])
    if seconds_unasked(verdict, frame) is None:
        return NOT_TRIED
    trials = Trials(Gate(policy, frame, None, None, check), verdict.failures, rows_of(verdict))
    shape = [len(column["levels"]) for column in held["columns"]]
    nodes = _ever_coarser(held)
    sentences: list[str] = []
    passing: tuple[list[int], PlanTrial] | None = None
    # Places among them: the last that did not pass, the first that did, and those to try before.
    failed, passed, steps = -1, len(nodes), _places(len(nodes))
    while passed - failed > 1 and not ((passing or sentences) and time_is_up()):
        place = steps.pop(0) if passing is None else (failed + passed) // 2
        levels = [int(level) for level in np.unravel_index(nodes[place], shape)]
        plan = plan_json(held, levels, held["max_suppressed"], parts="plan_without")
        trial = trials.of(partial(_resolved, plan, frame, trees))
        if trial.passed:
            passing, passed = (levels, trial), place
            continue
        failed = place
        # Why it could not be applied may hold counts that were not rounded.
        status = trial.status or "it could not be applied"
        sentences.append(outcome_sentence(trial.what, status, ""))
    if passing is not None:
        levels, trial = passing
        result = outcome_sentence(trial.what, PASS, _result(held, nodes[passed], policy, trial))
        return _passes(held, levels, [result + told_original(held["n_original"])])
    text = cut(" ".join([NOTHING_HELPS, *dict.fromkeys(sentences)]))
    return {"levels": None, "passes": False if sentences else None, "text": text}


def _passes(
    held: Mapping[str, Any], levels: list[int] | None, sentences: list[str]
) -> dict[str, Any]:
    """Return advice that passes, with what keeps the pass from being a plain one."""
    if open_ := held["attributes_not_judged"]:
        about = f"{ATTRIBUTE_NOT_JUDGED.capitalize()} for {and_more(open_, _MOST_NAMED)}"
        sentences = [*sentences, f"{about}: limit ldiv or tcloseness in the policy."]
    return {"levels": levels, "passes": True, "text": cut(" ".join(sentences))}


def _resolved(text: str, frame: Any, trees: Mapping[Name, Hierarchy]) -> Plan:
    return Plan.from_json(text, trees).resolve(frame)


def _places(number: int) -> list[int]:
    """List the first of so many, the last, and few between, ever farther from each other."""
    steps = np.geomspace(1, max(number, 1), _MOST_TRIED).round().astype(int) - 1
    return [int(place) for place in np.unique(steps)]


def _ever_coarser(held: Mapping[str, Any]) -> list[int]:
    """List combinations that the page calls good, by the detail they keep.

    Of people who may be left out, and of those who are, numbers are rounded as on the page.
    """
    below = np.array(held["counts"]["below"])
    least = held["people"] - held["floor"] + 1
    good = below <= np.floor(held["max_suppressed"] * least + 1e-9)
    for item in held["sensitive"]:
        if "l" in item["limits"]:
            good &= np.array(item["ldiv"]) >= item["limits"]["l"]
        if "t" in item["limits"]:
            close = np.array(item["tcloseness"], dtype=float)
            good &= ~(close > item["limits"]["t"] + 1e-9)
    order: Integers = np.lexsort((below, -detail_of(held["columns"]).round(9)))
    return [int(node) for node in order[good[order]]]


def _result(held: Mapping[str, Any], node: int, policy: Policy, trial: PlanTrial) -> str:
    """Return what a combination comes to, by the numbers of the page.

    Of other limits that were broken it is said that they are kept: their numbers are not rounded.
    """
    counts, k = held["counts"], held["k"]
    left_out, smallest = counts["below"][node], counts["smallest"]
    was = f"{smallest[0]:,}" if smallest[0] else f"fewer than {held['floor']:,}"
    then = f"{k:,} or more" if left_out or not smallest[node] else f"{smallest[node]:,}"
    # The page may have a k that is enough for other limits.
    asked = any(
        (budget.key, budget.limit, budget.severity) == ("k", k, "fail")
        for rule in policy.rules
        for budget in rule.budgets
    )
    parts = [f"k from {was} to {then}" + (f" (limit {k:,})" if asked else "")]
    for item in held["sensitive"]:
        for word, values in (("l", item["ldiv"]), ("t", item["tcloseness"])):
            if word in item["limits"]:
                limit = item["limits"][word]
                parts.append(f"{word} of {item['name']} {values[node]} (limit {limit})")
    kept = (
        f"{before.budget} within its limit ({before.numbers[1]})"
        for before, _ in trial.changes
        if before.budget != "k" and before.sensitive is None
    )
    parts += dict.fromkeys(kept)
    if left_out:
        parts.append(f"without up to {left_out:,} {held['who']}")
    return ", ".join(parts)
