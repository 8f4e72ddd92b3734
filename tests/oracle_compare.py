"""Two releases beside each other: slow, obvious, over lists of (person, class, value)."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

CHANGES = ("added", "removed", "stayed", "moved")
# Of somebody who stayed in a class: how many rows they have there.
ROWS = "rows"


def by_key(rows, key, value):
    found = defaultdict(set)
    for row in rows:
        found[row[key]].add(row[value])
    return found


def members(before, now):
    """Every group of persons with the same fate, by what it was: (change, before, now)."""
    old, new = by_key(before, 0, 1), by_key(now, 0, 1)
    found = defaultdict(set)
    for person in {*old, *new}:
        was, is_ = frozenset(old.get(person, ())), frozenset(new.get(person, ()))
        if was and is_ and not was & is_:
            found["moved", was, is_].add(person)
            continue
        for cls in was & is_:
            found["stayed", frozenset([cls]), frozenset([cls])].add(person)
            had, has = (sum(row[:2] == (person, cls) for row in rows) for rows in (before, now))
            if had != has:
                found["added" if has > had else "removed", ROWS, cls].add(person)
        for cls in is_ - was:
            found["added", bool(was), frozenset([cls])].add(person)
        for cls in was - is_:
            found["removed", frozenset([cls]), bool(is_)].add(person)
    return found


def values(rows, person, classes):
    return frozenset(v for who, cls, v in rows if who == person and cls in classes)


def one_value(rows, persons, classes):
    return len({values(rows, person, classes) for person in persons}) == 1


def shared(rows, persons, classes):
    """The values that all of some persons have, whatever else each has."""
    return frozenset.intersection(*(values(rows, person, classes) for person in persons))


def told_values(rows, classes):
    """The values that a release alone tells of those who are in some classes."""
    people = by_key(rows, 1, 0)
    return frozenset().union(*(shared(rows, people[cls], {cls}) for cls in classes if people[cls]))


def difference(before, now, pair):
    """What the rows of a person in a class are more, and fewer, than they were."""
    found = Counter(v for *own, v in now if tuple(own) == pair)
    found.subtract(v for *own, v in before if tuple(own) == pair)
    return frozenset((v, n) for v, n in found.items() if n)


def told(rows, classes):
    """Whether a release alone tells the values of a class that somebody has."""
    people = by_key(rows, 1, 0)
    return any(one_value(rows, people[cls], {cls}) for cls in classes)


def compared(before, now):
    """What a comparison says: each person's smallest group, and whose value is learned."""
    was, is_ = by_key(before, 1, 0), by_key(now, 1, 0)
    smallest, learned = {}, set()
    for (change, old, new), persons in members(before, now).items():
        if change == "stayed" and all(persons == people[min(old)] for people in (was, is_)):
            continue
        for person in persons:
            fate = (len(persons), CHANGES.index(change))
            smallest[person] = min(smallest.get(person, fate), fate)
        if old == ROWS:
            sides = [(rows, {new}) for rows in (before, now)]
            changes = {difference(before, now, (person, new)) for person in persons}
            known = len(changes) == 1
            news = {
                value
                for sign in (1, -1)
                for value in frozenset.intersection(
                    *(frozenset(v for v, n in change if n * sign > 0) for change in changes)
                )
            }
        else:
            sides = [
                (rows, classes)
                for rows, classes in ((before, old), (now, new))
                if isinstance(classes, frozenset)
            ]
            known = any(one_value(rows, persons, classes) for rows, classes in sides)
            news = {v for rows, classes in sides for v in shared(rows, persons, classes)}
        known = known and not any(told(rows, classes) for rows, classes in sides)
        if known or news - {v for rows, classes in sides for v in told_values(rows, classes)}:
            learned |= persons
    return smallest, learned


def alone(rows):
    return {
        person for people in by_key(rows, 1, 0).values() if len(people) == 1 for person in people
    }


def other_values(before, now):
    old, new = by_key(before, 0, 2), by_key(now, 0, 2)
    return {person for person in {*old} & {*new} if old[person] != new[person]}


def net(before, now, *, persons=False):
    """By class what came and went for certain, and of how many of them the value is learned.

    A record has one value; a person may have several, so that only the value that most more have
    tells how many came.
    """
    if persons:
        before, now = set(before), set(now)
    found = {}
    for cls in {row[1] for row in (*before, *now)}:
        counts, sizes = [], []
        for rows in (now, before):
            inside = [(who, v) for who, c, v in rows if c == cls]
            counts.append(Counter(v for _, v in inside))
            sizes.append(len({who for who, _ in inside} if persons else inside))
        sides = []
        for mine, other in ((0, 1), (1, 0)):
            more = counts[mine] - counts[other]
            told = max(more.values(), default=0) if persons else more.total()
            n = max(told, sizes[mine] - sizes[other])
            # All who changed have it, and not all of the class.
            known = any(new == n and counts[mine][v] < sizes[mine] for v, new in more.items())
            sides.append((n, n if known else 0))
        found[cls] = sides
    return found


def learned_by(people, releases):
    """Whose value somebody learns who knows everything but the values, from these releases.

    `people` are (classes, value), a class or None for each release. The attacker tries every way to
    give values to people, and keeps those under which each release is what it is.
    """
    domain = sorted({value for _, value in people})

    def seen(given):
        return [
            Counter(
                (classes[r], v)
                for (classes, _), v in zip(people, given, strict=True)
                if classes[r] is not None
            )
            for r in releases
        ]

    truth = seen([value for _, value in people])
    worlds = [given for given in product(domain, repeat=len(people)) if seen(given) == truth]
    return {
        i
        for i, (classes, _) in enumerate(people)
        if any(classes[r] is not None for r in releases)
        and len({world[i] for world in worlds}) == 1
    }


def rows_of(people, release):
    """One release of people, as rows."""
    return [
        (i, classes[release], v)
        for i, (classes, v) in enumerate(people)
        if classes[release] is not None
    ]
