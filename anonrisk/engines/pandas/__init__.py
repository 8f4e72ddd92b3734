"""The pandas engine: columns become integer codes, and counting is arithmetic on those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.core.column_roles import Roles
from anonrisk.engines.pandas import (
    count,
    encode,
    interval,
    labels,
    link,
    match,
    objects,
    population,
    profile,
    pseudonym,
    recode,
    rewrite,
    sets,
    steps,
    suda,
    suppress,
    tally,
    traces,
)
from anonrisk.engines.pandas.guard import guarded

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.pseudonyms import Step
    from anonrisk.counts.class_profiles import ValueCounts
    from anonrisk.counts.class_sizes import ClassCounts
    from anonrisk.counts.matched import Attacker, Matched
    from anonrisk.counts.minimal_uniques import Totals
    from anonrisk.counts.question import (
        Against,
        CellSuppression,
        Group,
        Noise,
        Question,
        Score,
        Scored,
        Sensitive,
    )
    from anonrisk.counts.tally import Tally
    from anonrisk.counts.traces import LinkCounts, LinkQuestion, TraceCounts, TraceQuestion
    from anonrisk.counts.weighted import Independence, WeightedClasses
    from anonrisk.recode import Bins, Recoding

_ATTRS_KEY = "anonrisk"


@guarded
class PandasEngine:
    """Counts pandas DataFrames."""

    name = "pandas"
    sets_a_pass = sets.SetCounter.batch

    def columns(self, frame: pd.DataFrame) -> Sequence[Name]:
        """List the column labels."""
        return list(frame.columns)

    def index(self, frame: pd.DataFrame) -> Sequence[Any]:
        """List the names of the index; None for labels without one that do not number rows."""
        unnamed = [None] if self.row_labels(frame) == "unnamed" else []
        return [*(name for name in frame.index.names if name is not None), *unnamed]

    def check(self, frame: pd.DataFrame, roles: Mapping[Name, str]) -> None:
        """Refuse nested types; what an object column holds is only seen when it is encoded."""
        for name, role in roles.items():
            encode.refuse_nested(encode.column_of(frame, name).dtype, name, role)

    def count(self, frame: pd.DataFrame, question: Question) -> list[ClassCounts]:
        """Count the classes of each quasi-identifier from one encoding of the columns."""
        return count.class_sizes(frame, question)

    def count_by(self, frame: pd.DataFrame, question: Question, by: Name) -> list[list[Group]]:
        """Count within each group of `by`."""
        return count.class_sizes_by(frame, question, by)

    def sizes(self, frame: pd.DataFrame, question: Question, name: str) -> pd.Series[Any]:
        """Give a Series with the table's own index."""
        return rewrite.sizes(frame, question, name)

    def at_risk(self, frame: pd.DataFrame, question: Question, k: int) -> pd.DataFrame:
        """Select the records in classes smaller than k."""
        return rewrite.at_risk(frame, question, k)

    def is_scale(self, frame: pd.DataFrame, column: Name) -> bool:
        """Look at the type, and where that is `object` at the first value."""
        return objects.is_scale(encode.column_of(frame, column))

    def profiles(
        self, frame: pd.DataFrame, question: Question, sensitive: Sensitive
    ) -> ValueCounts:
        """Count the sensitive values of each kind of class."""
        return profile.profiles(frame, question, sensitive)

    def scores(
        self, frame: pd.DataFrame, question: Question, sensitive: Sensitive, scores: Sequence[Score]
    ) -> Scored:
        """Score every class from its profile, and give the worst."""
        return profile.scores(frame, question, sensitive, scores)

    def breaking(
        self,
        frame: pd.DataFrame,
        question: Question,
        limits: Sequence[tuple[Sensitive, Score, float]],
        k: int | None,
    ) -> pd.DataFrame:
        """Select the records of the classes that break a limit, or are smaller than k."""
        return rewrite.breaking(frame, question, limits, k)

    def matched(self, frame: pd.DataFrame, question: Question, against: Against) -> Matched:
        """Find the size that each class of the release has in the population."""
        return match.matched(frame, question, against)

    def households(self, frame: pd.DataFrame, question: Question, against: Against) -> Attacker:
        """Give the risk that a record has by any member of its household."""
        return match.households(frame, question, against)

    def marked(self, frame: pd.DataFrame, columns: Sequence[Name], marker: str) -> int:
        """Count the rows that have the marker in one of the columns."""
        return count.marked(frame, columns, marker)

    def in_intervals(self, frame: pd.DataFrame, widths: Mapping[Name, float]) -> pd.DataFrame:
        """Give the table with the number of its interval in place of each value."""
        return interval.in_intervals(frame, widths)

    def weighted(self, frame: pd.DataFrame, question: Question, weight: Name) -> WeightedClasses:
        """Sum weights, and risks that follow from them, over the classes."""
        return population.weighted(frame, question, weight)

    def independence(
        self, frame: pd.DataFrame, question: Question, fraction: float
    ) -> Independence:
        """Compare the classes with what their columns give if they are independent."""
        return population.independence(frame, question, fraction)

    def counter(self, frame: pd.DataFrame, question: Question) -> sets.SetCounter:
        """Encode the columns once, for any number of sets of them."""
        return sets.SetCounter(frame, question)

    def suda(
        self,
        frame: pd.DataFrame,
        counter: sets.SetCounter,
        max_size: int,
        names: list[str],
        risk: Callable[[Totals], float | None],
    ) -> tuple[pd.Series[Any], pd.DataFrame, Totals]:
        """Score every record by its minimal uniques."""
        return suda.scores(frame, counter, max_size, names, risk)

    def tally(
        self,
        frame: pd.DataFrame,
        columns: Qid,
        collapsible: Qid = (),  # noqa: ARG002
    ) -> Tally:
        """Count the classes of some columns with their values."""
        return tally.tally(frame, dict.fromkeys(columns, "quasi-identifier"))

    def recode(self, frame: pd.DataFrame, recodings: Mapping[Name, Recoding]) -> pd.DataFrame:
        """Give a table with some columns recoded."""
        return recode.recode(frame, recodings)

    def is_whole(self, frame: pd.DataFrame, column: Name) -> bool:
        """Look at all values: pandas makes whole numbers floats where one is missing."""
        return recode.kind_of_all(encode.column_of(frame, column)) == "whole"

    def is_text(self, frame: pd.DataFrame, column: Name) -> bool:
        """Look at the first known value."""
        return recode.kind_of(encode.column_of(frame, column)) in ("text", None)

    def quantile_bins(self, frame: pd.DataFrame, column: Name, n_bins: int) -> Bins:
        """Cut a column of numbers into bins of about the same number of records."""
        return recode.quantile_bins(frame, column, n_bins)

    def suppress(
        self, frame: pd.DataFrame, question: Question, k: int, cells: CellSuppression | None = None
    ) -> pd.DataFrame:
        """Leave out the records of classes smaller than k, or their cells."""
        if cells is None:
            return suppress.records(frame, question, k)
        return suppress.cells(frame, question, k, cells.marker)

    def microaggregate(self, frame: pd.DataFrame, columns: Qid, k: int) -> pd.DataFrame:
        """Replace numbers by the mean of a group of at least k records."""
        return steps.microaggregate(frame, columns, k)

    def perturb(self, frame: pd.DataFrame, noise: Noise) -> pd.DataFrame:
        """Add noise to some columns, and mark the table."""
        return steps.perturb(frame, noise)

    def permute(self, frame: pd.DataFrame, columns: Qid, by: Qid, seed: int) -> pd.DataFrame:
        """Shuffle some columns within groups, and mark the table."""
        return steps.permute(frame, columns, by, seed)

    def nested(self, frame: pd.DataFrame) -> Sequence[str]:
        """List the paths inside Arrow's structs, and inside cells that are mappings."""
        return labels.nested(frame)

    def row_labels(self, frame: pd.DataFrame) -> str | None:
        """Look at the index where it, or a level of it, has no name."""
        return labels.row_labels(frame.index)

    def with_labels(self, frame: pd.DataFrame, name: str) -> pd.DataFrame:
        """Bring the index back among the columns."""
        return labels.with_labels(frame, name)

    def has_rows(self, frame: pd.DataFrame) -> bool:
        """Tell whether there is any row."""
        return len(frame) > 0

    def perturbed(self, frame: pd.DataFrame) -> Mapping[Name, str]:
        """Read from `attrs` which columns a random step has changed."""
        return steps.perturbed(frame)

    def traces(self, frame: pd.DataFrame, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""
        return traces.traces(frame, question)

    def links(self, frame: pd.DataFrame, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""
        return link.links(frame, question)

    def pseudonymize(self, frame: pd.DataFrame, step: Step) -> pd.DataFrame:
        """Give the table with one column replaced by pseudonyms."""
        return pseudonym.pseudonymize(frame, step)

    def read_roles(self, frame: pd.DataFrame) -> Roles | None:
        """Read the roles from `attrs`."""
        stored = frame.attrs.get(_ATTRS_KEY)
        return None if stored is None else Roles.from_dict(stored)

    def write_roles(self, frame: pd.DataFrame, roles: Roles) -> pd.DataFrame:
        """Keep the roles in `attrs`, as plain values, which survive a Parquet file."""
        declared = frame.copy(deep=False)
        declared.attrs = {**frame.attrs, _ATTRS_KEY: roles.to_dict()}
        return declared
