"""Hospital admissions of people in a registry of citizens, and files of them to try."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from anonrisk.datasets.figures import TOTAL
from anonrisk.datasets.registry import LAST_YEAR, citizens
from anonrisk.errors import ArgumentError


class _Diagnosis(NamedTuple):
    """A main group: how common it is at its peak age, how wide the peak, what it costs."""

    name: str
    weight: float
    age: float
    spread: float
    median_cost: float


_CHILDBIRTH = "pregnancy and childbirth"
# Invented, but in plausible proportions.
_DIAGNOSES = (
    _Diagnosis("cancer", 9, 68, 16, 6_500),
    _Diagnosis("heart disease", 11, 70, 14, 5_200),
    _Diagnosis("stroke", 3, 76, 12, 8_800),
    _Diagnosis("eye", 6, 74, 12, 1_500),
    _Diagnosis("ear", 2, 6, 8, 1_100),
    _Diagnosis("tonsils and adenoids", 6, 6, 5, 900),
    _Diagnosis("respiratory", 5, 65, 28, 4_100),
    _Diagnosis("digestive", 9, 52, 25, 2_600),
    _Diagnosis("kidney and urinary", 4, 62, 22, 2_900),
    _Diagnosis("joints and back", 8, 62, 16, 4_800),
    _Diagnosis("hip fracture", 4, 84, 8, 11_500),
    _Diagnosis("injury", 6, 28, 30, 3_300),
    _Diagnosis("infection", 2, 30, 40, 3_200),
    _Diagnosis("diabetes and metabolism", 2, 60, 22, 3_000),
    _Diagnosis("blood", 1.5, 60, 30, 2_400),
    _Diagnosis("nervous system", 3, 55, 25, 3_100),
    _Diagnosis("mental disorder", 2, 42, 18, 7_500),
    _Diagnosis("skin", 2, 45, 25, 1_900),
    _Diagnosis(_CHILDBIRTH, 18, 30, 5, 2_700),
    _Diagnosis("perinatal", 40, 0, 0.5, 5_500),
    _Diagnosis("congenital", 2, 2, 5, 6_000),
    _Diagnosis("symptoms only", 6, 50, 35, 1_400),
)
_COST_SPREAD = 0.6
# Admissions per citizen by age, relative to young adults.
_RATE_AGES = (0, 2, 10, 20, 30, 50, 65, 80, 110)
_RATES = (4.0, 1.5, 0.6, 0.8, 1.2, 1.3, 2.5, 4.5, 4.5)
# How many citizens the hospital serves for each admission.
_CITIZENS_PER_ADMISSION = 3
_WEEKEND = 0.35


def _diagnoses(
    age: npt.NDArray[np.int64], woman: npt.NDArray[np.bool_], rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """Draw the position in `_DIAGNOSES` of each admission's main group."""
    weight, centre, spread = np.array([group[1:4] for group in _DIAGNOSES]).T
    odds = weight * np.exp(-0.5 * ((age[:, None] - centre) / spread) ** 2)
    odds[~woman, [group.name for group in _DIAGNOSES].index(_CHILDBIRTH)] = 0
    laws = np.cumsum(odds, axis=1)
    draw = rng.random((len(age), 1)) * laws[:, -1:]
    position: npt.NDArray[np.int64] = np.sum(laws <= draw, axis=1, dtype=np.int64)
    return position


