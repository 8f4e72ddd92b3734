"""What a state and a sketch have in common: counts under a key, kept in a file."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, Self, TypeVar

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.errors import StateError, WrongKeyError
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.releases.state.keyed_file import key_id

if TYPE_CHECKING:
    import os

    from anonrisk.releases.state.keyed_file import KeyedFile


class HoldsRows(Protocol):
    """What all counts say of the rows of their table."""

    @property
    def n_rows(self) -> int:
        """Number of rows counted."""

    @property
    def n_dropped(self) -> int:
        """Number of rows left out for a missing value."""


KeptT = TypeVar("KeptT", bound=HoldsRows)


@dataclass(frozen=True, eq=False, repr=False)
class Kept(render.PrintedLines, Generic[KeptT]):
    """Counts under keyed hashes, and their key."""

    file: ClassVar[KeyedFile[Any]]
    counts: KeptT
    key: Key = field(repr=False)

    @property
    def key_id(self) -> str:
        """Tells keys apart, and says nothing else of them."""
        return key_id(self.key)

    def check_same(self, other: object, doing: str) -> None:
        """Reject what is of another kind, or of another key: no hash of it is the same."""
        what = self.file.what
        if not isinstance(other, type(self)):
            raise StateError(
                f"a {what} is {doing} with another one, not with {render.kind_name(other)}"
            )
        if self.key != other.key:
            raise WrongKeyError(
                f"{what}s of different keys have nothing in common: {self.key_id} here, "
                f"{other.key_id} there"
            )

    # ---- on disk --------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file (Parquet), readable by its owner alone; needs pyarrow (extra ``arrow``).

        A writer that is killed leaves the file that was there, or the new one.
        """
        self.file.write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, key: Key | bytes) -> Self:
        """Read a file; refused are other keys, damaged and forged files, and newer versions."""
        return cls.from_bytes(cls.file.read(path), key=key)

    def to_bytes(self) -> bytes:
        """Return what `save` writes."""
        return self.file.to_bytes(self.counts, self.key)

    @classmethod
    def from_bytes(cls, data: bytes, *, key: Key | bytes) -> Self:
        """Read what `to_bytes` gave."""
        secret = as_key(key)
        return cls(cls.file.from_bytes(data, secret), secret)

    # ---- comparing and printing -------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        """Two are equal if they count the same under the same key."""
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.key == other.key and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def _last_lines(self) -> list[str]:
        """Return what was left out, and how it is to be kept."""
        lines = ["pseudonymous personal data, not anonymous: keep it apart from its key"]
        if self.counts.n_dropped:
            dropped = render.count_of(self.counts.n_dropped, "row")
            lines.insert(0, f"{dropped} with a missing quasi-identifier left out")
        return lines
