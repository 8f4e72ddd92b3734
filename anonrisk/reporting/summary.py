"""A report as a plain dict: every number and every sentence, before anything is drawn.

What is rendered (HTML, Markdown, a shell) takes its words from here and adds none, so that all say
the same. Names are escaped here, as `render.shown` does, and every list and text is bounded.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from anonrisk.core.render import percent
from anonrisk.core.results import plain
from anonrisk.measures.counts.class_sizes import BANDS
from anonrisk.measures.scores import FORMULAS
from anonrisk.policy import evidence
from anonrisk.policy.coverage import unseen
from anonrisk.policy.evidence import Problem
from anonrisk.policy.finding import COULD_NOT_ASSESS, FAIL, PASS
from anonrisk.policy.release_rules import ROW_LABELS, no_records
from anonrisk.reporting import meanings
from anonrisk.reporting.meanings import MOST_LIMITS, behind, limit_row
from anonrisk.reporting.text import FLOOR, People, and_more, cut, listed, name_of, number, one_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from anonrisk.api.class_sizes import ClassSizes
    from anonrisk.core.columns import Name
    from anonrisk.measures.counts.population import Attacker
    from anonrisk.policy.verdict import Verdict
    from anonrisk.predict.population import PopulationEstimate
    from anonrisk.reporting.measured import Measured


_MOST_SENSITIVE = 20
_DISTANCES = ("equal", "ordered", "hierarchical")


# ---- class sizes --------------------------------------------------------------------------------


def classes(measured: Measured, people: People) -> dict[str, Any] | None:
    """Return how many people share a combination, by the size of their class."""
    sizes = measured.sizes
    if sizes is None:
        return None
    k = people.k if people.k is not None and people.k > 1 else None
    title = people.alone_sentence() if k is None else people.hidden_sentence(sizes, k)
    largest = max(share for _, _, _, share in _bands(sizes, k))
    return {
        "title": title,
        "note": _of_all_groups(measured),
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


def _of_all_groups(measured: Measured) -> str | None:
    if measured.by is None:
        return None
    return f"Of the whole table, all groups of {name_of(measured.by)} together."


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
    summary = _joined([*_joined(small), *_joined(bands[len(small) :])])
    return [(low, high, people, people / sizes.n_records) for low, high, people in summary]


def _joined(bands: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Leave out empty bands, and join those of too few people with the next, or else the last."""
    lines: list[tuple[int, int, int]] = []
    filled = [band for band in bands if band[-1]]
    for i, (low, high, people) in enumerate(filled):
        few = i == len(filled) - 1 and people < FLOOR
        if lines and (few or lines[-1][-1] < FLOOR):
            before, _, more = lines.pop()
            lines.append((before, high, people + more))
        else:
            lines.append((low, high, people))
    return lines


# ---- what drives it -----------------------------------------------------------------------------


def drivers(measured: Measured, people: People) -> dict[str, Any] | None:
    """Return how many would be alone without each column, the one that helps most first."""
    sizes = measured.sizes
    if sizes is None or not measured.without:
        return None
    few = people.k or 2
    # Where nobody is alone, those who hide among too few are what is left to lower.
    k = 2 if sizes.k == 1 or few <= 2 else few
    what = "the share alone" if k == 2 else f"the share among fewer than {k:,}"
    _, current = people.below(sizes, k)
    rows = [_driver(name, item, people, k, current) for name, item in measured.without.items()]
    # What is not told is a few, more than nobody.
    rows.sort(key=lambda row: 1e-12 if row["share"] is None else row["share"])
    return {
        "title": f"{what.capitalize()}, without each column",
        "note": _of_all_groups(measured),
        "what": what,
        "now": current,
        "now_text": _share(current, people, sizes),
        "rows": rows,
        "more": len(sizes.qid) - len(rows),
    }


