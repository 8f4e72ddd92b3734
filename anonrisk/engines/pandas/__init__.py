"""The pandas engine: columns become integer codes, and counting is arithmetic on those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.column_roles import Roles
from anonrisk.engines.pandas import (
    count,
    encode,
    link,
    match,
    objects,
    profile,
    pseudonym,
    rewrite,
    traces,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from anonrisk.attackers import Attacker, Matched
    from anonrisk.class_profiles import ClassProfiles
    from anonrisk.columns import Name
    from anonrisk.counts import ClassSizes
    from anonrisk.engines.base import Against, Group, Question, Score, Scored, Sensitive
    from anonrisk.engines.traces import LinkCounts, LinkQuestion, TraceCounts, TraceQuestion
    from anonrisk.pseudonyms import Step

_ATTRS_KEY = "anonrisk"


class PandasEngine:
    """Counts pandas DataFrames."""

    name = "pandas"

    def columns(self, frame: pd.DataFrame) -> Sequence[Name]:
        """List the column labels."""
        return list(frame.columns)

    def index(self, frame: pd.DataFrame) -> Sequence[Name]:
        """List the names of the index."""
        return list(frame.index.names)

    def check(self, frame: pd.DataFrame, roles: Mapping[Name, str]) -> None:
        """Refuse nested types; what an object column holds is only seen when it is encoded."""
        for name, role in roles.items():
            encode.refuse_nested(encode.column_of(frame, name).dtype, name, role)

    def count(self, frame: pd.DataFrame, question: Question) -> list[ClassSizes]:
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
    ) -> ClassProfiles:
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
