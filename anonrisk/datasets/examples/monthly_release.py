"""A hospital publishes every month. Whoever left since last month stands in the difference.

Run it with: anonrisk example monthly_release
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pandas as pd

from anonrisk import Ledger, Policy, Release, ReleaseBlocked
from anonrisk.keys import Key, SigningKey

if TYPE_CHECKING:
    from collections.abc import Sequence

# In earnest: Key.from_env("…"), and never beside the ledger.
KEY = Key.from_bytes(hashlib.sha256(b"anonrisk example, not a secret").digest())
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


def main(arguments: Sequence[str] = ()) -> int:  # noqa: ARG001 - there are none
    """Publish October, fail in November, mend it, and catch a byte that was changed."""
    with TemporaryDirectory() as folder:
        _story(Path(folder))
    return 0


def _story(folder: Path) -> None:
    ledger = Ledger(folder / "ledger.sqlite", key=KEY, new=True)
    october = _patients()
    print("1. OCTOBER: the first release has nothing to be compared with.")
    manifest = _release(folder, "2026-10", october).publish(ledger, by="D. Engineer")
    print(f"   published, {len(october)} patients: {manifest.status}\n")

    print("2. NOVEMBER: one patient has left. The table by itself is as good as ever.")
    november = october.drop(index=17)
    left = _release(folder, "2026-11", november)
    k = november.anon.k(list(POLICY.roles.quasi), unit="patient")
    print(f"   the policy without its memory: k = {k}")
    try:
        left.publish(ledger, by="D. Engineer")
    except ReleaseBlocked as blocked:
        print(f"   {blocked}\n")

    print("3. THE MEND: nobody leaves alone. Four more of the same class are held back with them.")
    alike = october.groupby(list(POLICY.roles.quasi)).ngroup()
    others = november.index[alike[november.index] == alike[17]]
    together = november.drop(index=others[:4])
    print(f"   {_release(folder, '2026-11', together).check(ledger).status}\n")

    print("4. OR A WAIVER: somebody answers for it, by name and for a time; two others agree.")
    people = {who: SigningKey.generate() for who in ("A. Officer", "B. Board")}
    asked = {"approvals": 2, "approvers": {who: key.public for who, key in people.items()}}
    waived = _release(folder, "2026-11", november, waivers=[WAIVER], **asked)
    verdict = waived.check(ledger)
    print("   " + repr(verdict).replace("\n", "\n   ") + "\n")
    agreed = [waived.approve(key) for key in people.values()]
    manifest = waived.publish(ledger, by="D. Engineer", approvals=agreed)
    print(f"   published, approved by {' and '.join(item.by for item in agreed)}\n")

    print("5. VERIFY, where the files go out: every byte is that which was checked.")
    file = folder / "patients.csv"
    print("   " + repr(manifest.verify(file, key=KEY, ledger=ledger)).replace("\n", "\n   ") + "\n")
    file.write_bytes(file.read_bytes().replace(b"flu", b"hiv", 1))
    try:
        manifest.verify(file, key=KEY, ledger=ledger)
    except ReleaseBlocked as refused:
        print(f"   One cell later: {refused}")


def _patients() -> pd.DataFrame:
    """Make sixty patients in six classes of ten, with three diagnoses in each."""
    return pd.DataFrame(
        {
            "patient": [f"p{i:02d}" for i in range(60)],
            "area": [("north", "east", "south")[i % 3] for i in range(60)],
            "decade_of_birth": [(1950, 1970)[i // 3 % 2] for i in range(60)],
            "diagnosis": [("flu", "asthma", "gout")[i // 6 % 3] for i in range(60)],
        }
    )


def _release(folder: Path, month: str, patients: pd.DataFrame, **more: Any) -> Release:
    """Write the file that goes out, and say what it is."""
    file = folder / "patients.csv"
    patients.to_csv(file, index=False)
    name = f"admissions {month}"
    return Release({"patients": file}, POLICY, name=name, audience="researchers", **more)


if __name__ == "__main__":
    sys.exit(main())
