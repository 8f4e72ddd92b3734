"""A hospital wants to publish its admissions. How many patients would that expose?

Run it with: anonrisk example hospital
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import anonrisk
from anonrisk import datasets

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str] = ()) -> int:  # noqa: ARG001 - there are none
    """Print what is left of the patients' anonymity, column by column."""
    admissions = datasets.hospital()
    print(f"{len(admissions):,} admissions of {admissions['patient'].nunique():,} patients\n")

    # A patient may have several admissions: count patients, not rows.
    admissions = admissions.anon.declare(
        quasi=["pc4", "date_of_birth", "gender"],
        sensitive=["diagnosis", "cost"],
        insensitive="admission_date",
        unit="patient",
    )
    print(admissions.anon.roles(), "\n")
    print(admissions.anon.classes(), "\n")

    print("Coarser columns, fewer singletons:")
    coarser = admissions.assign(
        year_of_birth=admissions["date_of_birth"].dt.year,
        decade_of_birth=admissions["date_of_birth"].dt.year // 10 * 10,
        pc1=admissions["pc4"].astype(str).str[:1],
    )
    for quasi in (
        ["pc4", "year_of_birth", "gender"],
        ["pc1", "year_of_birth", "gender"],
        ["pc1", "decade_of_birth", "gender"],
    ):
        counted = anonrisk.classes(coarser, quasi)
        share = f"{counted.uniqueness:.1%}"
        print(f"  {' + '.join(quasi):40} k = {counted.k:<4} {share:>6} singletons")
    return 0


if __name__ == "__main__":
    sys.exit(main())
