"""A hospital publishes every month. Whoever came or left since last month stands in the difference.

Run it with: anonrisk example monthly_release
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from anonrisk import Ledger, Policy, Release, ReleaseBlocked
from anonrisk.keys import Key, SigningKey

if TYPE_CHECKING:
    from collections.abc import Sequence

POLICY = Policy(
    name="monthly admissions",
    quasi=["area", "decade_of_birth"],
    sensitive="diagnosis",
    unit="patient",
    missing_sensitive="error",
    k=5,
    ldiv={"l": 2},
    differencing={"k": 5},
)
WAIVER = {
    "budget": "differencing",
    "table": "patients",
    "reason": "the patient has agreed in writing",
    "owner": "A. Officer",
    "expires": "2999-12-31",
}
_WITHDRAWN = "2026-06"


def main(arguments: Sequence[str] = ()) -> int:  # noqa: ARG001 - there are none
    """Publish a year of months, withdraw one, waive one, and catch a byte that was changed."""
    with TemporaryDirectory() as folder:
        _story(Path(folder))
    return 0


def _story(folder: Path) -> None:
    # In earnest: Key.from_env("…"), and never beside the ledger.
    ledger = Ledger(folder / "ledger.sqlite", key=Key.generate(), new=True)
    rng = np.random.default_rng(2026)
    living, published = _people(rng, 0, 400), Path()
    print("1. A YEAR. About 3% leave every month, and as many come. Nobody leaves or comes alone.")
    for month in (f"2026-{number:02d}" for number in range(1, 13)):
        published = _month(folder, ledger, month, living, published)
        if month == _WITHDRAWN:
            published = _corrected(folder, ledger, month, living, published)
        living = _next_month(rng, living)

    print("\n2. A WAIVER: one patient must go at once. Somebody answers for it; two others agree.")
    people = {who: SigningKey.generate() for who in ("A. Officer", "B. Board")}
    asked: Any = {"approvals": 2, "approvers": {who: key.public for who, key in people.items()}}
    last = pd.read_csv(published, dtype=str)
    gone = last[last["patient"] != last["patient"].iloc[0]]
    waived = _release(folder, "2027-01", gone, waivers=[WAIVER], **asked)
    print("   " + repr(waived.check(ledger)).replace("\n", "\n   "))
    agreed = [waived.approve(key) for key in people.values()]
    manifest = waived.publish(ledger, by="D. Engineer", approvals=agreed)
    print(f"   published, approved by {' and '.join(item.by for item in agreed)}\n")

    print("3. VERIFY, where the files go out: every byte is that which was checked.")
    file = folder / "2027-01" / "patients.csv"
    about: Any = {"key": ledger.key, "ledger": ledger}
    print("   " + repr(manifest.verify(file, **about)).replace("\n", "\n   ") + "\n")
    file.write_bytes(file.read_bytes().replace(b"flu", b"hiv", 1))
    try:
        manifest.verify(file, **about)
    except ReleaseBlocked as refused:
        print(f"   One cell later: {refused}")


def _month(folder: Path, ledger: Ledger, month: str, living: pd.DataFrame, published: Path) -> Path:
    """Check the month, mend it where it does not pass, and publish what can go out."""
    release, held_back = _release(folder, month, living), ""
    status = release.check(ledger).status
    if status != "pass":
        mended = release.mend(ledger, leavers="keep", previous=published)
        price, living = mended.price, mended.tables["patients"]
        held_back = f", mended: {price.waiting} wait, {price.left} are listed after leaving"
        release = _release(folder, month, living)
    published_as = release.publish(ledger, by="D. Engineer").status
    print(f"   {month}: {status}{held_back}; published, {len(living)} patients: {published_as}")
    return folder / month / "patients.csv"


def _corrected(
    folder: Path, ledger: Ledger, month: str, living: pd.DataFrame, published: Path
) -> Path:
    """Take a month back that had a wrong diagnosis in it, and publish it again."""
    name = f"admissions {month}"
    ledger.withdraw(name, by="D. Engineer", reason="gout was entered as flu")
    print(f"   {name} is withdrawn. Somebody has it: what follows is judged with it all the same.")
    received = folder / "received.csv"
    published.rename(received)
    gout = living["patient"].isin(living["patient"].iloc[:20])
    living.loc[gout, "diagnosis"] = living.loc[gout, "diagnosis"].replace("flu", "gout")
    return _month(folder, ledger, month, living, received)


def _people(rng: np.random.Generator, first: int, n: int) -> pd.DataFrame:
    """Make patients of six classes."""
    return pd.DataFrame(
        {
            "patient": [f"p{i:04d}" for i in range(first, first + n)],
            "area": rng.choice(["north", "east", "south"], n),
            "decade_of_birth": rng.choice([1950, 1970], n),
            "diagnosis": rng.choice(["flu", "asthma", "gout"], n),
        }
    )


def _next_month(rng: np.random.Generator, living: pd.DataFrame) -> pd.DataFrame:
    stay = rng.random(len(living)) > 0.03
    first = int(living["patient"].max()[1:]) + 1
    return pd.concat([living[stay], _people(rng, first, int((~stay).sum()))], ignore_index=True)


def _release(folder: Path, month: str, patients: pd.DataFrame, **more: Any) -> Release:
    """Write the file that goes out, and say what it is."""
    file = folder / month / "patients.csv"
    file.parent.mkdir(exist_ok=True)
    patients.to_csv(file, index=False)
    name = f"admissions {month}"
    return Release({"patients": file}, POLICY, name=name, audience="researchers", **more)


if __name__ == "__main__":
    sys.exit(main())
