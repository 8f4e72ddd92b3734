"""Compare a synthetic registry of 2,774,476 citizens with the published figures on the real one.

Prints the measures of `anonrisk` beside Tables 3.2 and 3.3 of M. R. Koot, "Measuring and
Predicting Anonymity" (2012). Exits with 1 if a share of singletons is more than 3 percentage
points off, or if it took more than 4 GB.

Run it with: anonrisk example citizens
"""

from __future__ import annotations

import resource
import sys
import time
from typing import TYPE_CHECKING

import pandas as pd

import anonrisk  # noqa: F401  (registers `.anon`)
from anonrisk import datasets
from anonrisk.datasets import figures

if TYPE_CHECKING:
    from collections.abc import Sequence

SHARES = (
    "pc4 + date_of_birth",
    "gender + date_of_birth + pc4",
    "gender + date_of_birth + pc6",
    "gender + year_of_birth + month_of_birth + pc4",
    "gender + year_of_birth",
)
TOLERANCE = 3.0
MEMORY = 4.0

REMARKS = """\
The registry was made to resemble these tables, so that agreement is no surprise.
Where the two differ, and what probably explains it:
- The real registry has people whose month or year of birth is unknown, and counts that as a
  value: its 2,699 classes of gender, year and month are more than twelve for each of its 221
  classes of gender and year. The synthetic one knows every date.
- The largest classes of a PC4 area or town and a date of birth are larger in the real registry:
  people registered as born on 1 January live together in some districts, and everywhere here.
- The real registry has more postal code areas of at most 100 people.
- The two towns of two people have a man and a woman each in the real registry; here gender is
  drawn, so that both may be the same."""


def peak_memory() -> float:
    """Most memory that this process has used, in GB."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e9


def beside(measured: pd.DataFrame, published: pd.DataFrame) -> str:
    """Three lines for each quasi-identifier: measured, published, difference."""
    measured = measured.round()
    lines = pd.concat(
        {"measured": measured, "published": published, "difference": measured - published},
        names=["", "qid"],
    )
    order = [
        (kind, qid) for qid in published.index for kind in ("measured", "published", "difference")
    ]
    text = lines.loc[order].swaplevel()
    return text.to_string(float_format=lambda number: f"{number:,.0f}")


def main(arguments: Sequence[str] = ()) -> int:  # noqa: ARG001 - there are none
    """Count the registry and compare."""
    started = time.perf_counter()
    registry = datasets.citizens()
    born = registry["date_of_birth"].dt
    registry = registry.assign(year_of_birth=born.year, month_of_birth=born.month)
    made = time.perf_counter()
    summary = registry.anon.summary([list(row.qid) for row in figures.PUBLISHED], sizes=figures.AT)
    measured_in = time.perf_counter() - made

    published = figures.published()
    summary = summary.loc[published.index, published.columns].astype(float)
    sizes = ["sets", "min", "q25", "median", "mean", "q75", "max"]
    counts = [f"at_most_{k}" for k in figures.AT]
    print("Table 3.2: number of classes and their sizes\n")
    print(beside(summary[sizes], published[sizes]))
    print("\nTable 3.3: citizens in classes of at most 1, 5, 10, 50 and 100\n")
    print(beside(summary[counts], published[counts]))

    print("\nPublished figures that are corrected above:")
    for erratum in figures.ERRATA:
        print(
            f"- {erratum.row}, {erratum.column}: printed {erratum.printed:,}, "
            f"used {erratum.right:,}, as {erratum.why}"
        )
    print(
        f"- Table 3.1: the municipalities add up to {sum(figures.CITIZENS.values()):,}, "
        f"the printed total is {figures.TOTAL:,}; the registry has the latter number"
    )
    print(f"\n{REMARKS}")

    print("\nShare of citizens who are unique (%):")
    share = pd.DataFrame(
        {
            "measured": 100 * summary["at_most_1"] / summary["records"],
            "published": 100 * published["at_most_1"] / published["records"],
        }
    ).loc[list(SHARES)]
    share["difference"] = share["measured"] - share["published"]
    print(share.to_string(float_format=lambda number: f"{number:.2f}"))

    memory = peak_memory()
    print(
        f"\nMade in {made - started:.1f} s, measured in {measured_in:.1f} s, "
        f"peak memory {memory:.2f} GB"
    )
    good = bool((share["difference"].abs() <= TOLERANCE).all()) and memory < MEMORY
    print("within" if good else "NOT within", f"{TOLERANCE:g} points and {MEMORY:g} GB")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
