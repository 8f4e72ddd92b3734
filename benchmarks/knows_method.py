"""How often whoever knows the method of a plan may learn more than a sensitive goal meant.

Give the folder with ``tables/``: --data PATH. Of large tables only bounds are known; what is exact
is of samples of eight records of each, and of tables that are as small.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

import anonrisk
from anonrisk.errors import PlanError

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import _bench

if TYPE_CHECKING:
    from collections.abc import Iterator

    from anonrisk.core.types import PlanMethod
    from anonrisk.planning.attack import PlanAttack

PAGE = _bench.ROOT / "docs" / "knows_method.md"
METHODS: dict[PlanMethod, str] = {
    "multidimensional": "by region",
    "full-domain": "full-domain",
    "auto": "auto",
}
K = 5
N_SAMPLES, N_DRAWN = 40, 8
_HAIR = 1e-9


@dataclass(frozen=True)
class Setting:
    """Columns of a table, and what every class must show."""

    title: str
    file: str
    qids: tuple[str, ...]
    sensitive: str
    ldivs: tuple[int, ...] = (2, 3)


_DWELLING = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
_WORKERS = ("age", "workclass", "education", "marital_status", "race", "sex", "native_country")
ADULT, FARS, HOMES, LABOUR = "Adult", "FARS", "dwellings", "labour survey"
LARGE = (
    Setting(ADULT, "adult", ("age", "sex", "race"), "salary_class", (2,)),
    Setting(ADULT, "adult", ("age", "sex"), "occupation"),
    Setting(ADULT, "adult", _WORKERS, "occupation"),
    Setting(FARS, "fars_subset", ("iage", "isex", "irace"), "iinjury"),
    Setting(FARS, "fars_subset", ("iage", "isex", "irace", "ihispanic", "istatenum"), "iinjury"),
    Setting(HOMES, "testdata", ("urbrur", "sex", "age"), "hhcivil", (2,)),
    Setting(HOMES, "testdata", _DWELLING, "hhcivil", (2,)),
    Setting("93 of these", "testdata2", _DWELLING, "hhcivil", (2,)),
    Setting(LABOUR, "free1", ("SEX", "AGE", "MARSTAT"), "EDUC1"),
    Setting(LABOUR, "free1", ("REGION", "SEX", "AGE", "MARSTAT"), "EDUC1"),
)
SAMPLED = (LARGE[0], LARGE[3], LARGE[5], LARGE[8])
SMALL = (
    Setting("francdat", "francdat", ("Key1", "Key2", "Key3"), "Key4", (2,)),
    Setting("ihsn", "ihsn", ("Residence", "Gender", "Education_level"), "Labor_status", (2,)),
    Setting("hospital", "hospital_anonymized", ("gender", "city"), "disease", (2,)),
)


def attacked(
    table: pd.DataFrame, setting: Setting, k: int, ldiv: int, method: PlanMethod
) -> PlanAttack | None:
    """Attack a plan; None where no plan keeps to the goals."""
    options = anonrisk.PlanOptions(method=method)
    qids, sensitive = list(setting.qids), setting.sensitive
    try:
        plan = anonrisk.plan(table, qids, k, ldiv=ldiv, sensitive=sensitive, options=options)
    except PlanError:
        return None
    return plan.attack(table)


def bounded(attack: PlanAttack | None) -> str:
    """Say for how many persons more than 1 / l is possible, without the method and with it."""
    if attack is None:
        return "no plan"
    (known,) = attack.credibility
    assert known.limit is not None
    people = attack.by_person(known.column)
    alone = int(people["persons"][people["by_release"] > known.limit + _HAIR].sum())
    return f"{alone:,} / {known.n_above:,} / {known.n_unbounded:,}"


def of_large(data: Path) -> Iterator[tuple[str, ...]]:
    """Yield a row for each table and goal."""
    for setting in LARGE:
        table = read(data, setting)
        for ldiv in setting.ldivs:
            cells = [bounded(attacked(table, setting, K, ldiv, method)) for method in METHODS]
            yield *described(setting, table, ldiv), *cells


def described(setting: Setting, table: pd.DataFrame, ldiv: int) -> tuple[str, str]:
    """Return what was planned for."""
    columns = ", ".join(f"`{name}`" for name in setting.qids)
    return (
        f"{setting.title}, {len(table):,} records: {columns}",
        f"{ldiv} of `{setting.sensitive}`",
    )


def exact(setting: Setting, tables: list[pd.DataFrame]) -> Iterator[tuple[str, ...]]:
    """Yield of each method how much it tells of small tables that are tried out."""
    ldiv = min(setting.ldivs)
    for method, title in METHODS.items():
        found = [attacked(table, setting, 2, ldiv, method) for table in tables]
        attacks = [each for each in found if each is not None and each.credibility[0].exact]
        known = [each.credibility[0] for each in attacks]
        n_persons = sum(each.n_persons for each in attacks)
        raised = [each.n_raised or 0 for each in known]
        yield (
            *described(setting, tables[0], ldiv),
            title,
            f"{len(attacks)} of {len(tables)}",
            f"{sum(raised):,} of {n_persons:,}, in {sum(n > 0 for n in raised)}",
            f"{sum(each.n_above or 0 for each in known):,}",
            f"{sum(each.n_certain or 0 for each in known):,}",
        )


def of_small(data: Path) -> Iterator[tuple[str, ...]]:
    """Yield rows of small tables, and of samples of the large ones."""
    for setting in SMALL:
        yield from exact(setting, [read(data, setting)])
    for setting in SAMPLED:
        table = read(data, setting)
        drawn = [table.sample(N_DRAWN, random_state=seed) for seed in range(N_SAMPLES)]
        yield from exact(setting, drawn)


def read(data: Path, setting: Setting) -> pd.DataFrame:
    """Read the columns that a setting is about."""
    path = data / "tables" / f"{setting.file}.csv"
    return pd.read_csv(path, usecols=[*setting.qids, setting.sensitive], keep_default_na=False)


def markdown(header: tuple[str, ...], rows: Iterator[tuple[str, ...]], n_texts: int) -> str:
    """Write a table whose first columns are texts, and print it row by row."""
    lines = [header, (*["---"] * n_texts, *["--:"] * (len(header) - n_texts))]
    for row in rows:
        print(" | ".join(row), flush=True)
        lines.append(row)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="folder with tables/")
    parser.add_argument("--no-write", action="store_true", help=f"leave {PAGE.name} alone")
    asked = parser.parse_args()
    if asked.data is None:
        print("nothing to measure without --data")
        return
    goal = ("table: quasi-identifiers", "l")
    large = markdown((*goal, *METHODS.values()), of_large(asked.data), 2)
    small = markdown(
        (*goal, "method", "tables", "told more than the release", "above 1 / l", "certain"),
        of_small(asked.data),
        3,
    )
    if not asked.no_write:
        _bench.replace("knows_method", large, PAGE)
        _bench.replace("knows_method_exact", small, PAGE)


if __name__ == "__main__":
    main()
