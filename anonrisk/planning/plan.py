"""A plan: what becomes of each column, and what that does to risk and utility."""

from __future__ import annotations

import json
import math
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, Self, get_args

import numpy as np

from anonrisk.core import documents, render
from anonrisk.core.arguments import by_column, instance_of, list_of, one_of, whole_number
from anonrisk.core.columns import nearest
from anonrisk.core.frozen import dataclass
from anonrisk.core.hierarchy import Hierarchy
from anonrisk.core.render import kind_name, shown
from anonrisk.core.results import Document, plain, restore_fields, restore_name
from anonrisk.core.types import OnUnseen, PlanPicture
from anonrisk.errors import AnonRiskError, ArgumentError, PlanError
from anonrisk.measures.recode import KeepCommon, Level
from anonrisk.measures.recode.kinds import unresolved
from anonrisk.measures.recode.regions import ByRegion, NumberRanges, Regions, read_recoding
from anonrisk.measures.scores import FORMULAS
from anonrisk.planning import emit
from anonrisk.planning.budget import ValueBudget
from anonrisk.planning.class_rules import MET, MISSED, ClassRule, PlannedBudget, SensitiveGoal
from anonrisk.planning.lattice.offer import resolved
from anonrisk.planning.options import require_share
from anonrisk.planning.outcome import PlanOutcome, PlanStep, broken_classes, plan_picture
from anonrisk.planning.plan_diff import PlanDiff, plan_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from matplotlib.axes import Axes

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.types import GivesPrices
    from anonrisk.measures.recode import Recoding
    from anonrisk.planning.attack import PlanAttack
    from anonrisk.planning.prices import PlanGap, PlanPrices


# The first version had no digest.
_VERSION, _WITHOUT_DIGEST = 2, 1
# What the command line writes into the same document.
_OF_COMMAND = ("schema_version", "library", "library_version", "written", "not_in_plan", "dtypes")

_READER = documents.Reader("plan", PlanError)


