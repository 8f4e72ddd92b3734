"""A registry of citizens, drawn from a seed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from anonrisk.datasets.areas import areas
from anonrisk.datasets.figures import CITIZENS, TOTAL
from anonrisk.errors import ArgumentError

LAST_YEAR = 2009
"""Last year in which somebody of the registry was born."""

# Ages and the relative number of citizens of that age: large Dutch cities around 2010, with few
# children, many people between 20 and 45 and nobody over 109.
_AGES = (0, 5, 17, 20, 26, 32, 38, 46, 52, 62, 70, 80, 90, 95, 100, 104, 109)
_PYRAMID = (32, 28, 26, 36, 49, 50.5, 45, 42, 35, 29, 18, 10.5, 3.5, 1.2, 0.18, 0.015, 0.0015)
# Share of women by age: a little under half at birth, and women outlive men.
_WOMEN_AGES = (0, 40, 65, 80, 90, 100)
_WOMEN = (0.488, 0.5, 0.51, 0.6, 0.72, 0.83)
# Districts differ in their share of children, of students and starters, of families, of people
# whose children have left, and of the retired: in each PC4 area the number in each of these
# bands is multiplied by a gamma variable of this shape, which was fitted by eye to the published
# uniqueness. Were all areas alike, 69.9% would be unique by PC4 and date of birth, not 67.1%.
_BAND_STARTS = (18, 30, 50, 65)
_DISTRICT_SHAPE = 4.0
# Twins are what most people who share a birth date within one PC6 area are; this probability
# for a child listed after another child of the same area makes 3 to 4% of children a twin.
_TWIN = 0.075
# A registry often has 1 January for people born abroad whose day of birth is unknown.
_UNKNOWN_DAY = 0.02


def _age_laws(n_districts: int) -> npt.NDArray[np.float64]:
    """Cumulative distribution of age, a row for each PC4 area."""
    ages = np.arange(_AGES[-1] + 1)
    bands = np.digitize(ages, _BAND_STARTS)
    # Like the areas themselves, their character is part of the map, whatever the seed.
    rng = np.random.default_rng(2010)
    tilt = rng.gamma(_DISTRICT_SHAPE, size=(n_districts, len(_BAND_STARTS) + 1))
    weights = np.interp(ages, _AGES, _PYRAMID) * tilt[:, bands]
    laws = np.cumsum(weights, axis=1)
    return laws / laws[:, -1:]


def _ages(pc4: npt.NDArray[np.int64], rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Draw an age for each citizen from the law of the area where they live."""
    laws = _age_laws(len(areas().pc4s))
    n_areas, n_ages = laws.shape
    # Raising each row by its number chains the rows into one increasing sequence, so that a
    # single search inverts all of them.
    chained = (laws + np.arange(n_areas)[:, None]).ravel()
    position = np.searchsorted(chained, pc4 + rng.random(len(pc4)), side="right")
    # A draw just below 1 may be rounded into the row of the next area.
    age: npt.NDArray[np.int64] = np.minimum(position - pc4 * n_ages, n_ages - 1)
    return age


def _birth_dates(
    age: npt.NDArray[np.int64], pc6: npt.NDArray[np.int64], rng: np.random.Generator
) -> npt.NDArray[np.datetime64]:
    """Draw a date within each year of birth; citizens must be ordered by `pc6`."""
    n = len(age)
    year = (LAST_YEAR - 1970 - age).astype("datetime64[Y]")
    first = year.astype("datetime64[D]")
    days = ((year + np.timedelta64(1, "Y")).astype("datetime64[D]") - first).astype(np.int64)
    day = np.floor(rng.random(n) * days).astype(np.int64)
    day[(age >= 18) & (rng.random(n) < _UNKNOWN_DAY)] = 0
    born: npt.NDArray[np.datetime64] = first + day
    child = age < 18
    both_children = child[1:] & child[:-1] & (pc6[1:] == pc6[:-1])
    elder = np.flatnonzero(both_children & (rng.random(n - 1) < _TWIN))
    born[elder + 1] = born[elder]
    return born


def citizens(n: int = TOTAL, *, seed: int = 0) -> pd.DataFrame:
    """A synthetic registry of the citizens of 15 Dutch municipalities.

    The municipalities, their sizes, and the numbers of towns and postal code areas are those of
    Koot (2012), Tables 3.1 and 3.2; names of towns, postal codes and people are invented.

    Parameters
    ----------
    n : int, default 2,774,476
        Number of citizens, from 1 to 2,774,487. A smaller registry is a simple random sample
        of all citizens: municipalities keep their shares on average, and small areas may have
        nobody in them.
    seed : int, default 0
        Seed of the people. The map (areas, their sizes and how young or old they are) does not
        depend on it.

    Returns
    -------
    pandas.DataFrame
        A row for each citizen, in random order, with columns ``municipality``, ``town``,
        ``pc4``, ``pc6``, ``date_of_birth`` and ``gender``. A PC6 area lies in one PC4 area,
        that in one town, and that in one municipality. Dates are ``datetime64[us]``, all other
        columns are strings of pandas' default type; nothing is missing.

    See Also
    --------
    anonrisk.datasets.hospital : admissions of such people
    anonrisk.summary : the tables that it was made to resemble

    Notes
    -----
    Strings rather than categories, because tables with categories group differently in pandas
    2 and 3 and keep levels that nobody has. The strings are cheap: all 2,774,476 citizens take
    less than 250 MB. ``astype("category")`` makes grouping faster.

    Age follows a pyramid that differs from one PC4 area to the next, the day of birth is
    uniform within the year. Some children have a twin at the same address, and some adults
    are registered as born on 1 January.

    How much areas differ, and how many twins and first days of January there are, was chosen to
    come close to Koot's Tables 3.2 and 3.3. That the registry agrees with those tables is
    therefore by design, and no evidence for any measure or model.

    References
    ----------
    M. R. Koot, *Measuring and Predicting Anonymity*, PhD thesis, University of Amsterdam, 2012.

    Examples
    --------
    >>> from anonrisk import datasets
    >>> registry = datasets.citizens(1_000, seed=1)
    >>> registry.shape
    (1000, 6)
    >>> list(registry.columns)
    ['municipality', 'town', 'pc4', 'pc6', 'date_of_birth', 'gender']
    >>> bool((registry["pc6"].str[:4] == registry["pc4"]).all())
    True
    """
    largest = sum(CITIZENS.values())
    if not 1 <= n <= largest:
        raise ArgumentError(f"n is {n}; it must be from 1 to {largest}")
    rng = np.random.default_rng(seed)
    where = areas()
    residents = rng.multivariate_hypergeometric(where.residents, n, method="marginals")
    pc6 = np.repeat(np.arange(len(residents)), residents)
    age = _ages(where.pc4_of_pc6[pc6], rng)
    born = _birth_dates(age, pc6, rng)
    woman = rng.random(n) < np.interp(age, _WOMEN_AGES, _WOMEN)

    order = rng.permutation(n)
    pc6 = pc6[order]
    pc4 = where.pc4_of_pc6[pc6]
    town = where.town_of_pc4[pc4]
    genders = np.array(["male", "female"], dtype=object)
    return pd.DataFrame(
        {
            "municipality": where.municipalities[where.municipality_of_town[town]],
            "town": where.towns[town],
            "pc4": where.pc4s[pc4],
            "pc6": where.pc6s[pc6],
            "date_of_birth": born[order].astype("datetime64[us]"),
            "gender": genders[woman[order].astype(np.int64)],
        }
    )
