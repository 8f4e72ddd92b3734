"""Published figures on 2,774,476 Dutch citizens: Koot (2012), Tables 3.1, 3.2 and 3.3.

M. R. Koot, *Measuring and Predicting Anonymity*, PhD thesis, University of Amsterdam, 2012.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Mapping

CITIZENS: Mapping[str, int] = MappingProxyType(
    {
        "Amsterdam": 766_656,
        "Rotterdam": 591_046,
        "Den Haag": 487_582,
        "Utrecht": 305_845,
        "Nijmegen": 161_882,
        "Enschede": 156_761,
        "Arnhem": 147_091,
        "Overbetuwe": 45_548,
        "Geldermalsen": 26_097,
        "Diemen": 24_679,
        "Reimerswaal": 21_457,
        "Enkhuizen": 18_158,
        "Simpelveld": 11_019,
        "Millingen a/d Rijn": 5_915,
        "Terschelling": 4_751,
    }
)
"""Citizens of each municipality (Table 3.1). They add up to 11 more than `TOTAL`."""

TOTAL = 2_774_476
"""Citizens in the study, as printed under Table 3.1 and as used in Tables 3.2 and 3.3."""

PC6_AREAS = 66_883
"""Number of full postal codes (Table 3.2)."""

AT = (1, 5, 10, 50, 100)
"""Class sizes for which Table 3.3 counts the citizens in classes of at most that size."""


class PublishedRow(NamedTuple):
    """One quasi-identifier of Tables 3.2 and 3.3, as printed.

    Attributes
    ----------
    qid : tuple of str
        Its columns.
    sets, min, q25, median, mean, q75, max : int
        Number of classes and the distribution of their sizes (Table 3.2).
    at_most : tuple of int
        Citizens in classes of at most 1, 5, 10, 50 and 100 (Table 3.3); a dash in the table is
        everybody.
    """

    qid: tuple[str, ...]
    sets: int
    min: int
    q25: int
    median: int
    mean: int
    q75: int
    max: int
    at_most: tuple[int, int, int, int, int]


_DAY = "date_of_birth"
_YEAR = "year_of_birth"
_MONTH = "month_of_birth"

# fmt: off
PUBLISHED: tuple[PublishedRow, ...] = (
    PublishedRow(("pc4",), 388, 2, 3_278, 7_090, 7_188, 10_300, 22_330,
                 (0, 9, 19, 345, 996)),
    PublishedRow(("pc6",), 66_883, 1, 24, 35, 41, 50, 1_322,
                 (429, 6_109, 25_103, 1_459_939, 2_354_255)),
    PublishedRow(("pc4", _DAY), 2_267_700, 1, 1, 1, 1, 1, 42,
                 (1_861_081, 2_754_465, 2_765_932, TOTAL, TOTAL)),
    PublishedRow(("pc6", _DAY), 2_759_422, 1, 1, 1, 1, 1, 5,
                 (2_744_653, TOTAL, TOTAL, TOTAL, TOTAL)),
    PublishedRow(("pc4", "gender"), 776, 1, 1_652, 3_536, 3_594, 5_151, 11_730,
                 (4, 27, 103, 889, 2_555)),
    PublishedRow(("pc6", "gender"), 133_012, 1, 11, 18, 21, 25, 954,
                 (1_854, 31_262, 184_803, 2_342_242, 2_629_017)),
    PublishedRow(("gender", _YEAR), 221, 1, 5_219, 14_570, 12_550, 19_740, 25_580,
                 (5, 14, 53, 250, 516)),
    PublishedRow(("gender", _YEAR, _MONTH), 2_699, 1, 397, 1_177, 1_028, 1_594, 2_326,
                 (55, 356, 712, 4_478, 9_674)),
    PublishedRow(("gender", _YEAR, _MONTH, "pc4"), 635_679, 1, 2, 3, 4, 6, 40,
                 (137_035, 279_100, 2_196_950, TOTAL, TOTAL)),
    PublishedRow(("gender", _YEAR, _MONTH, "municipality"), 34_790, 1, 6, 18, 80, 96, 733,
                 (2_186, 22_565, 59_597, 244_152, 619_671)),
    PublishedRow(("gender", _DAY), 71_318, 1, 21, 40, 39, 54, 571,
                 (2_014, 14_506, 40_322, 1_392_622, 2_725_472)),
    PublishedRow(("gender", _DAY, "pc4"), 2_488_828, 1, 1, 1, 1, 1, 22,
                 (2_240_461, 2_765_067, 2_772_205, TOTAL, TOTAL)),
    PublishedRow(("gender", _DAY, "pc6"), 2_766_475, 1, 1, 1, 1, 1, 4,
                 (2_758_578, TOTAL, TOTAL, TOTAL, TOTAL)),
    PublishedRow(("town", "gender"), 134, 1, 222, 1_116, 20_700, 3_259, 347_100,
                 (4, 4, 28, 372, 896)),
    PublishedRow(("town", _YEAR), 5_642, 1, 6, 29, 492, 101, 14_270,
                 (499, 3_172, 7_225, 50_985, 103_145)),
    PublishedRow(("town", _YEAR, _MONTH), 49_207, 1, 2, 5, 56, 20, 1_262,
                 (10_083, 61_073, 112_850, 287_173, 394_844)),
    PublishedRow(("town", _DAY), 463_134, 1, 1, 2, 6, 7, 419,
                 (185_042, 596_769, 1_045_559, 2_730_668, 2_750_700)),
    PublishedRow(("town", _YEAR, "gender"), 10_492, 1, 4, 17, 264, 60, 7_515,
                 (1_153, 7_195, 16_333, 102_018, 150_135)),
    PublishedRow(("town", _YEAR, _MONTH, "gender"), 83_172, 1, 1, 3, 33, 14, 695,
                 (22_260, 109_126, 170_351, 398_601, 826_744)),
    PublishedRow(("town", _DAY, "gender"), 697_875, 1, 1, 2, 4, 5, 226,
                 (288_409, 1_029_601, 1_813_559, 2_750_669, 2_764_050)),
)
# fmt: on
"""Tables 3.2 and 3.3 as printed, in their order."""


class Erratum(NamedTuple):
    """A printed figure that the other figures of the source contradict.

    Attributes
    ----------
    row, column : str
        Where it stands in `published`.
    printed, right : int
        The figure in print and the one that the others imply.
    why : str
        What contradicts it.
    """

    row: str
    column: str
    printed: int
    right: int
    why: str


ERRATA: tuple[Erratum, ...] = (
    Erratum("pc4", "sets", 388, 386, "the mean of 7,188 is that of 386 areas"),
    Erratum("pc4 + gender", "sets", 776, 772, "the mean of 3,594 is that of 772 classes"),
    Erratum(
        "gender + year_of_birth + month_of_birth + pc4",
        "at_most_5",
        279_100,
        1_171_559,
        "279,100 are in classes of exactly 5; those of 1 to 4 hold 892,459",
    ),
)
"""Misprints of Tables 3.2 and 3.3."""


def published(*, corrected: bool = True) -> pd.DataFrame:
    """Tables 3.2 and 3.3 of Koot (2012) in the layout that `anonrisk.summary` gives.

    Parameters
    ----------
    corrected : bool, default True
        Replace the misprints listed in `ERRATA`; False gives the figures as printed.

    Returns
    -------
    pandas.DataFrame
        A row for each quasi-identifier, indexed by its column names joined by ``" + "``.

    Examples
    --------
    >>> from anonrisk.datasets import figures
    >>> table = figures.published()
    >>> int(table.loc["pc4 + date_of_birth", "at_most_1"])
    1861081
    >>> int(table.loc["pc4", "sets"]), int(figures.published(corrected=False).loc["pc4", "sets"])
    (386, 388)
    """
    table = pd.DataFrame(
        [(TOTAL, *row[1:-1], *row.at_most) for row in PUBLISHED],
        columns=["records", *PublishedRow._fields[1:-1], *(f"at_most_{k}" for k in AT)],
        index=pd.Index([" + ".join(row.qid) for row in PUBLISHED], name="qid"),
    )
    if corrected:
        for erratum in ERRATA:
            table.loc[erratum.row, erratum.column] = erratum.right
    return table
