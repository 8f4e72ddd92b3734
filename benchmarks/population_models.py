"""What the models of `predict_population` are worth: estimate over truth, world by world.

Each world is a population whose uniques are counted; tables are drawn from it and the models are
asked about them. Real populations come from a folder that is given (``--data``): only ratios are
written, into docs/measures/predict_population.md, and only then.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import anonrisk
from anonrisk import datasets
from anonrisk.predict import Distribution, singletons
from anonrisk.predict.population.models import FAR, leaves_room

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from anonrisk.predict.population import PopulationEstimate

PAGE = _bench.ROOT / "docs" / "measures" / "predict_population.md"
PEOPLE = 40_000
FRACTIONS = (0.01, 0.05, 0.2, 0.5)
DRAWS = 5
MODELS = (
    *("pitman", "zayatz", "snb", "dankar", "poisson_gamma", "loglinear", "rocher"),
    *("benedetti_franconi", "dis"),
)
NONE = "-"

# Tables of the folder, and their columns.
REAL: Mapping[str, tuple[str, Sequence[str]]] = {
    "Adult, 8 columns": (
        "tables/adult.csv",
        [
            *("age", "workclass", "education", "marital_status", "occupation", "relationship"),
            *("hours_per_week", "native_country"),
        ],
    ),
    "Adult, 6 columns": (
        "tables/adult.csv",
        ["age", "workclass", "education", "occupation", "race", "sex"],
    ),
    "Adult, 4 columns": ("tables/adult.csv", ["age", "race", "sex", "marital_status"]),
    "FARS, 5 columns": (
        "tables/fars_subset.csv",
        ["iage", "irace", "isex", "istatenum", "ideathmon"],
    ),
    "FARS, 3 columns": ("tables/fars_subset.csv", ["iage", "isex", "istatenum"]),
    "household survey": (
        "tables/testdata.csv",
        ["urbrur", "roof", "walls", "water", "relat", "sex", "age"],
    ),
    "labour survey": ("tables/free1.csv", ["REGION", "SEX", "AGE", "MARSTAT", "EDUC1"]),
    "heights, weights": ("socr/socr_heightweight.csv", ["Height(Inches)", "Weight"]),
}


@dataclass(frozen=True)
class Outcome:
    """What one model said about one table: the estimate over the truth."""

    world: str
    fraction: float
    model: str
    ratio: float
    doubtful: bool

    @property
    def wrong(self) -> bool:
        """Whether it is off by more than the factor of the flag."""
        return not 1 / FAR <= self.ratio <= FAR


def made_up(people: int = PEOPLE) -> dict[str, pd.DataFrame]:
    """Make populations from a seed, of classes alone or with columns."""
    rng = np.random.default_rng(14)

    def cells(weights: np.ndarray) -> pd.DataFrame:
        return _of_classes(rng.choice(len(weights), people, p=weights / weights.sum()))

    alone = np.arange(people // 2)
    crowd = people + rng.integers(0, people // 100, people - len(alone))
    households = np.repeat(
        np.arange(people), rng.choice(5, people, p=[0.35, 0.3, 0.15, 0.13, 0.07]) + 1
    )
    many, few = np.ones(people * 3 // 2), np.full(people // 80, 60.0)
    skewed = {name: rng.zipf(a, people) % n for name, a, n in _SKEWED}
    registry = datasets.citizens(people, seed=1)
    born = pd.to_datetime(registry["date_of_birth"]).dt.strftime("%Y-%m")
    return {
        "Pitman's": _of_classes(_restaurant(600, 0.5, people, rng)),
        "lognormal cells": cells(rng.lognormal(0, 2, people * 3 // 8)),
        "dense lognormal cells": cells(rng.lognormal(0, 1.5, people * 3 // 40)),
        "gamma cells": cells(rng.gamma(0.4, 1, people // 2)),
        "Zipf cells": cells(1 / np.arange(1.0, people * 5)),
        "even cells": cells(np.ones(people * 3 // 10)),
        "even cells, sparse": cells(many),
        "two kinds of cells": cells(np.concatenate((many, few))),
        "half unique": _of_classes(np.concatenate((alone, crowd))),
        "households": _of_classes(households[:people]),
        "independent columns": _columns(people, 0.0, rng),
        "correlated columns": _columns(people, 0.9, rng),
        "skewed columns": pd.DataFrame(skewed),
        "registry": pd.DataFrame({"pc4": registry["pc4"], "born": born}),
    }


_SKEWED = (("a", 1.5, 300), ("b", 1.8, 60), ("c", 2.2, 15))
_COLUMNS = (("a", 90), ("b", 40), ("c", 12), ("d", 2))


def _of_classes(numbers: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame({"class": numbers})


def _columns(people: int, tied: float, rng: np.random.Generator) -> pd.DataFrame:
    """Draw columns that have a cause in common, more or less of it."""
    cause, made = rng.normal(size=people), {}
    for name, n_values in _COLUMNS:
        own = tied * cause + np.sqrt(1 - tied**2) * rng.normal(size=people)
        made[name] = own.argsort().argsort() * n_values // people
    return pd.DataFrame(made)


def _restaurant(theta: float, alpha: float, people: int, rng: np.random.Generator) -> np.ndarray:
    """Seat people one by one, as Pitman's model does."""
    table_of = np.empty(people, dtype=np.int64)
    sizes: list[int] = []
    for i in range(people):
        if rng.random() * (theta + i) < theta + alpha * len(sizes):
            table_of[i] = len(sizes)
            sizes.append(1)
            continue
        while True:
            table = int(table_of[rng.integers(i)])
            if rng.random() * sizes[table] < sizes[table] - alpha:
                break
        table_of[i] = table
        sizes[table] += 1
    return table_of


