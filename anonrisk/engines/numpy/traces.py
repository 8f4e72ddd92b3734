"""Traces as numbers: who else has the points that are known of a person, and who is linked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from anonrisk.core.frozen import dataclass
from anonrisk.core.progress import interruptible, tell
from anonrisk.core.render import count_of
from anonrisk.engines.limits import tied_times
from anonrisk.engines.numpy.count import histogram, runs_of
from anonrisk.engines.renumber import closed_up
from anonrisk.measures.counts.question import MEASURED, LinkCounts, StepCounts, TraceCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from anonrisk.core.types import Integers
    from anonrisk.measures.counts.question import LinkQuestion, TraceQuestion

    Flags = NDArray[np.bool_]

# A bit for each number that there could be answers fastest, if there is room (256 MiB).
_MOST_BITS = 2**31


@dataclass(frozen=True)
class KeySet:
    """Numbers from 0 on, in their order, each once."""

    keys: Integers
    bits: NDArray[np.uint8] | None

    @classmethod
    def of(cls, keys: Integers, bound: int) -> KeySet:
        """Take numbers below a bound that are in their order already, each once."""
        if bound > _MOST_BITS:
            return cls(keys, None)
        bits = np.zeros(bound // 8 + 1, dtype=np.uint8)
        places, masks = keys >> 3, (1 << (keys & 7)).astype(np.uint8)
        first = runs_of(places)
        bits[places[first]] = np.bitwise_or.reduceat(masks, first)
        return cls(keys, bits)

    def has(self, asked: Integers) -> Flags:
        """Return for each number whether it is among them."""
        if self.bits is not None:
            flags: Flags = (self.bits[asked >> 3] >> (asked & 7).astype(np.uint8)) & 1 > 0
            return flags
        result: Flags = self.keys[np.minimum(self.place(asked), len(self.keys) - 1)] == asked
        return result

    def place(self, asked: Integers) -> Integers:
        """Return the place of each number that is among them."""
        return np.searchsorted(self.keys, asked)


@dataclass(frozen=True)
class Index:
    """Each pair of user and item once, by user and by item.

    `item`, in order of user, and `holder`, the users in order of item, are (n_pairs,); `starts` and
    `n_points`, where a user's pairs are in `item`, are (n_users,); `item_starts` and `popularity`,
    where an item's are in `holder`, (n_items,).
    """

    item: Integers
    starts: Integers
    n_points: Integers
    holder: Integers
    item_starts: Integers
    popularity: Integers
    pairs: KeySet
    n_items: int

    @classmethod
    def of(cls, user: Integers, item: Integers, n_users: int, n_items: int) -> Index:
        """Sort the pairs and point at where each user and each item starts."""
        keys = user * n_items + item
        keys.sort()
        keys = keys[runs_of(keys)]
        users, items = keys // n_items, keys % n_items
        n_points = np.bincount(users, minlength=n_users)
        popularity = np.bincount(items, minlength=n_items)
        by_item = np.argsort(items, kind="stable")
        return cls(
            items,
            np.cumsum(n_points) - n_points,
            n_points,
            users[by_item],
            np.cumsum(popularity) - popularity,
            popularity,
            KeySet.of(keys, n_users * n_items),
            n_items,
        )

    def shuffled(self, random: np.random.Generator) -> Integers:
        """Return the items of each user in a random order; its first s are a random set of s."""
        owner = np.repeat(np.arange(len(self.n_points)), self.n_points)
        return self.item[np.argsort(owner + random.random(len(owner)), kind="stable")]

    def has(self, user: Integers, item: Integers) -> Flags:
        """Return whether each user has each item."""
        return self.pairs.has(user * self.n_items + item)


@dataclass(frozen=True)
class Visits:
    """When each user was where: places in the user's trace, by pair of user and item.

    `places` is (n_records,), as number of the pair times `longest` plus place, ascending; `starts`,
    where a pair's are, is (n_pairs,).
    """

    index: Index
    places: Integers
    starts: Integers
    longest: int

    @classmethod
    def of(cls, index: Index, user: Integers, item: Integers) -> Visits:
        """Read traces that are in the order of users and times."""
        place = np.arange(len(user))
        order = np.lexsort((place, user * index.n_items + item))
        pairs = (user * index.n_items + item)[order]
        starts = runs_of(pairs)
        longest = len(user) + 1
        number = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(pairs)))
        return cls(index, number * longest + place[order], starts, longest)

    def _pair(self, user: Integers, item: Integers) -> Integers:
        return self.index.pairs.place(user * self.index.n_items + item)

    def sorted(self, users: Integers, points: Integers) -> Integers:
        """Put the points of each user, (n_users, s), in the order of the first visits to them."""
        pairs = self._pair(np.repeat(users, points.shape[1]), points.ravel())
        first = (self.places[self.starts[pairs]] % self.longest).reshape(points.shape)
        return np.take_along_axis(points, np.argsort(first, axis=1), axis=1)

    def follow(self, user: Integers, points: Integers) -> Flags:
        """Return whether each user visited the points in this order, anything between them.

        `points` is (n_users, s), one row per user.
        """
        at = np.full(len(user), -1, dtype=np.int64)
        good = np.ones(len(user), dtype=bool)
        for column in points.T:
            pair = self._pair(user, column)
            later = np.searchsorted(self.places, pair * self.longest + at, side="right")
            place = self.places[np.minimum(later, len(self.places) - 1)]
            good &= (later < len(self.places)) & (place // self.longest == pair)
            at = place % self.longest
        return good


# Looking through the users who have a set's rarest point costs users times users. Sets that begin
# with the same points share their way down the tree instead, and a user goes down only where they
# have the next point. Where some items are much more popular than others, as in real traces, that
# costs about as many groupings of the table whatever its size: 13 to 20 at 1 to 16 million records
# of 2,500 items under Zipf's law. It costs more where items are few and all equally popular (about
# 60 for 100 items). Order is looked at in the leaves only, so that in dense traces, where every
# user reaches nearly every leaf, ordered sets cost users times users still.

# Steps that are looked at together; bounds the memory.
_AT_ONCE = 4_000_000
# How many questions whether a user has an item cost as much as one look-up among the branches.
_WORTH = 2


@dataclass(frozen=True)
class _Level:
    """The nodes of one depth: the item of each, and where its children are in the next level.

    Arrays are (n_nodes,); `keys` are number of the parent times items plus item, ascending.
    """

    keys: KeySet
    item: Integers
    first_child: Integers
    n_children: Integers


@dataclass(frozen=True)
class _Tree:
    """Sets in their order, and the tree of their beginnings; `leaf` is the last node of a set."""

    levels: tuple[_Level, ...]
    leaf: Integers

    @classmethod
    def of(cls, points: Integers, n_items: int) -> _Tree:
        new = np.zeros(len(points), dtype=bool)
        new[:1] = True
        parent = np.zeros(len(points), dtype=np.int64)
        keys, items, children = [], [], []
        for column in points.T:
            new[1:] |= column[1:] != column[:-1]
            n_parents = int(parent[-1]) + 1
            keys.append(KeySet.of(parent[new] * n_items + column[new], n_parents * n_items))
            items.append(column[new])
            children.append(np.bincount(parent[new]))
            parent = np.cumsum(new) - 1
        children.append(np.zeros(parent[-1] + 1, dtype=np.int64))
        levels = (
            _Level(key, item, np.cumsum(number) - number, number)
            for key, item, number in zip(keys, items, children[1:], strict=True)
        )
        return cls(tuple(levels), parent)


def count_holders(
    index: Index, by_rarity: Integers, in_order: Integers, visits: Visits | None
) -> Integers:
    """Count the users who have all the points of each set, in their order if there are visits.

    `by_rarity`, rarest first, and `in_order` are (n_sets, s); the result is (n_sets,).
    """
    order = np.lexsort(by_rarity.T[::-1])
    tree = _Tree.of(by_rarity[order], index.n_items)
    walk = _Walk(index, tree, in_order[order], visits)
    result = np.empty(len(order), dtype=np.int64)
    result[order] = walk.from_the_top()
    return result


class _Walk:
    """Users on their way down a tree of sets."""

    def __init__(
        self, index: Index, tree: _Tree, in_order: Integers, visits: Visits | None
    ) -> None:
        self.index, self.tree, self.in_order, self.visits = index, tree, in_order, visits
        self.n_sets = np.bincount(tree.leaf)
        self.first_set = np.cumsum(self.n_sets) - self.n_sets
        self.counts = np.zeros(len(tree.leaf) if visits is not None else len(self.n_sets), np.int64)

    def from_the_top(self) -> Integers:
        index, top = self.index, self.tree.levels[0]
        number = index.popularity[top.item]
        for nodes in split(np.arange(len(top.item)), number):
            at, node = spread(nodes, number[nodes])
            self._down(0, node, index.holder[index.item_starts[top.item[node]] + at])
        return self.counts if self.visits is not None else self.counts[self.tree.leaf]

    def _down(self, depth: int, node: Integers, user: Integers) -> None:
        if depth == len(self.tree.levels) - 1:
            self._arrive(node, user)
            return
        level = self.tree.levels[depth]
        by_branch = level.n_children[node]
        by_point = self.index.n_points[user]
        asks = by_branch <= _WORTH * by_point
        for rows in split(np.flatnonzero(asks), by_branch[asks]):
            self._down(depth + 1, *self._ask(depth, node[rows], user[rows]))
        for rows in split(np.flatnonzero(~asks), by_point[~asks]):
            self._down(depth + 1, *self._look_up(depth, node[rows], user[rows]))

    def _ask(self, depth: int, node: Integers, user: Integers) -> tuple[Integers, Integers]:
        """Ask of every branch whether the user has its item."""
        level, below = self.tree.levels[depth], self.tree.levels[depth + 1]
        at, row = spread(np.arange(len(node)), level.n_children[node])
        child = level.first_child[node][row] + at
        user = user[row]
        has = self.index.has(user, below.item[child])
        return child[has], user[has]

    def _look_up(self, depth: int, node: Integers, user: Integers) -> tuple[Integers, Integers]:
        """Look every item of the user up among the branches."""
        index, below = self.index, self.tree.levels[depth + 1]
        at, row = spread(np.arange(len(node)), index.n_points[user])
        key = node[row] * index.n_items + index.item[index.starts[user][row] + at]
        has = below.keys.has(key)
        return below.keys.place(key[has]), user[row[has]]

    def _arrive(self, leaf: Integers, user: Integers) -> None:
        if self.visits is None:
            self.counts += np.bincount(leaf, minlength=len(self.counts))
            return
        for rows in split(np.arange(len(leaf)), self.n_sets[leaf]):
            at, row = spread(rows, self.n_sets[leaf[rows]])
            number = self.first_set[leaf[row]] + at
            follows = self.visits.follow(user[row], self.in_order[number])
            self.counts += np.bincount(number[follows], minlength=len(self.counts))


def spread(rows: Integers, number: Integers) -> tuple[Integers, Integers]:
    """Repeat each row so often; give 0, 1, … within each, and the row."""
    at = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    return at, np.repeat(rows, number)


def split(rows: Integers, number: Integers) -> list[Integers]:
    """Split rows so that what they are spread to stays within bounds."""
    cuts = np.flatnonzero(np.diff(np.cumsum(number) // _AT_ONCE)) + 1
    return [part for part in np.split(rows, cuts) if len(part)]


# Candidates of each user that are looked at one by one at first; four times as many next. Chosen,
# as is the next number: the result is the same with others, found in more time or less.
_FIRST_LOOK = 64
# The share of the sets that a look may leave open for another to be worth it.
_WORTH_A_LOOK = 0.7


def rare(  # noqa: PLR0917
    index: Index, drawn: Integers, users: Integers, s: int, k: int, visits: Visits | None
) -> NDArray[np.float64]:
    """Return for each user's first s drawn items whether fewer than k users have them all.

    The users who have the rarest item are looked at a few at a time, as long as that settles
    many sets; what is left then is found in one walk for all.
    """
    sets = _Sets.of(index, drawn, users, s, visits)
    if s == 1:
        return (sets.length < k).astype(float)
    result = np.zeros(len(users), dtype=np.int64)
    left, seen, size = np.arange(len(users)), 0, _FIRST_LOOK
    while len(left):
        for part in split(left, np.minimum(sets.length[left] - seen, size)):
            result[part] += _count(index, sets, part, range(seen, seen + size))
        n_before, seen, size = len(left), seen + size, 4 * size
        left = left[(result[left] < k) & (sets.length[left] > seen)]
        if len(left) > _WORTH_A_LOOK * n_before:
            result[left] = count_holders(index, sets.by_rarity[left], sets.points[left], visits)
            break
    return (result < k).astype(float)


def _count(index: Index, sets: _Sets, part: Integers, among: range) -> Integers:
    """Count, of some candidates of some users, those who have all the points."""
    number = np.minimum(sets.length[part] - among.start, len(among))
    within, owner = spread(np.arange(len(part)), number)
    candidate = index.holder[sets.first[part][owner] + among.start + within]
    for column in sets.by_rarity.T[1:]:
        able = index.has(candidate, column[part][owner])
        owner, candidate = owner[able], candidate[able]
    if sets.visits is not None:
        owner = owner[sets.visits.follow(candidate, sets.points[part][owner])]
    return np.bincount(owner, minlength=len(part))


@dataclass(frozen=True)
class _Sets:
    """A set of points of each user, and where the users who have its rarest point are listed.

    `points` and `by_rarity` are (n_users, s); `first` and `length`, places in `Index.holder`,
    (n_users,).
    """

    points: Integers
    by_rarity: Integers
    first: Integers
    length: Integers
    visits: Visits | None

    @classmethod
    def of(
        cls, index: Index, drawn: Integers, users: Integers, s: int, visits: Visits | None
    ) -> _Sets:
        points = drawn[index.starts[users][:, None] + np.arange(s)]
        rarity = np.argsort(index.popularity[points], axis=1, kind="stable")
        by_rarity = np.take_along_axis(points, rarity, axis=1)
        rarest = by_rarity[:, 0]
        if visits is not None:
            points = visits.sorted(users, points)
        return cls(points, by_rarity, index.item_starts[rarest], index.popularity[rarest], visits)


@dataclass(frozen=True)
class NumberedRecords:
    """The kept records: user and item as numbers without gaps, and a time that orders them."""

    user: Integers
    item: Integers
    n_users: int
    n_items: int
    time: Integers | None
    n_dropped: int
    on_calendar: bool = False


def trace_counts(records: NumberedRecords, question: TraceQuestion) -> TraceCounts:
    """Count who is singled out by each number of records."""
    sizes, items = histogram(np.bincount(records.item, minlength=records.n_items))
    steps = _windows(records, question) if question.consecutive else _sets(records, question)
    span, gaps = 0, 0
    if records.time is not None:
        starts = runs_of(records.user)
        ends = np.append(starts[1:], len(records.user)) - 1
        # In numbers of Python, which do not overflow.
        span = sum(records.time[ends].tolist()) - sum(records.time[starts].tolist())
        gaps = len(records.user) - records.n_users
    return TraceCounts(
        len(records.user),
        records.n_dropped,
        records.n_users,
        tuple(zip(sizes.tolist(), items.tolist(), strict=True)),
        steps,
        gaps,
        span,
        records.on_calendar,
    )


def in_order(records: NumberedRecords, question: TraceQuestion) -> tuple[Integers, Integers]:
    """Return users and items by user and time, if no two of a user are at one time."""
    user, time = records.user, records.time
    if time is None:
        raise AssertionError
    tied = np.zeros(len(user), dtype=bool)
    tied[1:] = (user[1:] == user[:-1]) & (time[1:] == time[:-1])
    if tied.any():
        # The first record of a tie is the one before.
        tied[:-1] |= tied[1:]
        raise tied_times(question.time, int(tied.sum()))
    return user, records.item


def _windows(records: NumberedRecords, question: TraceQuestion) -> tuple[StepCounts, ...]:
    user, item = in_order(records, question)
    steps: list[StepCounts] = []
    with interruptible() as interruption:
        for s in question.lengths:
            tell(f"runs of {count_of(s, 'record')}", len(steps), question.n_steps)
            steps.append(_window(user, item, records, question, s))
    interruption.keep(len(steps), question.n_steps, MEASURED)
    return tuple(steps)


def _window(
    user: Integers, item: Integers, records: NumberedRecords, question: TraceQuestion, s: int
) -> StepCounts:
    """Count every run of s records of a user, and the users who have the same run."""
    n = len(user) - s + 1
    starts = np.flatnonzero(user[: max(n, 0)] == user[s - 1 :]) if n > 0 else np.zeros(0, np.int64)
    if not len(starts):
        return StepCounts(s, 0, records.n_users, 0.0, 0.0, 0.0, 0.0)
    runs = item[starts[:, None] + np.arange(s)]
    if not question.ordered:
        runs.sort(axis=1)
    keys, bound = closed_up(runs[:, 0])
    for column in runs.T[1:]:
        keys, bound = closed_up(keys * records.n_items + column)
    owner = user[starts]
    # Keys and users are both numbered without gaps, so that their product fits.
    pairs = np.unique(keys * records.n_users + owner)
    holders = np.bincount(pairs // records.n_users, minlength=bound)
    rare = holders[keys] < question.k
    windows = np.bincount(owner, minlength=records.n_users)
    hits = np.bincount(owner, rare, minlength=records.n_users)
    has = windows > 0
    share = hits[has] / windows[has]
    return StepCounts(
        s,
        int(has.sum()),
        int((~has).sum()),
        float(share.sum()),
        float((share**2).sum()),
        float(rare.sum()),
        float(len(starts)),
    )


def _sets(records: NumberedRecords, question: TraceQuestion) -> tuple[StepCounts, ...]:
    random = np.random.default_rng(question.seed)
    index = Index.of(records.user, records.item, records.n_users, records.n_items)
    visits = None
    if question.ordered:
        visits = Visits.of(index, *in_order(records, question))
    weight = np.bincount(records.user, minlength=records.n_users).astype(float)
    asked = np.arange(records.n_users)
    if question.sample is not None and question.sample < records.n_users:
        asked = np.sort(random.choice(records.n_users, question.sample, replace=False))
    # Of each length the hits of every user who has so many points, and how often they were drawn.
    hits: dict[int, tuple[NDArray[np.float64], int]] = {}
    with interruptible() as interruption:
        for draw in range(question.draws):
            drawn = index.shuffled(random)
            for place, s in enumerate(question.lengths):
                done = draw * len(question.lengths) + place
                tell(f"sets of {count_of(s, 'record')}", done, question.n_steps)
                able = asked[index.n_points[asked] >= s]
                singled_out = rare(index, drawn, able, s, question.k, visits)
                hits[s] = (hits[s][0] + singled_out if draw else singled_out), draw + 1
    n_done = sum(draws for _, draws in hits.values())
    interruption.keep(n_done, question.n_steps, MEASURED)
    steps = []
    for s, (hit, draws) in hits.items():
        users = asked[index.n_points[asked] >= s]
        share = hit / draws
        steps.append(
            StepCounts(
                s,
                len(users),
                len(asked) - len(users),
                float(share.sum()),
                float((share**2).sum()),
                float((share * weight[users]).sum()),
                float(weight[users].sum()),
                draws,
            )
        )
    return tuple(steps)


def link_counts(
    users: tuple[Integers, int],
    qids: tuple[Integers, int],
    times: Integers,
    question: LinkQuestion,
    n_dropped: int,
) -> LinkCounts:
    """Match persons before and after each change; users and values are numbered without gaps."""
    (user, n_users), (qid, n_qids) = users, qids
    side = _sides(times, question)
    periods, side = np.unique(side, return_inverse=True)
    # Whether the period after each is there at all.
    followed = np.append(np.diff(periods) == 1, False)
    by_value = _matched(side * n_qids + qid, n_qids, user, n_users, followed)
    source, whose, known, n_sets = _whole_sets(side, user, qid, n_users, n_qids)
    by_set = _matched(source * n_sets + known, n_sets, whose, n_users, followed)
    both, after = _both(side, user, n_users, followed, len(periods))
    n_both = len(both)
    best = _best(by_value, by_set)
    return LinkCounts(
        len(times),
        n_dropped,
        n_users,
        len(np.unique(both // n_users)),
        n_both,
        len(np.union1d(by_value.linked, by_set.linked)),
        by_value.n_false,
        best / n_both if n_both else 0.0,
        float((1 / after[both // n_users]).mean()) if n_both else 0.0,
    )


def _sides(times: Integers, question: LinkQuestion) -> Integers:
    if question.period is not None:
        numbers: Integers = times // question.period
        return numbers
    low, high = int(times.min()), int(times.max())
    at = -(-(low + high) // 2) if question.at is None else question.at
    return (times >= at).astype(np.int64)


def _both(
    side: Integers, user: Integers, n_users: int, followed: NDArray[np.bool_], n_sides: int
) -> tuple[Integers, Integers]:
    """Return (side, user) of everybody who is there in the next one too, and how many that has."""
    present = np.unique(side * n_users + user)
    source = present // n_users
    size = np.bincount(source, minlength=n_sides + 1)
    both = present[followed[source] & np.isin(present + n_users, present, assume_unique=True)]
    return both, size[1:]


def _whole_sets(
    side: Integers, user: Integers, qid: Integers, n_users: int, n_qids: int
) -> tuple[Integers, Integers, Integers, int]:
    """Return every period and person once, with a number for the set of all their values there."""
    person, number = np.unique(side * n_users + user, return_inverse=True)
    pairs = np.unique(number * n_qids + qid)
    starts = runs_of(pairs // n_qids)
    values = pairs % n_qids
    numbers: dict[bytes, int] = {}
    known = [
        numbers.setdefault(own.tobytes(), len(numbers)) for own in np.split(values, starts[1:])
    ]
    return person // n_users, person % n_users, np.array(known, dtype=np.int64), len(numbers)


def _best(*attackers: _Matches) -> float:
    """Sum everybody's best chance over all attackers."""
    who = np.concatenate([matches.who for matches in attackers])
    chance = np.concatenate([matches.chance for matches in attackers])
    if not len(who):
        return 0.0
    order = np.argsort(who, kind="stable")
    return float(np.maximum.reduceat(chance[order], runs_of(who[order])).sum())


@dataclass(frozen=True)
class _Matches:
    """Who is linked by one kind of value, how many wrongly, and the chance each value gives."""

    linked: Integers
    n_false: int
    who: Integers
    chance: NDArray[np.float64]


def _matched(
    cell: Integers, n_qids: int, user: Integers, n_users: int, followed: NDArray[np.bool_]
) -> _Matches:
    """Match persons by what is the same before and after."""
    cells, place = np.unique(cell, return_inverse=True)
    holders = np.unique(place * n_users + user)
    place, user = holders // n_users, holders % n_users
    size = np.bincount(place, minlength=len(cells))
    first = user[runs_of(place)]
    # The same quasi-identifier one period later, if there is one.
    later = np.minimum(np.searchsorted(cells, cells + n_qids), len(cells) - 1)
    there = followed[cells // n_qids] & (cells[later] == cells + n_qids)
    alone = there & (size == 1) & (size[later] == 1)
    right = alone & (first == first[later])
    person = cells // n_qids * n_users
    linked = np.unique(person[right] + first[right])
    stays = there[place] & np.isin(later[place] * n_users + user, holders)
    who, chance = (person[place] + user)[stays], 1 / size[later[place[stays]]]
    return _Matches(linked, int((alone & ~right).sum()), who, chance)
