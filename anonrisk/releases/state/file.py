"""States on disk.

A row is an entry of the counts: `part` 0 has the classes, part i the values of the i-th sensitive
column. Hashes are 16 bytes.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonrisk.errors import StateError
from anonrisk.measures.counts.keyed import KeyedCounts, KeyedValues
from anonrisk.releases.state.keyed_file import KeyedFile, big_endian

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from anonrisk.core.arrays import Integers
    from anonrisk.core.columns import Qid
    from anonrisk.pseudonyms.encoding import Hashes

_HASH = 16
_HASHES = ("class", "person", "value")
# Class, person, value; and how many rows.
_Part = tuple[tuple["Hashes | None", ...], "Integers"]


class StateFile(KeyedFile[KeyedCounts]):
    """The file of a state."""

    what = "state"
    reveals = (
        "Pseudonymous personal data, not anonymous. With the key: everything that can be "
        "enumerated, by trying values. Without it: how large classes are, how often each sensitive "
        "value occurs, and which classes, persons and values are the same in files of one key. "
        "Keep the key elsewhere."
    )
    # Hashes do not repeat often enough for a dictionary to save anything.
    writing: ClassVar[Mapping[str, Any]] = {
        "use_dictionary": ["part", "rows"],
        "compression": "zstd",
    }

    def header(self, counts: KeyedCounts) -> dict[str, Any]:
        """Return what is said of the counts, as plain values."""
        return {
            "qid": list(counts.qid),
            "unit": counts.unit,
            "sensitive": list(counts.sensitive),
            "missing": counts.missing,
            "kinds": dict(counts.kinds),
            "n_rows": counts.n_rows,
            "n_dropped": counts.n_dropped,
        }

    def types(self, pa: Any) -> dict[str, Any]:
        """Return the type of each column of the table."""
        hashes = dict.fromkeys(_HASHES, pa.binary(_HASH))
        return {"part": pa.int32(), **hashes, "rows": pa.int64()}

    def columns(self, pa: Any, counts: KeyedCounts) -> dict[str, Any]:
        """Return what each of them holds."""
        parts = list(_parts(counts))
        numbers = [np.full(len(rows), i, dtype=np.int32) for i, (_, rows) in enumerate(parts)]
        columns = {"part": pa.array(np.concatenate(numbers))}
        for place, name in enumerate(_HASHES):
            columns[name] = pa.concat_arrays(
                [_binary(pa, hashes[place], len(rows)) for hashes, rows in parts]
            )
        columns["rows"] = pa.array(np.concatenate([rows for _, rows in parts]))
        return columns

    def contents(self, counts: KeyedCounts) -> Iterator[NDArray[Any] | None]:
        """Yield all that the checksum covers, in order."""
        for hashes, rows in _parts(counts):
            yield from (*hashes, rows)

    def counts(self, header: Mapping[str, Any], table: Any) -> KeyedCounts:
        """Put the counts together again."""
        number = table.column("part").to_numpy()
        names = tuple(header["sensitive"])
        ends = np.searchsorted(number, np.arange(len(names) + 2)).tolist()
        classes, *of_values = [table.slice(first, last - first) for first, last in pairwise(ends)]
        return KeyedCounts(
            tuple(header["qid"]),
            header["unit"],
            names,
            header["missing"],
            header["kinds"],
            _hashes(classes, "class"),
            _persons(header, classes),
            classes.column("rows").to_numpy(),
            {name: _values(header, part) for name, part in zip(names, of_values, strict=True)},
            header["n_rows"],
            header["n_dropped"],
        )


STATE_FILE = StateFile()


def qid_of(data: bytes) -> Qid:
    """Read of which columns a state counts the classes, without the counts."""
    return tuple(STATE_FILE.header_of(data)["qid"])


def _parts(counts: KeyedCounts) -> Iterator[_Part]:
    yield (counts.classes, counts.persons, None), counts.rows
    for name in counts.sensitive:
        result = counts.values[name]
        yield (result.classes, result.persons, result.values), result.rows


def _binary(pa: Any, hashes: Hashes | None, length: int) -> Any:
    """Return hashes to Arrow as 16 bytes each; without any, as many nulls."""
    kind = pa.binary(_HASH)
    if hashes is None:
        return pa.nulls(length, kind)
    return pa.FixedSizeBinaryArray.from_buffers(
        kind, length, [None, pa.py_buffer(big_endian(hashes))]
    )


def _hashes(part: Any, name: str) -> Hashes:
    """Take hashes from Arrow; a null, which no whole state has here, is refused."""
    column = part.column(name)
    whole = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    if column.null_count:
        raise StateError("a hash is missing")
    first, data = whole.offset, whole.buffers()[1]
    words = np.frombuffer(data or b"", dtype=">u8")[2 * first : 2 * (first + len(whole))]
    return words.astype(np.uint64).reshape(-1, 2)


def _values(header: Mapping[str, Any], part: Any) -> KeyedValues:
    return KeyedValues(
        _hashes(part, "class"),
        _persons(header, part),
        _hashes(part, "value"),
        part.column("rows").to_numpy(),
    )


def _persons(header: Mapping[str, Any], part: Any) -> Hashes | None:
    return None if header["unit"] is None else _hashes(part, "person")
