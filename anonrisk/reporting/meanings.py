"""What stands behind each number of a report: meaning, when it misleads, formula, source."""

from __future__ import annotations

from dataclasses import asdict

from anonrisk.api.assess import MEANINGS
from anonrisk.core.frozen import dataclass


@dataclass(frozen=True)
class Behind:
    """One number, explained to somebody who signs and to somebody who must trust it.

    `word` is the function that gives the number; its docstring says `misleads` too, and a test
    compares the two.
    """

    word: str
    number: str
    meaning: str
    misleads: str
    formula: str
    source: str


_CLASS = "f is the number of people who share a combination: the size of its class"
BEHIND = (
    Behind(
        "k",
        "smallest class (k)",
        MEANINGS["k"],
        "it is about the worst class alone, and says nothing of what a class gives away: ten "
        "people who share a combination may share a diagnosis too",
        f"k = min f; {_CLASS}",
        "Samarati & Sweeney 1998",
    ),
    Behind(
        "uniqueness",
        "share alone",
        MEANINGS["uniqueness"],
        "alone in the table is not alone in the population; and columns that nobody named as "
        "quasi-identifiers may single out more",
        "people in classes with f = 1, divided by all people",
        "Koot 2012, chapter 3",
    ),
    Behind(
        "risk",
        "prosecutor",
        "chance of finding a person who is known to be in the table, by one guess in their class",
        "a guess needs no name: where a whole class shares a sensitive value, nobody need be found",
        "highest 1 / min f; average (1/n) Σ 1/f over the n people",
        "El Emam & Dankar 2008",
    ),
    Behind(
        "risk",
        "journalist and marketer",
        "chance of finding somebody, and the share found of everybody, among the whole population",
        "without a population, weights or its size nobody knows them; they lie at or below the "
        "prosecutor's, since a class of the population is at least as large",
        "journalist 1/F, marketer (1/n) Σ f/F over classes; F the size of the class in the "
        "population, from f to f plus all who are not in the table",
        "El Emam & Dankar 2008; Dankar & El Emam 2010",
    ),
    Behind(
        "ldiv",
        "l-diversity",
        MEANINGS["ldiv"],
        "different values may mean the same (two kinds of cancer), and one of them may be nearly "
        "certain",
        "l = min over classes of the number of different sensitive values",
        "Machanavajjhala et al. 2007",
    ),
    Behind(
        "tcloseness",
        "t-closeness",
        MEANINGS["tcloseness"],
        "small classes are far from the table by chance; and it depends on how far apart two "
        "values are said to be",
        "largest earth mover's distance between a class and the table: equal ½ Σ |p - q|; ordered "
        "Σ |P - Q| / (m - 1) over m values",
        "Li et al. 2007",
    ),
    Behind(
        "predict_population",
        "population",
        "how many people can be unique in the population that the table is a sample of",
        "only where everybody had the same chance to be in the table; models assume more, and "
        "disagree where they are wrong",
        "the least and the largest number over all populations that agree with the class sizes, "
        "with 95% confidence",
        "bounds of this library; the models each name their source in its documentation",
    ),
    Behind(
        "predict_singletons",
        "group size",
        "expected share of a group drawn from the table who are alone within it",
        "for a group drawn by chance; people who were chosen for what they have in common are "
        "more alike",
        "Σ f C(n - f, g - 1) / C(n, g) over classes: people alone in a group of g out of n",
        "Koot 2012, chapter 5; exact for a table",
    ),
)


def behind() -> list[dict[str, str]]:
    """Return the explanations as plain values."""
    return [asdict(item) for item in BEHIND]