def _driver(
    name: Name, sizes: ClassSizes, people: People, k: int, current: float | None
) -> dict[str, Any]:
    _, share = people.below(sizes, k)
    helps = share == 0 if current is None else share is None or share < current
    return {
        "name": name_of(name),
        "share": share,
        "share_text": _share(share, people, sizes),
        "helps": helps,
    }


def _share(share: float | None, people: People, sizes: ClassSizes) -> str:
    return f"{people.few(sizes)} {people.plural}" if share is None else percent(share)


# ---- attackers ----------------------------------------------------------------------------------


def attackers(measured: Measured, people: People) -> dict[str, Any] | None:
    """Return what three attackers can do, with what nobody knows as an interval."""
    sizes, risk = measured.sizes, measured.risk
    if sizes is None or risk is None:
        return None
    known = risk.basis != "release"
    outside = None
    if measured.population is not None and not isinstance(measured.population, Problem):
        outside = measured.population.population_size - sizes.n_records
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
    return {"note": " ".join(filter(None, (_of_all_groups(measured), *notes))), "rows": rows}


def _least(sizes: ClassSizes, outside: int | None) -> tuple[float, float]:
    """Return the least that a risk can be if everybody outside the table were in one's class."""
    if outside is None:
        return 0.0, 0.0
    risks = 1 / (sizes.sizes + float(outside))
    return float(risks[0]), float((sizes.records * risks).sum() / sizes.n_records)


def _attacker(attacker: Attacker, least: tuple[float, float] | None = None) -> dict[str, Any]:
    """Return both ends of each risk; `least` where nothing is known of a population."""
    title = f"The {attacker.name}{'' if least is None else ' (bounds only)'}"
    document: dict[str, Any] = {"name": attacker.name, "title": title, "known": least is None}
    ends = (attacker.highest_interval, attacker.average_interval)
    for i, (measure, interval) in enumerate(zip(("highest", "average"), ends, strict=True)):
        if interval is None:
            document[measure] = None
            continue
        low = interval.low if least is None else min(least[i], interval.high)
        document[measure] = {"low": float(low), "high": float(interval.high)}
    document["sentence"] = _attacks(attacker.name, document)
    return document


def _attacks(name: str, document: dict[str, Any]) -> str:
    highest, average = document["highest"], document["average"]
    if name == "marketer":
        return f"Of all, expected to find {_chance(average)}."
    text = f"Finds whoever is easiest to find with a chance of {_chance(highest)}"
    return f"{text}, and on average {_chance(average)}."


def _chance(ends: dict[str, Any]) -> str:
    low, high = ends["low"], ends["high"]
    if low == high:
        return f"{one_in(high)} ({percent(high)})"
    most = f"at most {one_in(high)} ({percent(high)})"
    return most if low <= 0 else f"at least {one_in(low)} ({percent(low)}) and {most}"


# ---- sensitive columns --------------------------------------------------------------------------


def sensitive(measured: Measured) -> dict[str, Any] | None:
    """Return l and t of each sensitive column against their limits, and the other measures."""
    columns: dict[Name, dict[str, float | Problem]] = {}
    for (column, score), value in measured.scores.items():
        columns.setdefault(column, {})[score] = value
    if not columns:
        return None
    shown = list(columns.items())[:_MOST_SENSITIVE]
    note = None
    if measured.by is not None:
        note = f"Of classes of the quasi-identifier within each group of {name_of(measured.by)}."
    return {
        "note": note,
        "columns": [_column(measured, column, scores) for column, scores in shown],
        "more": len(columns) - len(shown),
    }


