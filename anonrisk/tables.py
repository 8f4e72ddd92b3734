"""Tables that are made here: of files larger than memory, and of any table with its roles.

``anonrisk.scan("data/*.parquet").anon.k(["zip", "age"])``, or
``anonrisk.table(x, quasi=["zip", "age"]).anon.k()``.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any, get_args

from anonrisk.api.declare import declare
from anonrisk.core.arguments import one_of
from anonrisk.core.types import ScannedFormat, Spill
from anonrisk.engines import engine_for
from anonrisk.engines.held import NarwhalsEngine, inside_narwhals
from anonrisk.engines.reading import files, text_files
from anonrisk.errors import ArgumentError, MissingLibraryError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from anonrisk.core.columns import Name, Names
    from anonrisk.engines.reading.files import Part, Wanted
    from anonrisk.scanned import ScannedTable

_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_PASSWORD = re.compile("//.*@")


def scan(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    format: ScannedFormat | None = None,  # noqa: A002
    sep: str | None = None,
    encoding: str | None = None,
    na: Sequence[str] = (),
    dtypes: Mapping[str, str] | None = None,
    memory: str = "2GB",
    spill: Spill = "plain",
) -> ScannedTable:
    r"""Open a table in files, so that it can be measured without being read into memory.

    An embedded DuckDB reads them, in this process: only these files, which must be on this machine.
    It installs no extension and reaches no network. Parquet is read where it lies, by every
    question anew; a file that changes meanwhile is noticed and refused. CSV is read once, by the
    code that reads it for pandas, into an encrypted copy in a private folder, whose key never
    leaves the process. ``close()``, the end of a ``with`` block or that of the program remove it.

    Parameters
    ----------
    paths : path or sequence of paths
        Files, patterns such as ``"data/*.parquet"``, and folders, whose names ``country=NL`` are
        columns. CSV may be packed (``.gz``, ``.zst``, ``.bz2``, ``.xz``, ``.zip``).
    format : {"csv", "parquet"}, optional
        If the names do not tell it.
    sep, encoding, na, dtypes
        How CSV is written, as on the command line: what separates cells, how letters are written,
        texts that mean missing beside the empty one, and which columns are ``"number"`` or
        ``"date"``; all others are text.
    memory : str
        The most that DuckDB takes, as ``"800MB"``; Python and what it reads ahead come on top.
    spill : {"plain", "encrypted", "never"}
        What becomes of counts that do not fit into `memory`. ``"plain"``: they are written in clear
        to a private folder (mode 0700) beside the files, where the table itself lies in clear;
        where that cannot be, as ``"encrypted"``: to a private folder for temporary files, which
        takes DuckDB's extension httpfs; without it nothing is written. ``"never"``: nothing is.
        A question that does not fit then ends in an error that says so. What killed runs left is
        removed when files are next scanned there.

    Returns
    -------
    ScannedTable
        With every function of a table under `.anon`; the functions of `anonrisk` and
        `Policy.check` take it as they take any other table.

    Raises
    ------
    UnreadableTableError
        If there is no such file, it is damaged, or the files are not of one table.
    MissingLibraryError
        Without DuckDB and what writes its SQL: ``pip install "anonrisk[scan]"``.

    See Also
    --------
    anonrisk.anon : the same for a table in memory
    anonrisk.Policy.check : a gate on it

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import anonrisk
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "people.csv")
    ...     _ = path.write_text("zip,age\n1011,34\n1011,34\n1012,51\n")
    ...     with anonrisk.scan(path) as people:
    ...         people.anon.k("zip"), people.anon.k(["zip", "age"])
    (1, 1)
    """
    one_of(spill, "spill", get_args(Spill))
    if format is not None:
        one_of(format, "format", get_args(ScannedFormat))
    text = text_files.text_format(sep, encoding, na, dtypes or {})
    values: Any = paths if isinstance(paths, (list, tuple, set)) else [paths]
    for path in values or [None]:
        if not isinstance(path, (str, os.PathLike)):
            kind = type(path).__name__ if values else "nothing"
            raise ArgumentError(f"files are named by a path, or a list of paths, not by {kind}")
    named = [os.fspath(path) for path in values]
    for path in named:
        if _ELSEWHERE.match(path) and not os.path.exists(path):  # noqa: PTH110
            shown = _PASSWORD.sub("//…@", files.without_values(path))
            raise ArgumentError(
                f"{shown!r} is not on this machine, and scan reads nothing over a network; copy it "
                "here, or read it with Spark"
            )
    about = {"format": format, "memory": memory, "spill": spill}
    return scanned(files.find(named), files.Wanted(), text, **about)


def scanned(
    parts: Sequence[Part], wanted: Wanted, text: files.TextFormat, **about: Any
) -> ScannedTable:
    """Open files that were found, of which only some columns may be wanted."""
    try:
        from anonrisk.scanned import ScannedTable
    except ImportError:
        raise MissingLibraryError(
            "scanning files needs DuckDB, SQLAlchemy, SQLGlot and pyarrow: "
            "pip install 'anonrisk[scan]'"
        ) from None
    return ScannedTable.opened(parts, wanted, text, **about)


def table(
    frame: Any,
    *,
    quasi: Names = (),
    sensitive: Names = (),
    direct: Names = (),
    insensitive: Names = (),
    unit: Name | None = None,
) -> Any:
    """Return any table its roles and `.anon`, also one that can carry neither.

    Parameters
    ----------
    frame : DataFrame
        A table of any library that the functions take; it stays as it is.
    quasi : name or list of names
        Columns that together may single somebody out.
    sensitive : name or list of names
        Columns whose value must not be learned about a person.
    direct : name or list of names
        Columns that name a person; they must be gone before the table is published.
    insensitive : name or list of names
        Columns that are none of these.
    unit : name, optional
        The column that says which person a row belongs to.

    Returns
    -------
    HeldTable or DataFrame
        Of a table that speaks the Arrow stream (Polars, a DuckDB relation, pyarrow, narwhals), a
        `HeldTable`: every function and `Policy.check` take it like the table itself, its `.frame`
        is the table, and where a call gives a table, that is held again, with its roles. Of a table
        that carries roles and has `.anon` by itself (pandas, Spark; also inside a narwhals frame),
        the same as from `anonrisk.declare`.

    See Also
    --------
    anonrisk.declare : roles of tables that carry them by themselves
    anonrisk.anon : `.anon` alone

    Examples
    --------
    >>> import pyarrow as pa
    >>> import anonrisk
    >>> people = pa.table({"zip": ["1011", "1011", "1012"], "ill": ["flu", "hiv", "flu"]})
    >>> held = anonrisk.table(people, quasi="zip", sensitive="ill")
    >>> held
    pyarrow Table, held with the roles of its columns
    column   role
    zip      quasi-identifier
    ill      sensitive column
    .anon asks it, .frame is the table itself
    >>> held.anon.k()
    1
    >>> held.anon.suppress(k=2).frame.num_rows
    2
    """
    engine = engine_for(frame)
    if isinstance(engine, NarwhalsEngine):
        # A table that carries roles by itself; narwhals around it has no `.anon`.
        frame = inside_narwhals(frame)
    elif engine.name == "arrow":
        from anonrisk.engines.arrow import ArrowEngine

        frame = ArrowEngine().hold(frame)
    fields = {"quasi": quasi, "sensitive": sensitive, "direct": direct, "insensitive": insensitive}
    if unit is None and all(isinstance(names, tuple) and not names for names in fields.values()):
        return frame
    return declare(frame, **fields, unit=unit)
