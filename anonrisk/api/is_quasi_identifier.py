"""Whether columns are a quasi-identifier of a population, by their domain alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.probabilistic_k import measured_domain, population_of
from anonrisk.api.question import in_one_state
from anonrisk.measures.probabilistic import QidAnswer, share_between

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing


@in_one_state
def is_quasi_identifier(
    frame: Any,
    qids: Names | None = None,
    alpha: float = 0.2,
    population_size: int | None = None,
    domain_sizes: Mapping[Any, int] | None = None,
    *,
    unit: Name | None = None,
    missing: Missing = "value",
) -> QidAnswer:
    r"""Return whether some columns can single out more than a share of the population.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.
    alpha : float
        The share, between 0 and 1.
    population_size : int
        Size of the population that the table is a sample of.
    domain_sizes : dict of column to int, optional
        How many values each column can take. Without all of them nothing can be excluded: the
        values that a table happens to show bound nothing.

    Returns
    -------
    QidAnswer
        Its `answer` is ``"measured"`` where more than `alpha` of the table's own records are
        singletons, whatever the population; ``"excluded in expectation"`` where no distribution
        over the given domain makes more than `alpha` of the population unique; else ``"possible"``.

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.find_qids : searches for them by measuring
    anonrisk.probabilistic_k : the k that so many values leave
    anonrisk.uniqueness : measured in the table

    Notes
    -----
    Q1 and Q2 in their exact form: of n people on a domain of D values the expected share of
    singletons is, whatever the distribution, at most

    .. math:: (1 - 1/D)^{n - 1} \; (D \ge n), \qquad \frac{D}{n} (1 - 1/n)^{n - 1} \; (D \le n)

    When it misleads: ``"possible"`` is not yes: most distributions stay far below the bound. And
    what is excluded is so in expectation, for a domain that holds every value somebody may have.

    References
    ----------
    S. Lodha & D. Thomas, *Probabilistic Anonymity*, theorems 1 to 3; corrected as in
    docs/formulas.md, ``lodha-theorem-2``, ``lodha-theorems-1-2``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": ["f", "m"] * 4, "age": [30, 31] * 4})
    >>> possible = {"sex": 2, "age": 60}
    >>> asked = anonrisk.is_quasi_identifier(df, ["sex", "age"], 0.2, 300_000_000, possible)
    >>> asked.answer
    'excluded in expectation'
    >>> anonrisk.is_quasi_identifier(df, ["sex", "age"], 0.2, 300_000_000).answer
    'possible'
    """
    alpha = share_between(alpha, "alpha")
    size = population_of(population_size)
    sizes, domain, value = measured_domain(
        frame, qids, size, domain_sizes, unit=unit, missing=missing
    )
    return QidAnswer(sizes.qid, alpha, size, domain, value, sizes.uniqueness)
