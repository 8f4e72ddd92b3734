"""A release matched with a population, and what models of one need, in one statement each.

Columns of ours, beside those of `count`: `f` and `size_in` the sizes of a class in the release and
in the population, `weight` what a record adds to the latter, `home` the household, `step` a risk on
the grid. What is wrong with the records is summed up on the way and refused then.

Of a model, `c` is how many records share a class's value of a column, `mu` the mean that a class
has if the columns are independent.
"""

from __future__ import annotations

from functools import cached_property
from math import log
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.engines import refusals
from anonrisk.engines.numpy.match import MatchedPairs, of_weights
from anonrisk.engines.pushed.rows import Cells, any_missing, sum_where
from anonrisk.errors import TooManyClassesError, UnsupportedColumnError
from anonrisk.measures.counts import question
from anonrisk.measures.counts.class_sizes import ClassCounts
from anonrisk.measures.counts.population import (
    GRID,
    Attacker,
    Independence,
    Matched,
    Presence,
    WeightedClasses,
)
from anonrisk.measures.counts.question import Against, Question

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.core.columns import Name
    from anonrisk.engines.pushed.rows import PushedTable, Row, Rows

# What is above is infinite.
LARGEST = "1.7976931348623157E308D"
# Below this an exponential is nothing beside any sum of ours.
_NOTHING = "-600D"


def exp(number: str) -> str:
    """Write an exponential, that of very negative numbers as 0; of a column, which stands twice."""
    return f"if({number} < {_NOTHING}, 0D, exp({number}))"


def rising(number: str) -> str:
    """Write (1 − exp(−x))/x of a column, by its series where the difference would lose digits."""
    series = "1D"
    for n in (5, 4, 3, 2):
        series = f"(1D - {number} / {n}D * {series})"
    safe = f"if({number} < 1E-3D, 1D, {number})"
    least = f"if(-{safe} < {_NOTHING}, 0D, exp(-{safe}))"
    return f"if({number} < 1E-3D, {series}, (1D - {least}) / {safe})"


def log_of_rest(share: str) -> str:
    """Write −ln(1 − x) of a column from 0 to below 1, by its series where x is small."""
    series = f"{share} * (1D + {share} * (0.5D + {share} * (1D / 3D + {share} * 0.25D)))"
    safe = f"if({share} < 1E-4D, 0.5D, {share})"
    return f"if({share} < 1E-4D, {series}, -ln(1D - {safe}))"


_NUMBERS = ("whole numbers", "floats", "decimals")
# By which size classes are put together.
_RELEASE, _POPULATION = 0, 1


def matched(table: PushedTable, question: Question, against: Against) -> Matched:
    """Find the size that each class of the release has in the population."""
    sides = Sides(table, question, against)
    rows = sides.fetch(sides.histograms())
    by_size = [row for row in rows if row["part"] == _POPULATION]
    sides.refuse(by_size)
    released = [row for row in rows if row["part"] == _RELEASE and row["released"] is not None]
    sizes = sides.sizes({int(row["released"]): int(row["classes"]) for row in released}, by_size)
    results = [row for row in by_size if row["in_population"] is not None]
    present = sorted(
        (row for row in results if row["classes"]), key=lambda row: row["in_population"]
    )
    return Matched(
        sizes,
        1 / np.array([float(row["in_population"]) for row in present]),
        np.array([float(row["records"]) for row in present]),
        min(float(row["smallest"]) for row in present),
        sum(float(row["total"]) for row in present),
        sum(float(row["matches"]) for row in present),
        Presence(
            min(float(row["lowest"]) for row in results),
            max(float(row["highest"]) for row in results),
        ),
    )


