"""How anonymous a person is to an attacker who suspects some people more than others (H1 to H3)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core import render
from anonrisk.core.frozen import dataclass
from anonrisk.core.results import Document
from anonrisk.errors import ArgumentError
from anonrisk.predict.distribution import as_probabilities, check_sum

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


@dataclass(frozen=True, repr=False)
class DegreeOfAnonymity(Document, render.PrintedLines):
    """What an attacker with a suspicion still does not know; made by `degree`.

    Attributes
    ----------
    degree : float
        What is unknown as a share of what there is to know: 0 when the attacker is certain, 1 when
        everybody is as likely.
    least : float
        The same for an attacker who guesses once: what the likeliest person hides. Never above
        `degree`.
    bits : float
        The entropy of the suspicion: bits that the attacker lacks.
    best_guess : float
        Probability that the likeliest person is the right one.
    n_people : int
        People in the set, those included whom the attacker has ruled out.
    n_possible : int
        People whom the attacker has not ruled out.
    """

    degree: float
    least: float
    bits: float
    best_guess: float
    n_people: int
    n_possible: int

    @property
    def equally_likely(self) -> float:
        """How many equally likely people would leave the attacker as much in doubt: 2^H."""
        return float(2**self.bits)

    def _lines(self) -> list[str]:
        people = render.count_of(self.n_people, "person", "people")
        alike = f"as among {self.equally_likely:.3g} who are equally likely"
        guess = f"The best guess is right with a probability of {render.percent(self.best_guess)}"
        return [
            f"Degree of anonymity {self.degree:.3f} among {people}",
            f"{self.bits:.3f} bits are unknown, {alike}",
            f"{guess}: by that the degree is {self.least:.3f}",
        ]


def degree(probabilities: ArrayLike) -> DegreeOfAnonymity:
    """Return the degree of anonymity against an attacker's own suspicion.

    Parameters
    ----------
    probabilities : list of float
        For each person of the set, how likely the attacker holds it that this is the one who is
        looked for; 0 for somebody who is ruled out. They sum to 1.

    Returns
    -------
    DegreeOfAnonymity

    See Also
    --------
    anonrisk.ClassSizes.degree : of a table
    anonrisk.entropy : the entropy of a table's values

    Notes
    -----
    H2: d = H / log2 N with H = −Σ p log2 p (equation 2.4); of one person it is 0. `least` takes the
    min-entropy H_∞ = −log2 max p (H3) in place of H: where one person stands out among many, d
    stays high although a single guess is likely right. Two slips of the source: with probabilities
    of 1/2 and nine times 1/18 one person is 9 times as likely as another, not 10, and d is 0.778
    (2.2.1); the min-entropy is no certainty of the attacker, and the entropy of order 0, log2 of
    `n_possible`, does not make everybody as likely (2.2.2).

    `classes(…).degree` of a table is the mean of d over its records, to an attacker who knows the
    quasi-identifier and holds the people of a class for equally likely.

    References
    ----------
    - C. Díaz et al., *Towards Measuring Anonymity*, PET 2002, LNCS 2482, 54-68.
    - M. R. Koot, *Measuring and Predicting Anonymity*, University of Amsterdam 2012, 2.2.1 and
      2.2.2; corrected as in docs/formulas.md, ``koot-2.2.1``, ``koot-2.2.2``.

    Examples
    --------
    >>> from anonrisk.predict import degree
    >>> degree([1 / 2] + [1 / 18] * 9)
    Degree of anonymity 0.778 among 10 people
    2.585 bits are unknown, as among 6 who are equally likely
    The best guess is right with a probability of 50.0%: by that the degree is 0.301
    """
    value = as_probabilities(probabilities)
    if not len(value):
        raise ArgumentError("probabilities must name at least one person")
    check_sum(float(value.sum()))
    p = value[value > 0]
    n_people, most = len(value), min(float(p.max()), 1.0)
    # Zero first: of 0.0 and -0.0 `max` gives the first.
    bits = max(0.0, -float(np.dot(p, np.log2(p))))
    to_know = math.log2(n_people)
    return DegreeOfAnonymity(
        degree=min(bits / to_know, 1.0) if to_know else 0.0,
        least=min(max(0.0, -math.log2(most)) / to_know, 1.0) if to_know else 0.0,
        bits=bits,
        best_guess=most,
        n_people=n_people,
        n_possible=len(p),
    )
