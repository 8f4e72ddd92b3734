"""Every word of `.anon` once, on a small table: what docs/engines.md says of each kind of table.

Each lane's tests compare the columns of its kinds; with ANONRISK_WRITE_PAGES=1 they write them.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pandas as pd
from keys import KEY

import anonrisk
from anonrisk.accessor import FUNCTIONS
from anonrisk.errors import UnsupportedFrameError

PAGE = Path(__file__).parents[1] / "docs" / "engines.md"
BEGIN, END = "<!-- begin calls -->", "<!-- end calls -->"
# The columns of the page, each with the kinds of table of the `frame` fixture that it speaks of.
TITLES = {
    "pandas": ("pandas", "pandas_nullable", "pandas_arrow", "pandas_object"),
    "Polars": ("polars",),
    "Polars, lazy": ("polars_lazy",),
    "narwhals": ("narwhals",),
    "pyarrow": ("pyarrow",),
    "DuckDB relation": ("duckdb",),
    "Spark": ("spark", "connect"),
    "pandas-on-Spark": ("pandas_on_spark",),
    "DuckDB, PostgreSQL": ("duckdb_sql", "postgresql"),
    "SQLite": ("sqlite",),
    "scan": ("scan",),
}
YES, NO = "yes", "refused"
QID = ["zip", "sex"]
N = 48
CELLS = {
    "person": [i // 4 for i in range(N)],
    "hour": [i % 4 for i in range(N)],
    "zip": [f"10{i * 7 % 5}" for i in range(N)],
    "sex": ["f" if i % 3 else "m" for i in range(N)],
    "value": ["xyz"[i % 3] for i in range(N)],
    "income": [1000.0 + 7 * i for i in range(N)],
}
# What a word is asked beside the table; any other is asked about QID alone.
ASKED = {
    **dict.fromkeys(
        ("alpha", "assess", "beta_likeness", "delta_disclosure", "ldiv", "profiles", "tcloseness"),
        lambda ask, frame: ask(frame, QID, "value"),
    ),
    **dict.fromkeys(
        ("delta_presence", "kmap"), lambda ask, frame: ask(frame, QID, population=frame)
    ),
    **dict.fromkeys(
        ("predict_classes", "predict_singletons"),
        lambda ask, frame: ask(frame, QID, group_size=20),
    ),
    **dict.fromkeys(
        ("is_quasi_identifier", "predict_population", "probabilistic_k"),
        lambda ask, frame: ask(frame, QID, population_size=1000),
    ),
    **dict.fromkeys(("roles", "was_perturbed"), lambda ask, frame: ask(frame)),
    **dict.fromkeys(("at_risk", "plan", "suppress"), lambda ask, frame: ask(frame, QID, k=3)),
    "apply": lambda ask, frame: ask(frame, plan_of_cells()),
    "compare": lambda ask, frame: ask(frame, frame, QID, "person", "value"),
    "declare": lambda ask, frame: ask(frame, quasi=QID, sensitive="value"),
    "find_qids": lambda ask, frame: ask(frame, columns=QID, progress=False),
    "generalize": lambda ask, frame: ask(frame, "hour", bins=2),
    "kl_after": lambda ask, frame: ask(frame, ["hour"], [{"hour": 2}]),
    "linkability": lambda ask, frame: ask(frame, "person", ["zip"], "hour", at=2),
    "microaggregate": lambda ask, frame: ask(frame, "income", k=3),
    "permute": lambda ask, frame: ask(frame, "value", seed=1),
    "perturb": lambda ask, frame: ask(frame, "income", scale=5.0, seed=1),
    "pseudonymize": lambda ask, frame: ask(frame, "person", key=KEY),
    "sketch": lambda ask, frame: ask(frame, QID, key=KEY),
    "state": lambda ask, frame: ask(frame, QID, sensitive="value", unit="person", key=KEY),
    "suda": lambda ask, frame: ask(frame, QID, progress=False),
    "trajectory": lambda ask, frame: ask(frame, "person", "zip", 2),
    "whole_person": lambda ask, frame: ask(frame, "person", QID),
    "utility": lambda ask, frame: ask(frame, frame, QID),
}
POLICY = anonrisk.Policy(quasi=QID, sensitive="value", k=1, ldiv={"l": 1}, unlisted="ignore")


@cache
def plan_of_cells():
    """Make a plan when it is first applied: every lane imports this file, few run it."""
    return anonrisk.plan(pd.DataFrame(CELLS), QID, k=2, method="full-domain")


def calls():
    """Every word, and a policy's check, as functions of a table."""
    for function in FUNCTIONS:
        asked = ASKED.get(function.__name__, lambda ask, frame: ask(frame, QID))
        yield function.__name__, lambda frame, ask=function, asked=asked: asked(ask, frame)
    yield "Policy.check", lambda frame: POLICY.check(frame).raise_for_status()


def outcome(call, frame) -> str:
    """Say whether a kind of table is asked for something; any other error is a fault."""
    try:
        call(frame)
    except UnsupportedFrameError:
        return NO
    return YES


def on_page() -> dict[str, dict[str, str]]:
    """Read the table of the page: for each title, what it says of every word."""
    text = PAGE.read_text(encoding="utf-8")
    lines = text.partition(BEGIN)[2].partition(END)[0].strip().splitlines()
    if not lines:
        return {}
    header, _, *rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    found = {title: {} for title in header[1:]}
    for word, *cells in rows:
        for title, cell in zip(header[1:], cells, strict=True):
            found[title][word.strip("`")] = cell
    return found


def write(title: str, column: dict[str, str]) -> None:
    """Put a column in place of the one on the page."""
    there = on_page() | {title: column}
    found = {title: there.get(title, {}) for title in TITLES}
    words = [word for word, _ in calls()]
    rows = [["call", *found], ["---"] * (len(found) + 1)]
    rows += [[f"`{word}`", *(column.get(word, "") for column in found.values())] for word in words]
    table = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    text = PAGE.read_text(encoding="utf-8")
    pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
    PAGE.write_text(pattern.sub(f"{BEGIN}\n{table}\n{END}", text), encoding="utf-8")