def households(table: PushedTable, question: Question, against: Against) -> Attacker:
    """Compute the risk that a record has by any member of its household, in two statements."""
    table.check_logarithms()
    sides = Sides(table, question, against)
    summary = sides.marked.group(n_counted=sum_where("counts", "f"), **sides.wrong())
    sides.check(table.fetch_rows(summary, "match the classes"))
    steps = table.fetch_rows(sides.households(), "find the risk of households")
    lost = sum(int(row["lost"]) for row in steps)
    if lost and against.household is not None:
        raise refusals.missing_household(against.household, lost)
    records = np.array([float(row["records"]) for row in steps])
    return Attacker(
        "household",
        sum(float(row["summed"]) for row in steps) / float(records.sum()),
        max(float(row["highest"]) for row in steps),
        np.array([float(row["step"]) / GRID for row in steps]),
        records,
    )


class Sides:
    """Release and population under one set of names."""

    def __init__(self, table: PushedTable, question: Question, against: Against) -> None:
        """Reject weights that are no numbers, and columns that differ in type."""
        self.table, self.question, self.against = table, question, against
        self.qs = [f"q{i}" for i in range(len(question.columns))]
        self.roles = question.roles()
        if against.household is not None:
            self.roles[against.household] = "household"
        if against.weight is not None:
            self.roles[against.weight] = "weight"
        held = table.hold(self.roles)
        if against.weight is not None and held[against.weight] not in _NUMBERS:
            raise refusals.not_a_number(against.weight)
        self.population: PushedTable | None = None
        if against.population is not None:
            self.population = table.beside(against.population)
            self._check_types(held, self.population)

    def _check_types(self, held: dict[Name, str], population: PushedTable) -> None:
        names = self.question.columns
        others = population.hold(dict.fromkeys(names, "quasi-identifier of the population"))
        pairs = {name: (held[name], others[name]) for name in names}
        pairs |= self.table.unlike(population, names)
        for name, (ours, theirs) in pairs.items():
            # What holds nothing is like any other.
            if ours != theirs and "nothing" not in {ours, theirs}:
                raise UnsupportedColumnError(
                    f"quasi-identifier {name!r} mixes types: {ours} in the release, "
                    f"{theirs} in the population"
                )

    @property
    def counts(self) -> str:
        """The condition that a class counts, and is not dropped for a missing quasi-identifier."""
        return "true" if self.question.missing != "drop" else f"not ({any_missing(self.qs)})"

    @cached_property
    def records(self) -> Rows:
        """Every record of both sides, with what it adds to `f` and to `size_in`."""
        against = self.against
        names: dict[str, Name] = dict(zip(self.qs, self.question.columns, strict=True))
        others = dict(names)
        if against.weight is not None:
            names["weight"] = against.weight
        if against.household is not None:
            names["home"] = against.household
        released: Rows = Cells.of(self.table, names, self.roles)
        weight = "cast(1 as double)" if against.population is None else "cast(0 as double)"
        if against.weight is not None:
            weight = "cast(weight as double)"
        home = [] if against.household is None else ["home"]
        released = released.select(*self.qs, *home, f="1", weight=weight)
        if self.population is None:
            return released
        every = Cells.of(self.population, others, dict.fromkeys(others.values(), "column"))
        nobody = dict.fromkeys(home, "null")
        return released.union(every, **nobody, f="0", weight="cast(1 as double)")

    @cached_property
    def classes(self) -> Rows:
        """One row per class: its two sizes, and what is wrong with it."""
        sums = {"f": "sum(f)", "size_in": "sum(weight)"}
        if self.against.weight is not None:
            unknown = f"weight is null or abs(weight) > {LARGEST}"
            sums |= {
                "low": "min(weight)",
                "high": "max(weight)",
                "no_weight": sum_where(unknown, "1"),
                "small_weight": sum_where(f"not ({unknown}) and weight < 1", "1"),
            }
        return self.records.group(*self.qs, **sums)

    @property
    def marked(self) -> Rows:
        """The classes, and whether each counts."""
        return self.classes.select("*", counts=self.counts)

    def wrong(self) -> dict[str, str]:
        """Count the records with which something is wrong, over some classes."""
        # Only a population has rows of its own; else its size is a sum of weights.
        rows = "f" if self.population is None else "f + size_in"
        sums = {"dropped": sum_where(f"not ({self.counts})", "f")}
        if self.question.missing == "error":
            sums |= {f"no_{q}": sum_where(f"{q} is null", rows) for q in self.qs}
        if self.against.weight is not None:
            sums |= {name: f"sum({name})" for name in ("no_weight", "small_weight")}
        if self.population is not None:
            sums["lost"] = sum_where(f"{self.counts} and f > 0 and size_in = 0", "f")
            sums["short"] = sum_where(f"{self.counts} and size_in > 0 and f > size_in", "f")
        return sums

    def fetch(self, rows: Rows) -> list[Row]:
        """Fetch histograms of classes, as many rows as there are sizes."""
        result = self.table.fetch_rows(rows, "match the classes", question.MAX_SIZES + 1)
        if len(result) > question.MAX_SIZES:
            raise TooManyClassesError(
                f"the classes have more than {question.MAX_SIZES:,} different sizes and sums of "
                "weights, too many to bring here; round the weights first"
            )
        return result

    def histograms(self) -> Rows:
        """Plan classes by their size in the release, and again by that in the population."""
        counts, share = self.counts, "cast(f as double) / size_in"
        keyed = self.classes.select(
            "*",
            released=f"if({counts} and f > 0, f, null)",
            in_population=f"if({counts} and size_in > 0, size_in, null)",
        )
        return keyed.group_sets(
            [["released"], ["in_population"]],
            name="part",
            classes=sum_where(f"f > 0 and {counts}", "1"),
            records=sum_where(counts, "f"),
            total="sum(if(f > 0, size_in, 0D))",
            matches=f"sum(if(f > 0 and size_in > 0, {share}, 0D))",
            smallest="min(if(f > 0, size_in, null))",
            lowest=f"min(if(size_in > 0, {share}, null))",
            highest=f"max(if(size_in > 0, {share}, null))",
            **self.wrong(),
        )

    def refuse(self, rows: Sequence[Row]) -> None:
        """Reject what the question refuses, and a population that does not fit."""
        total = {name: sum(int(row[name] or 0) for row in rows) for name in self.wrong()}
        if self.question.missing == "error":
            gaps = dict(
                zip(self.question.columns, (total[f"no_{q}"] for q in self.qs), strict=True)
            )
            if any(gaps.values()):
                raise refusals.missing_values(gaps)
        if self.against.weight is not None:
            refusals.check_weights(self.against.weight, total["no_weight"], total["small_weight"])
        if self.population is not None:
            refusals.check_population(total["lost"], total["short"])

    def check(self, rows: Sequence[Row]) -> None:
        """Reject what is wrong, and where no record counts, of sums over all classes."""
        self.refuse(rows)
        results = {1: 1} if any(int(row["n_counted"] or 0) for row in rows) else {}
        self.sizes(results, rows)

    def sizes(self, result: dict[int, int], rows: Sequence[Row]) -> ClassCounts:
        """Make the classes of the release."""
        sizes = sorted(result)
        return ClassCounts(
            sizes,
            [result[f] for f in sizes],
            qid=self.question.qid,
            missing=self.question.missing,
            n_dropped=sum(int(row["dropped"] or 0) for row in rows),
        )

    def households(self) -> Rows:
        """Plan records by the risk of their household, on the grid."""
        of_class = f"sum(weight) over (partition by {', '.join(self.qs)})"
        sized = self.records.where(self.counts).select("f", "home", size_in=of_class)
        # The logarithm of what is certain is no number, so that certainty goes by itself.
        known = sized.where("f = 1").select("home", share="if(size_in <= 1, 1D, 1D / size_in)")
        homes = known.select(
            "home",
            certain="if(share >= 1, 1, 0)",
            rest=f"if(share >= 1, 0D, {log_of_rest('if(share >= 1, 0.5D, share)')})",
        ).group("home", members="count(1)", certain="max(certain)", rest="sum(rest)")
        risks = homes.select(
            "home", "members", risk=f"if(certain = 1, 1D, rest * {rising('rest')})"
        )
        steps = risks.select("*", step=f"ceil(risk * {GRID} - 1E-6D)")
        return steps.group(
            "step",
            records="sum(members)",
            highest="max(risk)",
            summed="sum(risk * members)",
            lost=sum_where("home is null", "members"),
        )


