"""Sketches: a sample of the classes under keyed hashes, for tables whose classes do not fit."""

from __future__ import annotations

import hmac
import json
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from anonrisk.api.asking import in_one_state
from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import question_of
from anonrisk.core import render
from anonrisk.core.arguments import whole_number
from anonrisk.core.keys import Key, as_key
from anonrisk.core.results import Estimated
from anonrisk.counts.sketch import ALL, SketchCounts, SketchTally
from anonrisk.engines.numpy.count import histogram
from anonrisk.errors import ArgumentError, EmptyTableError, StateError, WrongKeyError, raise_alone
from anonrisk.measures.sketch import total
from anonrisk.releases import state_file

if TYPE_CHECKING:
    import os

    from anonrisk.core.columns import Names
    from anonrisk.core.literals import Missing

_MAGIC = b"anonrisk sketch 1\n"
_CHECKSUM = 32
_LENGTH = 8
REVEALS = (
    "Pseudonymous personal data, not anonymous. With the key: everything that can be enumerated, "
    "by trying values, of a sample of the classes. Without it: how large these classes are, and "
    "which are the same in files of one key. Keep the key elsewhere."
)


@dataclass(frozen=True, eq=False, repr=False)
class Sketch(render.PrintedLines):
    """A sample of the classes of a table, each with its exact size: numbers with their error.

    Made by `anonrisk.sketch`. Where the table has fewer classes than are kept, every number is
    exact. Like a state it is pseudonymous personal data; see ``docs/states.md``.

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
    >>> monday = pd.DataFrame({"zip": ["1011", "1012"]}).anon.sketch("zip", key=key)
    >>> tuesday = pd.DataFrame({"zip": ["1011", "1013"]}).anon.sketch("zip", key=key)
    >>> week = monday.merge(tuesday)
    >>> week.uniqueness, week.n_classes, week.k
    (0.5 (exact), 3 (exact), 1)
    """

    counts: SketchCounts
    key: Key = field(repr=False)

    @property
    def key_id(self) -> str:
        """Tells keys apart, and says nothing else of them."""
        return state_file.key_id(self.key)

    @property
    def is_exact(self) -> bool:
        """Whether no class was left out."""
        return self.counts.is_whole

    @property
    def n_records(self) -> int:
        """Number of rows, which is exact."""
        return self.counts.n_rows

    def merge(self, other: Sketch) -> Sketch:
        """Give the sketch of two tables that share no row, one below the other; it is exact.

        A class among the smallest hashes of both is so in each that has it, so that the result is
        the sketch of the whole, number by number.
        """
        if not isinstance(other, Sketch):
            raise StateError(f"a sketch is merged with another one, not a {type(other).__name__}")
        if self.key != other.key:
            raise WrongKeyError(
                f"sketches of different keys have nothing in common: {self.key_id} here, "
                f"{other.key_id} there"
            )
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
        found = self._below(whole_number(k, "k", at_least=2), people=True)
        return Estimated(found / self.n_records, found.interval / self.n_records)

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
        """Give the class sizes where no class was left out; see `anonrisk.classes`."""
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

    # ---- on disk --------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file, readable by its owner alone.

        A writer that is killed leaves the file that was there, or the new one.
        """
        state_file.write(path, self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, key: Key | bytes) -> Sketch:
        """Read a file; refused are other keys, damaged and forged files, and newer versions."""
        return cls.from_bytes(state_file.read(path), key=key)

    def to_bytes(self) -> bytes:
        """Give what `save` writes: a header (JSON), the hashes, the sizes and a keyed checksum."""
        counts = self.counts
        header = {
            "reveals": REVEALS,
            "key_id": self.key_id,
            "qid": list(counts.qid),
            "missing": counts.missing,
            "kinds": counts.kinds,
            "end": counts.end,
            "most": counts.most,
            "n_rows": counts.n_rows,
            "n_dropped": counts.n_dropped,
        }
        told = json.dumps(header, sort_keys=True).encode()
        # Most classes are small, so that sizes take little room.
        sizes = zlib.compress(counts.rows.astype(">i8").tobytes(), 1)
        hashes = counts.hashes.astype(">u8").tobytes()
        body = _MAGIC + b"".join(
            len(part).to_bytes(_LENGTH, "big") + part for part in (told, hashes, sizes)
        )
        return body + _checksum(body, self.key)

    @classmethod
    def from_bytes(cls, data: bytes, *, key: Key | bytes) -> Sketch:
        """Read what `to_bytes` gave."""
        secret = as_key(key)
        header, hashes, sizes = _parts(data)
        if header.get("key_id") != state_file.key_id(secret):
            raise WrongKeyError(
                f"the sketch was made with another key: {header.get('key_id')!r}, not "
                f"{state_file.key_id(secret)!r}"
            )
        if not hmac.compare_digest(data[-_CHECKSUM:], _checksum(data[:-_CHECKSUM], secret)):
            raise StateError("the sketch is damaged, or was changed by somebody without the key")
        counts = SketchCounts(
            tuple(header["qid"]),
            header["missing"],
            header["kinds"],
            np.frombuffer(hashes, dtype=">u8").astype(np.uint64),
            np.frombuffer(zlib.decompress(sizes), dtype=">i8").astype(np.int64),
            header["end"],
            header["most"],
            header["n_rows"],
            header["n_dropped"],
        )
        return cls(counts, secret)

    def __eq__(self, other: object) -> bool:
        """Two are equal if they count the same under the same key."""
        if not isinstance(other, Sketch):
            return NotImplemented
        return self.key == other.key and self.counts == other.counts

    __hash__ = None  # type: ignore[assignment]

    def _lines(self) -> list[str]:
        counts = self.counts
        rows = render.count_of(counts.n_rows, "row")
        lines = [f"Sketch of {render.joined(counts.qid)}: {rows}, key {self.key_id}"]
        if counts.n_rows:
            kept = "all" if self.is_exact else f"{len(counts.rows):,} of about"
            of = render.count_of(round(self.n_classes), "class", "classes")
            share, (low, high) = self.uniqueness, self.uniqueness.interval
            # A percent would hide how close the ends are.
            band = "" if self.is_exact else f" (95%: {100 * low:.3g}% to {100 * high:.3g}%)"
            alone = f"{100 * share:.3g}% of the records are singletons{band}"
            lines += [f"holds {kept} {of}", alone]
        if counts.n_dropped:
            dropped = render.count_of(counts.n_dropped, "row")
            lines.append(f"{dropped} with a missing quasi-identifier left out")
        return [*lines, "pseudonymous personal data, not anonymous: keep it apart from its key"]


def _checksum(body: bytes, key: Key) -> bytes:
    return hmac.digest(key.derived("sketch file"), body, "sha256")


def _parts(data: bytes) -> tuple[dict[str, Any], bytes, bytes]:
    """Take a file apart; what is wrong with it is said without its bytes."""
    try:
        if not data.startswith(_MAGIC):
            raise ValueError  # noqa: TRY301
        parts, place = [], len(_MAGIC)
        for _ in range(3):
            start = place + _LENGTH
            place = start + int.from_bytes(data[place:start], "big")
            parts.append(data[start:place])
        header = json.loads(parts[0])
        if not isinstance(header, dict) or place + _CHECKSUM != len(data):
            raise ValueError  # noqa: TRY301
    except (AttributeError, TypeError, ValueError):
        raise_alone(StateError("this is not a sketch of anonrisk, or it is damaged"))
    return header, parts[1], parts[2]


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
    >>> df.anon.sketch("zip", key=key).uniqueness
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
