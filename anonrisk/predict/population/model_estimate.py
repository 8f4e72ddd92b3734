"""What a model says about a population."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from anonrisk.core.frozen import dataclass
from anonrisk.core.render import PrintedFields
from anonrisk.core.results import Document

if TYPE_CHECKING:
    from anonrisk.core.results import Interval

REGISTER = "holds a register of the whole population and looks for people who are unique in it"
LINKER = (
    "links each singleton of the table to a register of the population and picks at random among "
    "those who match"
)
EVERY_RECORD = (
    "links every record of the table to a register of the population and picks at random among "
    "those who match"
)
ONE_MATCH = (
    "looks for one person of the population, finds exactly one record that matches, and takes it "
    "to be that person"
)


@dataclass(frozen=True, repr=False)
class ModelEstimate(Document, PrintedFields):
    """What one model says about the population that a table is a sample of.

    Attributes
    ----------
    model, formula : str
        Its name, and its formulas (`P3`, …).
    attacker : str
        Who would do what, in words.
    converged : bool
        Whether the model could be fitted. If not there are no figures, and `note` says why.
    uniques : float or None
        Expected number of people who are unique in the population.
    singletons_unique : float or None
        Expected share of the table's singletons who are unique in the population.
    matches : float or None
        Expected number of correct matches of somebody who links the table's singletons.
    match_correct : float or None
        Probability that a unique match is correct.
    reidentifications, highest_risk : float or None
        Expected number of correct matches over all records, and the risk of the record most at
        risk.
    interval : Interval or None
        95% interval of the one figure that the model is for, where there is one.
    parameters : dict
        What was fitted.
    doubtful : bool
        Whether the figures should not be relied on: the bounds leave room for an error of more
        than two (see `anonrisk.predict.population.models`), or the model itself sees why not.
    note : str
        Why there is no figure, or when not to trust it.
    """

    model: str
    formula: str = field(repr=False)
    attacker: str
    converged: bool = True
    uniques: float | None = None
    singletons_unique: float | None = None
    matches: float | None = None
    match_correct: float | None = None
    reidentifications: float | None = None
    highest_risk: float | None = None
    interval: Interval | None = None
    parameters: dict[str, float] = field(default_factory=dict)
    doubtful: bool = False
    note: str = ""
