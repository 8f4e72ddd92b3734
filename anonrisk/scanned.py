"""What `anonrisk.scan` gives: a table in files, with `.anon`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from anonrisk.accessor import AnonAccessor
from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.engines.scan import ScanTable

if TYPE_CHECKING:
    from typing import Self

_CALLED = {"csv": "CSV", "parquet": "Parquet"}


@dataclass(frozen=True, eq=False, repr=False)
class ScannedTable(render.PrintedTable, ScanTable):
    """A table in files that are not read into memory, with `.anon`; see `anonrisk.scan`."""

    @property
    def anon(self) -> AnonAccessor[Self]:
        """Every function of a table as a method."""
        return AnonAccessor(self)

    def _lines(self) -> list[str]:
        files = render.count_of(len(self.connection.states), "file")
        columns = render.count_of(len(self.names), "column")
        return [f"{files} of {_CALLED[self.format]}, {render.bytes_of(self.n_bytes)}, {columns}"]

    def _header(self) -> tuple[str, ...]:
        return "column", "role"

    def _rows(self) -> list[list[str]]:
        return [
            [render.named(name), (self.roles and self.roles.of(name)) or "-"] for name in self.names
        ]
