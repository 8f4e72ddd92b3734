"""What a manifest that holds says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from anonrisk.core.render import PrintedTable, bytes_of, count_of, named, shown


class Recorded(Protocol):
    """What a ledger tells of a release that is in it; the ledger itself stands above this file."""

    @property
    def number(self) -> int:
        """Which entry of the ledger it is."""

    @property
    def manifest_sha256(self) -> str:
        """SHA-256 of the manifest."""


@runtime_checkable
class Remembers(Protocol):
    """What a manifest asks of a ledger."""

    def entry(self, release: str) -> Recorded | None:
        """Give the entry of a release, if the chain holds and it has one."""


@dataclass(frozen=True, repr=False)
class Verified(PrintedTable):
    """The files are those that were checked, and everything that allowed it still holds.

    There is no such object otherwise: `Manifest.verify` raises.

    Attributes
    ----------
    release, audience, at, by : str
        Which release, for whom, when and by whom it was published.
    tables : tuple of str
        Its tables.
    n_files, n_bytes : int
        How much was read and compared.
    by_rows : tuple of str
        The tables that are no files, whose rows were compared.
    sealed_by : str
        Kind and id of the key.
    waivers : tuple of str
        What was accepted, by whom and until when.
    n_approvals : int
        How many agreed.
    ledger_entry : int or None
        Its number in the ledger; None if no ledger was asked.
    """

    release: str
    audience: str
    at: str
    by: str
    tables: tuple[str, ...]
    n_files: int
    n_bytes: int
    sealed_by: str
    by_rows: tuple[str, ...] = ()
    waivers: tuple[str, ...] = ()
    n_approvals: int = 0
    ledger_entry: int | None = None

    def _lines(self) -> list[str]:
        size = f"{count_of(self.n_files, 'file')}, {bytes_of(self.n_bytes)}"
        if self.by_rows:
            size += f", rows of {count_of(len(self.by_rows), 'table')}"
        return [f"Verified: release {named(self.release)} for {named(self.audience)} ({size})"]

    def _header(self) -> tuple[str, str]:
        return "what", "found"

    def _rows(self) -> list[list[str]]:
        asked = "no ledger was asked"
        return [
            ["published", f"{shown(self.at)} by {named(self.by)}"],
            ["tables", ", ".join(map(named, self.tables)) or "-"],
            ["seal", shown(self.sealed_by)],
            ["waivers", str(len(self.waivers))],
            ["approvals", str(self.n_approvals)],
            ["chain", asked if self.ledger_entry is None else f"entry {self.ledger_entry:,}"],
        ]

    def _notes(self) -> list[str]:
        return [shown(waiver) for waiver in self.waivers]
