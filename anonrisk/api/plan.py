"""Planning: how coarse each column must become."""

from __future__ import annotations

import math
from dataclasses import fields
from importlib import import_module
from os import PathLike
from typing import TYPE_CHECKING, Any, Self

from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.sensitive import (
    DISTANCES,
    diversity_score,
    loss_word,
    question_about,
    refuse_closeness,
    refuse_weights,
    target_of,
    with_distance,
)
from anonrisk.core import arguments
from anonrisk.core.arguments import (
    as_percent,
    not_negative,
    one_of,
    positive,
    renaming,
    whole_number,
)
from anonrisk.core.columns import require, require_hierarchies
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import shown
from anonrisk.core.render import kind_name
from anonrisk.core.types import StatesGoals
from anonrisk.engines import engine_for
from anonrisk.errors import ArgumentError, WeightError
from anonrisk.measures.counts.question import Score
from anonrisk.measures.recode import Keep
from anonrisk.planning.class_rules import PlanGoal, SensitiveGoal
from anonrisk.planning.goals import DEFAULT_K, PlanRequest
from anonrisk.planning.losses import BY_REGION
from anonrisk.planning.options import PlanOptions, is_number, require_share
from anonrisk.planning.plan import Plan
from anonrisk.planning.search import PlanSearch, check_previous

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.types import PlanMethod
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.question import Sensitive


def load_policy(path: str | PathLike[str]) -> StatesGoals:
    """Read the policy of a file."""
    policy: StatesGoals = import_module("anonrisk.policy").Policy.load(path)
    return policy


@dataclass(frozen=True)
class AskedGoals:
    """What a plan is asked to keep to, whichever the columns are."""

    k: int | None
    risk: float | None
    diversity: tuple[Score, float] | None
    closeness: float | None
    distance: str
    order: Any

    @classmethod
    def read(
        cls,
        options: PlanOptions,
        *,
        k: int | None,
        ldiv: float | None,
        tcloseness: float | None,
    ) -> Self:
        """Check the caller's words."""
        risk, distance, order = options.risk, options.distance, options.order
        score = diversity_score(options.variant, options.c)
        if ldiv is None and score != Score("distinct"):
            raise ArgumentError("variant= and c= have no effect without ldiv=")
        if tcloseness is None:
            refuse_closeness(distance, order, None, "tcloseness=")
        elif one_of(distance, "distance", DISTANCES) == "hierarchical":
            raise ArgumentError("a plan knows the distances 'equal' and 'ordered'")
        if risk is not None and positive(risk, "risk") > 1:
            raise ArgumentError(f"risk must be a share above 0, at most 1{as_percent(risk)}")
        return cls(
            None if k is None else whole_number(k, "k", at_least=1),
            risk,
            None if ldiv is None else (score, positive(ldiv, "ldiv")),
            None if tcloseness is None else not_negative(tcloseness, "tcloseness"),
            distance,
            order,
        )

    def __bool__(self) -> bool:
        """Return whether anything is asked for."""
        return self.k is not None or self.risk is not None or self._of_values

    @property
    def _of_values(self) -> bool:
        return self.diversity is not None or self.closeness is not None

    @property
    def size(self) -> int:
        """The size that every class must have."""
        if not self:
            return DEFAULT_K
        # A hair, so that 1 / 0.2 is five.
        by_risk = 1 if self.risk is None else math.ceil(1 / self.risk * (1 - 1e-9))
        return max(self.k or 1, by_risk)

    def request(
        self,
        frame: Any,
        qids: Any,
        sensitive: Names | None,
        unit: Name | None,
        *,
        private: bool,
    ) -> tuple[Engine, PlanRequest, Qid]:
        """Find the engine, what is asked of which columns, and the column of a private loss."""
        named: list[Sensitive] = []
        if self._of_values or private:
            engine, question, named = question_about(
                frame, qids, sensitive, unit=unit, missing="value", missing_sensitive="value"
            )
        elif sensitive is not None:
            raise ArgumentError(
                "sensitive= has no effect without loss='private', ldiv= or tcloseness="
            )
        else:
            engine, question = question_of(frame, qids, unit=unit, missing="value")
        goals = (
            PlanGoal("k", question.qid, self.size, k=self.size),
            *(
                PlanGoal(goal.score, question.qid, goal.limit, about=goal)
                for goal in self._about(engine, frame, named)
            ),
        )
        lost = _one_of(named) if private else ()
        return engine, PlanRequest(question.qid, goals, question.unit), lost

    def about_loss(self, frame: Any, qid: Qid, sensitive: Names | None) -> Qid:
        """Find the column of a private loss, where a policy names the others."""
        named = question_about(
            frame, list(qid), sensitive, unit=None, missing="value", missing_sensitive="value"
        )[2]
        return _one_of(named)

    def _about(
        self, engine: Engine, frame: Any, named: Sequence[Sensitive]
    ) -> Iterator[SensitiveGoal]:
        for column in named:
            if self.diversity is not None:
                score, limit = self.diversity
                yield SensitiveGoal(column.column, score.name, limit, score.c)
            if self.closeness is not None:
                about, distance = with_distance(
                    engine, frame, column, self.distance, order=self.order
                )
                yield SensitiveGoal(about.column, distance, self.closeness, order=about.order)


