"""Mondrian by the book, slow and obvious: over lists of dicts, one region after another."""

from __future__ import annotations

import math
from collections import Counter


class Bits:
    """Losses in bits, cell by cell: −log2 Pr(x | label), over the entropy of the column."""

    # What a list of records loses, where that is to be gained, and a millionth of the bits.
    of_classes = None

    def bits_lost(self, cells):
        times, n = Counter(self.cells), len(self.cells)
        entropy = -sum(c / n * math.log2(c / n) for c in times.values())
        inside = sum(self.holds(cells, other) for other in self.cells)
        lost = sum(math.log2(inside) - math.log2(times[cell]) for cell in cells)
        return lost / len(cells) / entropy if entropy else 0.0

    def loss(self, cells):
        return self.bits_lost(cells) if self.kind == "entropy" else self.covered(cells)


class Tree(Bits):
    """A column with a hierarchy, by the book: a region has the common beginning of its paths."""

    def __init__(self, paths, cells=(), kind="range"):
        self.paths = {**paths, None: ("any", None)}
        self.n_leaves = len(paths)
        self.cells, self.kind = cells, kind

    def holds(self, cells, other):
        node = self.common(cells)
        return self.paths[other][: len(node)] == node

    def common(self, cells):
        shared = self.paths[cells[0]]
        for cell in cells:
            path = self.paths[cell]
            while path[: len(shared)] != shared:
                shared = shared[:-1]
        return shared

    def covered(self, cells):
        node = self.common(cells)
        if len(node) == 1:
            return 1.0
        below = sum(path[: len(node)] == node for leaf, path in self.paths.items() if leaf)
        return max(below - 1, 0) / (self.n_leaves - 1)

    def label(self, cells):
        return self.common(cells)[-1]

    def ways(self, records, name, k, fits):
        node = self.common([r[name] for r in records])
        parts = {}
        for r in records:
            parts.setdefault(self.paths[r[name]][: len(node) + 1], []).append(r)
        order = sorted(parts, key=lambda path: (path[-1] is None, path))
        if len(order) < 2:
            return
        cannot = [p for p in order if len(parts[p]) < k or not fits(parts[p])]
        free = sorted((p for p in order if p not in cannot), key=lambda p: len(parts[p]))
        rest = [r for p in cannot for r in parts[p]]
        while cannot and free and (len(rest) < k):
            rest = rest + parts[free.pop(0)]
        if cannot and free and not fits(rest):
            rest = rest + parts[free.pop(0)]
        if free:
            yield [parts[p] for p in order if p in free] + ([rest] if rest else [])


class Ruler(Bits):
    """A column of whole numbers that is cut at edges."""

    def __init__(self, cells, edges, kind="range"):
        self.cells, self.kind = cells, kind
        known = [c for c in cells if c is not None]
        self.low, self.high, self.edges = min(known), max(known), edges

    def ends(self, cells):
        known = [c for c in cells if c is not None]
        start = max([e for e in self.edges if e <= min(known)], default=None)
        end = min([e for e in self.edges if e > max(known)], default=None)
        return start, end

    def holds(self, cells, other):
        if all(c is None for c in cells):
            return other is None
        start, end = self.ends(cells)
        if None in cells or (start == end and self.low < self.high):
            return True
        return other is not None and (start or 0) <= other < (end or math.inf)

    def covered(self, cells):
        if all(c is None for c in cells):
            return 0.0
        if None in cells:
            return 1.0
        start, end = self.ends(cells)
        low = self.low if start is None else max(start, self.low)
        high = self.high if end is None else min(end - 1, self.high)
        return max(high - low, 0) / (self.high - self.low) if self.high > self.low else 0.0

    def label(self, cells):
        if all(c is None for c in cells):
            return None
        start, end = self.ends(cells)
        # Few missing values stay with the largest numbers.
        if None in cells or start == end:
            return "*"
        if start is None or end is None:
            return f"<{end:g}" if start is None else f">={start:g}"
        return f"{start:g}" if end == start + 1 else f"{start:g}-{end - 1:g}"

    def ways(self, records, name, k, fits):
        known = [r for r in records if r[name] is not None]
        cuts = [*([r for r in known if r[name] < e] for e in self.edges), known]
        halves = [(low, [r for r in records if r not in low]) for low in cuts]
        halves = [h for h in halves if min(map(len, h)) >= k and self.gain(records, h, name) > 0]
        if halves:
            yield max(halves, key=lambda h: round(self.gain(records, h, name), 12))
            if fits is not everything:
                yield max(halves, key=lambda h: min(map(len, h)))

    def gain(self, records, parts, name):
        return per_bit(self, records, parts, name)


def everything(_):
    return True


def per_bit(column, records, parts, name):
    n = len(records)
    gained = n * column.loss([r[name] for r in records]) - sum(
        len(part) * column.loss([r[name] for r in part]) for part in parts
    )
    if column.of_classes is not None:
        gained *= 1e-6
        gained += column.of_classes(records) - sum(map(column.of_classes, parts))
    bits = sum(len(part) * math.log2(n / len(part)) for part in parts)
    return gained / bits if gained > 1e-12 else 0.0


def by_the_book(records, columns, k, fits=everything):
    """Cut again and again; give the label of every region with its records."""
    ways = [
        (round(per_bit(column, records, parts, name), 12), parts)
        for name, column in columns.items()
        for parts in column.ways(records, name, k, fits)
    ]
    # Of equal ones the first, and only those that keep to the limit.
    for score, parts in sorted(ways, key=lambda way: -way[0]):
        if score > 0 and all(map(fits, parts)):
            return [leaf for part in parts for leaf in by_the_book(part, columns, k, fits)]
    label = tuple(column.label([r[name] for r in records]) for name, column in columns.items())
    return [(label, len(records))]
