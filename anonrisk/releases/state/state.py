"""States: counts of a table that are kept, and added up with those of other days and engines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import in_one_state, question_of
from anonrisk.api.roles import roles
from anonrisk.api.sensitive import diversity_score, question_about
from anonrisk.api.summary import summarised
from anonrisk.core import render
from anonrisk.core.arguments import one_of, renaming
from anonrisk.core.columns import as_names, nearest
from anonrisk.core.frozen import dataclass
from anonrisk.engines.numpy.count import histogram, histogram_of_persons, runs_of
from anonrisk.engines.numpy.profile import distinct_counts
from anonrisk.errors import ColumnNotFoundError, EmptyTableError, StateError
from anonrisk.measures.counts.class_profiles import ValueCounts
from anonrisk.measures.counts.keyed import KeyedCounts, KeyedTally
from anonrisk.measures.counts.question import Score
from anonrisk.measures.scores import FORMULAS
from anonrisk.pseudonyms.encoding import placed
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.releases.compare.difference import compare_counts
from anonrisk.releases.state.keyed_file import STATE_FILE, Kept

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Diversity, Integers, Missing
    from anonrisk.pseudonyms.encoding import Hashes
    from anonrisk.releases.compare.comparison import Comparison


@dataclass(frozen=True, eq=False, repr=False)
class State(Kept[KeyedCounts]):
    """The classes of a table under keyed hashes: counts that outlive the table and add up.

    Made by `anonrisk.state`. It is pseudonymous personal data: who has the key can try every
    value, and who has not sees how large classes are, how frequent values, and which are the same
    in two states of one key. See ``docs/ledger.md``.

    Attributes
    ----------
    counts : KeyedCounts
        The counts themselves.
    key : Key
        The key of its hashes.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> key = anonrisk.keys.Key.generate()
    >>> monday = pd.DataFrame({"zip": ["1011", "1012"]}).anon.state("zip", key=key)
    >>> tuesday = pd.DataFrame({"zip": ["1011", "1013"]}).anon.state("zip", key=key)
    >>> week = monday.merge(tuesday)
    >>> week.k, week.uniqueness, week.classes().n_classes
    (1, 0.5, 3)
    """

    file = STATE_FILE

    def merge(self, other: State) -> State:
        """Add up the counts of two tables that share no row: the state of one below the other.

        States of different keys, columns, types of columns or rules for missing values are
        refused.
        """
        self.check_same(other, "merged")
        return State(self.counts.merge(other.counts), self.key)

    def compare(self, previous: State) -> Comparison:
        """Compare with the state of an earlier release; see `anonrisk.compare`.

        The quasi-identifier may be another one, if there is a unit.
        """
        self.check_same(previous, "compared")
        return compare_counts(previous.counts, self.counts)

    # ---- class sizes ----------------------------------------------------------------------

    def classes(self) -> ClassSizes:
        """Return the class sizes, with all that they answer; see `anonrisk.classes`.

        With a unit they count persons.
        """
        counts = self.counts
        persons = None
        if counts.persons is None:
            sizes, classes = histogram(counts.rows)
        else:
            sizes, classes, persons = histogram_of_persons(
                _numbered(counts.classes), placed(counts.persons)[1]
            )
        return ClassSizes(
            sizes,
            classes,
            persons,
            qid=counts.qid,
            unit=counts.unit,
            missing=counts.missing,
            n_rows=counts.n_rows,
            n_dropped=counts.n_dropped,
        )

    @property
    def k(self) -> int:
        """Size of the smallest class; see `anonrisk.k`."""
        return self.classes().k

    @property
    def uniqueness(self) -> float:
        """Share of the records that are singletons; see `anonrisk.uniqueness`."""
        return self.classes().uniqueness

    def summary(self, sizes: Sequence[int] = (1, 5, 10, 50, 100)) -> pd.DataFrame:
        """Summarise the class sizes in a row; see `anonrisk.summary`."""
        return summarised(self.classes(), sizes)

    # ---- sensitive values -----------------------------------------------------------------

    @renaming(kind="variant=")
    def ldiv(
        self,
        sensitive: Names | None = None,
        variant: Diversity = "distinct",
        *,
        c: float | None = None,
    ) -> float:
        """Return the l-diversity; see `anonrisk.ldiv`. A missing value is one like any other.

        Parameters
        ----------
        sensitive : name or list of names, optional
            Columns that the state holds; of several, the worst counts. Left out, all of them.
        variant : {"distinct", "entropy", "recursive"}
            As in `anonrisk.ldiv`.
        c : float
            As in `anonrisk.ldiv`.
        """
        return self._worst(sensitive, diversity_score(variant, c))

    def tcloseness(
        self, sensitive: Names | None = None, distance: Literal["equal"] = "equal"
    ) -> float:
        """Return the t-closeness; see `anonrisk.tcloseness`. A missing value is one like any other.

        Parameters
        ----------
        sensitive : name or list of names, optional
            Columns that the state holds; of several, the worst counts. Left out, all of them.
        distance : {"equal"}
            Hashes have no order and no hierarchy, so that every two values are equally far apart.
        """
        return self._worst(sensitive, Score(one_of(distance, "distance", ("equal",))))

    def _worst(self, sensitive: Names | None, score: Score) -> float:
        formula = FORMULAS[score.name]
        names = self._held(sensitive)
        return formula.worst_of(formula.worst(self.profiles(name), score.c) for name in names)

    def _held(self, sensitive: Names | None) -> Sequence[Name]:
        held = self.counts.sensitive
        names = held if sensitive is None else as_names(sensitive, "sensitive column", held)
        for name in names:
            if name not in held:
                raise ColumnNotFoundError(
                    f"the state does not hold sensitive column {name!r}{nearest(name, held)}"
                )
        if not names:
            raise StateError("the state holds no sensitive column: make it with sensitive=…")
        return names

    def profiles(self, sensitive: Name) -> ValueCounts:
        """Count the values of a sensitive column per class; every class is a kind of its own."""
        (name,) = self._held([sensitive])
        counts, result = self.counts, self.counts.values[name]
        if not len(result.rows):
            raise EmptyTableError("the state holds no record; there is nothing to measure")
        keys, (values, ranks) = _numbered(result.classes), placed(result.values)
        if result.persons is None or counts.persons is None:
            sizes = counts.rows
            entries = keys, ranks, result.rows
            overall = np.bincount(ranks, result.rows, len(values))
        else:
            units = placed(result.persons)[1]
            sizes = np.bincount(_numbered(counts.classes))
            entries = distinct_counts(keys, ranks, units)
            _, of_rank, ones = distinct_counts(np.zeros_like(keys), ranks, units)
            overall = np.bincount(of_rank, ones, len(values))
        of_class, of_value, times = entries
        return ValueCounts(
            starts=np.append(runs_of(of_class), len(of_class)),
            ranks=of_value,
            counts=times,
            classes=np.ones(len(sizes), dtype=np.int64),
            sizes=sizes,
            overall=overall.astype(np.int64),
            qid=counts.qid,
            sensitive=name,
            unit=counts.unit,
            missing=counts.missing,
            n_rows=counts.n_rows,
            n_dropped=counts.n_dropped,
        )

    def _lines(self) -> list[str]:
        counts = self.counts
        rows = render.count_of(counts.n_rows, "row")
        lines = [f"State of {render.joined(counts.qid)}: {rows}, key {self.key_id}"]
        if counts.n_rows:
            lines[0] += f", k = {self.k}"
        if counts.unit is not None:
            lines.append(f"counts persons ({render.named(counts.unit)})")
        if counts.sensitive:
            lines.append(f"holds the values of {render.joined(counts.sensitive)}")
        return [*lines, *self._last_lines()]


def _numbered(ascending: Hashes) -> Integers:
    """Number runs of equal hashes."""
    new = (ascending[1:] != ascending[:-1]).any(axis=1)
    return np.concatenate(([0], np.cumsum(new)))[: len(ascending)]


@in_one_state
def state(
    frame: Any,
    qids: Names | None = None,
    *,
    unit: Name | None = None,
    sensitive: Names | None = None,
    key: Key | bytes,
    missing: Missing = "value",
) -> State:
    """Count the classes of a table under keyed hashes: counts that outlive it, and add up.

    States of partitions, days and engines are merged into that of all the rows together, without
    another look at any of them. A state is pseudonymous personal data; see ``docs/ledger.md``.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`. With a unit the state holds each person of each class, and is as
        large as the table.
    sensitive : name or list of names, optional
        Columns whose values are counted too, for l-diversity, t-closeness and comparisons. Left
        out, those that were declared, if any.
    key : Key or bytes
        As in `anonrisk.pseudonymize`. States that are to be merged or compared need one key.
    missing : {"value", "drop", "error"}
        As in `anonrisk.ldiv`. A missing sensitive value is one like any other.

    Returns
    -------
    State
        With `merge`, `classes`, `k`, `uniqueness`, `summary`, `ldiv`, `tcloseness`, `save`.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingValuesError, MissingUnitError
        As in `anonrisk.classes`.
    UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    SecretKeyError
        As in `anonrisk.pseudonymize`.

    See Also
    --------
    anonrisk.classes : class sizes alone, which do not add up
    anonrisk.pseudonymize : keyed pseudonyms in a table

    Notes
    -----
    A class is HMAC-SHA-256 of its cells, typed and with their lengths before them, cut to 128
    bits, under a subkey of the key (HKDF, RFC 5869). Classes are formed first and hashed once each,
    so that the cost is that of `anonrisk.classes` and of one hash a class. Columns hold text,
    integers, floats, booleans, dates, instants (to the microsecond), decimals or bytes.

    Rows that are in two states are counted twice when these are merged. 7 and
    7.0 have different hashes: states whose columns have different types are refused.

    References
    ----------
    - H. Krawczyk, M. Bellare & R. Canetti, *HMAC: Keyed-Hashing for Message Authentication*,
      RFC 2104, 1997.
    - H. Krawczyk & P. Eronen, *HMAC-based Extract-and-Expand Key Derivation Function (HKDF)*,
      RFC 5869, 2010.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011", "1011", "1012"], "illness": ["flu", "cold", "flu"]})
    >>> key = anonrisk.keys.Key.generate()
    >>> df.anon.state("zip", sensitive="illness", key=key)
    State of zip: 3 rows, key ..., k = 1
    holds the values of illness
    pseudonymous personal data, not anonymous: keep it apart from its key
    """
    secret = as_key(key)
    names: tuple[Name, ...] = ()
    if sensitive is None and not roles(frame).sensitive:
        engine, question = question_of(frame, qids, unit=unit, missing=missing)
    else:
        engine, question, columns = question_about(
            frame, qids, sensitive, unit=unit, missing=missing, missing_sensitive="value"
        )
        names = tuple(column.column for column in columns)
    return State(engine.tally(frame, KeyedTally(question, names, secret)), secret)