def weighted(table: PushedTable, question: Question, weight: Name) -> WeightedClasses:
    """Sum weights, and risks that follow from them, over the classes."""
    sides = Sides(table, question, Against(weight=weight))
    ends = {"low": "min(low)", "high": "max(high)"}
    rows = sides.fetch(
        sides.marked.group("counts", "f", "size_in", classes="count(1)", **ends, **sides.wrong())
    )
    sides.refuse(rows)
    kept = [row for row in rows if row["counts"]]
    results: dict[int, int] = {}
    for row in kept:
        results[int(row["f"])] = results.get(int(row["f"]), 0) + int(row["classes"])
    sizes = sides.sizes(results, rows)
    pairs = MatchedPairs(
        np.array([int(row["f"]) for row in kept]),
        np.array([float(row["size_in"]) for row in kept]),
        np.array([int(row["classes"]) for row in kept]),
    )
    low, high = min(float(row["low"]) for row in kept), max(float(row["high"]) for row in kept)
    return of_weights(pairs, sizes, (low, high))


def independence(table: PushedTable, question: Question, fraction: float) -> Independence:
    """Compare the classes with what their columns give if they are independent.

    Only sums, and the number of values by their count, leave the back end.
    """
    table.check_logarithms()
    sides = Sides(table, question, Against())
    # Of records, not of classes: a look at each is cheaper than grouping them.
    summary = sides.records.group(n_counted=sum_where(sides.counts, "f"), **sides.wrong())
    sides.check(table.fetch_rows(summary, "count the rows"))
    classes = sides.marked.where("counts").select(*sides.qs, "f")
    values = classes.group_sets([[q] for q in sides.qs], name="w", c="sum(f)")
    rows = table.fetch_rows(values.group("w", "c", n_values="count(1)"), "compare the columns")
    margins = [
        np.array(sorted((int(r["c"]), int(r["n_values"])) for r in rows if r["w"] == i), float)
        for i in range(len(sides.qs))
    ]
    n = float((margins[0][:, 0] * margins[0][:, 1]).sum())
    shares = {f"c{q}": f"cast(sum(f) over (partition by {q}) as double)" for q in sides.qs}
    logs = " + ".join(f"ln({share} / {n!r}D)" for share in shares)
    expected = (
        classes.select(f="cast(f as double)", **shares)
        .select("f", log_mu=f"{log(n)!r}D + {logs}")
        .select("f", mu=exp("log_mu"))
    )
    c = (1 - fraction) / fraction
    terms = expected.select(
        "f", "mu", m=f"mu * {c!r}D", less=f"-mu / {fraction!r}D", least=f"-mu * {c!r}D"
    ).select("f", "mu", "m", "least", kept=f"{exp('less')} * {c!r}D")
    (sums,) = table.fetch_rows(
        terms.group(
            uniques=f"sum(if(f = 1, {exp('least')}, 0D))",
            matches=f"sum(if(f = 1, {rising('m')}, 0D))",
            observed="sum(mu * kept * f + kept * (1D - mu - m / 2D) * (f * f - f * mu * 2D - f))",
        ),
        "compare the columns",
    )
    return Independence(
        unique=float(sums["uniques"]),
        match=float(sums["matches"]),
        observed=float(sums["observed"]),
        margins=tuple((pairs[:, 0], pairs[:, 1]) for pairs in margins),
    )