@dataclass(frozen=True, repr=False)
class Plan(Document, render.Printed):
    """How coarse each column becomes, with risk and utility before and after.

    Attributes
    ----------
    recodings : dict of column to recoding
        What becomes of each quasi-identifier.
    k : int or None
        Size that every class must have; records of smaller ones are suppressed. None: none are.
    max_suppressed : float
        The largest share of the records that may be suppressed.
    columns : tuple
        All columns of the table that the plan was made for.
    before, after : PlanOutcome or None
        The table as it was, and as it will be.
    budget : ValueBudget or None
        Number of values that the table can bear, by the rule of Lodha & Thomas.
    optimal : bool
        Whether no other combination of the offered recodings has a smaller loss.
    loss : str
        By what recodings were compared, as in `anonrisk.PlanOptions`; ``"function"`` for one of the
        caller's.
    proven_gap : float or None
        By how much another combination of the offered recodings may lose less, at most; 0 where the
        plan is `optimal`, None where nothing is proven, as of plans by region.
    partial : bool
        Whether Ctrl-C or a time limit stopped the search: the best plan so far, which need not be
        the best; `note` says what was not searched.
    regions : Regions or None
        Of a multidimensional plan, where a column is how coarse; None where it is so everywhere.
    goals : tuple of SensitiveGoal
        What every class keeps to beside k.
    rules : tuple of ClassRule
        Where classes of several sets of columns must keep to something: what, set by set.
    unit : name or None
        The column that says which person a record belongs to: classes then count persons.
    leave_out : tuple of names
        Columns that the plan leaves out: direct identifiers.
    budgets : tuple of PlannedBudget
        Of a plan for a policy: each budget, whether it is met, and why not.
    steps : tuple of PlanStep
        What each column loses and whom its recoding helps, those that help most first.
    made_by : PlanSearch or None
        The search that made it, for `prices`; not stored.
    """

    recodings: dict[Name, Recoding]
    k: int | None = None
    max_suppressed: float = 0.0
    columns: Qid = ()
    before: PlanOutcome | None = None
    after: PlanOutcome | None = None
    budget: ValueBudget | None = None
    optimal: bool = False
    proven_gap: float | None = None
    loss: str = "entropy"
    note: str = field(default="", repr=False)
    partial: bool = False
    regions: Regions | None = None
    goals: tuple[SensitiveGoal, ...] = ()
    rules: tuple[ClassRule, ...] = ()
    unit: Name | None = None
    leave_out: Qid = ()
    budgets: tuple[PlannedBudget, ...] = ()
    steps: tuple[PlanStep, ...] = ()
    made_by: GivesPrices | None = field(default=None, repr=False, compare=False)
    _document = (
        *("k", "max_suppressed", "columns", "optimal", "proven_gap", "partial", "loss", "note"),
        *("before", "after", "budget", "steps", "goals", "rules", "unit", "leave_out", "budgets"),
    )
    _where_some = ("proven_gap", "steps", "goals", "rules", "unit", "leave_out", "budgets")
    _parts = (PlanOutcome, ValueBudget, SensitiveGoal, ClassRule, PlannedBudget, PlanStep)

    def __post_init__(self) -> None:
        """Check what is promised: what cannot be kept to would be left out without a word."""
        require_share(self.max_suppressed, "max_suppressed")
        for what in ("columns", "leave_out", "goals", "rules"):
            instance_of(getattr(self, what), tuple, what)
        list_of(self.goals, SensitiveGoal, "goals must be a tuple of SensitiveGoal")
        list_of(self.rules, ClassRule, "rules must be a tuple of ClassRule")
        if self.k is None:
            if self.goals or self.rules:
                raise ArgumentError("goals and rules of classes need k, the size of every class")
            return
        whole_number(self.k, "k", at_least=1)
        if self.rules and (self.goals or max(rule.k for rule in self.rules) != self.k):
            raise ArgumentError(
                "a plan with rules has its goals in them, and the largest k of a rule as its own"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the search, which may hold functions of the caller."""
        return {**vars(self), "made_by": None}

    @property
    def class_rules(self) -> tuple[ClassRule, ...]:
        """What every class keeps to: of all columns, or of several sets of them."""
        if self.rules or self.k is None:
            return self.rules
        return (ClassRule(self.qids, self.k, self.goals),)

    @property
    def method(self) -> str:
        """``"full-domain"``, or ``"multidimensional"`` where columns differ by region."""
        return "full-domain" if self.regions is None else "multidimensional"

    @property
    def may_meet_unseen(self) -> bool:
        """Whether a table may hold values that the plan does not know."""
        levels = (isinstance(recoding, Level) for recoding in self.recodings.values())
        return self.regions is not None or any(levels)

    def may_leave_out(self, n_records: int) -> int:
        """Return how many of so many records may be suppressed."""
        return math.floor(self.max_suppressed * n_records + 1e-9)

    @property
    def qids(self) -> Qid:
        """The columns that the plan recodes or keeps."""
        return tuple(self.recodings)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values that serialise as JSON.

        Of the table's cells only those are among them that a region of k records or more shares.
        Of a plan with goals, or a loss, about sensitive values keep them and its print
        confidential: figures of the table before count these values by the original classes.
        """
        named = (*self.columns, *self.recodings, *self.leave_out, self.unit)
        about = (
            *(goal.column for goal in self.goals),
            *(budget.sensitive for budget in self.budgets),
        )
        for name in (*named, *about):
            _refuse_name(name)
        stored = {"anonrisk_plan": _VERSION, **super().to_dict()}
        recodings = self.recodings.items()
        stored["recodings"] = [{"column": plain(c), **r.to_dict()} for c, r in recodings]
        if self.regions is not None:
            stored["regions"] = self.regions.to_dict()
        return {**stored, "digest": plan_digest(stored)}

    def to_json(self) -> str:
        """Write the plan as JSON.

        Levels of a hierarchy are stored with the names of its nodes and a fingerprint, not with its
        leaves, which are values; give the hierarchy again to `from_json`.
        """
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    def to_yaml(self) -> str:
        """Write the plan as YAML (needs PyYAML); see `to_json`."""
        _READER.library()
        return documents.to_yaml(self.to_dict())

    @classmethod
    def from_dict(
        cls,
        stored: Mapping[str, Any],
        hierarchies: Mapping[Name, Any] | None = None,
        *,
        edited: bool = False,
    ) -> Self:
        """Read back what `to_dict` gave; see `from_json`."""
        mistaken = documents.another_kind(stored, "plan")
        if mistaken:
            raise PlanError(mistaken)
        # What is wrong with a hierarchy is no fault of the plan.
        named_trees = by_column(hierarchies, "hierarchies")
        trees = {column: Hierarchy.of(tree) for column, tree in named_trees.items()}
        try:
            plan = cls(**_read(stored, trees))
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            if isinstance(error, PlanError):
                raise
            why = f": {error}" if isinstance(error, AnonRiskError) else ""
            raise PlanError(f"this is not a stored plan{why}") from None
        try:
            # Figures are not part of the digest, and whoever looks at them must not be the first.
            repr(plan)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise PlanError("this is not a stored plan: its figures cannot be read") from None
        # Whether it should have a digest is told by its version: else leaving it out would do.
        has_digest = stored["anonrisk_plan"] != _WITHOUT_DIGEST or "digest" in stored
        if has_digest and not edited and stored.get("digest") != plan.digest:
            raise PlanError(
                "the plan was changed after it was written: its digest does not fit. If that was "
                "you, read it with edited=True (anonrisk apply --edited)"
            )
        return plan

    @classmethod
    def from_json(
        cls, text: str, hierarchies: Mapping[Name, Any] | None = None, *, edited: bool = False
    ) -> Self:
        """Read a plan from JSON; hierarchies by column where it has levels of them.

        A document that was changed after it was written is refused, unless it is said to be
        `edited`.
        """
        return cls.from_dict(_READER.json(text), hierarchies, edited=edited)

    @classmethod
    def from_yaml(
        cls, text: str, hierarchies: Mapping[Name, Any] | None = None, *, edited: bool = False
    ) -> Self:
        """Read a plan from YAML (needs PyYAML); see `from_json`."""
        return cls.from_dict(_READER.yaml(text), hierarchies, edited=edited)

    @property
    def digest(self) -> str:
        """The SHA-256 of what the plan does: two plans that do the same have the same.

        Recodings, k and other goals, `max_suppressed` and columns are in it; what was measured
        on a table is not.
        """
        return str(self.to_dict()["digest"])

    @property
    def file_name(self) -> str:
        """A name to store the plan under, by the beginning of its digest."""
        return f"plan-{self.digest[:12]}.json"

    def diff(self, other: Plan) -> PlanDiff:
        """Return what another plan does otherwise.

        Parameters
        ----------
        other : Plan
            The plan that came after this one.

        Returns
        -------
        PlanDiff
            The columns that become finer, coarser or otherwise, and other terms. It is false
            where both plans do the same.

        See Also
        --------
        anonrisk.apply : does what a plan says
        anonrisk.Plan.from_json : reads a stored one

        Examples
        --------
        >>> from anonrisk import Plan
        >>> from anonrisk.recode import Bins, Keep
        >>> before = Plan({"age": Bins((30, 40, 50), whole=True), "sex": Keep()}, k=5)
        >>> before.diff(Plan({"age": Bins((40,), whole=True), "sex": Keep()}, k=5))
        Two plans, 1 difference
        what   how       was                               becomes
        age    coarser   4 bins: <30, 30-39, 40-49, >=50   2 bins: <40, >=40
        """
        if not isinstance(other, Plan):
            raise ArgumentError(f"a plan is compared with a plan, not {kind_name(other)}")
        return PlanDiff.of(self, other)

    @property
    def has_rules(self) -> bool:
        """Whether a column has a rule in place of the values that stay; see `resolve`."""
        return any(isinstance(recoding, KeepCommon) for recoding in self.recodings.values())

    def resolve(self, frame: Any) -> Plan:
        """Put the values that stay in place of rules, which say how many people must have them.

        A rule that is resolved anew each month recodes each month differently: resolve it once,
        and apply what comes of it ever after. The result names values: keep it confidential.

        Parameters
        ----------
        frame : DataFrame
            The table of the first month, of any library that the functions take.

        Returns
        -------
        Plan
            This one, if it has no rule.

        See Also
        --------
        anonrisk.apply : does what the plan says
        anonrisk.explore : its page gives plans with rules away

        Examples
        --------
        >>> import pandas as pd
        >>> from anonrisk import Plan
        >>> from anonrisk.recode import KeepCommon
        >>> df = pd.DataFrame({"job": ["nurse"] * 5 + ["astronaut"]})
        >>> plan = Plan({"job": KeepCommon(5)}, columns=("job",)).resolve(df)
        >>> df.anon.apply(plan)["job"].unique().tolist()
        ['nurse', 'other']
        """
        if not self.has_rules:
            return self
        return replace(self, recodings=resolved(self.recodings, self.unit, frame))

    def to_pyspark(self, *, on_unseen: OnUnseen = "refuse") -> str:
        """Write the plan as PySpark code: a function `anonymise(df)`.

        The code names the values of hierarchies that the plan uses, and by region those that k
        records share. It counts once, and raises where more than `max_suppressed` of the records
        would be left out. More regions than a query bears are refused, as in `to_sql`.

        Parameters
        ----------
        on_unseen : {"refuse", "suppress", "top"}
            As in `anonrisk.apply`.
        """
        coded = self._coded()
        one_of(on_unseen, "on_unseen", get_args(OnUnseen))
        if self.regions is not None:
            return emit.regional_pyspark_code(coded, self.regions, on_unseen)
        return emit.pyspark_code(coded, on_unseen)

    def to_sql(
        self, dialect: str = "ansi", *, table: str = "records", on_unseen: OnUnseen = "refuse"
    ) -> str:
        """Write the plan as one SELECT over a table of the same columns.

        Where more than `max_suppressed` of the records would be left out, or a value is refused,
        the query fails, and the error of the database says why.

        Parameters
        ----------
        dialect : {"ansi", "duckdb", "postgresql", "sqlite", "spark"}
            SQLite needs its JSON functions, which are part of it since 3.38.
        table : str
            The name of the table, as it is written in SQL.
        on_unseen : {"refuse", "suppress", "top"}
            As in `anonrisk.apply`.
        """
        coded = self._coded()
        one_of(on_unseen, "on_unseen", get_args(OnUnseen))
        if self.regions is not None:
            return emit.regional_sql_code(coded, self.regions, dialect, table, on_unseen)
        return emit.sql_code(coded, dialect, table, on_unseen)

    def _coded(self) -> emit.CodedPlan:
        """Return what code says, and refuse what it cannot."""
        if self.has_rules:
            raise unresolved()
        if self.goals or self.rules or self.unit is not None:
            raise PlanError(
                "a plan about persons, sensitive values or several sets of columns cannot be "
                "written as readable code: store it"
                " with to_json() and use anonrisk.apply"
            )
        about = (self.recodings, self.k, self.max_suppressed, self.columns, self.leave_out)
        return emit.CodedPlan(*about)

    def prices(self, frame: Any, *, time_limit: float | None = None) -> PlanPrices:
        """Search what each budget that only warns, a larger k or a column fewer would cost.

        A plan keeps to what decides, and no detail is given up for what only warns: this says how
        much it would be. Each line is a search like that of the plan, on one count of the table,
        so that a list takes as many times as long as it has lines; hence it is made when asked for.

        Parameters
        ----------
        frame : DataFrame
            The table that the plan was made for.
        time_limit : float, optional
            Seconds after which searches end with what they have found; lines that were not begun
            say so.

        Returns
        -------
        PlanPrices
            The loss of the plan, and that of each other one, column by column.

        See Also
        --------
        anonrisk.plan : makes the plan

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"age": [31, 33, 35, 38, 41, 44, 46, 49], "sex": list("ffmmffmm")})
        >>> whole = anonrisk.PlanOptions(method="full-domain")
        >>> plan = df.anon.plan(["age", "sex"], k=2, max_suppressed=0, options=whole)
        >>> plan.prices(df)
        Prices of a plan that loses 16.7%
        with            loss     more   by column
        k = 4          50.0%   +33.3%   age +66.7%
        age left out   50.0%   +33.3%   age +66.7%
        sex left out   66.7%   +50.0%   sex +100.0%
        """
        prices: PlanPrices = self._search("prices").prices(self, frame, time_limit)
        return prices

    def attack(self, frame: Any, *, sensitive: Names | None = None) -> PlanAttack:
        """Measure what someone learns who knows the release and how it was made.

        Parameters
        ----------
        frame : DataFrame
            The table that the plan was made for, one record per person.
        sensitive : name or list of names, optional
            The columns that someone wants to know; left out, those that the plan looked at.

        Returns
        -------
        PlanAttack
            How credible a sensitive value of a person can be, for how many; and how many labels
            include values that the release excludes. It prints no cell.

        See Also
        --------
        anonrisk.plan : makes the plan
        anonrisk.alpha : the largest share of a value in a class, without the method

        Notes
        -----
        Whoever knows everybody's quasi-identifiers, the release and the method, which is public,
        tries the arrangements of the values of each class: those from which the method makes
        another release are not the truth, and the others are equally likely. A plan that looks at
        sensitive values tells of them by where it does not cut. Small tables are tried out. For
        large ones there is a bound: persons of one combination of n, in a class that has a value c
        times, have it with a chance of c / n at most, which may be no bound at all.

        References
        ----------
        - R. C.-W. Wong, A. W.-C. Fu, K. Wang & J. Pei, *Minimality Attack in Privacy Preserving
          Data Publishing*, VLDB 2007, 543-554.
        - A. Cohen, *Attacks on Deidentification's Defenses*, USENIX Security 2022, 1469-1486.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"q": list("aabbbbb"), "ill": ["HIV", "HIV", *"12345"]})
        >>> plan = df.anon.plan("q", k=2, ldiv=2, sensitive="ill")
        >>> plan.attack(df)
        What someone who knows the release, the method and everybody's q learns about 7
          persons
        sensitive   release alone   with the method   above the limit   certain
        ill                 28.6%            100.0%       2 (> 50.0%)         2
        ill: exact; of 2 of 7 persons the method tells more than the release alone
        labels: of 7 generalised cells 0 exclude values that others have, and say so:
          "rest of"
        """
        return self._search("who learns what").attack(self, frame, sensitive)  # type: ignore[no-any-return]

    def gap(self, frame: Any, *, sample: int | None = 1_000, seed: int = 0) -> PlanGap:
        """Measure how far a plan by region is from the best.

        Parameters
        ----------
        frame : DataFrame
            The table that the plan was made for.
        sample : int or None
            How many records are looked at, 100 or more, where the table has more combinations than
            that; None for all, which is proven, and takes minutes where there are many thousands.
        seed : int
            By which they are drawn.

        Returns
        -------
        PlanGap
            The plan's loss, and beside it that of the best recoding (up to 16 combinations), or
            what no recoding loses less than, proven or an estimate with its interval.

        See Also
        --------
        anonrisk.plan : makes the plan
        anonrisk.Plan.prices : what more safety, or a column fewer, would cost

        Notes
        -----
        The plan is compared with every way to put combinations of values together such that each
        part has k records and keeps to the goals, whether or not cuts lead to it, with the labels
        that the search had. For more than 16 combinations the bound is the mean over records of
        the least that a record loses in a region of k records that holds it, whatever becomes of
        the others and of goals beside k: the best recoding may lose more. For losses of cells,
        ``"entropy"`` and ``"range"``.

        Examples
        --------
        >>> import pandas as pd
        >>> import anonrisk
        >>> df = pd.DataFrame({"age": [31, 33, 35, 38, 41, 44, 46, 49], "sex": list("ffmmffmm")})
        >>> by_region = anonrisk.PlanOptions(method="multidimensional")
        >>> df.anon.plan(["age", "sex"], k=2, options=by_region).gap(df)
        The plan loses 16.7%; no recoding by region loses less
        exact: all ways to part 6 combinations were compared
        compared with: any way to put the combinations of age + sex together, 2 or more
          in each part, all goals kept; cells get the narrowest label of their column
          that fits their part
        """
        if sample is not None:
            sample = whole_number(sample, "sample", at_least=100)
        seed = whole_number(seed, "seed", at_least=0)
        return self._search("how far it is from the best").gap(self, frame, sample, seed)  # type: ignore[no-any-return]

    def _search(self, what: str) -> GivesPrices:
        if self.made_by is None:
            raise PlanError(
                "a plan that was read, or put together by hand, does not know how it was searched "
                f"for: make it again with anonrisk.plan, then ask for {what}"
            )
        return self.made_by

    def plot(self, ax: Axes | None = None, *, kind: PlanPicture | None = None) -> Axes:
        """Draw the way to the plan: one recoding at a time, what helps most first.

        Needs matplotlib (extra ``report``).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure if left out.
        kind : {"path", "values"}, optional
            Records in small classes and detail lost after each step, those left out last; or how
            many values each column has and keeps. Left out, the path if it was measured.
        """
        return plan_picture(self, ax, kind)

    def _blocks(self) -> list[str | render.Table]:
        """What becomes of each column, and the table before and after."""
        measured = self.before is not None and self.after is not None
        return [
            _title(self),
            render.Table(*_columns_table(self)),
            *_meanings(self),
            *([render.Table(*_outcomes_table(self))] if measured else []),
            *_guarantees(self),
            *_about_method(self),
        ]


def without_digest(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values for a page that changes it, and cannot tell the digest then."""
    stored = {key: value for key, value in plan.to_dict().items() if key != "digest"}
    return {**stored, "anonrisk_plan": _WITHOUT_DIGEST}


def _read(stored: Mapping[str, Any], trees: Mapping[Name, Hierarchy]) -> dict[str, Any]:
    """Read the fields of a plan by their types."""
    version = stored["anonrisk_plan"]
    if type(version) is not int or version not in (_VERSION, _WITHOUT_DIGEST):
        raise PlanError("the plan was written by another version of anonrisk")
    if "max_suppression" in stored:
        raise PlanError("this is not a stored plan: max_suppression is now called max_suppressed")
    own = (part.name for part in fields(Plan) if part.compare)
    known = ("anonrisk_plan", "digest", *own, *_OF_COMMAND)
    for key in stored:
        if key not in known:
            raise PlanError(f"a plan has no {shown(key)}{nearest(key, known)}")
    recodings = {}
    for item in stored["recodings"]:
        name = restore_name(item["column"])
        beside = {key: value for key, value in item.items() if key not in ("column", "nodes")}
        if name in recodings:
            raise PlanError(f"this is not a stored plan: it recodes {name!r} twice")
        recodings[name] = read_recoding(beside, trees.get(name))
    read = {**restore_fields(Plan, stored), "recodings": recodings}
    if stored.get("regions") is not None:
        read["regions"] = Regions.read(stored["regions"], recodings)
    if read["k"] is not None and not recodings:
        raise PlanError("this is not a stored plan: it recodes nothing")
    return read


def _refuse_name(name: Any) -> None:
    """Reject the name of a column that JSON and YAML have not."""
    if isinstance(name, tuple):
        for part in name:
            _refuse_name(part)
    elif name is not None and not isinstance(name, str | bool | int | float | np.generic):
        raise PlanError(
            f"a plan cannot be stored with a column whose name is {kind_name(name)}; "
            "name the columns by text first"
        )


_NOT_COVERED = (
    "not covered: links with other releases, columns that are not among these, sensitive columns "
    "without a goal, what correlations reveal, what the method reveals (plan.attack measures it)"
)


def _guarantees(plan: Plan) -> list[str]:
    """Return what holds, which budgets are met, missed or not planned for, what is not covered."""
    if plan.after is None or plan.after.average_risk is None:
        return []
    return [f"holds: {'; '.join(_holds(plan))}", *_budgets(plan.budgets), _NOT_COVERED]


def _holds(plan: Plan) -> Iterator[str]:
    after = plan.after
    assert after is not None  # noqa: S101
    who = "record" if plan.unit is None else "person"
    least = render.count_of(after.k or 0, who)
    yield f"{least} or more in every class of {render.joined(plan.qids)}"
    goals = [(rule, goal) for rule in plan.class_rules for goal in rule.goals]
    # Counted in stages, every region keeps to the limits, and no score is known.
    scores = after.scores or [None] * len(goals)
    for (rule, goal), score in zip(goals, scores, strict=True):
        if score is None:
            yield str(goal)
            continue
        name = FORMULAS[goal.score].measure.rpartition("_")[2]
        about = "" if len(rule.qid) == len(plan.qids) else f" by {render.joined(rule.qid)}"
        yield f"{goal.score} {name} {score:.3g} of {render.visible(goal.column)}{about}"
    highest, average = render.percent(after.highest_risk or 0.0), after.average_risk or 0.0
    yield f"risk at most {highest}, on average {render.percent(average)}"


def _budgets(budgets: tuple[PlannedBudget, ...]) -> Iterator[str]:
    met = dict.fromkeys(budget.budget for budget in budgets if budget.status == MET)
    if met:
        yield f"meets: {', '.join(met)}"
    for budget in budgets:
        if budget.status != MET:
            limit, value = render.exact(budget.limit), ","
            if budget.value is not None:
                value = f" is {render.beside(budget.value, budget.limit, 3)}, and"
            only = " (only warns)" if budget.severity == "warn" else ""
            word = "misses" if budget.status == MISSED else budget.status
            about = "" if budget.sensitive is None else f" of {render.visible(budget.sensitive)}"
            why = f": {budget.why}" if budget.why else ""
            yield f"{word}: {budget.budget}{about}{only}{value} the limit is {limit}{why}"


def _about_method(plan: Plan) -> list[str]:
    """Return why this method, and what its ranges are to whoever reads the table."""
    notes = [plan.note] if plan.note else []
    if plan.regions is None:
        return notes
    several = [
        render.named(name)
        for i, (name, recoding) in enumerate(plan.recodings.items())
        if isinstance(recoding, NumberRanges)
        and not recoding.kept
        and recoding.overlaps(plan.regions.boxes[:, i])
    ]
    if several:
        notes.append(
            f"ranges of {', '.join(several)} overlap, as every region has its own; with method "
            "full-domain all records have the same"
        )
    return notes


def _meanings(plan: Plan) -> list[str]:
    if not any(step.helped for step in plan.steps):
        return []
    return [f"helped: records in {broken_classes(plan)} with this column as it was"]


def _title(plan: Plan) -> str:
    names = render.joined(plan.qids)
    if plan.k is None:
        return f"Plan for {names}"
    best = ", the best of those offered" if plan.optimal and not plan.partial else ""
    if plan.proven_gap:
        best = f", within {plan.proven_gap:.3f} of the least loss of those offered"
    if plan.regions is not None:
        best = f" in {render.count_of(len(plan.regions), 'region')}"
    if plan.partial:
        best += ", PARTIAL: stopped, not proven best"
    also = "".join(f", {goal}" for goal in plan.goals)
    return f"Plan for {names}: k = {plan.k}{also}{best}"


def _columns_table(plan: Plan) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return for each column from what to what, how many values, what is lost and who is helped."""
    names = []
    for i, (name, recoding) in enumerate(plan.recodings.items()):
        becomes = str(recoding)
        if plan.regions is not None and isinstance(recoding, ByRegion) and not recoding.kept:
            becomes = recoding.in_words(plan.regions.boxes[:, i])
        names.append((render.named(name), becomes))
    if plan.before is None or plan.after is None:
        return ("column", "to"), [*names]
    steps = {step.column: step for step in plan.steps}
    counts = zip(names, plan.recodings, plan.before.values, plan.after.values, strict=True)
    rows: list[tuple[str, ...]] = []
    for (name, becomes), column, before, after in counts:
        step = steps.get(column)
        kind = "values" if step is None else step.values
        loss = "-" if step is None else render.percent(step.loss)
        helped = "-" if step is None or step.helped is None else f"{step.helped:,}"
        rows.append((name, f"{before:,} {kind}", becomes, f"{after:,}", loss, helped))
    return ("column", "from", "to", "left", "loss", "helped"), rows


def _outcomes_table(plan: Plan) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    before, after = plan.before, plan.after
    assert before is not None  # noqa: S101
    assert after is not None  # noqa: S101

    def share(n: int) -> str:
        return f"{n:,} ({render.percent(n / before.n_records)})"

    return ("", "before", "after"), [
        ("records", f"{before.n_records:,}", f"{after.n_records:,}"),
        ("classes", f"{before.n_classes:,}", f"{after.n_classes:,}"),
        ("smallest class", str(before.k), "-" if after.k is None else str(after.k)),
        (broken_classes(plan).removeprefix("classes "), share(before.n_below), share(0)),
        ("suppressed", share(0), share(after.n_below)),
        ("bits per cell", _bits(before), _bits(after)),
        (
            "loss" if plan.loss == "entropy" else f"{plan.loss} loss",
            render.percent(before.loss),
            render.percent(after.loss),
        ),
    ]


def _bits(outcome: PlanOutcome) -> str:
    return "-" if outcome.bits is None else f"{outcome.bits:.2f}"
