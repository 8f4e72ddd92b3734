"""A DuckDB of our own: it reads the files that are named, and nothing else of this machine.

It installs nothing, loads nothing that was not installed before, and reaches no network. What it
puts down while it works lies in a folder that nobody else can look into and is gone when it is
closed: in clear only beside the files, where the table lies in clear itself; elsewhere encrypted.
"""

from __future__ import annotations

import re
import tempfile
import weakref
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anonrisk.core.frozen import dataclass
from anonrisk.engines.reading.raw_files import PrivateFolder
from anonrisk.engines.sql.database import database_of
from anonrisk.errors import ArgumentError, EngineError, MissingLibraryError, UnreadableTableError
from anonrisk.pseudonyms.private_files import why_not_safe

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from anonrisk.engines.reading.files import Part

_SIZE = re.compile(r"[0-9]+(\.[0-9]+)? ?([KMGT]i?B|B)", re.IGNORECASE)
# Told before it sees a file.
_SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "preserve_insertion_order": False,
}
# The first that can be told which files alone it may read.
_OLDEST = (1, 2)


@dataclass(frozen=True)
class FileState:
    """Which file a path led to, and how it was."""

    part: Part
    seen: tuple[int, ...]

    @classmethod
    def of(cls, part: Part) -> FileState:
        """Look at a file."""
        try:
            state = part.path.stat()
        except OSError as error:
            raise UnreadableTableError(f"cannot read {part.shown}: {error.strerror}") from None
        # The time of a change is the one that nobody sets back, whatever is put back.
        times = (state.st_mtime_ns, state.st_ctime_ns)
        return cls(part, (state.st_dev, state.st_ino, state.st_size, *times))

    @property
    def size(self) -> int:
        """The bytes that the file has."""
        return self.seen[2]

    def refuse_changed(self) -> None:
        """Reject a file that is not what it was: two statements would see two tables."""
        with suppress(UnreadableTableError):
            if FileState.of(self.part) == self:
                return
        raise UnreadableTableError(
            f"{self.part.shown} has changed since it was scanned; scan it again"
        )


class ScannedFiles:
    """An embedded DuckDB, and the files that it reads; a way to a database like others."""

    dialect = "duckdb"

    def __init__(self, states: Sequence[FileState], *, memory: str, spill: str) -> None:
        """Open it for these files, with a folder that only this user can look into.

        `close` removes the folder, and so does the end of the program, or of the object; what is
        left where a program is killed, the next one that opens files there.
        """
        self.states, self.memory, self.spill = tuple(states), memory, spill
        connection = _connected(memory)
        beside = _beside(self.states) if spill == "plain" else None
        folder = beside or PrivateFolder(Path(tempfile.gettempdir()))
        self.connection, self.folder = connection, folder.path
        self.close = weakref.finalize(self, _end, connection, folder)
        self._asked: Any = database_of(connection)
        self.spills = spill
        if beside is None and spill != "never":
            self.spills = "encrypted" if _encrypts(connection) else "never"
        place = "" if self.spills == "never" else str(folder.path)
        # A path and how it is written as a pattern: DuckDB asks for both.
        parts = [state.part for state in self.states]
        paths = [item for part in parts for item in (str(part.path.absolute()), path_of(part))]
        for setting, value in (
            ("temp_directory", text(place)),
            ("allowed_paths", f"[{', '.join(map(text, paths))}]"),
            ("enable_external_access", "false"),
            ("lock_configuration", "true"),
        ):
            connection.execute(f"SET {setting} = {value}")

    @property
    def key(self) -> Hashable:
        """What two ways to one connection have in common."""
        return id(self.connection)

    @contextmanager
    def one_state(self) -> Iterator[ScannedFiles]:
        """Let all that is asked inside see the files as they were."""
        if not self.close.alive:
            raise EngineError("this table was closed; scan its files again")
        with self._asked.one_state():
            yield self

    def rows(self, query: Any) -> list[Any]:
        """Run a query and read all its rows."""
        return self._of_the_same_files(self._asked.rows, query)

    def batches(self, query: Any, n_rows: int) -> Iterator[list[Any]]:
        """Run a query and read its rows, so many at a time."""
        answer = self._asked.batches(query, n_rows)
        while result := self._of_the_same_files(lambda _: next(answer, []), query):
            yield result

    def names(self, query: Any) -> list[str]:
        """Run a query, and give the names of its columns."""
        return self._of_the_same_files(self._asked.names, query)

    def _of_the_same_files(self, ask: Callable[[Any], list[Any]], query: Any) -> list[Any]:
        import duckdb

        try:
            result = ask(query)
        except duckdb.OutOfMemoryException:
            raise self._too_large() from None
        except duckdb.Error:
            # A file that was written to meanwhile may look damaged.
            self.refuse_changed()
            raise
        self.refuse_changed()
        return result

    def refuse_changed(self) -> None:
        """Reject files that are not what they were."""
        for state in self.states:
            state.refuse_changed()

    def _too_large(self) -> EngineError:
        more = f"counting needs more than memory={self.memory!r}; give it more"
        if self.spills == "never":
            here = "which it may not, or not safely" if self.spill == "plain" else "spill='plain'"
            more += (
                f", or let it write to disk: in clear to the folder of the files ({here}), or "
                "encrypted, once DuckDB's extension httpfs is installed, which brings the cipher"
            )
        return EngineError(more)


