"""Which records a plan leaves out, and which plan is best: slow, obvious, over lists of dicts."""

from __future__ import annotations

import itertools
import math

import oracle

HAIR = 1e-9
STEPS = ("keep", "prefix", "star")


def score(inside, size, goal, rows, unit):
    """The score of one class; `goal` is (column, kind, limit, c)."""
    column, kind, _, c = goal
    counts = oracle.value_counts(inside, column, unit)
    if kind in ("distinct", "entropy", "recursive"):
        return oracle.class_ldiv(counts, size, kind, c)
    p, q = oracle.shares(counts), oracle.shares(oracle.value_counts(rows, column, unit))
    if kind == "equal":
        return sum(abs(p.get(value, 0) - q[value]) for value in q) / 2
    values = sorted(q)
    steps = (abs(sum(p.get(v, 0) - q[v] for v in values[: i + 1])) for i in range(len(values) - 1))
    return sum(steps) / max(len(values) - 1, 1)


def breaks(inside, size, rule, rows, unit):
    _, k, goals = rule
    if size < k:
        return True
    for goal in goals:
        found = score(inside, size, goal, rows, unit)
        limit = goal[2]
        if goal[1] in ("equal", "ordered"):
            if found > limit * (1 + HAIR) + 1e-12:
                return True
        elif found < limit * (1 - HAIR):
            return True
    return False


def without(rows, rule, unit):
    """The rows of the classes that keep to a rule."""
    return [
        row
        for inside, size in oracle.classes_of(rows, rule[0], unit)
        if not breaks(inside, size, rule, rows, unit)
        for row in inside
    ]


def left(rows, rules, unit):
    """Leave out classes until nothing changes: by sizes and different values first."""
    steady = [
        (qid, k, [goal for goal in goals if goal[1] == "distinct"]) for qid, k, goals in rules
    ]
    for asked in (steady, rules):
        before = None
        while rows and len(rows) != before:
            before = len(rows)
            for rule in asked:
                rows = without(rows, rule, unit)
    return rows


def best(rows, columns, variants, wholes, allowed, unit):
    """The least loss of any combination of steps, infinite where none will do."""
    values = {name: {row[name] for row in rows} for name in columns}
    least = math.inf
    for steps in itertools.product(STEPS, repeat=len(columns)):
        losses, coarse = [], [dict(row) for row in rows]
        for name, step in zip(columns, steps, strict=True):
            labels = {v: {"keep": v, "prefix": v[0], "star": "*"}[step] for v in values[name]}
            members = {label: [*labels.values()].count(label) for label in labels.values()}
            of_star = dict.fromkeys(members, 1.0)
            spread = max(len(labels) - 1, 1)
            part = {label: (n - 1) / spread for label, n in members.items()}
            losses.append(of_star if step == "star" else part)
            for row in coarse:
                row[name] = labels[row[name]]
        for rules in variants:
            kept = left(coarse, rules, unit)
            gone = len(rows) - len(kept)
            if not kept or gone > allowed or not all(whole(kept) for whole in wholes):
                continue
            cells = sum(
                loss[row[name]] for row in kept for name, loss in zip(columns, losses, strict=True)
            )
            least = min(least, (cells / len(columns) + gone) / len(rows))
    return least
