"""Figure 3 of Lodha & Thomas, "Probabilistic Anonymity", counted again on the Adult table.

Run it where the training part of the table is adult.csv, a CSV file with a header:
anonrisk example lodha_thomas, or python -m anonrisk.datasets.examples.lodha_thomas FILE.csv
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

import anonrisk
from anonrisk.measures.probabilistic import domain_size, max_singleton_share

if TYPE_CHECKING:
    from collections.abc import Sequence

US_POPULATION = 300_000_000
ALPHA = 0.2
# The columns A1 to A10 of the paper, with the domain sizes that it assumes.
DOMAIN_SIZES = {
    "age": 60,
    "workclass": 8,
    "education": 15,
    "marital_status": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "hours_per_week": 20,
    "native_country": 40,
}
ROWS = [
    *((1,), (1, 9), (1, 7, 8)),
    *((1, 2, 3, 5), (1, 2, 5, 10), (1, 5, 9, 10), (2, 3, 5, 10)),
    *((1, 2, 3, 5, 10), (1, 2, 4, 5, 6), (1, 2, 5, 6, 9), (1, 2, 5, 9, 10)),
    tuple(range(1, 11)),
]


def read(path: Path) -> pd.DataFrame:
    table = pd.read_csv(path, skipinitialspace=True, keep_default_na=False)
    table.columns = [name.strip().replace("-", "_").replace(".", "_") for name in table.columns]
    return table


def figure_3(adult: pd.DataFrame) -> pd.DataFrame:
    """Singletons, their share, domain, bound and k of twelve sets of columns."""
    names = list(DOMAIN_SIZES)
    rows = []
    for numbers in ROWS:
        columns = [names[i - 1] for i in numbers]
        counted = anonrisk.classes(adult, columns)
        # Two columns have more values in the table than the paper assumes: the domain is then
        # what the table shows, or the bound would speak of a smaller one.
        sizes = {
            name: max(DOMAIN_SIZES[name], anonrisk.classes(adult, name).n_classes)
            for name in columns
        }
        asked = anonrisk.is_quasi_identifier(adult, columns, ALPHA, US_POPULATION, sizes)
        domain = domain_size(DOMAIN_SIZES[name] for name in columns)
        rows.append(
            {
                "columns": " ".join(f"A{i}" for i in numbers),
                "S": counted.singletons,
                "F1": counted.uniqueness,
                "D": domain,
                "F2": max_singleton_share(US_POPULATION, domain),
                "k-Anon": max(US_POPULATION / domain, 1.0),
                "answer": asked.answer,
            }
        )
    return pd.DataFrame(rows)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the figure as a table."""
    words = sys.argv[1:] if arguments is None else arguments
    path = Path(words[0] if words else "adult.csv")
    if not path.exists():
        print(
            f"{path} is not there: give the training part of the Adult table of the UCI machine "
            "learning repository, as CSV with a header",
            file=sys.stderr,
        )
        return 2
    adult = read(path)
    print(figure_3(adult).to_string(index=False, float_format=lambda x: f"{x:.3g}"), "\n")
    print(anonrisk.find_qids(adult, list(DOMAIN_SIZES), alpha=ALPHA, population_size=US_POPULATION))
    return 0


if __name__ == "__main__":
    sys.exit(main())
