"""What one number tells: singletons among a municipality's inhabitants, predicted from KL.

In the spirit of the experiment in M. R. Koot, "Measuring and Predicting Anonymity" (2012): for
every municipality, the share of a group of its inhabitants who are alone with their age, once
exactly, from the whole age distribution (S2), and once from nothing but that distribution's
Kullback-Leibler distance from uniform (S5). Koot had ages by year, N = 95; published tables have
five-year groups, so that N = 20 here.

The real ages are those of Statistics Netherlands (CBS, table 83502NED, CC BY 4.0): a CSV with
columns gemeente, leeftijd and inwoners. Where there is none, synthetic age pyramids take their
place.

With --figures it draws what Koot draws in Figures 4.1, 4.2, 5.1, 5.2, 6.1 and 6.2, of the
synthetic registry of this library: its postal code areas of four digits stand for the 428
municipalities of 2010 (there are 386, and ages differ between them by design), and its 15
municipalities for the 16 of chapter 6. The dots are exact where Koot simulated. Of those counted,
fewer are alone than predicted: in the registry neighbours are more alike than a municipality is.

Run it with: anonrisk example municipalities
With options: python -m anonrisk.datasets.examples.municipalities
[--table FILE.csv] [--picture FILE.png] [--figures FOLDER]
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk import datasets
from anonrisk.core.pictures import LIGHT
from anonrisk.errors import ApproximationError, ApproximationWarning
from anonrisk.predict import Distribution, classes, singletons, uniqueness
from anonrisk.predict.kl import expected_classes, mean, variance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from anonrisk.core.types import Floats, Integers
    from anonrisk.predict import Prediction

TABLE = Path("gemeente_leeftijd_geslacht.csv")
PEOPLE_A_VALUE = (0.5, 1.0, 2.0, 3.0)
# Of chapters 4 to 6: ages that are told apart, those without the oldest, sizes of groups.
AGES, YOUNGER = 95, 80
GROUPS_5, GROUPS_6 = (60, 90, 120), (20, 40, 60, 80)
MARKERS = ("o", "s", "^", "D")


def real_ages(path: Path) -> pd.DataFrame:
    """Inhabitants by municipality (rows) and five-year age group (columns)."""
    table = pd.read_csv(path).dropna(subset="gemeente")
    ages = table.pivot_table(index="gemeente", columns="leeftijd", values="inwoners", aggfunc="sum")
    return ages.fillna(0).astype(int)


def synthetic_ages() -> pd.DataFrame:
    """The same for the towns of a synthetic registry that have a thousand citizens or more."""
    citizens = datasets.citizens(400_000, seed=1)
    group = (2010 - citizens["date_of_birth"].dt.year).clip(0, 99) // 5 * 5
    ages = pd.crosstab(citizens["town"], group)
    return ages[ages.sum(axis=1) >= 1_000]


def compare(ages: pd.DataFrame) -> pd.DataFrame:
    """Predicted and exact share of singletons, a row for each municipality and group size."""
    rows = []
    n_values = ages.shape[1]
    for name, counts in ages.iterrows():
        exact = Distribution.from_counts(counts.to_numpy())
        # Ages that nobody has here are values all the same.
        known = Distribution.from_kl(n_values, exact.kl + np.log(n_values / exact.n_values))
        for a in PEOPLE_A_VALUE:
            k = round(a * n_values)
            row = {"municipality": name, "kl": known.kl, "a": a, "predicted": np.nan}
            row["exact"] = singletons(exact, k).fraction
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ApproximationWarning)
                try:
                    row["predicted"] = singletons(known, k).fraction
                except ApproximationError:
                    row["rule"] = "refused"
                else:
                    row["rule"] = "warned" if caught else "fine"
            rows.append(row)
    return pd.DataFrame(rows)


def report(compared: pd.DataFrame) -> None:
    error = (compared["predicted"] / compared["exact"] - 1).abs()
    lines = compared.assign(error=error).groupby(["a", "rule"])
    summary = lines.agg(
        municipalities=("kl", "size"),
        exact_share=("exact", "median"),
        median_error=("error", "median"),
        worst_error=("error", "max"),
    )
    kl = compared["kl"]
    print(f"KL distance from uniform: {kl.min():.3f} to {kl.max():.3f} nats\n")
    print("people per value (a), and what the rule says of the prediction from KL:\n")
    shares = ("exact_share", "median_error", "worst_error")
    print(summary.to_string(formatters=dict.fromkeys(shares, "{:.1%}".format), na_rep="-"))
    print("\nRefused predictions are not made: for those the exact form needs the distribution.")


def draw(compared: pd.DataFrame, n_values: int, path: Path) -> None:
    """Exact shares as dots, what KL predicts as lines."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5.5), layout="constrained")
    kl = np.linspace(0, compared["kl"].max() * 1.05, 100)
    for colour, a in enumerate(PEOPLE_A_VALUE):
        part = compared[compared["a"] == a]
        shade = f"C{colour}"
        axes.plot(part["kl"], part["exact"], ".", markersize=4, color=shade, label=f"{a:g}")
        k = round(a * n_values)
        used = part[part["rule"] != "refused"]["kl"].max()
        line = np.array([mean(Distribution.from_kl(n_values, float(x)), k) / k for x in kl])
        allowed = kl <= (0 if np.isnan(used) else used)
        axes.plot(kl[allowed], line[allowed], "-", color=shade)
        axes.plot(kl, line, ":", linewidth=1, color=shade)
    axes.set_xlabel("KL distance of the ages from uniform (nats)")
    axes.set_ylabel("share of the group who are alone with their age")
    axes.set_title("Dots: exact. Lines: predicted from KL alone; dotted where that is refused")
    axes.set_xlim(0)
    axes.set_ylim(0, 1)
    axes.legend(loc="upper right", title="people per value")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def from_uniform(counts: Integers) -> float:
    """KL distance from the uniform law on all values, those that nobody has among them."""
    known = Distribution.from_counts(counts[counts > 0])
    return known.kl + float(np.log(len(counts) / known.n_values))


