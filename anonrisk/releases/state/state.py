"""States: counts of a table that are kept, added up with others, and gated as a whole."""

from __future__ import annotations

from functools import partial
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
from anonrisk.measures.counts.question import Group, Score, Sensitive
from anonrisk.measures.scores import FORMULAS
from anonrisk.policy.budgets.base import SensitiveBudget, Value
from anonrisk.policy.check import checked
from anonrisk.policy.evidence import Evidence, Problem, attempt
from anonrisk.policy.measure import CheckedTable, Counted, asked_by, context_of
from anonrisk.pseudonyms import encoding
from anonrisk.pseudonyms.encoding import placed
from anonrisk.pseudonyms.keys import Key, as_key
from anonrisk.releases.compare.difference import compare_counts
from anonrisk.releases.state.keyed_file import STATE_FILE, Kept
from anonrisk.releases.state.sketch import Sketch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from anonrisk.core.columns import Name, Names, Qid
    from anonrisk.core.types import Diversity, Integers, Missing
    from anonrisk.policy.budgets import Budget
    from anonrisk.policy.policy import Policy
    from anonrisk.policy.release_rules import Published
    from anonrisk.policy.terms import Terms
    from anonrisk.policy.verdict import Verdict
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


# Of a sample of the classes: what each of these budgets measures, by its k where it has one.
_SHARES = ("max_unique_fraction", "max_fraction_below_k")
_NUMBERS = ("max_unique_records", "max_records_below_k")


def check_union(
    policy: Policy, frame: Any, held: State | Sketch | Problem, *, name: str | None = None
) -> Verdict:
    """Judge what a table publishes together with all that a state, or a sketch, has counted.

    Parameters
    ----------
    policy : Policy
        What the union must satisfy. Its quasi-identifier, unit and rule for missing values are
        those of the state; what needs the rows themselves (predictions about other people, groups
        of `by`, several quasi-identifiers) could not be assessed.
    frame
        The newest part, of which the columns are judged.
    held : State or Sketch
        The counts of all parts, the newest included. By a sketch that leaves classes out, a share
        is judged by both ends of its interval, and k could not be assessed. Or why there are none.
    name : str, optional
        What to call it in the verdict.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> monday = pd.DataFrame({"zip": ["1011", "1012"]})
    >>> tuesday = pd.DataFrame({"zip": ["1011", "1012"]})
    >>> key = anonrisk.keys.Key.generate()
    >>> one, two = (day.anon.state("zip", key=key) for day in (monday, tuesday))
    >>> policy = anonrisk.Policy(quasi="zip", k=2)
    >>> policy.check(tuesday).status, check_union(policy, tuesday, one.merge(two)).status
    ('fail', 'pass')
    """
    return checked(policy, frame, name=name, counted_by=partial(_counted, held))[0]


def _counted(
    held: State | Sketch | Problem,
    policy: Terms,
    frame: Any,
    _population: Any,
    published: Published,
) -> Counted:
    table = CheckedTable.of(policy, frame, published)
    qids, wanted = asked_by(policy, table)
    if isinstance(held, Problem):
        measured = {qid: Evidence(groups=held) for qid in wanted}
        return Counted(table.published, table.roles, table.engine.name, qids, measured)
    measured = {qid: _evidence(held, policy, table, qid, wanted[qid]) for qid in wanted}
    rows = render.count_of(held.counts.n_rows, "row")
    kind = type(held).__name__.casefold()
    return Counted(table.published, table.roles, f"{kind} of {rows}", qids, measured)


def _evidence(
    held: State | Sketch, policy: Terms, table: CheckedTable, qid: Qid, budgets: Sequence[Budget]
) -> Evidence:
    evidence = Evidence()
    refused = attempt(lambda: _check(held, policy, table, qid))
    if isinstance(refused, Problem):
        evidence.groups = refused
        return evidence
    sizes = attempt(held.classes)
    evidence.groups = sizes if isinstance(sizes, Problem) else [Group(None, sizes, sizes.n_dropped)]
    for budget in budgets:
        if isinstance(budget, SensitiveBudget):
            for name in budget.sensitive or table.roles.sensitive:
                evidence.worst[name, budget.measure] = attempt(
                    partial(_scored, held, policy, table, name, budget)
                )
        elif isinstance(held, Sketch) and not held.is_exact:
            evidence.estimates |= _estimated(held, budget)
        need = budget.need(context_of(policy, table.roles))
        if need is not None:
            why = "it needs all rows, and of earlier ones only counts are left"
            evidence.apart[need.name] = Problem(why)
    return evidence


def _check(held: State | Sketch, policy: Terms, table: CheckedTable, qid: Qid) -> None:
    """Reject counts of something else than the policy asks about."""
    counts = held.counts
    unit = getattr(counts, "unit", None)
    for what, mine, its in (
        ("columns", sorted(map(str, qid)), sorted(map(str, counts.qid))),
        ("unit", table.roles.unit, unit),
        ("missing", policy.missing, counts.missing),
        ("by", policy.by, None),
    ):
        if mine != its:
            raise StateError(
                f"the policy asks about {what} {render.shown(mine)}, and what was counted so far "
                f"is of {render.shown(its)}"
            )


def _scored(
    held: State | Sketch, policy: Terms, table: CheckedTable, name: Name, budget: SensitiveBudget
) -> float:
    if isinstance(held, Sketch):
        raise StateError("a sketch holds no sensitive values; keep a state")
    plain = Sensitive(name, policy.missing_sensitive or "error")
    about, score = budget.score(table.engine, table.frame, plain)
    if about.ordered or about.order is not None or about.hierarchy is not None:
        raise StateError("hashes have no order and no hierarchy: name distance: equal")
    counts = held.profiles(name)
    if policy.missing_sensitive != "value":
        missing = encoding.value_hashes(held.key, name, [encoding.MISSING])
        if (held.counts.values[name].values == missing).all(axis=1).any():
            raise StateError(
                f"sensitive column {name!r} is missing in some rows, which a state takes for a "
                "value like any other: set missing_sensitive to value if they are that"
            )
    return FORMULAS[score.name].worst(counts, score.c)


def _estimated(held: Sketch, budget: Budget) -> dict[Budget, Value]:
    """Return both ends of what a budget on a share or a number of records measures."""
    if budget.key not in (*_SHARES, *_NUMBERS):
        return {}
    low, high = held.fraction_below(getattr(budget, "k", 2)).interval
    times = held.n_records if budget.key in _NUMBERS else 1
    # Within by the upper end it is kept, outside by the lower one broken, else nobody can tell.
    return {budget: Value(high * times, low * times)}
