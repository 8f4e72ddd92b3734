"""A table that is explored, counted once: its levels, and what any combination of them does."""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

from anonrisk.core.columns import require_hierarchies
from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import tell
from anonrisk.core.render import count_of
from anonrisk.engines.limits import check_finite
from anonrisk.errors import ArgumentError, EmptyTableError, MissingUnitError
from anonrisk.measures.counts.question import ClassesWithValues
from anonrisk.measures.recode import Bins, Keep, Level
from anonrisk.planning.lattice.explore import CountedWhenAsked, combinations, levels_of
from anonrisk.planning.lattice.full_domain import value_budget
from anonrisk.planning.lattice.lattice import refinements
from anonrisk.planning.lattice.offer import offers, with_rules
from anonrisk.planning.losses import OF_COLUMNS
from anonrisk.planning.regions.part import PersonTally
from anonrisk.planning.suppress.class_rules import beside
from anonrisk.reporting.explored import summarise, told_as, told_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name, Qid
    from anonrisk.core.hierarchy import Hierarchy
    from anonrisk.core.types import ColumnLoss, Cuts, Integers
    from anonrisk.engines.base import Engine
    from anonrisk.measures.counts.tally import Tally
    from anonrisk.measures.recode import KeepCommon, MergeRare, Recoding
    from anonrisk.planning.lattice.explore import Combinations, LeftOutLevel
    from anonrisk.planning.lattice.lattice import Choice
    from anonrisk.reporting.explored import ExploreRequest


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
