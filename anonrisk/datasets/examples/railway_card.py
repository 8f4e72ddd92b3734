"""A railway wants to publish its cards' journeys, under pseudonyms. For how long may one live?

After Kikuchi and Takahashi (2016), "Zipf Distribution Model for Quantifying Risk of
Re-identification from Trajectory Data": first the model for the whole of Tokyo, then a synthetic
network whose stations are as popular as real ones where their list is given: a CSV with a column
boardings_per_day.

Run it with: anonrisk example railway_card
With options: python -m anonrisk.datasets.examples.railway_card
[--stations FILE.csv] [--picture FILE]
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

import anonrisk
from anonrisk.keys import Key
from anonrisk.predict import zipf

if TYPE_CHECKING:
    from collections.abc import Sequence

CARDS = 20_000
DAYS = 28
# Somebody who commutes makes most journeys between two stations of their own.
HABIT = 0.6


def popularity(stations: str | None) -> tuple[str, np.ndarray]:
    """Boardings at each station: published ones where they are given, else Zipf's law."""
    if stations is not None:
        boardings = pd.read_csv(stations)["boardings_per_day"].to_numpy(dtype=float)
        return f"{len(boardings)} stations with the boardings of a real network", boardings
    return "300 stations under Zipf's law", 1 / np.arange(1, 301) ** 1.2


def journeys(weights: np.ndarray, seed: int = 0) -> pd.DataFrame:
    """Make the taps of each card: two on some days, often at home and at work."""
    random = np.random.default_rng(seed)
    share = weights / weights.sum()
    own = random.choice(len(share), (CARDS, 2), p=share)
    taps = random.poisson(random.gamma(2.0, 6.0, CARDS)) + 1
    card = np.repeat(np.arange(CARDS), taps)
    anywhere = random.choice(len(share), len(card), p=share)
    usual = own[card, random.integers(0, 2, len(card))]
    station = np.where(random.random(len(card)) < HABIT, usual, anywhere)
    seconds = random.integers(0, DAYS * 86_400, len(card))
    start = pd.Timestamp("2026-06-01")
    table = pd.DataFrame(
        {"card": card, "station": station, "at": start + pd.to_timedelta(seconds, unit="s")}
    )
    return table.drop_duplicates(["card", "at"])


def main(arguments: Sequence[str] | None = None) -> int:
    """Predict, count, shorten, count again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stations", help="a CSV with a column boardings_per_day")
    parser.add_argument("--picture", help="file to draw the shares into")
    asked = parser.parse_args(arguments)

    print("The paper's card, from three numbers:\n")
    print(zipf.Zipf(d=2_497, c=0.632, n=42_598_300).table(5), "\n")

    what, weights = popularity(asked.stations)
    taps = journeys(weights)
    print(f"A synthetic month: {what}\n")
    trajectory = taps.anon.trajectory(
        "station", unit="card", length=4, max_length=6, time="at", seed=1
    )
    print(trajectory, "\n")

    limit = 0.05
    after = trajectory.change_after(limit)
    print(f"To single out at most {limit:.0%}, a pseudonym may link {after} taps,")
    print(f"that is {trajectory.lifetime((after or 0) + 1)} on average until the next one.\n")

    # A key for a trial; a real one comes from the environment or a file.
    weekly = taps.anon.pseudonymize("card", key=Key.generate(), period="7D", time="at")
    shorter = weekly.anon.trajectory("station", unit="card", length=4, time="at", seed=1)
    print(f"Linked for a month, 4 taps single out {trajectory.singled_out:.1%} of the cards;")
    pseudonyms, able = shorter.n_users, shorter.at(4).n_users
    print(
        f"with a new pseudonym a week {able / pseudonyms:.1%} of the pseudonyms have 4 stations.\n"
    )

    print("But can the weeks be linked again, by the stations themselves?")
    print(anonrisk.linkability(taps, "station", unit="card", time="at", period="7D"))
    print("At least so many: who compares sets that are alike but not equal finds more.")

    if asked.picture:
        axes = trajectory.plot()
        axes.figure.savefig(asked.picture, dpi=120)
        print(f"\ndrawn into {asked.picture}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
