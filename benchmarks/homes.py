"""How 95% intervals hold where a table has whole homes, families or communities of real people.

`python benchmarks/homes.py FOLDER` takes some of the clusters of a file for the table and others
for the group, 300 times; then a tenth of them for a sample whose risks are bounded. The files are
CSV as collections of R's have them, none is part of this project: `testdata` of sdcMicro,
`VietNamI` of Ecdat, `RandHIE` of sampleSelection, `guPrenat` of mlmRev, `GaltonFamilies` of
HistData. A file that the folder does not have is left out.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import homes as simulated  # type: ignore[import-not-found]

# Of the table's clusters, and as a share of all: groups of twice as many are left.
MOST, SHARE = 350, 0.3
# File, column of the cluster, quasi-identifiers.
TABLES = {
    "homes, area and age": ("testdata", "ori_hid", "urbrur water sex age"),
    "homes, house and age": (
        "testdata",
        "ori_hid",
        "urbrur roof walls water electcon relat sex age",
    ),
    "homes, commune and age": ("VietNamI", "home", "commune sex age"),
    "homes, commune and school": ("VietNamI", "home", "commune sex age married educ"),
    "families, age": ("RandHIE", "family", "site female age"),
    "families, age and school": ("RandHIE", "family", "site black female age educdec"),
    "children of a mother": ("guPrenat", "mom", "cluster childAge birthOrd indig momEd"),
    "brothers and sisters": ("GaltonFamilies", "family", "gender childHeight father"),
    "communities": (
        "guPrenat",
        "cluster",
        "childAge motherAge birthOrd indig momEd husEd husEmpl TV",
    ),
    "communes": ("VietNamI", "commune", "sex age married educ injury insurance"),
}


def prepared(file: Path) -> pd.DataFrame:
    """Read a file, one record per person, with whole years, inches and a column for the cluster."""
    table = pd.read_csv(file)
    if file.stem == "VietNamI":
        # Nothing but what a home of a commune spends tells it apart; ages are logarithms.
        table["home"] = table.groupby(["commune", "lnhhexp"]).ngroup()
        table["age"] = np.exp(table["age"]).round() // 5
    if file.stem == "RandHIE":
        table = table.sort_values("year").drop_duplicates("zper")
        table["family"] = table.groupby(["site", "plan", "income", "num", "lpi", "fmde"]).ngroup()
        table["age"] = table["xage"] // 1
    if file.stem == "GaltonFamilies":
        table[["father", "childHeight"]] = table[["father", "childHeight"]].round()
    return table


def bounded(table: pd.DataFrame, cluster: str, qids: list[str], runs: int) -> str:
    """Count how often the bounds of all risks hold in samples of a tenth of the clusters."""
    home = np.unique(table[cluster], return_inverse=True)[1]
    code = table.groupby(qids, dropna=False).ngroup().to_numpy()
    rng, n = np.random.default_rng(7), home.max() + 1
    chosen = [np.isin(home, rng.choice(n, n // 10, replace=False)) for _ in range(runs)]
    held = np.mean([simulated.bounded(home, code, some) for some in chosen], axis=0)
    return f"{100 * held[0]:.0f}% ({100 * held[1]:.0f}%)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=300)
    asked = parser.parse_args()
    ratios = simulated.RATIOS
    print("| table | clusters |", " | ".join(map(str, ratios)), "|")
    print("| --- " * (len(ratios) + 2) + "|")
    classes, risks = defaultdict(list), {}
    for name, (file, cluster, qids) in TABLES.items():
        path = asked.folder / f"{file}.csv"
        if not path.exists():
            continue
        table = prepared(path)
        n_homes = min(MOST, int(SHARE * table[cluster].nunique()))
        world = {name: simulated.real(table, cluster, qids.split())}
        risks[name] = bounded(table, cluster, qids.split(), asked.runs)
        cells = []
        for row in simulated.coverage(world, ratios, asked.runs, (1, 2, 3), n_homes):
            _, ratio, size, held, singly, width, ideal = row
            share, without = 100 * held / asked.runs, 100 * singly / asked.runs
            classes[size].append((share, width / ideal if ideal >= 3 else 1, name, ratio))
            if size == 1:
                cells.append(f"{share:.0f} ({without:.0f})")
        print(f"| {name} | {n_homes} |", " | ".join(cells), "|", flush=True)
    for size, found in classes.items():
        widest = max(found, key=lambda cell: cell[1])
        print(f"classes of {size}: least held {min(found)}, widest {widest}")
        print("  below 93%:", [cell for cell in sorted(found) if cell[0] < 93])
    print("all risks of samples below their bounds:", risks)


if __name__ == "__main__":
    main()
