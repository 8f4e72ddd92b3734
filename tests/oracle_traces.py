"""Slow, obvious answers about traces, over lists of (user, item, time)."""

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


def gaps(records):
    """Sum of times between successive records of a user, and their number."""
    times = defaultdict(list)
    for user, _, time in records:
        times[user].append(time)
    steps = [b - a for own in times.values() for a, b in pairwise(sorted(own))]
    return sum(steps), len(steps)
