"""Two releases beside each other: slow, obvious, over lists of (person, class, value)."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import product

CHANGES = ("added", "removed", "stayed", "moved")


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
        for cls in is_ - was:
            found["added", bool(was), frozenset([cls])].add(person)
        for cls in was - is_:
            found["removed", frozenset([cls]), bool(is_)].add(person)
    return found


def values(rows, person, classes):
    return frozenset(v for who, cls, v in rows if who == person and cls in classes)


def one_value(rows, persons, classes):
    return len({values(rows, person, classes) for person in persons}) == 1


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
        sides = [
            (rows, classes)
            for rows, classes in ((before, old), (now, new))
            if isinstance(classes, frozenset)
        ]
        known = any(one_value(rows, persons, classes) for rows, classes in sides)
        if known and not any(told(rows, classes) for rows, classes in sides):
            learned |= persons
    return smallest, learned


def alone(rows):
    return {
        person for people in by_key(rows, 1, 0).values() if len(people) == 1 for person in people
    }


def other_values(before, now):
    old, new = by_key(before, 0, 2), by_key(now, 0, 2)
    return {person for person in {*old} & {*new} if old[person] != new[person]}


def net(before, now):
    """By class what came and went for certain, and how many records' value is learned."""
    found = {}
    for cls in {row[1] for row in (*before, *now)}:
        old = Counter(v for _, c, v in before if c == cls)
        new = Counter(v for _, c, v in now if c == cls)
        sides = []
        for mine, other in ((new, old), (old, new)):
            more = mine - other
            n = sum(more.values())
            sides.append((n, n if len(more) == 1 and len(mine) > 1 else 0))
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
