"""What an engine must do, and the rules by which two cells are the same.

An engine reduces a table of one library to `ClassCounts`. Its keyed tallies (values of
quasi-identifiers with their counts) never leave it.

The rules of equality, the same on every engine:

- None, NULL, NaN, NaT and pd.NA are one value, "missing". With ``missing="value"`` it forms
  classes like any other; with ``"drop"`` records that miss a quasi-identifier are left out and
  counted; with ``"error"`` they are refused.
- 0.0 equals -0.0. Strings are compared exactly, byte for byte. Instants are compared as instants,
  whatever their zone. Categories that no record has form no class.
- Cells without an equality of their own (lists, maps, structs), and object columns that mix
  types, are refused by the name of their column.
- Index, row order, column order and partitioning change nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from anonrisk.core.column_roles import Roles
    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.pseudonyms import Step
    from anonrisk.counts.class_profiles import ValueCounts
    from anonrisk.counts.class_sizes import ClassCounts
    from anonrisk.counts.counter import Counter
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


class Engine(Protocol):
    """One library of tables."""

    name: str

    def columns(self, frame: Any) -> Sequence[Name]:
        """List the names of the table's columns; repeated ones as often as they occur."""

    def index(self, frame: Any) -> Sequence[Any]:
        """List the names of what is published beside the columns."""

    def check(self, frame: Any, roles: Mapping[Name, str]) -> None:
        """Refuse, from the schema alone, a table or column that cannot be counted."""

    def count(self, frame: Any, question: Question) -> list[ClassCounts]:
        """Count the classes of each quasi-identifier."""

    def count_by(self, frame: Any, question: Question, by: Name) -> list[list[Group]]:
        """Count the classes of each quasi-identifier within each group of `by`, in order."""

    def sizes(self, frame: Any, question: Question, name: str) -> Any:
        """Give each record the size of its class, under `name`."""

    def at_risk(self, frame: Any, question: Question, k: int) -> Any:
        """Select the records in classes smaller than k."""

    def is_scale(self, frame: Any, column: Name) -> bool:
        """Tell whether a column holds floats or dates, which have distances by themselves."""

    def profiles(self, frame: Any, question: Question, sensitive: Sensitive) -> ValueCounts:
        """Count the sensitive values of each kind of class."""

    def scores(
        self, frame: Any, question: Question, sensitive: Sensitive, scores: Sequence[Score]
    ) -> Scored:
        """Score every class by its sensitive values, and give the worst."""

    def breaking(
        self,
        frame: Any,
        question: Question,
        limits: Sequence[tuple[Sensitive, Score, float]],
        k: int | None,
    ) -> Any:
        """Select the records of the classes that break a limit, or are smaller than k."""

    def matched(self, frame: Any, question: Question, against: Against) -> Matched:
        """Find the size that each class of the release has in the population."""

    def households(self, frame: Any, question: Question, against: Against) -> Attacker:
        """Give the risk that a record has by any member of its household."""

    def marked(self, frame: Any, columns: Sequence[Name], marker: str) -> int:
        """Count the rows that have the marker of a suppressed cell in one of the columns."""

    def in_intervals(self, frame: Any, widths: Mapping[Name, float]) -> Any:
        """Give the table with the number of its interval in place of each value."""

    def weighted(self, frame: Any, question: Question, weight: Name) -> WeightedClasses:
        """Sum weights, and risks that follow from them, over the classes."""

    def independence(self, frame: Any, question: Question, fraction: float) -> Independence:
        """Compare the classes with what their columns give if they are independent."""

    # How many sets of columns share a pass over the table; 0 where they are counted one by one.
    sets_a_pass: int

    def counter(self, frame: Any, question: Question) -> Counter:
        """Get ready to count many sets of the columns of a question."""

    def suda(
        self,
        frame: Any,
        counter: Any,
        max_size: int,
        names: list[str],
        risk: Callable[[Totals], float | None],
    ) -> tuple[Any, Any, Totals]:
        """Score every record by its minimal uniques; scores, more of each record, and totals."""

    def tally(self, frame: Any, columns: Qid, collapsible: Qid = ()) -> Tally:
        """Count the classes of some columns with their values, which stay inside.

        Where there are too many, close values of the collapsible columns may be put together.
        """

    def recode(self, frame: Any, recodings: Mapping[Name, Recoding]) -> Any:
        """Give a table with some columns recoded."""

    def is_whole(self, frame: Any, column: Name) -> bool:
        """Tell whether a column holds whole numbers."""

    def is_text(self, frame: Any, column: Name) -> bool:
        """Tell whether a column holds text, or nothing."""

    def quantile_bins(self, frame: Any, column: Name, n_bins: int) -> Bins:
        """Cut a column of numbers into bins of about the same number of records."""

    def suppress(
        self, frame: Any, question: Question, k: int, cells: CellSuppression | None = None
    ) -> Any:
        """Leave out the records of classes smaller than k, or their cells."""

    def microaggregate(self, frame: Any, columns: Qid, k: int) -> Any:
        """Replace numbers by the mean of a group of at least k records."""

    def perturb(self, frame: Any, noise: Noise) -> Any:
        """Add noise to some columns, and mark the table."""

    def permute(self, frame: Any, columns: Qid, by: Qid, seed: int) -> Any:
        """Shuffle some columns within groups, and mark the table."""

    def nested(self, frame: Any) -> Sequence[str]:
        """List the paths inside columns that are structs, as `person.name`."""

    def row_labels(self, frame: Any) -> str | None:
        """Say what rows are labelled by without a name: "row numbers", "unnamed", or nothing."""

    def with_labels(self, frame: Any, name: str) -> Any:
        """Give the table with its index as columns; labels without a name under this one."""

    def has_rows(self, frame: Any) -> bool:
        """Tell whether there is any row, without reading more than one."""

    def perturbed(self, frame: Any) -> Mapping[Name, str]:
        """Tell which columns a random step has changed, and by which."""

    def traces(self, frame: Any, question: TraceQuestion) -> TraceCounts:
        """Count the users whom a few of their records single out."""

    def links(self, frame: Any, question: LinkQuestion) -> LinkCounts:
        """Count the persons who can be linked across a change of pseudonyms."""

    def pseudonymize(self, frame: Any, step: Step) -> Any:
        """Give the table with one column replaced by pseudonyms."""

    def read_roles(self, frame: Any) -> Roles | None:
        """Read the roles that the table carries."""

    def write_roles(self, frame: Any, roles: Roles) -> Any:
        """Give a table that carries these roles; the one at hand stays as it is."""
