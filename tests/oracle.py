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


def whole_persons(rows, qid, unit, missing="value"):
    """Histogram of how many persons have the same rows, as often each."""
    of_person = defaultdict(Counter)
    for row in kept(rows, qid, missing):
        of_person[row[unit]][key(row, qid)] += 1
    return Counter(Counter(frozenset(own.items()) for own in of_person.values()).values())


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


def value_counts(rows, sensitive, unit=None):
    """How often each sensitive value occurs; a person once per value."""
    if unit is None:
        return Counter(same(row[sensitive]) for row in rows)
    return Counter(value for _, value in {(row[unit], same(row[sensitive])) for row in rows})


def classes_of(rows, qid, unit=None):
    """The rows of each class, and its number of records or persons."""
    found = defaultdict(list)
    for row in rows:
        found[key(row, qid)].append(row)
    return [
        (inside, len(inside) if unit is None else len({row[unit] for row in inside}))
        for inside in found.values()
    ]


def ldiv(rows, qid, sensitive, variant="distinct", c=None, unit=None):
    return min(
        class_ldiv(value_counts(inside, sensitive, unit), size, variant, c)
        for inside, size in classes_of(rows, qid, unit)
    )


def class_ldiv(counts, size, variant, c):
    r = sorted(counts.values(), reverse=True)
    if variant == "distinct":
        return min(len(r), size)
    if variant == "entropy":
        return math.exp(-sum(x / sum(r) * math.log(x / sum(r)) for x in r))
    return max((l for l in range(1, len(r) + 1) if r[0] < c * sum(r[l - 1 :])), default=0)


def alpha(rows, qid, sensitive, unit=None):
    return max(
        max(value_counts(inside, sensitive, unit).values()) / size
        for inside, size in classes_of(rows, qid, unit)
    )


def shares(counts):
    return {value: n / sum(counts.values()) for value, n in counts.items()}


def gains(rows, qid, sensitive, unit=None):
    """For each class, its shares and the table's."""
    table = shares(value_counts(rows, sensitive, unit))
    for inside, _ in classes_of(rows, qid, unit):
        yield shares(value_counts(inside, sensitive, unit)), table


def beta(rows, qid, sensitive, unit=None):
    return max(
        max([0.0, *((p[v] - q[v]) / q[v] for v in p if p[v] > q[v])])
        for p, q in gains(rows, qid, sensitive, unit)
    )


def delta(rows, qid, sensitive, unit=None):
    return max(
        max(abs(math.log(p[v] / q[v])) for v in p) for p, q in gains(rows, qid, sensitive, unit)
    )


def tcloseness(rows, qid, sensitive, cost, unit=None):
    """The largest cost of moving a class's distribution to the table's, by linear programming."""
    return max(transport(p, q, cost) for p, q in gains(rows, qid, sensitive, unit))


def transport(p, q, cost):
    from scipy.optimize import linprog

    values = sorted(q)
    n = len(values)
    moves = [cost(a, b) for a in values for b in values]
    leaves = [[float(i // n == k) for i in range(n * n)] for k in range(n)]
    arrives = [[float(i % n == k) for i in range(n * n)] for k in range(n)]
    wanted = [p.get(v, 0.0) for v in values] + [q[v] for v in values]
    return linprog(moves, A_eq=leaves + arrives, b_eq=wanted).fun


def ordered_cost(rows, sensitive, order=None):
    """Difference of ranks over m - 1, a missing value last."""
    values = {same(row[sensitive]) for row in rows}
    known = [value for value in values if value != ("missing",)]
    known.sort(key=None if order is None else lambda value: order.index(value[1]))
    ranked = known + [value for value in values if value == ("missing",)]
    scale = max(len(ranked) - 1, 1)
    return lambda a, b: abs(ranked.index(a) - ranked.index(b)) / scale


def equal_cost(a, b):
    return float(a != b)


def tree_cost(parents):
    """Height of the lowest common ancestor over the height of the tree; leaves are cells."""
    children = defaultdict(set)
    for child, parent in parents.items():
        children[parent].add(child)

    def height(node):
        return max((height(child) + 1 for child in children.get(node, ())), default=0)

    def above(node):
        chain = [node]
        while chain[-1] in parents:
            chain.append(parents[chain[-1]])
        return chain

    (root,) = {parent for parent in parents.values() if parent not in parents}

    def cost(a, b):
        common = next(node for node in above(a[1]) if node in above(b[1]))
        return height(common) / height(root)

    return cost


def population_sizes(rows, population, qid):
    """For each record of the release, the sizes of its class here and in the population."""
    here, there = Counter(key(row, qid) for row in rows), Counter(key(r, qid) for r in population)
    return [(here[key(row, qid)], there[key(row, qid)]) for row in rows]


def household_risks(rows, risks, household):
    """For each record, the risk that any member of its household is found."""
    safe = defaultdict(lambda: 1.0)
    for row, risk in zip(rows, risks, strict=True):
        safe[row[household]] *= 1 - risk
    return [1 - safe[row[household]] for row in rows]


def matches(row, other, qid):
    """Whether two records agree wherever neither of them misses a value."""
    pairs = zip(key(row, qid), key(other, qid), strict=True)
    return all(a == b or ("missing",) in (a, b) for a, b in pairs)


def matched_sizes(rows, qid):
    """How many records match each record, itself among them."""
    return [sum(matches(row, other, qid) for other in rows) for row in rows]


def matched_classes(rows, qid):
    """Histogram of those sizes over different keys, and over records."""
    sizes = matched_sizes(rows, qid)
    keys = {key(row, qid): size for row, size in zip(rows, sizes, strict=True)}
    return Counter(keys.values()), Counter(sizes)