def laws(people: pd.DataFrame, values: list[str], n_values: int) -> list[Integers]:
    """Inhabitants by value, an array for each area that has a thousand of them."""
    table = pd.crosstab([people[value] for value in values], people["pc4"])
    results = []
    for area in table.columns[table.sum() >= 1_000]:
        counts = np.zeros(n_values, dtype=np.int64)
        counts[: len(table)] = table[area]
        results.append(counts)
    return results


def new_figure(rows: int = 1, columns: int = 1) -> tuple[Any, Any]:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    size = (5.5 * columns + 1, 3 * rows + 1)
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", squeeze=False)
    return figure, axes


def by_distance_alone(n_values: int, kl: float, k: int) -> float:
    """The log of the chance that all are unique; none where the distance says too little."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ApproximationWarning)
            return uniqueness(Distribution.from_kl(n_values, kl), k).log
    except ApproximationError:
        return float("nan")


def chapter_4(axes: Axes, areas: list[Integers], k: int, what: str) -> None:
    """Figures 4.1 and 4.2: the chance that a whole group is unique, by KL."""
    n_values = len(areas[0])
    kl = np.array([from_uniform(counts) for counts in areas])
    logs = np.array(
        [uniqueness(Distribution.from_counts(c[c > 0]), k).log for c in areas], dtype=float
    )
    axes.plot(kl, logs, ".", color=LIGHT.blue, label="exact, one dot per area")
    slope, start = np.polyfit(kl, logs, 1)
    fit = 1 - np.var(logs - start - slope * kl) / np.var(logs)
    ends = np.array([kl.min(), kl.max()])
    line = start + slope * ends
    axes.plot(ends, line, "--", color=LIGHT.quiet, label=f"least squares, R² = {fit:.2f}")
    summary = np.linspace(0, float(kl.max()), 60)
    alone = [by_distance_alone(n_values, float(x), k) for x in summary]
    axes.plot(summary, alone, "-", color=LIGHT.bad, label="from the KL distance alone")
    axes.set_xlabel("KL distance from uniform (nats)")
    axes.set_ylabel("log of the chance that all are unique")
    axes.set_title(f"{k} people who reveal {what}", loc="left")
    axes.legend()


def by_distance(areas: list[Integers], k: int) -> tuple[Floats, list[Prediction]]:
    """KL distances of areas, and the exact singletons of a group of their people."""
    known = [Distribution.from_counts(counts[counts > 0]) for counts in areas]
    return np.array([from_uniform(c) for c in areas]), [singletons(item, k) for item in known]


def figure_5_1(axes: Axes, areas: list[Integers], k: int) -> None:
    """A panel of means of the number of singletons, by KL."""
    kl, result = by_distance(areas, k)
    means, sds = np.array([item.mean for item in result]), np.array([item.sd for item in result])
    axes.plot(kl, means, ".", color=LIGHT.blue, label="mean")
    axes.plot(kl, means + 2 * sds, "^", markersize=3, color=LIGHT.quiet, label="mean ± 2 sd")
    axes.plot(kl, means - 2 * sds, "v", markersize=3, color=LIGHT.quiet)
    lines = np.linspace(0, kl.max(), 50)
    near = [mean(Distribution.from_kl(len(areas[0]), float(x)), k) for x in lines]
    axes.plot(lines, near, "-", color=LIGHT.bad, label="from KL alone")
    axes.set_title(f"group of {k}, {len(areas[0])} ages", loc="left")
    axes.set_ylabel("singletons")


def figure_5_2(axes: Axes, areas: list[Integers]) -> None:
    """A panel of variances of the number of singletons, by KL."""
    for k, mark, colour in zip(GROUPS_5, MARKERS, LIGHT, strict=False):
        kl, result = by_distance(areas, k)
        lines = np.linspace(0, kl.max(), 50)
        near = [variance(Distribution.from_kl(len(areas[0]), float(x)), k) for x in lines]
        spreads = [item.variance for item in result]
        axes.plot(kl, spreads, mark, markersize=3, color=colour, label=f"{k}")
        axes.plot(lines, near, "-", color=colour)
    axes.set_title(f"{len(areas[0])} ages; marks: exact, lines: from KL", loc="left")
    axes.set_xlabel("KL distance from uniform (nats)")
    axes.set_ylabel("variance of the singletons")
    axes.legend(title="group of", loc="lower left")


def observed(people: pd.DataFrame, k: int) -> list[float]:
    """Share in classes of 1, 2 and 3 by age, in postal code areas of about `k` people."""
    size = people.groupby("pc6", observed=True)["age"].transform("size")
    near = people[(size - k).abs() <= max(1, k // 20)]
    classes_of = near.groupby(["pc6", "age"], observed=True).size()
    return [float(j * (classes_of == j).sum() / max(len(near), 1)) for j in (1, 2, 3)]


def figure_6_1(axes: Axes, people: pd.DataFrame, town: str) -> None:
    """Shares in classes of 1, 2 and 3, by the size of a postal code area."""
    counts = np.bincount(people["age"], minlength=YOUNGER)
    kl, groups = from_uniform(counts), np.arange(10, 101, 10)
    exact, known = Distribution.from_counts(counts), Distribution.from_kl(YOUNGER, kl)
    shares = np.array([classes(exact, int(k), upto=3).share for k in groups])
    seen = np.array([observed(people, int(k)) for k in groups])
    even = Distribution.from_kl(YOUNGER, 0.0)
    for j, colour, mark in zip((1, 2, 3), LIGHT, MARKERS, strict=False):
        near = [j * expected_classes(known, int(k), j).value / k for k in groups]
        flat = [j * expected_classes(even, int(k), j).value / k for k in groups]
        axes.plot(groups, shares[:, j - 1], "-", color=colour, label=f"classes of {j}")
        axes.plot(groups, near, "--", color=colour)
        axes.plot(groups, flat, ":", color=colour)
        axes.plot(groups, seen[:, j - 1], mark, color=colour)
    axes.set_title(f"{town}, KL distance {kl:.3f}", loc="left")
    how = "marks: counted; lines: exact; dashed: from KL; dotted: uniform"
    axes.set_xlabel(f"people in a postal code area\n{how}")
    axes.set_ylabel("share of its people")
    axes.legend()


def figure_6_2(axes: Axes, people: pd.DataFrame) -> None:
    """Share who are alone in postal code areas of several sizes, by the town's KL distance."""
    towns = {
        name: (from_uniform(np.bincount(part["age"], minlength=YOUNGER)), part)
        for name, part in people.groupby("municipality", observed=True)
    }
    kl = np.linspace(0, max(distance for distance, _ in towns.values()) * 1.05, 20)
    known = [Distribution.from_kl(YOUNGER, float(x)) for x in kl]
    for k, colour, mark in zip(GROUPS_6, LIGHT, MARKERS, strict=True):
        seen = [(distance, observed(part, k)[0]) for distance, part in towns.values()]
        # Small towns have no area of this size.
        seen = [(distance, share) for distance, share in seen if share > 0]
        axes.plot(*zip(*seen, strict=True), mark, linestyle="none", color=colour, label=f"{k}")
        axes.plot(kl, [expected_classes(item, k, 1).value / k for item in known], "-", color=colour)
    axes.set_xlabel("KL distance of the municipality's ages from uniform (nats)")
    axes.set_ylabel("share who are alone with their age")
    axes.set_title("Marks: counted, one per municipality. Lines: from KL alone", loc="left")
    axes.set_ylim(0, 1)
    axes.legend(title="people in the area", loc="lower left", ncols=4)


