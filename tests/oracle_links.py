"""Who is linked across a change of pseudonyms: every person before beside every person after.

From the definitions of `anonrisk.linkability` and nothing else, over a list of dicts.
"""

from __future__ import annotations

from fractions import Fraction

import oracle


def links(rows, user, qid, time, *, at=None, period=None, missing="value"):
    """What is counted over all changes; times, `at` and `period` are numbers."""
    rows = oracle.kept(rows, qid, missing)
    sides = {}
    for row in rows:
        persons = sides.setdefault(_side(row[time], rows, time, at, period), {})
        persons.setdefault(row[user], set()).add(oracle.key(row, qid))
    changes = [(sides[side], sides[side + 1]) for side in sides if side + 1 in sides]
    pairs = [(who, *change) for change in changes for who in change[0] if who in change[1]]
    n = len(pairs)
    return {
        "n_records": len(rows),
        "n_persons": len({row[user] for row in rows}),
        "n_changes": sum(any(who in after for who in before) for before, after in changes),
        "n_both": n,
        "n_linked": sum(_is_linked(*pair) for pair in pairs),
        "n_false": sum(_wrong_values(*change) for change in changes),
        "expected": float(sum(_best_guess(*pair) for pair in pairs) / n) if n else 0.0,
        "chance": float(sum(Fraction(1, len(after)) for _, _, after in pairs) / n) if n else 0.0,
    }


def _side(moment, rows, time, at, period):
    if period is not None:
        return moment // period
    times = [row[time] for row in rows]
    return moment >= (Fraction(min(times) + max(times), 2) if at is None else at)


def _clues(who, before, after):
    """Whom each clue to a person fits, before and after: one of their values, or all of them."""
    for value in before[who] & after[who]:
        yield tuple([one for one in side if value in side[one]] for side in (before, after))
    if before[who] == after[who]:
        yield tuple([one for one in side if side[one] == before[who]] for side in (before, after))


def _is_linked(who, before, after):
    return any(found == ([who], [who]) for found in _clues(who, before, after))


def _best_guess(who, before, after):
    return max((Fraction(1, len(late)) for _, late in _clues(who, before, after)), default=0)


def _wrong_values(before, after):
    """Values that only one person has before, and only another one after."""
    wrong = 0
    for one, own in before.items():
        for other, theirs in after.items():
            if one != other:
                for value in own & theirs:
                    early = [who for who in before if value in before[who]]
                    late = [who for who in after if value in after[who]]
                    wrong += early == [one] and late == [other]
    return wrong
