"""Every word of `.anon` once, on a small table, and everything that a kind of table refuses.

`python tests/every_call.py` writes the tables of docs/engines.md from `anonrisk.engines.refusals`;
tests hold every kind of table to them.
"""

from __future__ import annotations

import datetime as dt
import decimal
import re
from functools import cache
from pathlib import Path
from traceback import walk_tb

import pandas as pd
from keys import KEY

import anonrisk
from anonrisk.accessor import FUNCTIONS
from anonrisk.engines.refusals import REFUSED, TABLES
from anonrisk.errors import UnsupportedFrameError

PAGE = Path(__file__).parents[1] / "docs" / "engines.md"
# The columns of the page, each with the kinds of table of the `frame` fixture that it speaks of;
# a table that holds another is asked as that is, and carries roles beside.
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
    "DataFusion": ("datafusion",),
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
    "compare": lambda ask, frame: ask(frame, QID, previous=frame, unit="person", sensitive="value"),
    "declare": lambda ask, frame: ask(frame, quasi=QID, sensitive="value"),
    "find_qids": lambda ask, frame: ask(frame, QID, progress=False),
    "generalize": lambda ask, frame: ask(frame, "hour", bins=2),
    "kl_after": lambda ask, frame: ask(frame, ["hour"], [{"hour": 2}]),
    "linkability": lambda ask, frame: ask(frame, ["zip"], unit="person", time="hour", at=2),
    "microaggregate": lambda ask, frame: ask(frame, "income", k=3),
    "permute": lambda ask, frame: ask(frame, "value", seed=1),
    "perturb": lambda ask, frame: ask(frame, "income", scale=5.0, seed=1),
    "pseudonymize": lambda ask, frame: ask(frame, "person", key=KEY),
    "sketch": lambda ask, frame: ask(frame, QID, key=KEY),
    "state": lambda ask, frame: ask(frame, QID, sensitive="value", unit="person", key=KEY),
    "suda": lambda ask, frame: ask(frame, QID, progress=False),
    "trajectory": lambda ask, frame: ask(frame, "zip", unit="person", length=2),
    "whole_person": lambda ask, frame: ask(frame, QID, unit="person"),
    "utility": lambda ask, frame: ask(frame, QID, original=frame),
}
POLICY = anonrisk.Policy(
    quasi=QID, sensitive="value", ldiv={"l": 1}, max_unique_records=10**6, unlisted="ignore"
)


@cache
def plan_of_cells():
    """Make a plan when it is first applied: every lane imports this file, few run it."""
    return anonrisk.plan(
        pd.DataFrame(CELLS), QID, k=2, options=anonrisk.PlanOptions(method="full-domain")
    )


def calls():
    """Every word, and a policy's check, as functions of a table."""
    for function in FUNCTIONS:
        asked = ASKED.get(function.__name__, lambda ask, frame: ask(frame, QID))
        yield function.__name__, lambda frame, ask=function, asked=asked: asked(ask, frame)
    yield "Policy.check", lambda frame: POLICY.check(frame).raise_for_status()


# Uses of a word that are refused, each as a function of a table, of what builds one and of cells.
USES = {
    "missing='wildcard'": [
        lambda build: build(CELLS).anon.k(QID, missing="wildcard"),
        lambda build: build(CELLS).anon.at_risk(QID, missing="wildcard"),
    ],
    "at_risk(l=), at_risk(t=)": [
        lambda build: build(CELLS).anon.at_risk(QID, sensitive="value", l=2),
        lambda build: build(CELLS).anon.at_risk(QID, sensitive="value", t=0.1),
    ],
    "suppress(cells=True)": [lambda build: build(CELLS).anon.suppress(QID, k=3, cells=True)],
    "predict_singletons(widths=)": [
        lambda build: build(CELLS).anon.predict_singletons(
            "income", group_size=20, widths={"income": 5}
        )
    ],
    "predict_classes(widths=)": [
        lambda build: build(CELLS).anon.predict_classes(
            "income", group_size=20, widths={"income": 5}
        )
    ],
    "order= of decimals or instants": [
        lambda build, values=values: build({"q": ["a", "b"], "s": values}).anon.tcloseness(
            "q", "s", distance="ordered", order=values
        )
        for values in (
            [decimal.Decimal("1.5"), decimal.Decimal("2.5")],
            [dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 2)],
        )
    ],
    "hierarchies= of dates": [
        lambda build: build(
            {"q": ["a", "b"], "s": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)]}
        ).anon.tcloseness("q", "s", distance="hierarchical", hierarchies=DAYS)
    ],
    "a categorical column": [
        lambda build: build(CELLS).astype({"sex": pd.CategoricalDtype(["f", "m"])}).anon.k("sex"),
    ],
    "a stream": [
        lambda build: build(CELLS).sparkSession.readStream.format("rate").load().anon.k("value")
    ],
}
DAYS = {"2020": ["2020-01-01", "2020-01-02"]}


