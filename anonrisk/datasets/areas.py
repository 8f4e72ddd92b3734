"""The map that the synthetic registry lives on: municipalities, towns and postal code areas."""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from anonrisk.core.frozen import dataclass
from anonrisk.datasets.figures import CITIZENS, PC6_AREAS

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