def _one_of(named: Sequence[Sensitive]) -> Qid:
    if len(named) > 1:
        raise ArgumentError(
            f"{len(named)} sensitive columns are declared: name one of them, sensitive="
        )
    return tuple(about.column for about in named)


_IN_OPTIONS = {
    **{field.name: field.name for field in fields(PlanOptions)},
    "kind": "variant",
    "time_budget": "time_limit",
    "weights": "column_weights",
}


@in_one_state
@renaming(
    max_suppression="max_suppressed=",
    **{old: f"options=anonrisk.PlanOptions({new}=…)" for old, new in _IN_OPTIONS.items()},
)
def plan(
    frame: Any,
    qids: Names | StatesGoals | PathLike[str] | None = None,
    k: int | None = None,
    *,
    policy: StatesGoals | str | PathLike[str] | None = None,
    ldiv: float | None = None,
    tcloseness: float | None = None,
    sensitive: Names | None = None,
    unit: Name | None = None,
    hierarchies: Mapping[Any, Any] | None = None,
    max_suppressed: float = 0.02,
    previous: Plan | None = None,
    options: PlanOptions | None = None,
    progress: bool | None = None,
) -> Plan:
    """Find how coarse each column must become for a table to keep to a policy, or to k.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.classes`; a missing value is a value like any other. In place of columns a
        `Policy`, or the `pathlib.Path` of its file.
    k : int, optional
        The size that every class must have; 5 if no goal is given.
    policy : Policy or path, optional
        What the table must satisfy: each of its budgets that decides becomes a goal, and one
        recoding keeps to those of all its quasi-identifiers; columns that name a person are left
        out. No detail is given up for budgets that only warn: the plan's `budgets` say which are
        met, which are not, and why, and its `prices` what they would cost.
    ldiv : float, optional
        The diversity that every class must have, as in `anonrisk.ldiv`.
    tcloseness : float, optional
        The distance from the table, as it is published, that a class may have.
    sensitive : name or list of names, optional
        The columns for `ldiv` and `tcloseness`, or the one for ``loss="private"``; left out, what
        was declared.
    unit : name, optional
        The column that says which person a record belongs to: classes then count different persons,
        and `max_suppressed` is still a share of the records, as a gate has it.
    hierarchies : dict of column to hierarchy, optional
        A nested dict, a table of levels or a file of one (see `anonrisk.tcloseness`), or a list of
        recodings of `anonrisk.recode`: only these are then offered for that column.
    max_suppressed : float
        The largest share of the records that may be left out; a policy may say less.
    previous : Plan, optional
        The plan of the release before, of method ``"full-domain"``. Its recodings are kept where
        they still reach the goals; else columns become coarser, and none finer, because two
        releases that are cut differently tell more than either. The plan's `note` says which.
    options : PlanOptions, optional
        What only an expert sets: the method, the loss, other forms of the goals; see
        `anonrisk.PlanOptions`.
    progress : bool, optional
        As in `anonrisk.find_qids`.

    Returns
    -------
    Plan
        The combination of offered recodings of least loss, suppression included; see
        `anonrisk.apply`. A plan that cannot be met is a `PlanError` that says what stops it. After
        Ctrl-C, or the `time_limit` of its options, it is the best that was found by then, and
        `partial`, if any would do.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingUnitError, EmptyTableError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    HierarchyError
        As in `anonrisk.generalize`.
    PlanError
        If no plan is coarse enough.
    TooManyClassesError
        If the columns have more combinations than a search can hold.
    WeightError
        If the weights of `options` are no numbers from 0 up, or all zero.

    See Also
    --------
    anonrisk.apply : makes the table that a plan promises
    anonrisk.utility : what the changed table is still good for
    anonrisk.explain_risk : a quick look at single columns
    anonrisk.hipaa.safe_harbor : a plan by rule

    Notes
    -----
    Q3 gives the number of values that the table can bear, Q4 shares it among the columns; these set
    how many bins are offered, cut by Q5, Q6 or Q7 as its `bins` say. Then each combination of
    offered recodings is a node of a lattice, measured by arithmetic on one count of the table. The
    search starts from the greedy solution (Datafly) and goes on until bounds show that no node is
    better; ``optimal`` says so. Classes that break a goal are left out, those that are too small or
    have too few values first, until all that are left keep to every goal: a distance from the table
    is from what is left of it. What is asked of the table as a whole, as an average risk, is
    measured then.

    Losses: a cell x of the column X in the group B of n(B) of n records loses
    −log₂ Pr(x | B) = log₂ n(B) − log₂ n(x) of its H(X) bits (T11), so that 0 is lost where every
    value stays and 1 where all are a star; T9; −log Pr(y | B) of private mutual information (T12)
    over that of equally likely sensitive values. Of classes of s records: Σ s²/n², and T8, the
    share of the records that have another value of the target than most of their class.

    A multidimensional plan is Mondrian's, strict: the table is cut into regions, these again, as
    long as every part keeps k records and the other goals; equal records stay together. Of all
    columns the one is cut that gains most loss per bit, (n·L − Σ nᵢ·Lᵢ) / Σ nᵢ·log₂(n/nᵢ).
    In a hierarchy, nodes that have k records part from their parent, and the others stay with it.
    Of classes, what is gained is n² − Σ nᵢ², or how much less the target is mixed,
    n − Σ c²/n for c records of each value (Gini): a cut that leaves the commonest value the same on
    both sides, and T8 as it was, may be the way to one that does not. Where cuts gain the same, the
    bits of cells decide, so that regions become as small as the goals allow; no cut raises T8. The
    table is cut by bits alone too, and what loses less is taken.

    References
    ----------
    - S. Lodha & D. Thomas, *Probabilistic Anonymity*, theorem 4, 3.1 and 4; corrected as in
      docs/formulas.md, ``lodha-theorem-4``, ``lodha-3.1``.
    - K. LeFevre, D. DeWitt & R. Ramakrishnan, *Mondrian Multidimensional K-Anonymity*, ICDE 2006.
    - J. Goldberger & T. Tassa, *Efficient Anonymizations with Enhanced Utility*, Transactions on
      Data Privacy 3(2), 2010, 149-175.
    - V. S. Iyengar, *Transforming Data to Satisfy Privacy Constraints*, KDD 2002, 279-288.
    - R. Bayardo & R. Agrawal, *Data Privacy through Optimal k-Anonymization*, ICDE 2005, 217-228.
    - L. Sweeney, *Achieving k-Anonymity Privacy Protection Using Generalization and Suppression*,
      IJUFKS 10(5), 2002, 571-588.
    - S. Mahiou & F. Nagle, *Anonymity, Utility and Risk: an Overview*, 2018, 4.2 and 4.5; corrected
      as in docs/formulas.md, ``mahiou-4.2``, ``mahiou-4.5``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"age": [31, 33, 35, 38, 41, 44, 46, 49], "sex": list("ffmmffmm")})
    >>> whole = anonrisk.PlanOptions(method="full-domain")
    >>> plan = df.anon.plan(["age", "sex"], k=2, max_suppressed=0, options=whole)
    >>> plan
    Plan for age + sex: k = 2, the best of those offered
    column   from              to                              left    loss   helped
    age      8 whole numbers   4 bins: <35, 35-39, 40-44,         4   33.3%        8
                               >=45
    sex      2 texts           as it is                           2    0.0%        0
    helped: records in classes below 2 with this column as it was
                         before      after
    records                   8          8
    classes                   8          4
    smallest class            1          2
    below 2          8 (100.0%)   0 (0.0%)
    suppressed         0 (0.0%)   0 (0.0%)
    bits per cell          2.00       1.50
    loss                   0.0%      16.7%
    holds: 2 records or more in every class of age + sex; risk at most 50.0%, on
      average 50.0%
    not covered: links with other releases, columns that are not among these,
      sensitive columns without a goal, what correlations reveal, what the method
      reveals (plan.attack measures it)
    >>> df.anon.apply(plan).anon.k(["age", "sex"])
    2
    """
    options = _checked(options)
    kept = loss_word(options.loss)
    refuse_weights(kept, options.column_weights)
    require_share(max_suppressed, "max_suppressed")
    private, by_region = kept == "private", kept in BY_REGION
    whole_only = {
        "population_size=": options.population_size is not None,
        "budget=": options.budget is not None,
        "bins=": options.bins != "auto",
        f"loss={kept!r}": not by_region,
    }
    method = _settled(options.method, whole_only, by_region=by_region, again=previous is not None)
    asked = AskedGoals.read(options, k=k, ldiv=ldiv, tcloseness=tcloseness)
    stated = _policy(qids, policy)
    if stated is None:
        engine, request, loss_about = asked.request(frame, qids, sensitive, unit, private=private)
    else:
        if asked or unit is not None or (qids is not None and policy is not None):
            raise ArgumentError(
                "a policy says what it asks for: leave out qids, k, unit and the other goals"
            )
        engine, request = engine_for(frame), stated.plan_goals(frame)
        loss_about = asked.about_loss(frame, request.qid, sensitive) if private else ()
    loss_about += target_of(kept, options.target, request.qid, engine.schema(frame))
    check_previous(previous, request.qid)
    by_column = arguments.by_column(hierarchies, "hierarchies")
    require_hierarchies(by_column, request.qid)
    by_column |= {name: [Keep()] for name in request.fixed}
    weights = _weights(request.qid, options.column_weights)
    start = Plan(
        recodings={},
        max_suppressed=request.most_suppressed(float(max_suppressed)),
        columns=tuple(engine.schema(frame).columns),
        loss=kept,
        unit=request.unit,
        leave_out=request.leave_out,
    )
    search = PlanSearch(request, start, options, method, by_column, weights, loss_about, previous)
    with shown(progress=progress):
        return search.run(engine, frame)


