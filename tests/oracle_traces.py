"""Slow, obvious answers about traces and links, over lists of (user, item, time)."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations, pairwise


def by_user(records):
    """The records of each user in time, equal ones once."""
    traces = defaultdict(set)
    for user, item, time in records:
        traces[user].add((time, item))
    return {
        user: [item for _, item in sorted(trace, key=lambda x: x[0])]
        for user, trace in traces.items()
    }


def contains(trace, points, *, ordered):
    if not ordered:
        return set(points) <= set(trace)
    rest = iter(trace)
    return all(any(point == item for item in rest) for point in points)


def expected_unicity(records, length, k=2, *, ordered=False):
    """Each user's share of sets of different items that fewer than k users have: exact."""
    traces = by_user(records)
    shares = {}
    for user, trace in traces.items():
        firsts = list(dict.fromkeys(trace))
        sets = list(combinations(firsts, length))
        if sets:
            rare = sum(
                sum(contains(other, points, ordered=ordered) for other in traces.values()) < k
                for points in sets
            )
            shares[user] = rare / len(sets)
    return shares


def windows(records, length, k=2, *, ordered=False):
    """(mean over users of the share of their runs that are rare, share of all runs, users)."""
    runs = {
        user: [
            tuple(trace[i : i + length])
            if ordered
            else tuple(sorted(trace[i : i + length], key=repr))
            for i in range(len(trace) - length + 1)
        ]
        for user, trace in by_user(records).items()
    }
    holders = defaultdict(set)
    for user, own in runs.items():
        for run in own:
            holders[run].add(user)
    rare = {user: [len(holders[run]) < k for run in own] for user, own in runs.items() if own}
    if not rare:
        return None, None, 0
    every = [hit for own in rare.values() for hit in own]
    mean = sum(sum(own) / len(own) for own in rare.values()) / len(rare)
    return mean, sum(every) / len(every), len(rare)


def whole_sets(holders):
    """The set of all values of each person."""
    sets = defaultdict(set)
    for qid, people in holders.items():
        for person in people:
            sets[person].add(qid)
    return sets


def links(records, side):
    """Counts across every change between two sides that follow each other."""
    seen = defaultdict(lambda: defaultdict(set))
    for user, qid, time in records:
        seen[side(time)][qid].add(user)
    both = linked = wrong = 0
    best, chance, changes = 0.0, 0.0, 0
    for before, after in ((p, p + 1) for p in seen if p + 1 in seen):
        old, new = seen[before], seen[after]
        there = set().union(*old.values()) & set().union(*new.values())
        everybody = len(set().union(*new.values()))
        changes += bool(there)
        both += len(there)
        chance += sum(1 / everybody for _ in there)
        right = set()
        for qid in old.keys() & new.keys():
            if len(old[qid]) == len(new[qid]) == 1:
                if old[qid] == new[qid]:
                    right |= old[qid]
                else:
                    wrong += 1
        old_sets, new_sets = whole_sets(old), whole_sets(new)
        for user in there:
            own = old_sets[user]
            if own == new_sets[user]:
                alone = [list(sets.values()).count(own) == 1 for sets in (old_sets, new_sets)]
                right |= {user} if all(alone) else set()
        linked += len(right)
        for user in there:
            shared = [
                1 / len(new[q])
                for q in old.keys() & new.keys()
                if user in old[q] and user in new[q]
            ]
            if old_sets[user] == new_sets[user]:
                shared.append(1 / list(new_sets.values()).count(new_sets[user]))
            best += max(shared, default=0.0)
    return {
        "n_both": both,
        "n_linked": linked,
        "n_false": wrong,
        "n_changes": changes,
        "expected": best / both if both else 0.0,
        "chance": chance / both if both else 0.0,
    }


def gaps(records):
    """Sum of times between successive records of a user, and their number."""
    times = defaultdict(list)
    for user, _, time in records:
        times[user].append(time)
    steps = [b - a for own in times.values() for a, b in pairwise(sorted(own))]
    return sum(steps), len(steps)
