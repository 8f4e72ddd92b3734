"""The numbers of docs/validation.md: who answers how many cases of `anonrisk.testing` right.

`python tests/validation.py [KIND ...]` runs the suite on kinds of table, writes their rows, and the
table of measures. `--pycanon PATH` stores what an environment with pycanon has written by
`python -m anonrisk.testing --adapter anonrisk.testing:pycanon --json PATH`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from pathlib import Path

from anonrisk import testing
from anonrisk.testing.tables import KINDS, SERVERS, installed

PAGE = Path(__file__).resolve().parents[1] / "docs" / "validation.md"
STORED = Path(__file__).parent / "data" / "pycanon_outcomes.json"
MEASURES = ["measure", "anonrisk", "pycanon", "ARX"]
ROWS = ["kind of table", "by hand and from the literature", "refused", "ARX's tables"]


def by_hand():
    return [case for case in testing.cases() if case.source != testing.ARX]


def by_arx():
    return [case for case in testing.cases() if case.source == testing.ARX]


def right(outcomes) -> str:
    """How many of the answers are right; a dash where nothing was asked."""
    asked = list(outcomes)
    return f"{asked.count('agrees')} of {len(asked)}" if asked else "-"


def arx_outcome(case, ask) -> str:
    """Whether ARX's answer is ours as it stands: its limits in its own unit, its zeros zeros."""
    if case.measure == "delta_disclosure":
        agrees = (ask(case) <= case.limit / math.log(2)) is case.answer
    else:
        agrees = case.measure != "predict_population" or None not in case.answer.values()
    return "agrees" if agrees else "differs"


def rows_of_measures(report) -> list[list[str]]:
    """For each measure, how many cases everybody answers right of those they were asked."""
    stored = json.loads(STORED.read_text(encoding="utf-8"))["outcomes"]
    ask = testing.engine("pandas")
    rows = []
    for label in sorted({case.label for case in testing.cases()}):
        cases = [case for case in testing.cases() if case.label == label]
        ours = right(a.outcome for a in report.answers if a.measure == label)
        theirs = right(stored[case.id] for case in cases if case.id in stored)
        arx = right(arx_outcome(case, ask) for case in cases if case.source == testing.ARX)
        rows.append([f"`{label}`", ours, theirs, arx])
    totals = [
        right(a.outcome for a in report.answers),
        right(stored.values()),
        right(arx_outcome(case, ask) for case in by_arx()),
    ]
    return [*rows, ["all", *totals]]


def row_by_hand(report) -> list[str]:
    """What a kind of table makes of the cases that are not ARX's."""
    outcomes = [a.outcome for a in report.answers if a.source != testing.ARX]
    return [right(outcomes), str(outcomes.count("refuses"))]


def row_by_arx(report) -> str:
    """What it makes of ARX's tables, which a server is asked about by night only."""
    asked = [a.outcome for a in report.answers if a.source == testing.ARX]
    return right(asked) if asked else "by night"


def on_page(header: list[str]) -> dict[str, list[str]]:
    """The rows of a table of the page, by their first cell."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith(f"| {header[0]} |"))
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        rows |= dict.fromkeys(first.split(", "), rest)
    return rows


def write(header: list[str], rows: dict[str, list[str]]) -> None:
    """Put a table in its place; what has the same numbers shares a row."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for first, rest in rows.items():
        alike.setdefault(tuple(rest), []).append(first)
    sides = ["---", *["--:"] * (len(header) - 1)]
    lines = [header, sides, *([", ".join(firsts), *rest] for rest, firsts in alike.items())]
    table = "".join(f"| {' | '.join(line)} |\n" for line in lines)
    text = PAGE.read_text(encoding="utf-8")
    pattern = rf"(?m)^\| {re.escape(header[0])} \|.*\n(?:\|.*\n)*"
    PAGE.write_text(re.sub(pattern, lambda _: table, text), encoding="utf-8")


def store(path: Path) -> None:
    """Keep what pycanon made of every case whose measure it has."""
    written = json.loads(path.read_text(encoding="utf-8"))
    outcomes = {a["case"]: a["outcome"] for a in written["answers"] if a["has"]}
    content = {"version": written["versions"]["pycanon"], "outcomes": outcomes}
    STORED.write_text(json.dumps(content, indent=0) + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kinds", nargs="*", metavar="KIND")
    parser.add_argument("--pycanon", type=Path)
    asked = parser.parse_args()
    if asked.pycanon:
        store(asked.pycanon)
    for name in asked.kinds or installed():
        kind = name.partition("=")[0]
        report = testing.run(testing.engine(name), cases=by_hand() if kind in SERVERS else None)
        rows = on_page(ROWS) | {kind: [*row_by_hand(report), row_by_arx(report)]}
        write(ROWS, {each: rows[each] for each in KINDS if each in rows})
        if name == "pandas":
            table = rows_of_measures(report)
            write(MEASURES, {first: rest for first, *rest in table})


if __name__ == "__main__":
    main()
