"""The parts of a report, each a plain dict or nothing where there is nothing to say."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import percent
from anonrisk.core.results import plain
from anonrisk.counts.class_sizes import BANDS
from anonrisk.measures.scores import FORMULAS
from anonrisk.policy.problem import Problem
from anonrisk.reporting.limits import MOST_LIMITS, limit_row
from anonrisk.reporting.text import FLOOR, cut, name_of, number, one_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.core.columns import Name
    from anonrisk.counts.matched import Attacker
    from anonrisk.predict.population import PopulationEstimate
    from anonrisk.reporting.measured import Measured
    from anonrisk.reporting.text import People

_MOST_SENSITIVE = 20
_DISTANCES = ("equal", "ordered", "hierarchical")


# ---- class sizes --------------------------------------------------------------------------------


def classes(found: Measured, people: People) -> dict[str, Any] | None:
    """Say how many people share a combination, by the size of their class."""
    sizes = found.sizes
    if sizes is None:
        return None
    k = people.k if people.k is not None and people.k > 1 else None
    title = people.alone_sentence() if k is None else people.hidden_sentence(sizes, k)
    largest = max(share for _, _, _, share in _bands(sizes, k))
    return {
        "title": title,
        "note": _of_all_groups(found),
        "k": k,
        "smallest": sizes.k,
        "n_classes": sizes.n_classes,
        "people": people.plural,
        "rows": [
            {
                "low": low,
                "high": high,
                "label": _label(low, high, k),
                "people": records,
                "people_text": f"{records:,}",
                "share": share,
                "share_text": percent(share),
                "width": share / largest,
                "too_few": k is not None and high < k,
            }
            for low, high, records, share in _bands(sizes, k)
        ],
    }


def _of_all_groups(found: Measured) -> str | None:
    if found.by is None:
        return None
    return f"Of the whole table, all groups of {name_of(found.by)} together."


def _label(low: int, high: int, k: int | None) -> str:
    if k is not None and low < k <= high:
        # Joined with a band of too few people to be told.
        return f"{low:,} to {high:,}, some below {k:,}"
    if low == high:
        return "alone" if low == 1 else f"{low:,}"
    return f"{low:,} to {high:,}"


def _bands(sizes: ClassSizes, k: int | None) -> list[tuple[int, int, int, float]]:
    """Put sizes together as people read them, with an edge at k: low, high, people, share.

    A band of fewer people than the floor is joined with the next, on its side of k if it can be:
    how many are below k is told too.
    """
    inner = {edge for edge in (*BANDS, (k or 1) - 1) if 0 < edge < sizes.max}
    bands = []
    for below, high in pairwise([0, *sorted(inner), sizes.max]):
        inside = (sizes.sizes > below) & (sizes.sizes <= high)
        bands.append((below + 1, high, int(sizes.records[inside].sum())))
    small = [band for band in bands if band[1] < (k or 1)]
    told = _joined([*_joined(small), *_joined(bands[len(small) :])])
    return [(low, high, people, people / sizes.n_records) for low, high, people in told]


def _joined(bands: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Leave out empty bands, and join those of too few people with the next, or else the last."""
    told: list[tuple[int, int, int]] = []
    filled = [band for band in bands if band[-1]]
    for i, (low, high, people) in enumerate(filled):
        few = i == len(filled) - 1 and people < FLOOR
        if told and (few or told[-1][-1] < FLOOR):
            before, _, more = told.pop()
            told.append((before, high, people + more))
        else:
            told.append((low, high, people))
    return told


# ---- what drives it -----------------------------------------------------------------------------


def drivers(found: Measured, people: People) -> dict[str, Any] | None:
    """Say how many would be alone without each column, the one that helps most first."""
    sizes = found.sizes
    if sizes is None or not found.without:
        return None
    few = people.k or 2
    # Where nobody is alone, those who hide among too few are what is left to lower.
    k = 2 if sizes.k == 1 or few <= 2 else few
    what = "the share alone" if k == 2 else f"the share among fewer than {k:,}"
    _, now = people.below(sizes, k)
    rows = [_driver(name, one, people, k, now) for name, one in found.without.items()]
    # What is not told is a few, more than nobody.
    rows.sort(key=lambda row: 1e-12 if row["share"] is None else row["share"])
    return {
        "title": f"{what.capitalize()}, without each column",
        "note": _of_all_groups(found),
        "what": what,
        "now": now,
        "now_text": _share(now, people),
        "rows": rows,
        "more": len(sizes.qid) - len(rows),
    }


