"""What the number of possible values of some columns says about a population."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from anonrisk.api.question import in_one_state, question_of
from anonrisk.core.arguments import by_column, whole_number
from anonrisk.core.columns import nearest
from anonrisk.errors import ArgumentError
from anonrisk.measures.probabilistic import ProbabilisticK, domain_size, share_between

if TYPE_CHECKING:
    from collections.abc import Mapping

    from anonrisk.core.columns import Name, Names
    from anonrisk.core.types import Missing
    from anonrisk.measures.counts.class_sizes import ClassCounts


@in_one_state
def probabilistic_k(
    frame: Any,
    qids: Names | None = None,
    population_size: int | None = None,
    beta: float = 0.05,
    *,
    domain_sizes: Mapping[Any, int] | None = None,
    unit: Name | None = None,
    missing: Missing = "value",
) -> ProbabilisticK:
    r"""Return the k that each value has in the population with probability 1 − beta.

    Parameters
    ----------
    frame, qids, unit
        As in `anonrisk.classes`.
    missing
        As in `anonrisk.ldiv`.
    population_size : int
        Size of the population that the table is a sample of.
    beta : float
        The probability of fewer than k that is accepted, for each value by itself.
    domain_sizes : dict of column to int, optional
        How many values each column can take; left out, as many as the table shows.

    Returns
    -------
    ProbabilisticK
        `k` from the table's own distribution, and `even_k` from the number of possible values, all
        equally likely (the paper's assumption), each with the number of values that are expected
        to have fewer.

    Raises
    ------
    As in `anonrisk.classes`.

    See Also
    --------
    anonrisk.k : measured in the table instead
    anonrisk.is_quasi_identifier : whether so many values can single out a share
    anonrisk.predict.k_anonymous : chance that *no* class is smaller

    Notes
    -----
    Q3: the largest k with which one value fails with a chance of β at most, p the share of the
    table's rarest value, D the product of the domain sizes and N the population:

    .. math:: P(\mathrm{Bin}(N, \min(p, 1/D)) < k) \le \beta

    `even_k` has 1/D alone, and Chernoff's bound of theorem 4 beside it. No distribution over D
    values gives each of them more: hence the least of both.

    When it misleads: the promise is per value: of D equally likely values about βD fail. The
    table's shares are taken for the population's: a value that occurs once in the table, or not at
    all, may be rarer than that. Values are hardly ever equally likely: of a Zipf table most have
    fewer than `even_k`.

    References
    ----------
    S. Lodha & D. Thomas, *Probabilistic Anonymity*, theorem 4; corrected as in docs/formulas.md,
    ``lodha-theorem-4``.

    Examples
    --------
    >>> import pandas as pd
    >>> import anonrisk
    >>> df = pd.DataFrame({"sex": ["f", "m"] * 4, "half_year": list(range(8))})
    >>> df.anon.probabilistic_k(["sex", "half_year"], 300_000_000, 0.1,
    ...     domain_sizes={"half_year": 1_200_000})
    sex + half_year in a population of 300,000,000, with probability 0.9 for each
      value by itself
    2,400,000 values are possible (from the values that this table shows)
    assumption                              k   values expected below k
    shares as those of the table   111                  0.0 of 8
    all values equally likely      111    229,022.8 of 2,400,000
    the same, by Chernoff          102
    """
    size = population_of(population_size)
    beta = share_between(beta, "beta")
    sizes, domain, value = measured_domain(
        frame, qids, size, domain_sizes, unit=unit, missing=missing
    )
    return ProbabilisticK(sizes, domain, value, size, beta)


def population_of(value: Any) -> int:
    """Read the size of a population."""
    if value is None:
        raise ArgumentError("population_size is needed: how many people could be in the table")
    return whole_number(value, "population_size", at_least=1)


def measured_domain(
    frame: Any,
    qids: Any,
    population_size: int,
    domain_sizes: Mapping[Any, int] | None,
    *,
    unit: Name | None,
    missing: str,
) -> tuple[ClassCounts, int, bool]:
    """Count the classes, and the values that are possible: given, or as many as there are."""
    engine, question = question_of(frame, qids, unit=unit, missing=missing)
    fields = by_column(domain_sizes, "domain_sizes")
    unknown = next((name for name in fields if name not in question.qid), None)
    if unknown is not None:
        hint = nearest(unknown, question.qid)
        raise ArgumentError(
            f"domain_sizes names {unknown!r}, which is not a quasi-identifier{hint}"
        )
    sets = tuple((name,) for name in question.qid)
    wider = type(question)((question.qid, *sets), question.unit, question.missing)
    sizes, *singles = engine.count(frame, wider)
    if population_size < sizes.n_records:
        raise ArgumentError(
            f"population_size is smaller than the table, which has {sizes.n_records:,} records"
        )
    for name, single in zip(question.qid, singles, strict=True):
        if name not in fields:
            fields[name] = single.n_classes
        elif whole_number(fields[name], f"the domain size of {name!r}", at_least=1) < (
            single.n_classes
        ):
            raise ArgumentError(
                f"{name!r} has more different values in the table than its domain size allows"
            )
    known = domain_sizes is not None and all(name in domain_sizes for name in question.qid)
    return sizes, domain_size(fields[name] for name in question.qid), known
