"""Publish, query, analyse, decide: a survey is planned by people who never see a registry.

The loop of M. R. Koot, "Measuring and Predicting Anonymity" (2012), chapter 7. Two data holders
publish rounded numbers about their (synthetic) citizens to a repository. A policy maker, who has
no data at all, asks it how many respondents of a survey would be singled out by what the survey
wants to ask, and decides what may be asked.

Run it with: anonrisk example priors
In a repository that stays: python -m anonrisk.datasets.examples.priors FILE_OR_URL
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from anonrisk import datasets
from anonrisk.errors import AnonRiskError, ApproximationError
from anonrisk.priors import Forecast, Repository

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

POPULATION = "Registered citizens 2010"
RESPONDENTS = 150
BUDGET = 0.10

# From the most that the survey could ask to the least.
QUESTIONS = (
    ["pc4", "year_of_birth", "gender"],
    ["municipality", "year_of_birth", "gender"],
    ["municipality", "decade_of_birth", "gender"],
    ["decade_of_birth", "gender"],
    ["gender"],
)


def registry(seed: int, n: int) -> pd.DataFrame:
    """What only a data holder sees."""
    citizens = datasets.citizens(n, seed=seed)
    year = citizens["date_of_birth"].dt.year
    return citizens.assign(year_of_birth=year, decade_of_birth=year // 10 * 10)


def publish(repository: Repository) -> None:
    """Task of the data holders."""
    print("1. PUBLISH\n")
    for by, seed, n in (("National registry", 1, 200_000), ("Tax office", 2, 120_000)):
        citizens = registry(seed, n)
        for qid in QUESTIONS:
            repository.publish(citizens, qid, population=POPULATION, by=by, when="2010-06-01")
    try:
        village = citizens.head(300)
        repository.publish(village, QUESTIONS[-1], population="A village", by="Village")
    except AnonRiskError as refusal:
        print(f"Refused: {refusal}.\n")


def query(repository: Repository) -> None:
    """Task of the policy maker: what is known?"""
    print("2. QUERY\n")
    print(repository.query(population=POPULATION), "\n")
    print(repository.disagreements(), "\n")


def predict(repository: Repository, qid: list[str]) -> Forecast:
    """Take an estimate where the published numbers allow one, and bounds where they do not."""
    try:
        return repository.predict(qid, POPULATION, RESPONDENTS)
    except ApproximationError:
        return repository.predict(qid, POPULATION, RESPONDENTS, method="bounds")


def analyse_and_decide(repository: Repository) -> None:
    """Task of the policy maker: how many would be singled out, and what may be asked?"""
    print(f"3. ANALYSE: {RESPONDENTS} respondents\n")
    decided = None
    for qid in QUESTIONS:
        forecast = predict(repository, qid)
        verdict = forecast.verdict(BUDGET)
        print(f"{' + '.join(qid)}: {verdict}\n{forecast}\n")
        if verdict == "pass" and decided is None:
            decided = qid
    print(f"4. DECIDE: at most {BUDGET:.0%} of the respondents may be singled out\n")
    asked = "nothing of this" if decided is None else " + ".join(decided)
    print(f"The survey may ask: {asked}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Go round the loop once."""
    words = sys.argv[1:] if arguments is None else arguments
    with tempfile.TemporaryDirectory() as folder:
        place = words[0] if words else Path(folder) / "priors.sqlite"
        repository = Repository(place)
        publish(repository)
        query(repository)
        analyse_and_decide(repository)
    return 0


if __name__ == "__main__":
    sys.exit(main())
