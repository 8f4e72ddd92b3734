"""What two releases tell about people that neither tells alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state
from anonrisk.pseudonyms.encoding import MISSING, value_hashes
from anonrisk.pseudonyms.keys import Key
from anonrisk.releases.compare.difference import compare_with_all
from anonrisk.releases.state.state import State, state

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing
    from anonrisk.pseudonyms.encoding import Hashes
    from anonrisk.releases.compare.comparison import Comparison


@in_one_state
def compare(
    frame: Any,
    qids: Names | None = None,
    *,
    previous: Any,
    unit: Name | None = None,
    sensitive: Names | None = None,
    missing: Missing = "value",
) -> Comparison:
    r"""Compare a table with an earlier release: whom both together expose, and what they tell.

    Parameters
    ----------
    frame : DataFrame
        The table to be released, of any kind that the other functions take.
    qids, unit
        As in `anonrisk.classes`. Without a unit only net changes are known: if somebody left a
        class and somebody else came to it, nobody sees that.
    previous : DataFrame or State
        What was released before: a table of the same or of another kind, with columns of the same
        names, or a state of it, whose key is then used for this table too.
    sensitive : name or list of names, optional
        Columns of which it is told whose value is learned. Left out, those that were declared, if
        any.
    missing : {"value", "drop", "error"}
        As in `anonrisk.ldiv`.

    Returns
    -------
    Comparison
        With `exposed`, `exposed_by`, `unseen`, `learned_values`, `at_risk`, `renewed`, `to_frame`,
        `to_dict` and the counts behind them; no cell and no hash of one.

    Raises
    ------
    ColumnNotFoundError, RolesNotGivenError, RolesLostError, MissingValuesError, MissingUnitError
        As in `anonrisk.classes`.
    EmptyTableError, UnsupportedColumnError, UnsupportedFrameError, ArgumentError
        As in `anonrisk.classes`.
    StateError
        If the releases have other columns or types, and cannot be compared.

    See Also
    --------
    anonrisk.state : keeps what a comparison needs of a release, without the release
    anonrisk.classes : what one table tells alone
    anonrisk.linkability : persons followed across a change of pseudonyms

    Notes
    -----
    An attacker who holds both releases and knows everybody's class in each sees groups: the persons
    with the same class before and the same class now, where being in no class counts as one. With
    :math:`B_c` and :math:`N_c` the persons of class c before and now, and B and N all persons, they
    are

    .. math:: N_c \setminus B,\quad B_c \setminus N,\quad B_c \cap N_c,\quad B_c \cap N_d

    (added, removed, stayed, moved). If two of a group exchanged their values, neither release would
    change: a person is hidden among their group, and nowhere else. A person is exposed for k if a
    group of theirs has fewer than k persons, unless it is a class of the same persons in both
    releases. A value is learned if all of a group have it, and no class that they are in has it
    alone, so that neither release tells it.

    Somebody who stayed in a class with more rows than before, or with fewer, is also in a group
    with all of that class of whom the same is true. Somebody in several classes is judged in each;
    if none of these is in both releases, they moved, from all to all.

    Of net changes, a class with d records more, or fewer, exposes those d; one with more of one
    value and less of another has changed by at least one record in either way.

    When it misleads: pseudonyms that changed make a person two. Where nobody is in both releases,
    net changes are counted, as without a unit; where many have changed, `renewed` is true. It
    compares two releases; what three tell together that no two of them do is in
    ``docs/differencing.md``.

    References
    ----------
    - S. R. Ganta, S. P. Kasiviswanathan & A. Smith, *Composition Attacks and Auxiliary Information
      in Data Privacy*, KDD 2008, 265-273.
    - X. Xiao & Y. Tao, *m-Invariance: Towards Privacy Preserving Re-publication of Dynamic
      Datasets*, SIGMOD 2007, 689-700.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> now = pd.DataFrame({
    ...     "zip": ["1011"] * 6 + ["1012"] * 5,
    ...     "patient": range(11),
    ...     "illness": ["flu", "cold"] * 5 + ["flu"],
    ... })
    >>> before = now[now["patient"] != 4]
    >>> before.anon.k("zip"), now.anon.k("zip"), now.anon.ldiv("zip", "illness")
    (5, 5, 2)
    >>> found = now.anon.compare("zip", previous=before, unit="patient", sensitive="illness")
    >>> found
    Comparison of zip: 10 persons before, 11 now, 10 in both
             persons   smallest group   in groups below 5
    added          1                1                   1
    stayed         5                5                   0
    The value of illness is learned of 1 person.
    >>> found.exposed(5), found.unseen(5)
    (1, 1)
    """
    earlier = previous
    key = previous.key if isinstance(previous, State) else Key.generate()
    current = state(frame, qids, unit=unit, sensitive=sensitive, key=key, missing=missing)
    if not isinstance(previous, State):
        asked = current.counts
        earlier = state(
            previous,
            asked.qid,
            unit=asked.unit,
            sensitive=asked.sensitive or None,
            key=key,
            missing=missing,
        )
    return compare_states(earlier, current)


def compare_states(before: State, current: State) -> Comparison:
    """Compare two states of one key; see `anonrisk.compare`.

    The quasi-identifier may be another one, if there is a unit: the same persons are then looked
    for in other classes. Other units, sensitive columns, types of columns and ways to take missing
    values are refused.
    """
    return current.compare(before)


def compare_all(
    earlier: Sequence[State],
    current: State,
    *,
    by_parts: bool = False,
    missing_sensitive: str | None = None,
) -> Iterator[Comparison]:
    """Compare a state with each earlier one, then with all of them together.

    Together means the union of those with one quasi-identifier, where there is a unit: what was
    published in two parts, and then as a whole with one person more, exposes that person by no
    pair of releases. With `by_parts`, people may know some columns of the quasi-identifier alone;
    with `missing_sensitive` "drop", a missing value is none, and hides nobody.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"zip": ["1011"] * 5, "who": range(5)})
    >>> key = anonrisk.keys.Key.generate()
    >>> parts = (df[:2], df[2:4], df)
    >>> first, second, whole = (one.anon.state("zip", unit="who", key=key) for one in parts)
    >>> [one.exposed(2) for one in compare_all([first, second], whole)]
    [0, 0, 1]
    """
    for item in earlier:
        current.check_same(item, "compared")
    blanks = blanks_of(current, missing_sensitive)
    counts = [item.counts for item in earlier]
    yield from compare_with_all(counts, current.counts, by_parts=by_parts, blanks=blanks)


def blanks_of(current: State, missing_sensitive: str | None) -> dict[Name, Hashes]:
    """Return what a missing value of each sensitive column hashes to, where it counts as none."""
    return {
        name: value_hashes(current.key, name, [MISSING])
        for name in (current.counts.sensitive if missing_sensitive == "drop" else ())
    }
