"""Sketches: a sample of the classes under keyed hashes, for tables whose classes do not fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import in_one_state, question_of
from anonrisk.core import render
from anonrisk.core.arguments import whole_number
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Estimated
from anonrisk.engines.numpy.count import histogram
from anonrisk.errors import ArgumentError, EmptyTableError, StateError
from anonrisk.measures.counts.keyed import ALL, SketchCounts, SketchTally, total
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.releases.state.keyed_file import Kept, KeyedFile

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from anonrisk.core.columns import Names
    from anonrisk.core.types import Missing


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
        """Return what is said of the counts, as plain values."""
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
        """Return the type of each column of the table."""
        return {"class": pa.uint64(), "rows": pa.int64()}

    def columns(self, pa: Any, counts: SketchCounts) -> dict[str, Any]:
        """Return what each of them holds."""
        return {"class": pa.array(counts.hashes), "rows": pa.array(counts.rows)}

    def contents(self, counts: SketchCounts) -> Iterator[NDArray[Any] | None]:
        """Yield all that the checksum covers, in order."""
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


@dataclass(frozen=True, eq=False, repr=False)
class Sketch(Kept[SketchCounts]):
    """A sample of the classes of a table, each with its exact size: numbers with their error.

    Made by `anonrisk.sketch`. Where the table has fewer classes than are kept, every number is
    exact. Like a state it is pseudonymous personal data; see ``docs/ledger.md``.

    Attributes
    ----------
    counts : SketchCounts
        The classes that are kept.
    key : Key
        The key of its hashes.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> key = anonrisk.keys.Key.generate()
    >>> monday = anonrisk.sketch(pd.DataFrame({"zip": ["1011", "1012"]}), "zip", key=key)
    >>> tuesday = anonrisk.sketch(pd.DataFrame({"zip": ["1011", "1013"]}), "zip", key=key)
    >>> week = monday.merge(tuesday)
    >>> week.uniqueness, week.n_classes, week.k
    (0.5 (exact), 3 (exact), 1)
    """

    file = SKETCH_FILE

    @property
    def is_exact(self) -> bool:
        """Whether no class was left out."""
        return self.counts.is_whole

    @property
    def n_records(self) -> int:
        """Number of rows, which is exact."""
        return self.counts.n_rows

    def merge(self, other: Sketch) -> Sketch:
        """Return the sketch of two tables that share no row, one below the other; it is exact.

        A class among the smallest hashes of both is so in each that has it, so that the result is
        the sketch of the whole, number by number.
        """
        self.check_same(other, "merged")
        return Sketch(self.counts.merge(other.counts), self.key)

    # ---- numbers with their error ---------------------------------------------------------

    @property
    def n_classes(self) -> Estimated:
        """Number of classes."""
        return self._below(None, people=False)

    @property
    def singletons(self) -> Estimated:
        """Number of classes of one."""
        return self._below(2, people=False)

    @property
    def uniqueness(self) -> Estimated:
        """Share of the records that are singletons; see `anonrisk.uniqueness`."""
        return self.fraction_below(2)

    def fraction_below(self, k: int) -> Estimated:
        """Share of the records in classes smaller than `k`."""
        below = self._below(whole_number(k, "k", at_least=2), people=True)
        return Estimated(below / self.n_records, below.interval / self.n_records)

    def _below(self, k: int | None, *, people: bool) -> Estimated:
        """Count the classes smaller than `k`, or the records in them."""
        counts = self.counts
        if not counts.n_rows:
            raise EmptyTableError("the sketch holds no record; there is nothing to measure")
        inside = counts.rows if k is None else np.where(counts.rows < k, counts.rows, 0)
        parts = inside if people else (inside > 0).astype(np.int64)
        unseen = counts.n_rows - int(counts.rows.sum())
        largest = k - 1 if people and k is not None else 1
        most = int(parts.sum()) + unseen
        return total(parts, counts.end / ALL, largest=largest, at_most=most)

    # ---- numbers that need every class ----------------------------------------------------

    def classes(self) -> ClassSizes:
        """Return the class sizes where no class was left out; see `anonrisk.classes`."""
        if not self.is_exact:
            raise StateError(
                f"the sketch holds {len(self.counts.rows):,} of about {self.n_classes:,.0f} "
                "classes, and the smallest may be among the others: ask for a state, or for "
                "uniqueness and fraction_below, which have an error"
            )
        sizes, classes = histogram(self.counts.rows)
        counts = self.counts
        return ClassSizes(
            sizes,
            classes,
            qid=counts.qid,
            missing=counts.missing,
            n_rows=counts.n_rows,
            n_dropped=counts.n_dropped,
        )

    @property
    def k(self) -> int:
        """Size of the smallest class, where no class was left out; see `anonrisk.k`."""
        return self.classes().k

    def _lines(self) -> list[str]:
        counts = self.counts
        rows = render.count_of(counts.n_rows, "row")
        lines = [f"Sketch of {render.joined(counts.qid)}: {rows}, key {self.key_id}"]
        if counts.n_rows:
            kept = "all" if self.is_exact else f"{len(counts.rows):,} of about"
            about = render.count_of(round(self.n_classes), "class", "classes")
            share, (low, high) = self.uniqueness, self.uniqueness.interval
            # A percent would hide how close the ends are.
            band = "" if self.is_exact else f" (95%: {100 * low:.3g}% to {100 * high:.3g}%)"
            alone = f"{100 * share:.3g}% of the records are singletons{band}"
            lines += [f"holds {kept} {about}", alone]
        return [*lines, *self._last_lines()]


@in_one_state
def sketch(
    frame: Any,
    qids: Names | None = None,
    *,
    key: Key | bytes,
    missing: Missing = "value",
) -> Sketch:
    """Sample the classes of a table under keyed hashes, for tables whose classes do not fit.

    The 1,048,576 classes with the smallest hashes are kept, each with its exact size: 16 MB,
    whatever the size of the table. Where it has no more classes, every number is exact.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.classes`. Records are counted; of persons, and of sensitive values, ask for
        a state.
    key : Key or bytes
        As in `anonrisk.state`. Sketches that are to be merged need one key.
    missing : {"value", "drop", "error"}
        As in `anonrisk.state`.

    Returns
    -------
    Sketch
        With `uniqueness`, `fraction_below`, `singletons`, `n_classes`, `merge`, `save`.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingValuesError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    SecretKeyError
        As in `anonrisk.pseudonymize`.

    See Also
    --------
    anonrisk.state : all classes, with persons and sensitive values
    anonrisk.uniqueness : the share of singletons of one table, exactly

    Notes
    -----
    The hash of a class is that of `anonrisk.state`, of which 64 bits are looked at. They are as
    good as random, so that the classes with the smallest are a random sample (K minimum values:
    Beyer et al. 2007; with what each value has beside it: Chia et al. 2019). Shares have intervals
    at 95% whose coverage is simulated in the tests. A share of singletons of 1% or more is known
    to within 2% of itself, because at least 1.98% of the classes are then singletons, and 20,700
    of those kept.

    What it does not tell: the smallest class of a sample is not the smallest of the table. A sketch
    that leaves classes out gives no k, and whoever needs one asks for a state. Records that a
    person has in several classes count once in each.

    References
    ----------
    - K. Beyer, P. J. Haas, B. Reinwald, Y. Sismanis & R. Gemulla, *On synopses for distinct-value
      estimation under multiset operations*, SIGMOD 2007.
    - P. H. Chia et al., *KHyperLogLog: Estimating reidentifiability and joinability of large data
      at scale*, IEEE Symposium on Security and Privacy 2019.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"]})
    >>> key = anonrisk.keys.Key.generate()
    >>> anonrisk.sketch(df, "zip", key=key).uniqueness
    0.333333 (exact)
    """
    secret = as_key(key)
    engine, question = question_of(frame, qids, unit=None, missing=missing)
    if question.unit is not None:
        raise ArgumentError(
            f"a sketch counts records, and the table declares the unit {question.unit!r}: ask for "
            "a state, which counts persons, or give a table without that role"
        )
    return Sketch(engine.tally(frame, SketchTally(question, secret)), secret)
