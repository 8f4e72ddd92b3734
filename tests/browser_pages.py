"""Tables whose pages the tests open in a browser: each is hard on a page in its own way."""

from __future__ import annotations

import numpy as np
import pandas as pd

from anonrisk import Policy, datasets

QID = ["pc4", "date_of_birth", "gender"]
HOSTILE = (
    "<img src=x onerror=alert(1)>",
    "שם" + chr(0x202E) + "evil",
    "x" * 200,
    "a|b`c*[d](e) @all https://example.org/x.js",
    "</style><script>throw 1</script>",
    "تاريخ الميلاد",
)


def small():
    policy = Policy(
        name="release to researchers",
        quasi=QID,
        sensitive=["diagnosis"],
        unit="patient",
        unlisted="ignore",
        k=5,
        max_unique_fraction=0.01,
        ldiv={"l": 2},
    )
    made = datasets.hospital()
    return made.anon.report(policy=policy, name="admissions.csv", population_size=180_000)


def large(n=1_000_000):
    rng = np.random.default_rng(15)
    table = pd.DataFrame(
        {
            "municipality": rng.zipf(1.3, n).clip(max=342).astype(np.int16),
            "year_of_birth": rng.integers(1930, 2020, n, dtype=np.int16),
            "household": rng.poisson(1.4, n).astype(np.int8),
            "income": rng.integers(0, 12, n, dtype=np.int8),
        }
    )
    policy = Policy(
        name="statistics",
        quasi=["municipality", "year_of_birth", "household"],
        sensitive=["income"],
        k=10,
        max_fraction_below_k={"k": 10, "at_most": 0.05},
        tcloseness={"t": 0.3, "distance": "ordered"},
    )
    return table.anon.report(policy=policy, name="persons.parquet", population_size=17_000_000)


def hostile(n=300):
    rng = np.random.default_rng(3)
    table = pd.DataFrame({name: rng.integers(0, 9, n) for name in HOSTILE})
    policy = Policy(
        name=HOSTILE[4],
        quasi=list(HOSTILE[:3]),
        sensitive=[HOSTILE[3]],
        missing_sensitive="value",
        unlisted="ignore",
        k=3,
        ldiv={"l": 2},
    )
    return table.anon.report(policy=policy, title=HOSTILE[0], name=HOSTILE[1])


def kept():
    return datasets.hospital().anon.report(
        policy=Policy(quasi=["gender"], unit="patient", unlisted="ignore", k=5),
        name="admissions.csv",
    )


def doubtful():
    return datasets.hospital().anon.report(
        policy=Policy(quasi=["pc4", "born"], unit="patient", k=5)
    )


def unjudged():
    return datasets.hospital().anon.report(QID, "diagnosis", unit="patient")


def in_groups():
    policy = Policy(
        quasi=["pc4", "date_of_birth"], by="gender", unit="patient", unlisted="ignore", k=5
    )
    return datasets.hospital().anon.report(policy=policy)


REPORTS = {
    one.__name__: one for one in (small, large, hostile, kept, doubtful, unjudged, in_groups)
}
NAMES = list(REPORTS)


def write(name, path):
    made = REPORTS[name]()
    made.save(path)
    return made