def _driver(
    name: Name, sizes: ClassSizes, people: People, k: int, now: float | None
) -> dict[str, Any]:
    _, share = people.below(sizes, k)
    helps = share == 0 if now is None else share is None or share < now
    return {
        "name": name_of(name),
        "share": share,
        "share_text": _share(share, people),
        "helps": helps,
    }


def _share(share: float | None, people: People) -> str:
    return f"fewer than {FLOOR} {people.plural}" if share is None else percent(share)


# ---- attackers ----------------------------------------------------------------------------------


def attackers(found: Measured, people: People) -> dict[str, Any] | None:
    """Say what three attackers can do, with what nobody knows as an interval."""
    sizes, risk = found.sizes, found.risk
    if sizes is None or risk is None:
        return None
    known = risk.basis != "release"
    outside = None
    if found.population is not None and not isinstance(found.population, Problem):
        outside = found.population.population_size - sizes.n_records
    least = None if known else _least(sizes, outside)
    rows = [
        {
            **_attacker(risk.prosecutor),
            "who": "knows that a person is in the table, and looks for that person",
        },
        {
            **_attacker(risk.journalist, least),
            "who": "looks for anybody, to show that it can be done",
        },
        {
            **_attacker(risk.marketer, least),
            "who": f"wants as many {people.plural} as possible, and counts how many are right",
        },
    ]
    doubt = (
        f"{'Nothing is' if outside is None else 'Only the size is'} known of a population, so "
        "that journalist and marketer lie anywhere up to the prosecutor. Give population= or "
        "a sampling_fraction."
    )
    notes = [f"{note[:1].upper()}{note[1:]}." for note in risk.notes] if known else [doubt]
    return {"note": " ".join(filter(None, (_of_all_groups(found), *notes))), "rows": rows}


def _least(sizes: ClassSizes, outside: int | None) -> tuple[float, float]:
    """Give the least that a risk can be if everybody outside the table were in one's class."""
    if outside is None:
        return 0.0, 0.0
    risks = 1 / (sizes.sizes + float(outside))
    return float(risks[0]), float((sizes.records * risks).sum() / sizes.n_records)


def _attacker(attacker: Attacker, least: tuple[float, float] | None = None) -> dict[str, Any]:
    """Give both ends of each risk; `least` where nothing is known of a population."""
    title = f"The {attacker.name}{'' if least is None else ' (bounds only)'}"
    told: dict[str, Any] = {"name": attacker.name, "title": title, "known": least is None}
    ends = (attacker.highest_interval, attacker.average_interval)
    for i, (measure, interval) in enumerate(zip(("highest", "average"), ends, strict=True)):
        if interval is None:
            told[measure] = None
            continue
        low = interval.low if least is None else min(least[i], interval.high)
        told[measure] = {"low": float(low), "high": float(interval.high)}
    told["sentence"] = _attacks(attacker.name, told)
    return told


def _attacks(name: str, told: dict[str, Any]) -> str:
    highest, average = told["highest"], told["average"]
    if name == "marketer":
        return f"Of all, expected to find {_chance(average)}."
    found = f"Finds whoever is easiest to find with a chance of {_chance(highest)}"
    return f"{found}, and on average {_chance(average)}."


def _chance(ends: dict[str, Any]) -> str:
    low, high = ends["low"], ends["high"]
    if low == high:
        return f"{one_in(high)} ({percent(high)})"
    most = f"at most {one_in(high)} ({percent(high)})"
    return most if low <= 0 else f"at least {one_in(low)} ({percent(low)}) and {most}"


# ---- sensitive columns --------------------------------------------------------------------------