def figures(folder: Path) -> None:
    """Draw the figures of chapters 4 to 6, each into a file of its number."""
    folder.mkdir(parents=True, exist_ok=True)
    people = datasets.citizens(seed=1)
    people["age"] = 2009 - people["date_of_birth"].dt.year
    everybody, younger = (people[people["age"] < most] for most in (AGES, YOUNGER))
    ages, young = laws(everybody, ["age"], AGES), laws(younger, ["age"], YOUNGER)
    for name, values, k, what in (
        ("4.1", ["age"], 29, "their age"),
        ("4.2", ["age", "gender"], 41, "their age and gender"),
    ):
        figure, axes = new_figure()
        chapter_4(axes[0, 0], laws(everybody, values, AGES * len(values)), k, what)
        save(figure, folder / f"{name}.png")
    figure, axes = new_figure(3, 2)
    for row, k in zip(axes, GROUPS_5, strict=True):
        for axis, areas in zip(row, (ages, young), strict=True):
            figure_5_1(axis, areas, k)
    for axis in axes[-1]:
        axis.set_xlabel("KL distance from uniform (nats)")
        axis.legend()
    save(figure, folder / "5.1.png")
    figure, axes = new_figure(1, 2)
    for axis, areas in zip(axes[0], (ages, young), strict=True):
        figure_5_2(axis, areas)
    save(figure, folder / "5.2.png")
    figure, axes = new_figure(1, 2)
    for axis, town in zip(axes[0], ("Amsterdam", "Overbetuwe"), strict=True):
        figure_6_1(axis, younger[younger["municipality"] == town], town)
    save(figure, folder / "6.1.png")
    figure, axes = new_figure()
    figure_6_2(axes[0, 0], younger)
    save(figure, folder / "6.2.png")


