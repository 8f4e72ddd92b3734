"""Whole persons: how many have the same rows, all of them together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.class_sizes import ClassSizes
from anonrisk.api.question import in_one_state, question_of
from anonrisk.errors import RolesNotGivenError
from anonrisk.measures.counts.question import WholePersons

if TYPE_CHECKING:
    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing


@in_one_state
def whole_person(
    frame: Any,
    qids: Names | None = None,
    *,
    unit: Name | None = None,
    missing: Missing = "value",
) -> ClassSizes:
    r"""Count the persons who are alike as a whole: all their rows together, not one row.

    Parameters
    ----------
    frame, qids
        As in `anonrisk.classes`.
    unit : name, optional
        The column that says which person a row belongs to; left out, the one that was declared.
    missing : {"value", "drop", "error"}
        Whether a missing quasi-identifier is a value like any other, is left out with its row (a
        person without any other row is then not counted), or is refused.

    Returns
    -------
    ClassSizes
        Its records are persons, and each is in one class: k is the number of persons in the
        smallest, `uniqueness` the share of persons whom nobody else is like.

    Raises
    ------
    As in `anonrisk.classes`.
    RolesNotGivenError
        If no quasi-identifiers or no unit is named or declared.

    See Also
    --------
    anonrisk.classes : persons who share one row, with ``unit=``
    anonrisk.trajectory : whom a few of their rows single out
    anonrisk.linkability : whether a new pseudonym helps

    Notes
    -----
    T14. R(p) is the multiset of a person's rows over the quasi-identifier: which combinations
    the person has, and how often each. Two persons are alike if theirs are equal:

    .. math:: k = \min_p \left| \{ q : R(q) = R(p) \} \right|

    It is never larger than k of `anonrisk.classes` with the same unit, and equal to it where
    every person has one row. Whoever knows less than all of a person's rows is met by
    `anonrisk.trajectory`. Rows are compared themselves, never by a hash alone.

    When it misleads: the attacker knows every row of the person, and how often each occurs, which
    few do; of a table with many rows per person nearly everybody is unique by it. And persons
    who are alike may still share what nobody should know of them.

    References
    ----------
    - Y. He & J. F. Naughton, *Anonymization of Set-Valued Data via Top-Down, Local
      Generalization*, PVLDB 2(1), 2009, 934-945: k-anonymity of whole transactions, which are sets
      there; here it also counts how often a row occurs.

    Examples
    --------
    Every combination is shared by two persons, and still each is alone as a whole:

    >>> import pandas as pd
    >>> import anonrisk
    >>> visits = pd.DataFrame({
    ...     "patient": [1, 1, 2, 2, 3, 3],
    ...     "zip": ["1011", "1012", "1012", "1013", "1011", "1013"],
    ... })
    >>> visits.anon.k("zip", unit="patient")
    2
    >>> visits.anon.whole_person("zip", unit="patient")
    Whole persons of zip: 3 persons in 3 classes, k = 1
    3 persons (100.0%) are singletons
    6 rows; a person (patient) is like those who have the same rows, all together
    class size   classes   persons    share
             1         3         3   100.0%
    """
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    if question.unit is None:
        raise RolesNotGivenError(
            "no unit: name the column that says whose row it is, as in "
            "df.anon.whole_person(['zip', 'age'], unit='patient'), or once for the table, as in "
            "df = df.anon.declare(quasi=['zip', 'age'], unit='patient')"
        )
    return ClassSizes.of(engine.count(frame, WholePersons(question)))