def _policy(qids: Any, policy: Any) -> StatesGoals | None:
    """Find the policy, given in place of columns or by name, itself or by its file."""
    value = qids if policy is None else policy
    if isinstance(value, StatesGoals):
        return value
    if isinstance(value, PathLike) or (policy is not None and isinstance(policy, str)):
        return load_policy(value)
    if policy is not None:
        raise ArgumentError(f"policy is a Policy or its file, not {kind_name(policy)}")
    return None


def _settled(
    method: PlanMethod, whole_only: Mapping[str, bool], *, by_region: bool, again: bool
) -> PlanMethod:
    """Reject what one method has no use for; what only one of them can do settles which."""
    if again:
        return "full-domain"
    useless = [name for name, is_given in whole_only.items() if is_given]
    if useless and method == "multidimensional":
        raise ArgumentError(
            f"{useless[0]} has no effect with method='multidimensional'; it is for "
            "method='full-domain'"
        )
    whole = useless or not by_region
    return "full-domain" if method == "auto" and whole else method


def _checked(options: PlanOptions | None) -> PlanOptions:
    if options is not None and not isinstance(options, PlanOptions):
        raise ArgumentError(f"options is an anonrisk.PlanOptions, not {kind_name(options)}")
    return options or PlanOptions()


def _weights(qid: Qid, value: Mapping[Name, float] | None) -> list[float] | None:
    if value is None:
        return None
    value = arguments.by_column(value, "column_weights")
    require(value, "weight of", qid)
    weights = [value.get(name, 1.0) for name in qid]
    for name, weight in zip(qid, weights, strict=True):
        if not is_number(weight) or not 0 <= weight < math.inf:
            raise WeightError(f"the weight of {name!r} must be a number from 0 up")
    if not any(weights):
        raise WeightError("the weights of all columns are zero: nothing would be worth keeping")
    return [float(weight) for weight in weights]