def real(folder: Path) -> dict[str, pd.DataFrame]:
    """Read the tables of a folder, each taken for a population."""
    found = {}
    for name, (path, columns) in REAL.items():
        frame = pd.read_csv(folder / path)[list(columns)]
        # Measured to the fifth digit, everybody would be alone: to half a unit, as people say it.
        found[name] = (frame * 2).round() if name == "heights, weights" else frame
    return found


def asked(
    world: str, people: pd.DataFrame, fraction: float, rng: np.random.Generator
) -> Iterator[Outcome]:
    """Draw a table, ask every model, and compare with what is true of the population."""
    qid = list(people.columns)
    classes = people.groupby(qid, dropna=False).ngroup().to_numpy()
    rows = rng.choice(len(people), round(fraction * len(people)), replace=False)
    in_all = np.bincount(classes)
    in_table = np.bincount(classes[rows], minlength=len(in_all))
    single = in_all[in_table == 1]
    truths = {"benedetti_franconi": (1 / single).sum(), "dis": len(single) / single.sum()}
    uniques = int((in_all == 1).sum())
    table = people.iloc[rows]
    found = table.anon.predict_population(qid, len(people))
    for model, figure, doubtful in _figures(table, found):
        yield Outcome(world, fraction, model, figure / truths.get(model, uniques), doubtful)


def _figures(table: pd.DataFrame, found: PopulationEstimate) -> Iterator[tuple[str, float, bool]]:
    """Return the figure of each model that has one, and whether it is doubtful."""
    qid, n = list(table.columns), found.population_size
    estimates = list(found.estimates)
    if len(qid) > 1:
        estimates += table.anon.predict_population(qid, n, model="loglinear").estimates
        margins = [Distribution.from_counts(table[c].value_counts().to_numpy()) for c in qid]
        # The chances of people's attributes, as far as margins tell them (P11).
        figure = singletons(Distribution.product(*margins), n).mean
        yield "rocher", figure, leaves_room(figure, found.uniques)
    for one in estimates:
        figures = (one.uniques, one.match_correct, one.matches)
        known = [figure for figure in figures if figure is not None]
        if one.converged and known:
            yield one.model, known[0], one.doubtful


def measured(worlds: Mapping[str, pd.DataFrame], draws: int = DRAWS) -> list[Outcome]:
    """Ask about some tables of each size from each world."""
    rng = np.random.default_rng(5)
    found: list[Outcome] = []
    for world, people in worlds.items():
        for fraction in FRACTIONS:
            for _ in range(draws):
                found += asked(world, people, fraction, rng)
        print(f"{world}: done", file=sys.stderr, flush=True)
    return found


def ratios(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Make the rows of the first table: a cell has a number for each fraction."""
    by_cell = defaultdict(list)
    for one in outcomes:
        by_cell[one.world, one.model, one.fraction].append(one)

    def cell(world: str, model: str) -> str:
        numbers = [_number(by_cell[world, model, fraction]) for fraction in FRACTIONS]
        return NONE if {*numbers} == {NONE} else " ".join(numbers)

    worlds = dict.fromkeys(one.world for one in outcomes)
    return [(world, *(cell(world, model) for model in RATIOS[1:])) for world in worlds]


def _number(drawn: Sequence[Outcome]) -> str:
    if not drawn:
        return NONE
    # In most of the tables, as the median is.
    mark = "?" if 2 * sum(one.doubtful for one in drawn) > len(drawn) else ""
    return f"{median(one.ratio for one in drawn):.2g}{mark}"


def hit_rates(outcomes: Sequence[Outcome]) -> list[tuple[str, ...]]:
    """Make the rows of the second table: how often an estimate is far off, flagged or not."""
    rows: list[tuple[str, ...]] = []
    for model in MODELS:
        mine = [one for one in outcomes if one.model == model]
        flagged = [one for one in mine if one.doubtful]
        plain = [one for one in mine if not one.doubtful]
        ends = [one.ratio for one in mine]
        rows.append(
            (
                *(model, f"{len(mine):,}", f"{min(ends):.2g} to {max(ends):.2g}"),
                *(f"{len(flagged):,}", _wrong(flagged), f"{len(plain):,}", _wrong(plain)),
            )
        )
    return rows


def _wrong(outcomes: Sequence[Outcome]) -> str:
    if not outcomes:
        return NONE
    wrong = sum(one.wrong for one in outcomes)
    return f"{wrong} ({wrong / len(outcomes):.0%})"


# Dankar's rule picks one of the numbers beside it.
RATIOS = ("world", *(model for model in MODELS if model != "dankar"))
HITS = ("model", "estimates", "from, to", "doubtful", "far off", "not doubtful", "far off")


def tables(outcomes: Sequence[Outcome], draws: int) -> str:
    """Write both tables as Markdown."""
    shown = ", ".join(f"{fraction:g}" for fraction in FRACTIONS)
    return (
        f"Estimate over truth, medians of {draws} tables, of {shown} of the population; `?` is "
        f"doubtful, `{NONE}` no answer.\n\n{_markdown(RATIOS, ratios(outcomes))}\n\n"
        f"How often an estimate was far off, by more than a factor of {FAR:g}, in all tables:\n\n"
        f"{_markdown(HITS, hit_rates(outcomes))}"
    )


def _markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---", *["--:"] * (len(header) - 1)], *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    """Measure, print, and write the page where real worlds are among them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder with the real tables")
    parser.add_argument("--draws", type=int, default=DRAWS, help="tables of each size and world")
    given = parser.parse_args()
    worlds = made_up() | (real(given.data) if given.data else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", anonrisk.errors.ApproximationWarning)
        text = tables(measured(worlds, given.draws), given.draws)
    print(text)
    if given.data:
        _bench.replace("population_models", text, PAGE)


if __name__ == "__main__":
    main()
