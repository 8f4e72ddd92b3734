# Written by python3 dev.py stubs; what is changed here is lost.
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from os import PathLike
from typing import Any, Generic, Literal, overload

import pandas as pd
from numpy.typing import NDArray

from anonrisk.api.assess import Assessment
from anonrisk.api.class_sizes import ClassSizes
from anonrisk.core import column_roles
from anonrisk.core.columns import FrameT, Name, Names
from anonrisk.core.results import Closeness
from anonrisk.core.types import (
    Alphabet,
    AssessesTables,
    ChecksTables,
    ColumnLoss,
    Cuts,
    Distance,
    Diversity,
    Draw,
    Law,
    Likeness,
    Loss,
    LossFunction,
    Method,
    Missing,
    MissingOrWildcard,
    Model,
    OnUnseen,
    Part,
    Points,
    StatesGoals,
    SuppressedAs,
)
from anonrisk.measures.counts.population import Presence
from anonrisk.measures.explain_risk import RiskExplanation
from anonrisk.measures.find_qids import QidReport, SearchPlan
from anonrisk.measures.probabilistic import ProbabilisticK
from anonrisk.measures.recode import Bins, Recoding
from anonrisk.measures.risk import Risk
from anonrisk.measures.suda import Suda
from anonrisk.planning.options import PlanOptions
from anonrisk.planning.plan import Plan
from anonrisk.planning.utility import Utility
from anonrisk.policy.finding import Finding
from anonrisk.policy.policy import Policy
from anonrisk.predict.population import PopulationEstimate
from anonrisk.predict.prediction import PredictedClasses, Prediction
from anonrisk.predict.trajectory import Trajectory
from anonrisk.pseudonyms.keys import Key
from anonrisk.releases.compare.comparison import Comparison
from anonrisk.releases.state.state import State
from anonrisk.reporting.explorer import Explorer
from anonrisk.reporting.report import Report
from anonrisk.reporting.served import ServedExplorer

FUNCTIONS: tuple[Callable[..., Any], ...]
WORDS: dict[str, str]
METHODS: tuple[str, ...]
ON_CLASSES: tuple[str, ...]

def function_of(word: str) -> Callable[..., Any]: ...
def instead_of(word: str, words: Collection[str]) -> str: ...
def register() -> None: ...
def anon(frame: FrameT) -> AnonAccessor[FrameT]: ...

