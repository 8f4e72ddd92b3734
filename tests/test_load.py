"""Thousands of checks in one process, in threads and beside each other: no memory, one answer."""

from __future__ import annotations

import gc
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from anonrisk import Policy

POLICY = {
    "quasi": ["zip", "age"],
    "sensitive": "ill",
    "insensitive": "note",
    "missing_sensitive": "value",
    "k": 2,
    "ldiv": {"l": 2},
    "tcloseness": {"t": 0.3, "distance": "equal"},
    "risk": {"prosecutor": {"highest": 0.5}},
}


def table(number):
    random = np.random.default_rng(number)
    return pd.DataFrame(
        {
            "zip": random.choice(list("abc"), 200),
            "age": random.integers(20, 25, 200),
            "ill": random.choice(["flu", "gout", "cold"], 200),
            "note": [f"{number} {i}" for i in range(200)],
        }
    )


def verdict(number):
    """What a check says, but for when it was."""
    said = Policy(**POLICY).check(table(number)).to_dict()
    return {key: value for key, value in said.items() if key != "checked_at"}


def held() -> int:
    """Return how many bytes this process holds, those of Arrow and NumPy among them."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def growth(n_checks):
    """Return how many bytes more are held after so many checks, once a few have warmed it up."""
    if not Path("/proc/self/statm").exists():
        pytest.skip("this system does not say so")
    for number in range(50):
        verdict(number)
    before = held()
    for number in range(n_checks):
        verdict(number)
    return held() - before


@pytest.mark.slow
def test_checks_hold_no_memory():
    assert growth(100) < 10e6


@pytest.mark.nightly
def test_a_thousand_checks_hold_no_memory():
    assert growth(1000) < 20e6


@pytest.mark.slow
def test_eight_threads_agree():
    expected = [verdict(number) for number in range(4)]
    assert len({str(one["budgets"]) for one in expected}) > 1, "the tables must differ"
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(verdict, [*range(4)] * 8))
    assert found == expected * 8


@pytest.mark.slow
def test_four_processes_agree():
    expected = [verdict(number) for number in range(4)]
    fresh = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(4, mp_context=fresh) as pool:
        assert list(pool.map(verdict, [*range(4)] * 4)) == expected * 4