def save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=100)
    plt.close(figure)
    print(f"Figure {path.stem}: {path}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare, or draw."""
    parser = argparse.ArgumentParser(description="Singletons predicted from KL, and exactly")
    parser.add_argument("--table", type=Path, default=TABLE, help="the CBS table as CSV")
    parser.add_argument("--picture", type=Path, help="where to draw a picture (PNG)")
    parser.add_argument("--figures", type=Path, help="a folder to draw Koot's figures into")
    chosen = parser.parse_args(arguments)
    if chosen.figures is not None:
        figures(chosen.figures)
        return 0
    if chosen.table.exists():
        ages = real_ages(chosen.table)
        print(f"{len(ages)} municipalities, {ages.shape[1]} five-year age groups (CBS 83502NED)")
    else:
        print(f"There is no table at {chosen.table}.")
        print("To use real ages, get table 83502NED from CBS StatLine as a CSV with columns")
        print("gemeente, leeftijd and inwoners, and name it with --table. Until then:\n")
        ages = synthetic_ages()
        print(f"{len(ages)} synthetic towns, {ages.shape[1]} five-year age groups")
    compared = compare(ages)
    report(compared)
    if chosen.picture is not None:
        draw(compared, ages.shape[1], chosen.picture)
        print(f"\nPicture: {chosen.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