def sensitive(found: Measured) -> dict[str, Any] | None:
    """Say l and t of each sensitive column against their limits, and the other measures."""
    columns: dict[Name, dict[str, float | Problem]] = {}
    for (column, score), value in found.scores.items():
        columns.setdefault(column, {})[score] = value
    if not columns:
        return None
    shown = list(columns.items())[:_MOST_SENSITIVE]
    note = None
    if found.by is not None:
        note = f"Of classes of the quasi-identifier within each group of {name_of(found.by)}."
    return {
        "note": note,
        "columns": [_column(found, column, scores) for column, scores in shown],
        "more": len(columns) - len(shown),
    }


def _column(found: Measured, column: Name, scores: dict[str, float | Problem]) -> dict[str, Any]:
    rows = [_score(score, value) for score, value in scores.items()]
    main = [row for row in rows if row["score"] in ("distinct", *_DISTANCES)]
    limits = [
        limit_row(one)
        for one in found.verdict.findings
        if found.judged and one.sensitive == column and one.group is None
    ]
    return {
        "name": name_of(column),
        "limits": limits[:MOST_LIMITS],
        "rows": main,
        "rest": [row for row in rows if row not in main],
    }


def _score(score: str, value: float | Problem) -> dict[str, Any]:
    formula = FORMULAS[score]
    name = "t-closeness" if score in _DISTANCES else formula.measure.replace("_", " ")
    names = {"ldiv": "l-diversity", "entropy ldiv": "entropy l-diversity"}
    told = {
        "score": score,
        "name": names.get(name, name) + (f" ({score} distance)" if score in _DISTANCES else ""),
        "meaning": formula.meaning or FORMULAS["hierarchical"].meaning,
    }
    if isinstance(value, Problem):
        return {**told, "value": None, "text": f"could not be measured: {cut(value.message)}"}
    return {**told, "value": plain(float(value)), "text": number(float(value))}


# ---- population ---------------------------------------------------------------------------------


def population(found: Measured, people: People) -> dict[str, Any] | None:
    """Say what can be true of the population: bounds first, models beside them."""
    estimate = found.population
    if found.sizes is None:
        return None
    if estimate is None:
        return {
            "sentence": "Nobody has said how many people the table is a sample of: give "
            "population_size= to see how many of them can be unique.",
            "low": None,
        }
    if isinstance(estimate, Problem):
        return {"sentence": f"Could not be assessed: {cut(estimate.message)}.", "low": None}
    low, high = (float(end) for end in estimate.unique_fraction)
    doubt = ""
    if estimate.widened > 1:
        doubt = " The class sizes are not those of a simple random sample: do not rely on this."
    models = [_model(one, estimate) for one in estimate.estimates if one.uniques is not None]
    return {
        "sentence": f"Of {estimate.population_size:,} people, of whom the table has "
        f"{people.count(estimate.n_records)}, between {percent(low)} and {percent(high)} are "
        f"unique, whatever the model.{doubt}",
        "population_size": estimate.population_size,
        "low": low,
        "high": high,
        "low_text": percent(low),
        "high_text": percent(high),
        "models": models,
    }


def _model(one: Any, estimate: PopulationEstimate) -> dict[str, Any]:
    share = float(one.uniques) / estimate.population_size
    return {
        "name": one.model.replace("_", " "),
        "share": share,
        "share_text": percent(share),
        "note": cut(one.note),
        "doubtful": bool(one.doubtful),
    }


# ---- group size ---------------------------------------------------------------------------------


def groups(found: Measured, people: People) -> dict[str, Any] | None:
    """Say how many of a smaller group would be alone."""
    rows = []
    for one in found.groups:
        low, high = (end / one.group_size for end in one.interval(0.95))
        rows.append(
            {
                "size": one.group_size,
                "size_text": f"{one.group_size:,}",
                "share": one.fraction,
                "share_text": percent(one.fraction),
                "low": low,
                "high": high,
                "range_text": f"{percent(low)} to {percent(high)}",
            }
        )
    if not rows:
        return None
    return {
        "sentence": "A smaller group holds fewer who look alike: of another group from the same "
        "population, more are alone the smaller it is.",
        "people": people.plural,
        "rows": rows,
    }
