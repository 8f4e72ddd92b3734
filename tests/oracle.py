"""Slow, obvious answers over lists of dicts, written from the definitions and nothing else."""

from __future__ import annotations

import math
from collections import Counter, defaultdict


def same(cell):
    """One value for every way of being missing."""
    missing = cell is None or cell != cell
    return ("missing",) if missing else ("cell", cell)


def key(row, qid):
    return tuple(same(row[name]) for name in qid)


def kept(rows, qid, missing="value"):
    if missing != "drop":
        return rows
    return [row for row in rows if ("missing",) not in key(row, qid)]


def members(rows, qid, unit=None):
    """The records, or the different persons, of each class."""
    found = defaultdict(set)
    for number, row in enumerate(rows):
        found[key(row, qid)].add(number if unit is None else row[unit])
    return found


def class_sizes(rows, qid, unit=None, missing="value"):
    """Histogram of class sizes, and of records (persons) by their smallest class."""
    rows = kept(rows, qid, missing)
    classes = members(rows, qid, unit)
    smallest = {}
    for persons in classes.values():
        for person in persons:
            smallest[person] = min(smallest.get(person, math.inf), len(persons))
    return Counter(map(len, classes.values())), Counter(smallest.values())


def k(rows, qid, unit=None, missing="value"):
    return min(class_sizes(rows, qid, unit, missing)[0])


def uniqueness(rows, qid, unit=None, missing="value"):
    records = class_sizes(rows, qid, unit, missing)[1]
    return records[1] / sum(records.values())


def sizes(rows, qid, unit=None):
    classes = members(rows, qid, unit)
    return [len(classes[key(row, qid)]) for row in rows]


def probabilities(rows, qid):
    classes = members(rows, qid)
    return [len(records) / len(rows) for records in classes.values()]


def entropy(rows, qid, order=1):
    p = probabilities(rows, qid)
    if order == 1:
        return -sum(x * math.log2(x) for x in p)
    if order == math.inf:
        return -math.log2(max(p))
    return math.log2(sum(x**order for x in p)) / (1 - order)


def degree(rows, qid):
    if len(rows) == 1:
        return 0.0
    return 1 - entropy(rows, qid) / math.log2(len(rows))


def quantile(values, q):
    values = sorted(values)
    position = q * (len(values) - 1)
    low = math.floor(position)
    high = math.ceil(position)
    return values[low] + (values[high] - values[low]) * (position - low)