def _column(measured: Measured, column: Name, scores: dict[str, float | Problem]) -> dict[str, Any]:
    rows = [_score(score, value) for score, value in scores.items()]
    main = [row for row in rows if row["score"] in ("distinct", *_DISTANCES)]
    limits = [
        limit_row(finding)
        for finding in measured.verdict.findings
        if measured.judged and finding.sensitive == column and finding.group is None
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
    fields = {
        "score": score,
        "name": names.get(name, name) + (f" ({score} distance)" if score in _DISTANCES else ""),
        "meaning": formula.meaning or FORMULAS["hierarchical"].meaning,
    }
    if isinstance(value, Problem):
        return {**fields, "value": None, "text": f"could not be measured: {cut(value.message)}"}
    return {**fields, "value": plain(float(value)), "text": number(float(value))}


# ---- population ---------------------------------------------------------------------------------


def population(measured: Measured, people: People) -> dict[str, Any] | None:
    """Return what can be true of the population: bounds first, models beside them."""
    estimate = measured.population
    if measured.sizes is None:
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
    models = [_model(item, estimate) for item in estimate.estimates if item.uniques is not None]
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


def _model(item: Any, estimate: PopulationEstimate) -> dict[str, Any]:
    share = float(item.uniques) / estimate.population_size
    return {
        "name": item.model.replace("_", " "),
        "share": share,
        "share_text": percent(share),
        "note": cut(item.note),
        "doubtful": bool(item.doubtful),
    }


# ---- group size ---------------------------------------------------------------------------------


def groups(measured: Measured, people: People) -> dict[str, Any] | None:
    """Return how many of a smaller group would be alone."""
    rows = []
    for group in measured.groups:
        low, high = (end / group.group_size for end in group.interval(0.95))
        rows.append(
            {
                "size": group.group_size,
                "size_text": f"{group.group_size:,}",
                "share": group.fraction,
                "share_text": percent(group.fraction),
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


SCHEMA_VERSION = 1
_TITLE = "Who can be singled out"
WORDS = {
    PASS: ("Pass", "✓", "good"),
    FAIL: ("Fail", "✗", "bad"),
    COULD_NOT_ASSESS: ("Could not assess", "?", "doubt"),
    None: ("Measured, not judged", "i", "none"),
}
_ABSENT = "absent"
_NOT_THERE = "is not a column"
_ROLES = {
    _ABSENT: "Named by the policy, and not in the table",
    "direct": "Direct identifiers, which must not be published",
    "quasi": "Quasi-identifiers: known to others, together they single people out",
    "sensitive": "Sensitive: must not be learned about a person",
    "unit": "Whose row it is",
    "weight": "Sampling weight",
    "by": "Checked group by group",
    "insensitive": "Declared harmless",
    None: "Not looked at",
}
# What to do where nothing was tried.
_NEXT = {
    PASS: "Publish these rows and columns and no others: what changes must be checked again.",
    FAIL: "Nothing was tried on this table. What would help is tried by verdict.explain(), on the "
    "command line ",
    COULD_NOT_ASSESS: "Fix what is listed above and check again; until then, do not publish.",
    None: "Say in a policy what is acceptable, and ask again with it: anonrisk draft, on the "
    "command line, writes one to review.",
}
NOTHING_HELPS = "Nothing that was tried lets this table pass."
_SAVE = "Save the plan: report.explanation.plan.to_json(), on the command line "
_EXPLAIN = "anonrisk check --explain"
NEXT_UNSEEN = "Say in the policy what the columns are that were not looked at, or leave them out."
_MOST_NAMES = 60
_MOST_FILES = 20
# Names in the verdict's own sentence; all are listed below it.
_MOST_UNSEEN = 12
_MISSING = {
    "value": "a missing quasi-identifier is a value like any other",
    "drop": "rows that miss a quasi-identifier were left out",
    "error": "a missing quasi-identifier would have been refused",
    "wildcard": "a missing quasi-identifier matches every value",
}


def summarise(
    measured: Measured, title: str | None = None, more: tuple[Any, ...] = ()
) -> dict[str, Any]:
    """Return all that a report says as plain values that serialise as JSON."""
    people = People.of(measured)
    return {
        "schema_version": SCHEMA_VERSION,
        "library": "anonrisk",
        "library_version": measured.verdict.library_version,
        "masthead": _masthead(measured, people, title),
        "verdict": _verdict(measured, people),
        "covers": _rows(measured.verdict) if measured.judged else [],
        "columns": _columns(measured),
        "budgets": meanings.limits_of(measured),
        "classes": classes(measured, people),
        "drivers": drivers(measured, people),
        "attackers": attackers(measured, people),
        "sensitive": sensitive(measured),
        "population": population(measured, people),
        "groups": groups(measured, people),
        "more": [cut(repr(item), lines=True) for item in more],
        "made": _made(measured, people),
        "behind": behind(),
        "never_shown": _never(measured),
    }


def refused(message: str, title: str | None = None) -> dict[str, Any]:
    """Return the summary of a report that there is none of: why, and that this is no pass."""
    word, sign, tone = WORDS[COULD_NOT_ASSESS]
    return {
        "schema_version": SCHEMA_VERSION,
        "library": "anonrisk",
        "masthead": {"title": cut(title or _TITLE), "facts": []},
        "verdict": {
            "status": COULD_NOT_ASSESS,
            "word": word,
            "sign": sign,
            "tone": tone,
            "headline": NOBODY_CAN_TELL.format(cut(message)),
            "notes": [],
            "next": [_NEXT[COULD_NOT_ASSESS]],
        },
    }


NOBODY_CAN_TELL = "It could not be assessed. This is not a pass: {}"


def words_of(status: str | None, caveats: Iterable[str] = ()) -> tuple[str, str, str]:
    """Return the word, the sign and the tone of a verdict; a pass with a caveat is no plain one."""
    word, sign, tone = WORDS[status]
    return (cut(", ".join((word, *caveats))), sign, "doubt") if caveats else (word, sign, tone)


# ---- masthead -----------------------------------------------------------------------------------


def _masthead(measured: Measured, people: People, title: str | None) -> dict[str, Any]:
    verdict = measured.verdict
    policy = verdict.policy_name or ("without a name" if measured.judged else None)
    rows = None if verdict.n_rows is None else verdict.n_rows + (verdict.n_dropped or 0)
    facts = [
        ("Policy", None if policy is None else cut(policy)),
        ("Table", None if verdict.table is None else cut(verdict.table)),
        ("Files", _files(verdict)),
        ("Rows", None if rows is None else f"{rows:,}"),
        ("Persons", people.size if verdict.unit is not None else None),
        ("Checked", f"{verdict.checked_at.replace('T', ' ').removesuffix('+00:00')} UTC"),
        ("Policy digest", verdict.policy_digest if measured.judged else None),
        ("Made by", f"anonrisk {verdict.library_version}"),
    ]
    lines = [{"label": label, "text": text} for label, text in facts if text]
    return {"title": cut(title or _TITLE), "facts": lines}


def _files(verdict: Verdict) -> str | None:
    names = [name_of(file) for file in verdict.files]
    if len(names) < 2:
        return None
    return and_more(names, _MOST_FILES)


# ---- verdict ------------------------------------------------------------------------------------


def _verdict(measured: Measured, people: People) -> dict[str, Any]:
    verdict = measured.verdict
    status = verdict.status if measured.judged else None
    word, sign, tone = words_of(verdict.status, verdict.caveats) if measured.judged else WORDS[None]
    notes = []
    if verdict.not_looked_at and status != PASS:
        notes.append(cut(unseen(verdict.not_looked_at, _MOST_UNSEEN)))
    if measured.judged:
        notes += _others_broken(verdict, status)
    if measured.judged:
        notes += warned(len(verdict.warnings))
    return {
        "status": status,
        "word": word,
        "sign": sign,
        "tone": tone,
        "headline": _headline(measured, people, status),
        "notes": notes,
        "next": _next_steps(measured, status),
    }


def warned(number: int) -> list[str]:
    """Return how many limits that do not decide are broken."""
    if not number:
        return []
    what = "1 limit that only warns is" if number == 1 else f"{number:,} that only warn are"
    return [f"{what} broken as well."]


def _headline(measured: Measured, people: People, status: str | None) -> str:
    verdict = measured.verdict
    if status is None:
        return f"No policy was given, so nothing is decided. {people.alone_sentence()}"
    if status == PASS:
        policy = "the policy" if verdict.policy_name is None else cut(verdict.policy_name)
        which = "every limit that decides" if verdict.warnings else "every limit"
        kept = f"Keeps {which} of {policy}, for the columns it covers."
        return " ".join(filter(None, (kept, cut(unseen(verdict.not_looked_at, _MOST_UNSEEN)))))
    if status == COULD_NOT_ASSESS:
        return NOBODY_CAN_TELL.format(_cause(measured))
    return f"Do not publish this table as it is. {_why(measured, people)}"


def _cause(measured: Measured) -> str:
    """Return what everything else follows from: no records, a column that is not there."""
    failures = measured.verdict.failures
    if no_records() in failures:
        return "the table has no records; there is nothing to publish."
    doubts = [failure for failure in failures if failure.status == COULD_NOT_ASSESS]
    sentences = list(map(meanings.limit_sentence, doubts))
    if len(measured.absent) > 1:
        return f"the policy names columns that the table does not have: {listed(measured.absent)}."
    # Which role it has, and what it may be called now.
    of_absent = [text for text in sentences if measured.absent and _NOT_THERE in text]
    if of_absent:
        return of_absent[0].partition(" could not be assessed: ")[2]
    if not sentences:
        return "nothing was checked."
    return sentences[0].removeprefix("The table could not be assessed: ")


def _why(measured: Measured, people: People) -> str:
    """Return the failure that people understand best: someone alone, or among too few.

    People are counted in the whole table, by the quasi-identifier with most columns.
    """
    failed = [failure for failure in measured.verdict.failures if failure.status == FAIL]
    sizes = measured.sizes
    for budget in ("max_unique_fraction", "max_fraction_below_k", "k"):
        for failure in failed:
            about = failure.budget == budget and failure.group is None
            if sizes is None or not about or failure.qid != sizes.qid or failure.limit is None:
                continue
            if budget == "max_unique_fraction":
                text = people.alone_sentence().removesuffix(".")
            else:
                k = int(failure.parameters.get("k", failure.limit))
                hidden = people.hidden_sentence(sizes, k).removesuffix(".")
                text = f"{hidden} by their {listed(sizes.qid)}"
            allowed = "nobody" if budget == "k" else evidence.as_given(failure.limit)
            return f"{text}; the policy allows {allowed}."
    return meanings.limit_sentence(failed[0])


def _others_broken(verdict: Verdict, status: str | None) -> list[str]:
    """Return how many limits decide beside the one in the headline."""
    lines = []
    for kind, what in ((FAIL, "broken"), (COULD_NOT_ASSESS, "in doubt: could not be assessed")):
        n = sum(failure.status == kind for failure in verdict.failures) - (kind == status)
        if n > 0:
            lines.append(f"{'1 other limit is' if n == 1 else f'{n:,} other limits are'} {what}.")
    return lines


def _next_steps(measured: Measured, status: str | None) -> list[str]:
    """Return what to do; after a failure, what was tried and lets the table pass."""
    if status == PASS and measured.verdict.not_looked_at:
        return [NEXT_UNSEEN]
    tried, command = measured.explanation, measured.explain_command or _EXPLAIN
    if status != FAIL or tried is None:
        # Last in its sentence, for whoever copies it.
        return [_NEXT[status] + (command if status == FAIL else "")]
    if tried.storage:
        return [*map(cut, tried.steps)]
    if tried.plan is None:
        return [NOTHING_HELPS, *map(cut, tried.steps)]
    return [*map(cut, tried.steps), f"{_SAVE}{command} --save-plan plan.json"]


# ---- columns ------------------------------------------------------------------------------------


def _rows(verdict: Verdict) -> list[str]:
    """Return what is said of rows: how many were judged, and why others were not."""
    return [cut(line) for line in verdict.coverage.row_lines()]


def _columns(measured: Measured) -> list[dict[str, Any]]:
    covered = measured.verdict.coverage
    groups = list(covered.groups())
    if measured.absent:
        groups.append((measured.absent, _ABSENT, ""))
    if ROW_LABELS in covered.not_looked_at and ROW_LABELS not in covered.roles:
        groups.append(((ROW_LABELS,), None, ""))
    lines = []
    for role, label in _ROLES.items():
        for names, own, seen_by in groups:
            if own != role:
                continue
            lines.append(
                {
                    "role": role,
                    "label": label,
                    "seen_by": cut(seen_by) if measured.judged else "",
                    "looked_at": role not in (None, _ABSENT)
                    and names[0] not in covered.attributes_not_judged,
                    "names": [name_of(name) for name in names[:_MOST_NAMES]],
                    "n": len(names),
                    "more": max(0, len(names) - _MOST_NAMES),
                }
            )
    return lines


# ---- how it was made ----------------------------------------------------------------------------


def _made(measured: Measured, people: People) -> list[dict[str, str]]:
    verdict = measured.verdict
    dropped = verdict.n_dropped or 0
    facts = [
        ("Engine", verdict.engine),
        ("Passes over the table", _passes(measured)),
        ("Missing values", _MISSING[verdict.missing]),
        ("Rows left out", f"{dropped:,}" if dropped else None),
        ("Whose row it is", None if verdict.unit is None else name_of(verdict.unit)),
        ("Quasi-identifier", None if measured.sizes is None else listed(measured.sizes.qid)),
        ("Others", _others(measured)),
        ("Groups", _groups(measured)),
        ("Exact", _exact(measured)),
        ("Estimated", _estimated(measured, people)),
        ("Version", f"anonrisk {verdict.library_version}"),
    ]
    return [{"label": label, "text": text} for label, text in facts if text]


def _passes(measured: Measured) -> str | None:
    tried = "" if measured.explanation is None else ", and those to try what would help"
    return f"{measured.passes:,}{tried}" if measured.passes else None


def _others(measured: Measured) -> str | None:
    if measured.n_qids < 2:
        return None
    return (
        f"the policy has limits for {measured.n_qids:,} quasi-identifiers; pictures and measures "
        "are of the one with most columns, the limits of all"
    )


def _groups(measured: Measured) -> str | None:
    if measured.by is None:
        return None
    return (
        f"limits are checked in each group of {name_of(measured.by)}; pictures and measures are of "
        "the whole table, all groups together"
    )


def _exact(measured: Measured) -> str:
    """List the figures that were counted, of those that this report has."""
    counted = measured.sizes is not None
    budgets = any(finding.value is not None for finding in measured.verdict.all_findings)
    parts = {
        "columns": bool(measured.verdict.columns),
        "budgets": measured.judged and budgets,
        "class sizes": counted,
        "columns left out": counted and bool(measured.without),
        "prosecutor": counted and measured.risk is not None,
        "sensitive columns": any(not isinstance(x, Problem) for x in measured.scores.values()),
    }
    return ", ".join(part for part, is_there in parts.items() if is_there)


def _estimated(measured: Measured, people: People) -> str:
    known = measured.population is not None and not isinstance(measured.population, Problem)
    lines = ["group sizes (exact law of a draw from this table)"] if measured.groups else []
    lines += ["population (bounds, and models)"] if known else []
    lines += ["journalist and marketer"] if people.basis in ("sampling_fraction", "weights") else []
    return ", ".join(lines) or "nothing"


def _never(measured: Measured) -> str:
    but = (
        f", but the groups of {name_of(measured.by)}, which the policy asks for"
        if measured.by
        else ""
    )
    return (
        f"No cell of the table is on this page{but}; no label of a class, no number of a record, "
        f"and, beside what the limits are compared with, no count of fewer than {FLOOR} people."
    )
