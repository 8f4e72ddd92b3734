"""Sketches on disk: a row is a class that is kept, its hash and its number of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from anonrisk.counts.sketch import SketchCounts
from anonrisk.releases.keyed_file import KeyedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray


class SketchFile(KeyedFile[SketchCounts]):
    """The file of a sketch."""

    what = "sketch"
    reveals = (
        "Pseudonymous personal data, not anonymous. With the key: everything that can be "
        "enumerated, by trying values, of a sample of the classes. Without it: how large these "
        "classes are, and which are the same in files of one key. Keep the key elsewhere."
    )
    # Hashes ascend, so that their differences take a third less room than they do.
    writing: ClassVar[Mapping[str, Any]] = {
        "use_dictionary": ["rows"],
        "column_encoding": {"class": "DELTA_BINARY_PACKED"},
        "compression": {"class": "none", "rows": "zstd"},
    }

    def header(self, counts: SketchCounts) -> dict[str, Any]:
        """Give what is said of the counts, as plain values."""
        return {
            "qid": list(counts.qid),
            "missing": counts.missing,
            "kinds": dict(counts.kinds),
            "end": counts.end,
            "most": counts.most,
            "n_rows": counts.n_rows,
            "n_dropped": counts.n_dropped,
        }

    def types(self, pa: Any) -> dict[str, Any]:
        """Give the type of each column of the table."""
        return {"class": pa.uint64(), "rows": pa.int64()}

    def columns(self, pa: Any, counts: SketchCounts) -> dict[str, Any]:
        """Give what each of them holds."""
        return {"class": pa.array(counts.hashes), "rows": pa.array(counts.rows)}

    def contents(self, counts: SketchCounts) -> Iterator[NDArray[Any] | None]:
        """Give all that the checksum covers, in order."""
        yield from (counts.hashes, counts.rows)

    def counts(self, header: Mapping[str, Any], table: Any) -> SketchCounts:
        """Put the counts together again."""
        return SketchCounts(
            tuple(header["qid"]),
            header["missing"],
            header["kinds"],
            table.column("class").to_numpy(),
            table.column("rows").to_numpy(),
            header["end"],
            header["most"],
            header["n_rows"],
            header["n_dropped"],
        )


SKETCH_FILE = SketchFile()
