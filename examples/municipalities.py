"""What one number tells: singletons among a municipality's inhabitants, predicted from KL.

In the spirit of the experiment in M. R. Koot, "Measuring and Predicting Anonymity" (2012): for
every municipality, the share of a group of its inhabitants who are alone with their age, once
exactly, from the whole age distribution (S2), and once from nothing but that distribution's
Kullback-Leibler distance from uniform (S5). Koot had ages by year, N = 95; published tables have
five-year groups, so that N = 20 here.

The real ages are those of Statistics Netherlands (CBS, table 83502NED, CC BY 4.0): a CSV with
columns gemeente, leeftijd and inwoners. Where there is none, synthetic age pyramids take their
place.

Run it with: python examples/municipalities.py [--table FILE.csv] [--picture FILE.png]
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from anonrisk import datasets
from anonrisk.errors import ApproximationError, ApproximationWarning
from anonrisk.predict import Distribution, singletons
from anonrisk.predict.kl import mean

TABLE = Path(__file__).parents[2] / "shared" / "data" / "cbs" / "gemeente_leeftijd_geslacht.csv"
PEOPLE_A_VALUE = (0.5, 1.0, 2.0, 3.0)


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
    print("people a value (a), and what the rule says of the prediction from KL:\n")
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
    axes.legend(loc="upper right", title="people a value")
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description="Singletons predicted from KL, and exactly")
    parser.add_argument("--table", type=Path, default=TABLE, help="the CBS table as CSV")
    parser.add_argument("--picture", type=Path, help="where to draw a picture (PNG)")
    chosen = parser.parse_args()
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


if __name__ == "__main__":
    main()