def hospital(
    n: int = 10_000,
    *,
    seed: int = 0,
    registry: pd.DataFrame | None = None,
    missing: float = 0.0,
) -> pd.DataFrame:
    """A synthetic year of hospital admissions.

    Parameters
    ----------
    n : int, default 10,000
        Number of admissions.
    seed : int, default 0
        Seed of everything that is drawn.
    registry : pandas.DataFrame, optional
        The people who may be admitted, as `citizens` returns them: the population that the
        patients come from. By default a registry of three citizens for each admission.
    missing : float, default 0.0
        Share of admissions without a postal code.

    Returns
    -------
    pandas.DataFrame
        A row for each admission, by date, with columns ``patient`` (a pseudonym; some patients
        are admitted more than once), ``pc4``, ``date_of_birth``, ``gender``,
        ``admission_date`` (in 2010), ``diagnosis`` (one of 22 main groups) and ``cost`` (euros).

    See Also
    --------
    anonrisk.datasets.citizens : the people
    anonrisk.datasets.write_example : such a table as a file, with a policy

    Notes
    -----
    The very young and the old are admitted most often, and people differ in how often they
    are. The diagnosis depends on age and gender, the cost is log-normal around a median of the
    diagnosis.

    Examples
    --------
    >>> from anonrisk import datasets
    >>> admissions = datasets.hospital(1_000, seed=1)
    >>> list(admissions.columns)
    ['patient', 'pc4', 'date_of_birth', 'gender', 'admission_date', 'diagnosis', 'cost']
    >>> admissions["patient"].nunique() < len(admissions)
    True
    """
    if n < 1:
        raise ArgumentError(f"n is {n}; it must be at least 1")
    if not 0 <= missing <= 1:
        raise ArgumentError(f"missing is {missing}; it must be from 0 to 1")
    if registry is None:
        registry = citizens(min(_CITIZENS_PER_ADMISSION * n, TOTAL), seed=seed)
    # Not the stream of the registry, which was drawn from the seed itself.
    rng = np.random.default_rng((seed, 1))
    age_of_all = LAST_YEAR - registry["date_of_birth"].dt.year.to_numpy(dtype=np.int64)
    rate = np.interp(age_of_all, _RATE_AGES, _RATES) * rng.standard_exponential(len(registry))
    chosen = rng.choice(len(registry), size=n, p=rate / rate.sum())

    people, patient = np.unique(chosen, return_inverse=True)
    numbers = rng.permutation(len(people))
    pseudonyms = np.array([f"P{number:07d}" for number in numbers], dtype=object)
    person = registry.iloc[chosen].reset_index(drop=True)
    woman = (person["gender"] == "female").to_numpy(dtype=bool)
    diagnosis = _diagnoses(age_of_all[chosen], woman, rng)
    medians = np.array([group.median_cost for group in _DIAGNOSES])
    year = LAST_YEAR + 1
    days = np.arange(f"{year}-01-01", f"{year + 1}-01-01", dtype="datetime64[D]")
    share = np.where(np.is_busday(days), 1.0, _WEEKEND)
    names = np.array([group.name for group in _DIAGNOSES], dtype=object)
    return pd.DataFrame(
        {
            "patient": pseudonyms[patient],
            "pc4": person["pc4"].mask(rng.random(n) < missing),
            "date_of_birth": person["date_of_birth"],
            "gender": person["gender"],
            "admission_date": np.sort(
                rng.choice(days, size=n, p=share / share.sum()).astype("datetime64[us]")
            ),
            "diagnosis": names[diagnosis],
            "cost": np.round(medians[diagnosis] * rng.lognormal(0, _COST_SPREAD, n), 2),
        }
    )


TABLE, POLICY = "admissions.csv", "release.json"
_POLICY = {
    "version": 1,
    "name": "release of admissions",
    "roles": {
        "quasi": ["pc4", "year_of_birth", "gender", "admission_date"],
        "sensitive": ["diagnosis", "cost"],
        "direct": ["name"],
        "unit": "patient",
    },
    "missing_sensitive": "error",
    "budgets": {
        "k": 5,
        "max_unique_fraction": 0.01,
        "ldiv": {"l": 2, "variant": "distinct"},
    },
}


def write_example(folder: str | Path = ".") -> tuple[Path, Path]:
    """Write a table of synthetic admissions and a policy that it does not pass.

    Parameters
    ----------
    folder : path, default the current one
        Where to write ``admissions.csv`` and ``release.json``; made if it is not there.

    Returns
    -------
    tuple of Path
        The table and the policy.

    See Also
    --------
    anonrisk.datasets.hospital : the table
    anonrisk.Policy.load : reads the policy

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     [path.name for path in write_example(folder)]
    ['admissions.csv', 'release.json']
    """
    admissions = hospital(2_000)
    born = admissions.pop("date_of_birth").dt.year
    admissions.insert(2, "year_of_birth", born)
    contents = {
        TABLE: admissions.to_csv(index=False, lineterminator="\n"),
        POLICY: json.dumps(_POLICY, indent=2) + "\n",
    }
    where = Path(folder)
    try:
        where.mkdir(parents=True, exist_ok=True)
        for name, content in contents.items():
            path = where / name
            if path.exists() and path.read_text(encoding="utf-8") != content:
                raise ArgumentError(f"{str(path)!r} already exists, and is something else")
            path.write_text(content, encoding="utf-8")
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "something else is there"
        raise ArgumentError(f"cannot write the example to {str(where)!r}: {why}") from None
    return where / TABLE, where / POLICY
