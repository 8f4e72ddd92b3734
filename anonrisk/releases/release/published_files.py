"""The bytes of files that are published, and statements about them by their digests.

A path is opened folder by folder, and no link is followed: one that is put in the place of a file
or a folder while we look leads nowhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Self

from anonrisk.core.documents import canonical
from anonrisk.core.frozen import dataclass
from anonrisk.core.render import count_of
from anonrisk.core.results import Document
from anonrisk.engines.reading.files import without_values
from anonrisk.errors import (
    ArgumentError,
    ManifestError,
    UnreadableTableError,
    UnwritableTableError,
)
from anonrisk.policy.coverage import Coverage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeAlias

    AnyPath: TypeAlias = str | os.PathLike[str]
    Paths: TypeAlias = AnyPath | Sequence[AnyPath]

NOT_LOOKED_AT = "not looked at"


@dataclass(frozen=True)
class PublishedTable(Document):
    """A table as a manifest knows it.

    Attributes
    ----------
    name : str
        What the release calls it.
    verdict : dict
        What its check found, as `Verdict.to_dict` gives it.
    content_digest : str or None
        Of a table that is no file: a keyed digest of its rows; see
        `anonrisk.releases.release.contents`.
    """

    name: str
    verdict: Mapping[str, Any]
    content_digest: str | None = None
    _document = ("name", "columns", "content_digest", "verdict")

    def __post_init__(self) -> None:
        """Keep a copy that nobody changes."""
        object.__setattr__(self, "verdict", copied(self.verdict))

    @property
    def coverage(self) -> Coverage:
        """What its verdict covers."""
        return Coverage.from_dict(self.verdict["coverage"])

    @property
    def columns(self) -> list[dict[str, Any]]:
        """Every column with its role, or ``"not looked at"``; row labels are one, if published."""
        covered = self.coverage.to_dict()
        listed = [(column["name"], column["role"]) for column in covered["columns"]]
        names = [name for name, _ in listed]
        listed += [(name, None) for name in covered["not_looked_at"] if name not in names]
        return [{"name": name, "role": role or NOT_LOOKED_AT} for name, role in listed]


def written(document: Any) -> bytes:
    """Write plain values in the one form that is sealed."""
    try:
        return canonical(document).encode("ascii")
    except (TypeError, ValueError, RecursionError):
        raise ManifestError(
            "a manifest holds plain values only, and no NaN or infinite number"
        ) from None


def copied(document: Any) -> Any:
    """Return plain values as they come back from a file."""
    return json.loads(written(document))


# A message names no more files than somebody reads.
_SHOWN = 5
_SHA256 = re.compile("[0-9a-f]{64}")
_BLOCK = 1 << 20
_BY_FOLDERS = os.open in os.supports_dir_fd and hasattr(os, "O_NOFOLLOW")
_FOLLOW_NOTHING = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


@dataclass(frozen=True)
class PublishedFile:
    """A file as a manifest knows it.

    Attributes
    ----------
    path : str
        Where it is, from the folder of the release; parts are separated by ``/``.
    size : int
        How many bytes it has.
    sha256 : str
        Their SHA-256, in hexadecimal digits.
    table : str or None
        The table that it holds, or a part of.
    """

    path: str
    size: int
    sha256: str
    table: str | None = None

    def __post_init__(self) -> None:
        """Reject what is no size or digest, and a path that leads out of its folder."""
        if type(self.size) is not int or self.size < 0 or not _SHA256.fullmatch(self.sha256):
            raise ManifestError("the manifest has a file whose size or SHA-256 is not valid")
        parts = PurePosixPath(self.path).parts
        plain = str(PurePosixPath(*parts)) == self.path and "\\" not in self.path
        if not parts or not plain or ".." in parts or parts[0] in ("/", "//", "."):
            raise ManifestError(
                f"path {without_values(self.path)!r} of the manifest leads out of its folder, or "
                "has another form than a/b.csv"
            )

    @classmethod
    def of(
        cls, root: Path, path: str, table: str | None = None, copies: Path | None = None
    ) -> Self:
        """Read a file once; what is written below `copies` are the very bytes that were read."""
        size, sha256 = _digest(root, path, copies)
        return cls(path, size, sha256, table)


def published_files(
    tables: Mapping[str, Paths] | Mapping[str | None, Paths],
    root: AnyPath | None = None,
    *,
    copies: Path | None = None,
) -> tuple[PublishedFile, ...]:
    """Read the files of each table; of a folder, all that it holds.

    Parameters
    ----------
    tables : mapping of name to path or paths
        The files and folders of each table; under None what belongs to no table.
    root : path, optional
        The folder of the release, from which paths are told; the one that all files are in if it is
        left out.
    copies : path, optional
        A folder of the caller's own, for copies under the same paths.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "patients.csv").write_bytes(b"zip")
    >>> (file,) = published_files({"patients": folder / "patients.csv"})
    >>> file.path, file.size, file.sha256[:8], file.table
    ('patients.csv', 3, '4a70fe9a', 'patients')
    """
    results: dict[Path, str | None] = {}
    for table, paths in tables.items():
        for path in _each(paths):
            for file in _files_of(path):
                if file in results:
                    raise ArgumentError(f"{_shown(file)} is named twice in the release")
                results[file] = table
    if not results:
        raise ArgumentError("a release of no file has nothing to publish")
    top = absolute_path(root if root is not None else common_folder(results))
    outside = [file for file in results if not file.is_relative_to(top)]
    if outside:
        raise ArgumentError(f"{_shown(outside[0])} is not in the folder of the release")
    read = (
        PublishedFile.of(top, file.relative_to(top).as_posix(), table, copies)
        for file, table in results.items()
    )
    return tuple(sorted(read, key=lambda item: item.path))


def compare_files(
    stated: Sequence[PublishedFile], files: AnyPath | Sequence[AnyPath], own: bytes
) -> None:
    """Raise unless these are the files that are stated, byte by byte, and no other.

    A file that holds `own`, the manifest itself, may lie among them.
    """
    known = {item.path: item for item in stated}
    value = _by_name(known, files)
    lines = [f"{name!r} is missing" for name in map(without_values, known.keys() - value.keys())]
    for name, (root, path) in sorted(value.items()):
        size, sha256 = _digest(root, path)
        expected = known.get(name)
        if expected is None:
            if sha256 != hashlib.sha256(own).hexdigest():
                lines.append(f"{without_values(name)!r} is not in the manifest")
        elif size != expected.size:
            sizes = f"{count_of(size, 'byte')}, not {expected.size:,}"
            lines.append(f"{without_values(name)!r} was changed: it has {sizes}")
        elif sha256 != expected.sha256:
            lines.append(f"{without_values(name)!r} was changed: its bytes are others")
    if lines:
        more = f", and {count_of(len(lines) - _SHOWN, 'file')} more" if len(lines) > _SHOWN else ""
        listed = "; ".join(lines[:_SHOWN])
        raise ManifestError(f"the files are not those that were checked: {listed}{more}")


def _by_name(known: Iterable[str], files: Any) -> dict[str, tuple[Path, str]]:
    """Name the files that there are as the manifest does; where each is, by folder and path."""
    paths = _each(files)
    if len(paths) == 1 and paths[0].is_dir() and not paths[0].is_symlink():
        inside = (file.relative_to(paths[0]).as_posix() for file in _files_of(paths[0]))
        return {name: (paths[0], name) for name in inside}
    results: dict[str, tuple[Path, str]] = {}
    for file in (file for path in paths for file in _files_of(path)):
        ends = (name for name in known if file.as_posix().endswith("/" + name))
        name = max(ends, key=len, default=str(file))
        if name in results:
            raise ArgumentError(f"two of the files given are {without_values(name)!r}")
        results[name] = (file.parent, file.name)
    return results


def _each(paths: Any) -> list[Path]:
    alone = isinstance(paths, (str, os.PathLike))
    try:
        return [absolute_path(path) for path in ([paths] if alone else paths)]
    except (TypeError, ValueError):
        raise ArgumentError("files are named by a folder, a path or a list of paths") from None


def absolute_path(path: AnyPath) -> Path:
    """Return where a path leads, links as they are."""
    # Path.resolve would follow the links that are to be refused.
    return Path(os.path.abspath(path))  # noqa: PTH100


def _files_of(path: Path) -> Iterator[Path]:
    """List what a folder holds, links too, which are refused when they are opened."""
    if path.is_symlink() or not path.is_dir():
        yield path
        return
    for folder, folders, names in os.walk(path):
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        yield from (Path(folder) / name for name in sorted([*names, *links]))


def common_folder(files: Iterable[Path]) -> Path:
    """Return the folder that all files are in."""
    return Path(os.path.commonpath([absolute_path(file).parent for file in files]))


def _digest(root: Path, path: str, copies: Path | None = None) -> tuple[int, str]:
    """Read a file through to its end; give the number of its bytes and their SHA-256."""
    try:
        with os.fdopen(_opened(root, path), "rb", buffering=0) as file:
            before = os.fstat(file.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise ManifestError(f"{_shown(path)} is not a file")
            if copies is None:
                result = hashlib.file_digest(file, "sha256").hexdigest()
            else:
                result = _copied(file, copies / path)
            after = os.fstat(file.fileno())
    except UnwritableTableError:
        raise
    except OSError as error:
        if (root / path).is_symlink() or _through_a_link(root, path):
            raise ManifestError(f"{_shown(path)} is a link, which may lead elsewhere") from None
        raise UnreadableTableError(f"cannot read {_shown(path)}: {error.strerror}") from None
    if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
        raise ManifestError(f"{_shown(path)} was changed while it was read")
    return after.st_size, result


def _copied(file: IO[bytes], copy: Path) -> str:
    """Write what is read to a new file as well, and return its SHA-256."""
    digest = hashlib.sha256()
    try:
        copy.parent.mkdir(parents=True, exist_ok=True)
        with copy.open("xb") as into:
            while block := file.read(_BLOCK):
                digest.update(block)
                into.write(block)
    except OSError as error:
        raise UnwritableTableError(
            "cannot copy the files, of which what is measured is a private copy "
            f"({error.strerror}): TMPDIR names a folder with more space"
        ) from None
    return digest.hexdigest()


def _opened(root: Path, path: str) -> int:
    """Open a file below a folder, and follow no link on the way."""
    *folders, name = PurePosixPath(path).parts
    if not _BY_FOLDERS:
        if _through_a_link(root, path):
            raise OSError
        return os.open(root / path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    here = os.open(root, os.O_RDONLY)
    try:
        for folder in folders:
            above, here = here, os.open(folder, os.O_RDONLY | _FOLLOW_NOTHING, dir_fd=here)
            os.close(above)
        return os.open(name, os.O_RDONLY | _FOLLOW_NOTHING, dir_fd=here)
    finally:
        os.close(here)


def _through_a_link(root: Path, path: str) -> bool:
    steps = [root.joinpath(*PurePosixPath(path).parts[: i + 1]) for i in range(path.count("/") + 1)]
    return any(step.is_symlink() for step in steps)


def _shown(path: object) -> str:
    return f"file {without_values(str(path))!r}"


_TYPE = "https://in-toto.io/Statement/v1"


def statement(
    kind: str,
    files: Iterable[PublishedFile],
    digests: Mapping[str, str | None],
    predicate: Mapping[str, Any],
) -> bytes:
    """Write a statement in one form: a `kind` of predicate about files, and about rows of tables.

    Parameters
    ----------
    kind : str
        Which predicate it is.
    files : iterable of PublishedFile
        The files that it is about.
    digests : mapping of str to str
        The keyed digests of tables that are no files, by their names.
    predicate : mapping
        What is said.
    """
    subject: list[dict[str, Any]] = [
        {"name": file.path, "digest": {"sha256": file.sha256}} for file in files
    ]
    for name, digest in digests.items():
        if digest is not None:
            how, _, value = digest.partition(":")
            subject.append({"name": name, "digest": {f"anonrisk-rows-{how}": value}})
    about = {"subject": subject, "predicateType": kind, "predicate": predicate}
    return written({"_type": _TYPE, **about})