def title_of(kind: str) -> str | None:
    """What docs/engines.md calls a kind of table of the `frame` fixture."""
    return next((title for title, kinds in TITLES.items() if kind in kinds), None)


def refusals_of(kind: str):
    """List what a kind of table is not asked for."""
    return [refusal for refusal in REFUSED if title_of(kind) in refusal.tables]


def is_refused(kind: str, asked: str) -> bool:
    """Whether a kind of table is not asked for something."""
    return any(refusal.asked == asked for refusal in refusals_of(kind))


def is_listed(kind: str, error: Exception) -> bool:
    """Whether an error is a refusal that is listed for a kind of table and for what was asked.

    What is no word of a table, such as the check of a release, has refusals of several words.
    """
    asked = [*words_on(error.__traceback__)]
    return any(
        refusal.sentence in str(error)
        and (not asked or any(is_about(refusal.asked, *call) for call in asked))
        for refusal in refusals_of(kind)
    )


def words_on(traceback):
    """List the words, with their keywords, through which an error has come."""
    for frame, _ in walk_tb(traceback):
        if frame.f_code.co_name == "asking":
            yield frame.f_locals["word"].__name__, frame.f_locals["kwargs"]


def is_about(listed: str, word: str, keywords) -> bool:
    """Whether a call is one that the list means: a word, a use of one, or keywords of any word."""
    uses = re.findall(r"(\w+)\((\w+)=", listed)
    if uses:
        return any(word == used and name in keywords for used, name in uses)
    named = re.match(r"(\w+)=", listed)
    if named:
        return named[1] in keywords
    return listed in (word, "a categorical column", "a stream")


def asking(refusal):
    """Every way to ask for what is refused, as functions of what builds a table."""
    words = dict(calls())
    if refusal.asked in words:
        return [lambda build: words[refusal.asked](build(CELLS))]
    return USES[refusal.asked]


def outcome(call, frame) -> str:
    """Return whether a kind of table is asked for something; any other error is a fault."""
    try:
        call(frame)
    except UnsupportedFrameError:
        return NO
    return YES


def columns() -> dict[str, dict[str, str]]:
    """Say for each kind of table which words it is asked."""
    refused = {(title, refusal.asked) for refusal in REFUSED for title in refusal.tables}
    words = [word for word, _ in calls()]
    return {
        title: {word: NO if (title, word) in refused else YES for word in words} for title in TABLES
    }


def as_table(rows) -> str:
    header, *others = (f"| {' | '.join(row)} |" for row in rows)
    return "\n".join([header, "|" + " --- |" * (header.count(" | ") + 1), *others])


def pages() -> dict[str, str]:
    """Write the tables of the page, by the names of the marks between which they stand."""
    words = [word for word, _ in calls()]
    refused = {each.asked for each in REFUSED}
    every = ", ".join(f"`{word}`" for word in words if word not in refused)
    uses = {}
    for each in REFUSED:
        asked = f"`{each.asked}`" if each.asked in words or "=" in each.asked else each.asked
        instead = re.split("[;:] ", each.sentence)[-1]
        uses.setdefault(("; ".join(each.tables), instead), []).append(asked)
    rows = ([tables, ", ".join(asked), instead] for (tables, instead), asked in uses.items())
    return {
        "calls": f"Every kind of table answers {every}.",
        "refusals": as_table([["table", "refuses", "instead"], *rows]),
    }


def written(text: str) -> str:
    """Put the tables in their places on the page."""
    for name, table in pages().items():
        begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n{table}\n{end}{rest.partition(end)[2]}"
    return text


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
