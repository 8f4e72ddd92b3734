"""A registry of citizens and the map that they live on, drawn from a seed."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from anonrisk.core.frozen import dataclass
from anonrisk.datasets.figures import CITIZENS, PC6_AREAS, TOTAL
from anonrisk.errors import ArgumentError

# Invented sizes of the towns outside each municipality's main town. They are chosen to give the
# number of towns, and roughly the town sizes, that the rows on towns of Koot's Table 3.2 imply;
# two of them are as empty as the smallest postal code area that table reports.
_OTHER_TOWNS: dict[str, tuple[int, ...]] = {
    "Amsterdam": (81_730,),
    "Rotterdam": (36_000, 9_600, 4_800, 16, 2, 2),
    "Utrecht": (19_600, 12_200, 520),
    "Nijmegen": (4_300,),
    "Enschede": (2_500,),
    "Overbetuwe": (6_700, 4_700, 3_900, 3_400, 3_000, 2_100, 1_600, 1_200, 560, 230, 190),
    "Geldermalsen": (4_000, 3_200, 2_400, 1_900, 1_100, 1_000, 700, 640, 420, 360),
    "Reimerswaal": (4_200, 2_900, 2_600, 1_700, 1_400, 470, 90),
    "Simpelveld": (5_000,),
    "Terschelling": (950, 480, 280, 170, 130, 110, 90, 60, 40, 20, 14),
}

# Residents per PC4 area of a town; with the towns above it gives the 386 areas of Table 3.2.
_PC4_RESIDENTS = 7_940
_LETTERS = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"), dtype=object)


@dataclass(frozen=True)
class Areas:
    """Names of the areas, which area lies in which, and how many people live in each PC6.

    Attributes
    ----------
    municipalities, towns, pc4s, pc6s
        Names, as arrays of strings.
    municipality_of_town, town_of_pc4, pc4_of_pc6
        For each area the position of the one it lies in.
    residents
        Citizens of each PC6 area; they add up to those of Koot (2012), Table 3.1.
    """

    municipalities: npt.NDArray[np.object_]
    towns: npt.NDArray[np.object_]
    pc4s: npt.NDArray[np.object_]
    pc6s: npt.NDArray[np.object_]
    municipality_of_town: npt.NDArray[np.int64]
    town_of_pc4: npt.NDArray[np.int64]
    pc4_of_pc6: npt.NDArray[np.int64]
    residents: npt.NDArray[np.int64]


def _split(total: int, weights: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Divide `total` over parts in proportion to `weights`, at least one each."""
    ends = np.rint(np.cumsum(weights) / weights.sum() * total)
    parts: npt.NDArray[np.int64] = np.maximum(1, np.diff(ends, prepend=0)).astype(np.int64)
    parts[np.argmax(parts)] -= parts.sum() - total
    return parts


def _pc4_sizes(town_size: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Sizes of a town's PC4 areas: nearly uniform from almost nobody upwards, with a tail."""
    n_areas = max(1, round(town_size / _PC4_RESIDENTS))
    u = (np.arange(n_areas) + 0.5) / n_areas
    return rng.permutation(_split(town_size, u**0.7 / (1 - u) ** 0.12))


def _pc6_sizes(pc4_size: int, n_areas: int, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Sizes of a PC4's PC6 areas: log-Student with a few sparsely inhabited ones.

    A log-normal law fits the quartiles of Table 3.2 but has too few very large and very small
    areas for Table 3.3.
    """
    log_size = 0.47 * np.minimum(rng.standard_t(5, n_areas), 8)
    sparse = np.where(rng.random(n_areas) < 0.06, rng.random(n_areas) / 2, 1)
    return _split(pc4_size, np.exp(log_size) * sparse)


@cache
def areas() -> Areas:
    """Draw the map, which is the same for every registry.

    Returns
    -------
    Areas
        15 municipalities, 67 towns, 386 PC4 areas and 66,883 PC6 areas.
    """
    rng = np.random.default_rng(2012)
    towns: list[str] = []
    municipality_of_town: list[int] = []
    town_sizes: list[int] = []
    for position, (municipality, citizens) in enumerate(CITIZENS.items()):
        others = _OTHER_TOWNS.get(municipality, ())
        for number, size in enumerate((citizens - sum(others), *others), start=1):
            towns.append(municipality if number == 1 else f"{municipality} {number}")
            municipality_of_town.append(position)
            town_sizes.append(size)

    pc4_of_town = [_pc4_sizes(size, rng) for size in town_sizes]
    pc4_sizes = np.concatenate(pc4_of_town)
    n_pc6 = _split(PC6_AREAS, pc4_sizes.astype(float))
    residents = [
        _pc6_sizes(int(size), int(count), rng) for size, count in zip(pc4_sizes, n_pc6, strict=True)
    ]

    pc4s = np.array([str(1000 + 23 * i) for i in range(len(pc4_sizes))], dtype=object)
    pc4_of_pc6 = np.repeat(np.arange(len(pc4_sizes)), n_pc6)
    number_in_pc4 = np.concatenate([np.arange(count) for count in n_pc6])
    first, second = np.divmod(number_in_pc4, len(_LETTERS))
    return Areas(
        municipalities=np.array(list(CITIZENS), dtype=object),
        towns=np.array(towns, dtype=object),
        pc4s=pc4s,
        pc6s=pc4s[pc4_of_pc6] + _LETTERS[first] + _LETTERS[second],
        municipality_of_town=np.array(municipality_of_town),
        town_of_pc4=np.repeat(np.arange(len(towns)), [len(sizes) for sizes in pc4_of_town]),
        pc4_of_pc6=pc4_of_pc6,
        residents=np.concatenate(residents),
    )


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