class AnonAccessor(Generic[FrameT]):
    def __init__(self, frame: FrameT) -> None: ...
    def alpha(
        self,
        qids: Names | None = None,
        sensitive: Names | None = None,
        *,
        unit: Name | None = None,
        missing: Missing = "value",
        missing_sensitive: Missing = "value",
    ) -> float:
        """Return the largest share that one sensitive value has of a class."""
    def apply(
        self,
        plan: Plan,
        *,
        on_unseen: OnUnseen = "refuse",
        policy: ChecksTables | None = None,
    ) -> FrameT:
        """Recode the columns of a table as a plan says, and leave out the records of small classes."""
    def assess(
        self,
        qids: Names | AssessesTables | None = None,
        sensitive: Names | None = None,
        measures: str | Sequence[str] | None = None,
        *,
        c: float | None = None,
        distance: Distance = "auto",
        order: Iterable[Any] | None = None,
        hierarchies: Any = None,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
        missing_sensitive: Missing = "value",
    ) -> Assessment:
        """Take many measures of a table in as few passes as possible: one per sensitive column."""
    def at_risk(
        self,
        qids: Names | None = None,
        k: int | None = None,
        *,
        sensitive: Names | None = None,
        l: float | None = None,
        t: float | None = None,
        variant: Diversity = "distinct",
        c: float | None = None,
        distance: Distance = "auto",
        order: Iterable[Any] | None = None,
        hierarchies: Any = None,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
        missing_sensitive: Missing = "value",
    ) -> FrameT:
        """Return the records of the classes that break a limit, as a table of the same kind."""
    def beta_likeness(
        self,
        qids: Names | None = None,
        sensitive: Names | None = None,
        variant: Likeness = "basic",
        *,
        unit: Name | None = None,
        missing: Missing = "value",
        missing_sensitive: Missing = "value",
    ) -> float:
        """Return the least β for which the table has β-likeness: the largest relative gain of a value."""
    def classes(
        self,
        qids: Names | None = None,
        *,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
    ) -> ClassSizes:
        """Count the classes of a quasi-identifier: one scan, many questions."""
    def declare(
        self,
        quasi: Names = (),
        sensitive: Names = (),
        direct: Names = (),
        insensitive: Names = (),
        unit: Name | None = None,
    ) -> FrameT:
        """Return a table that carries the roles of its columns, so that later calls need no names."""
    def delta_disclosure(
        self,
        qids: Names | None = None,
        sensitive: Names | None = None,
        *,
        strict: bool = False,
        base: float | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
        missing_sensitive: Missing = "value",
    ) -> float:
        """Return the least δ for which the table has δ-disclosure privacy."""
    def delta_presence(
        self,
        qids: Names | None = None,
        population: Any = None,
        *,
        missing: Missing = "value",
    ) -> Presence:
        """Return the least and largest share of a population class that is in the release."""
    def entropy(
        self,
        qids: Names | None = None,
        alpha: float = 1,
        *,
        quantile: float | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> float:
        """Return the entropy of a quasi-identifier in bits: how much its value tells."""
    def explain_risk(
        self,
        qids: Names | None = None,
        *,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> RiskExplanation:
        """Return which column, dropped or coarsened, lowers the number of singletons most."""
    @overload
    def find_qids(
        self,
        qids: Names | None = ...,
        *,
        alpha: float = ...,
        max_size: int = ...,
        population_size: int | None = ...,
        unit: Name | None = ...,
        missing: Missing = ...,
        time_limit: float | None = ...,
        explain: Literal[False] = ...,
        progress: bool | None = ...,
    ) -> QidReport:
        """Find the minimal sets of columns that single out more than a share of the records."""
    @overload
    def find_qids(
        self,
        qids: Names | None = ...,
        *,
        alpha: float = ...,
        max_size: int = ...,
        population_size: int | None = ...,
        unit: Name | None = ...,
        missing: Missing = ...,
        time_limit: float | None = ...,
        explain: Literal[True],
        progress: bool | None = ...,
    ) -> SearchPlan:
        """Find the minimal sets of columns that single out more than a share of the records."""
    def generalize(
        self,
        columns: Names | Mapping[Any, Recoding],
        *,
        bins: int | Sequence[float] | NDArray[Any] | Bins | None = None,
        prefix: int | None = None,
        hierarchies: Any = None,
        level: int | None = None,
        part: Part | None = None,
        top: float | None = None,
        bottom: float | None = None,
    ) -> FrameT:
        """Make the values of some columns coarser, with names that say what they stand for."""
    def k(
        self,
        qids: Names | None = None,
        *,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
    ) -> int:
        """Return the size of the smallest class: the table is k-anonymous for this k."""
    def kmap(
        self,
        qids: Names | None = None,
        population: Any = None,
        *,
        missing: Missing = "value",
    ) -> int:
        """Return the size of the smallest population class that the release has a record of (k-map)."""
    def ldiv(
        self,
        qids: Names | None = None,
        sensitive: Names | None = None,
        variant: Diversity = "distinct",
        *,
        c: float | None = None,
        joint: bool = False,
        unit: Name | None = None,
        missing: Missing = "value",
        missing_sensitive: Missing = "value",
    ) -> float:
        """Return the l-diversity of a table: the sensitive values that its worst class keeps in doubt."""
    def microaggregate(
        self,
        columns: Names,
        k: int | None = None,
    ) -> FrameT:
        """Replace numbers by the mean of a group of at least k records."""
    def permute(
        self,
        columns: Names,
        *,
        seed: int,
        by: Names | None = None,
    ) -> FrameT:
        """Shuffle the cells of some columns among the records, within groups if asked to."""
    def perturb(
        self,
        columns: Names,
        scale: float,
        *,
        seed: int,
        law: Law = "normal",
    ) -> FrameT:
        """Add noise to numbers or dates; types are kept."""
    def plan(
        self,
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
        """Find how coarse each column must become for a table to keep to a policy, or to k."""
    def predict_classes(
        self,
        qids: Names | None = None,
        group_size: int | None = None,
        upto: int = 10,
        *,
        draw: Draw = "auto",
        method: Method = "exact",
        n_values: int | None = None,
        widths: Mapping[Any, float] | None = None,
        cluster: Name | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> PredictedClasses:
        """Predict in classes of which size the people of a group will be, judging by this table."""
    def predict_population(
        self,
        qids: Names | None = None,
        population_size: int | None = None,
        *,
        model: Model = "auto",
        sampling_fraction: float | None = None,
        weight: Name | None = None,
        cluster: Name | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> PopulationEstimate:
        """Estimate how many people are unique in the population that this table is a sample of."""
    def predict_singletons(
        self,
        qids: Names | None = None,
        group_size: int | None = None,
        *,
        draw: Draw = "auto",
        method: Method = "exact",
        n_values: int | None = None,
        widths: Mapping[Any, float] | None = None,
        cluster: Name | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> Prediction:
        """Predict how many of a group will be singletons, judging by this table."""
    def probabilistic_k(
        self,
        qids: Names | None = None,
        population_size: int | None = None,
        beta: float = 0.05,
        *,
        domain_sizes: Mapping[Any, int] | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> ProbabilisticK:
        """Return the k that each value has in the population with probability 1 − beta."""
    def pseudonymize(
        self,
        column: Name,
        *,
        key: Key | bytes,
        period: str | timedelta | int | None = None,
        time: Name | None = None,
        scope: str | None = None,
        format: Alphabet = "hex",
        length: int | None = None,
        people: int | None = None,
        max_collision: float = 1e-06,
    ) -> FrameT:
        """Replace an identifier by keyed pseudonyms, in a new table of the same kind."""
    def risk(
        self,
        qids: Names | None = None,
        population: Any = None,
        *,
        weight: Name | None = None,
        sampling_fraction: float | None = None,
        population_size: int | None = None,
        unsuppressed: bool = False,
        household: Name | None = None,
        cluster: Name | None = None,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
    ) -> Risk:
        """Return the risk of re-identification by prosecutor, journalist and marketer."""
    def roles(
        self,
    ) -> column_roles.Roles:
        """Read back the roles that a table carries; an empty `Roles` where there are none."""
    def sizes(
        self,
        qids: Names | None = None,
        *,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
        name: Name = "class_size",
    ) -> Any:
        """Return the size of each record's class."""
    def suda(
        self,
        qids: Names | None = None,
        max_size: int = 4,
        *,
        sampling_fraction: float | None = None,
        missing: Missing = "value",
        time_limit: float | None = None,
        progress: bool | None = None,
    ) -> Suda:
        """Score every record by the smallest sets of columns that single it out."""
    def summary(
        self,
        qids: Names | Sequence[Names] | None = None,
        by: Name | None = None,
        sizes: Sequence[int] = (1, 5, 10, 50, 100),
        *,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
    ) -> pd.DataFrame:
        """Summarise the class sizes of one or several quasi-identifiers."""
    def suppress(
        self,
        qids: Names | None = None,
        k: int | None = None,
        *,
        cells: bool = False,
        suppressed: str | float | None = "*",
        unit: Name | None = None,
        missing: SuppressedAs = "value",
        column_weights: Mapping[Any, float] | None = None,
        shared: bool = False,
    ) -> FrameT:
        """Leave out the records of classes smaller than k, or suppress cells of theirs."""
    def tcloseness(
        self,
        qids: Names | None = None,
        sensitive: Names | None = None,
        distance: Distance = "auto",
        *,
        order: Iterable[Any] | None = None,
        hierarchies: Any = None,
        unit: Name | None = None,
        missing: Missing = "value",
        missing_sensitive: Missing = "value",
    ) -> Closeness:
        """Return the t-closeness of a table: how far the worst class is from the table as a whole."""
    def trajectory(
        self,
        item: Names,
        *,
        unit: Name,
        length: int = 4,
        time: Name | None = None,
        k: int = 2,
        sample: int | None = None,
        seed: int | None = None,
        max_length: int | None = None,
        points: Points = "any",
        ordered: bool = False,
        draws: int = 1,
        missing: Missing = "value",
        progress: bool | None = None,
    ) -> Trajectory:
        """Return how many users a few of their linked records single out, measured and modelled."""
    def uniqueness(
        self,
        qids: Names | None = None,
        *,
        unit: Name | None = None,
        missing: MissingOrWildcard = "value",
    ) -> float:
        """Return the share of the records that are singletons: alone in their class."""
    def utility(
        self,
        qids: Names | None = None,
        sensitive: Name | None = None,
        *,
        original: Any,
        hierarchies: Mapping[Any, Any] | None = None,
        loss: Loss | LossFunction = "entropy",
    ) -> Utility:
        """Return what a changed table is still good for."""
    def whole_person(
        self,
        qids: Names | None = None,
        *,
        unit: Name | None = None,
        missing: Missing = "value",
    ) -> ClassSizes:
        """Count the persons who are alike as a whole: all their rows together, not one row."""
    def compare(
        self,
        qids: Names | None = None,
        *,
        previous: Any,
        unit: Name | None = None,
        sensitive: Names | None = None,
        missing: Missing = "value",
    ) -> Comparison:
        """Compare a table with an earlier release: whom both together expose, and what they tell."""
    def state(
        self,
        qids: Names | None = None,
        *,
        unit: Name | None = None,
        sensitive: Names | None = None,
        key: Key | bytes,
        missing: Missing = "value",
    ) -> State:
        """Count the classes of a table under keyed hashes: counts that outlive it, and add up."""
    @overload
    def explore(
        self,
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
    ) -> Explorer:
        """Measure every combination of levels of the columns: a page on which a person chooses."""
    @overload
    def explore(
        self,
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
    ) -> ServedExplorer:
        """Measure every combination of levels of the columns: a page on which a person chooses."""
    def report(
        self,
        qids: Names | None = None,
        sensitive: Names | None = None,
        *,
        policy: Policy | None = None,
        unit: Name | None = None,
        missing: Missing = "value",
        name: str | None = None,
        files: Iterable[str] = (),
        storage: Iterable[Finding] | None = None,
        title: str | None = None,
        population: Any = None,
        population_size: int | None = None,
        group_size: int | None = None,
        n_original: int | None = None,
        progress: bool | None = None,
    ) -> Report:
        """Report to people who decide how many can be singled out: a page, Markdown, JSON."""