def path_of(part: Part) -> str:
    """Return a path as DuckDB is told it, in which a star is a star.

    Examples
    --------
    >>> from pathlib import Path
    >>> from anonrisk.engines.reading.files import Part
    >>> path_of(Part(Path("/data/a*b[1].parquet")))
    '/data/a[*]b[[]1].parquet'
    """
    return re.sub(r"[*?\[]", r"[\g<0>]", str(part.path.absolute()))


def text(value: str | None) -> str:
    """Write a text as SQL."""
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def _connected(memory: str) -> Any:
    duckdb = _library()
    if not _SIZE.fullmatch(str(memory)):
        raise ArgumentError("memory is a text such as '2GB' or '800MB'")
    connection = duckdb.connect(":memory:", config={**_SETTINGS, "memory_limit": memory})
    for setting in ("enable_external_file_cache", "python_enable_replacements"):
        # Younger ones hold on to what they read, or look for tables among Python's variables.
        with suppress(duckdb.CatalogException):
            connection.execute(f"SET {setting} = false")
    return connection


def _encrypts(connection: Any) -> bool:
    """Let DuckDB encrypt what it puts down, where its own cipher is the one to be trusted.

    The cipher that is built in has no source of randomness that is made for it, and the authors
    refuse to write with it; OpenSSL comes with httpfs, if somebody has installed that.
    """
    import duckdb

    try:
        connection.execute("LOAD httpfs")
        connection.execute("SET temp_file_encryption = true")
    except duckdb.Error:
        return False
    return True


def _library() -> Any:
    try:
        import duckdb
    except ImportError:
        raise _needs("DuckDB") from None
    if tuple(map(int, duckdb.__version__.split(".")[:2])) < _OLDEST:
        raise _needs(f"DuckDB {'.'.join(map(str, _OLDEST))} or newer")
    return duckdb


def _needs(what: str) -> MissingLibraryError:
    return MissingLibraryError(f"scanning files needs {what}: pip install 'anonrisk[scan]'")


def _beside(states: Sequence[FileState]) -> PrivateFolder | None:
    """Make a folder beside the files, unless they lie on several file systems or it is not safe.

    Not anywhere on their file system: folders of it may be encrypted each by itself.
    """
    try:
        place = states[0].part.path.resolve().parent
        # Where everybody may exchange a folder, what is written may get into another one.
        if why_not_safe(place, shared=True):
            return None
        if {state.seen[0] for state in states} != {place.stat().st_dev}:
            return None
        return PrivateFolder(place)
    except OSError:
        return None


def _end(connection: Any, folder: PrivateFolder) -> None:
    with suppress(Exception):
        connection.close()
    folder.remove()
