"""One column made coarse by ranks: Lodha & Thomas' maps against all maps there are."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from anonrisk import errors
from anonrisk.measures.recode.edges import optimal_bins, quantile_bins, sampled_bins
from anonrisk.measures.recode.quantiles import optimal_groups
from anonrisk.recode import (
    normalised_error,
    quantile_map,
    rank_difference,
    ranks,
    sample_size,
    sampled_quantiles,
)

EXAMPLE = [1, 12, 4, 7, 3]
different = st.lists(st.integers(-50, 50), min_size=1, max_size=5, unique=True)
any_numbers = st.lists(st.integers(0, 12), min_size=1, max_size=9)


# ---- ranks and maps -----------------------------------------------------------------------


def test_the_examples_of_the_paper():
    # Example 10: 7 has rank 4 and 3 rank 2. Definition 7 says the r-th largest: 2 and 4.
    assert dict(zip(EXAMPLE, ranks(EXAMPLE).tolist(), strict=True)) == {
        1: 1,
        12: 5,
        4: 3,
        7: 4,
        3: 2,
    }
    printed = [1 + sum(other > one for other in EXAMPLE) for one in EXAMPLE]
    assert printed != ranks(EXAMPLE).tolist()
    # Examples 9 and 11.
    assert rank_difference(EXAMPLE, [3, 7, 3, 7, 3]) == 3


@given(any_numbers)
def test_ranks_are_those_of_a_sorted_list(numbers):
    order = sorted(range(len(numbers)), key=lambda i: numbers[i])
    assert ranks(numbers).tolist() == [1 + order.index(i) for i in range(len(numbers))]


def least_difference(numbers, k):
    """Try every map of the numbers to themselves under which those that are hit are hit k times."""
    rank = {x: 1 + sum(y < x for y in numbers) for x in numbers}
    best = math.inf
    for mapped in product(numbers, repeat=len(numbers)):
        if all(mapped.count(x) >= k for x in set(mapped)):
            moved = (abs(rank[a] - rank[b]) for a, b in zip(numbers, mapped, strict=True))
            best = min(best, sum(moved))
    return best


@pytest.mark.slow
@settings(max_examples=30)
@given(different, st.integers(1, 3))
def test_no_map_of_different_numbers_has_a_smaller_difference_of_ranks(numbers, k):
    if k > len(numbers):
        return
    mapped = quantile_map(numbers, k).tolist()
    assert min(mapped.count(x) for x in mapped) >= k
    assert rank_difference(numbers, mapped) == least_difference(numbers, k)


@given(st.integers(1, 400), st.integers(1, 40))
def test_groups_of_different_numbers_are_even(n, k):
    if k > n:
        return
    mapped = quantile_map(np.random.default_rng(1).permutation(n), k)
    sizes = np.unique(mapped, return_counts=True)[1]
    assert len(sizes) == n // k
    assert sizes.max() - sizes.min() <= 1
    shift = rank_difference(np.arange(n), quantile_map(np.arange(n), k))
    assert shift == sum(int(m) ** 2 // 4 for m in sizes)


def ways_to_cut(numbers, k):
    """Return every grouping of neighbours, equal ones together, of at least k each."""
    values = sorted(set(numbers))
    for cuts in product([False, True], repeat=len(values) - 1):
        groups = [[values[0]] * numbers.count(values[0])]
        for cut, value in zip(cuts, values[1:], strict=True):
            if cut:
                groups.append([])
            groups[-1] += [value] * numbers.count(value)
        if all(len(group) >= k for group in groups):
            yield groups


def rank_cost(groups, numbers):
    ordered = sorted(numbers)
    middle = {x: ordered.index(x) + (ordered.count(x) + 1) / 2 for x in numbers}
    cost = 0.0
    for group in groups:
        to = sorted(middle[x] for x in group)[(len(group) - 1) // 2]
        cost += sum(abs(middle[x] - to) for x in group)
    return cost


@given(any_numbers, st.integers(1, 4))
def test_equal_numbers_stay_together_at_least_cost(numbers, k):
    if k > len(numbers):
        return
    mapped = quantile_map(numbers, k).tolist()
    became = {}
    for value, to in zip(numbers, mapped, strict=True):
        assert became.setdefault(value, to) == to
    groups = {}
    for value, to in sorted(zip(numbers, mapped, strict=True)):
        groups.setdefault(to, []).append(value)
    assert all(len(group) >= k for group in groups.values())
    assert all(to == group[(len(group) - 1) // 2] for to, group in groups.items())
    least = min(rank_cost(ways, numbers) for ways in ways_to_cut(numbers, k))
    assert rank_cost(groups.values(), numbers) == pytest.approx(least)


def test_even_groups_split_equal_numbers():
    # Theorem 5 says "all k-anonymous transformations"; with ties its own groups are no function.
    numbers = np.array([1, 2, 2, 2, 3, 9])
    even = np.array_split(numbers, 3)
    assert 2 in even[0]
    assert 2 in even[1]
    assert len(set(quantile_map(numbers, 2)[numbers == 2])) == 1


# ---- samples ------------------------------------------------------------------------------


def misses(size, share, error):
    """Return the chance that a quantile of a sample lies off by more than the error in rank."""
    rank = math.ceil(size * share)
    low = stats.binom.sf(rank - 1, size, share - error)
    high = stats.binom.cdf(rank - 1, size, share + error)
    return low + high


def test_the_printed_size_of_a_sample_is_too_small():
    error, risk = 0.01, 0.05
    printed = math.ceil(math.log(1 / risk) / error)
    assert misses(printed, 0.5, error) == pytest.approx(0.73, abs=0.01)
    size = sample_size(error, risk)
    assert all(misses(size, share, error) <= risk for share in (0.05, 0.25, 0.5, 0.9))


@pytest.mark.parametrize("seed", range(5))
def test_sampled_quantiles_are_near_the_true_ones(seed):
    column = np.random.default_rng(9).lognormal(0, 2, 60_000)
    cuts = sampled_quantiles(column, 8, seed=seed)
    shares = [(column <= cut).mean() for cut in cuts]
    assert shares == pytest.approx(np.arange(1, 8) / 8, abs=0.01)
    assert sampled_quantiles(column[:7], 7, seed=seed).tolist() == sorted(column[:7])[:6]


def test_bins_of_a_sample_are_near_those_of_all_records():
    column = np.random.default_rng(2).lognormal(10, 1, 200_000).round()
    values, counts = np.unique(column, return_counts=True)
    bins = sampled_bins(values, counts, 8, whole=True)
    held = np.bincount(bins.places(column), minlength=8) / len(column)
    # An eighth, to within the error of two edges and what naming them moves.
    assert held == pytest.approx(np.full(8, 1 / 8), abs=0.05)
    assert sampled_bins(values, counts, 8, whole=True) == bins
    few = values[:100], counts[:100]
    assert sampled_bins(*few, 4, whole=True) == quantile_bins(*few, 4, whole=True)


# ---- k-centre, k-median, ranks ------------------------------------------------------------


def spread(groups):
    return max(max(group) - min(group) for group in groups)


@given(any_numbers, st.integers(1, 4))
def test_the_widest_group_is_as_narrow_as_it_can_be(numbers, k):
    if k > len(numbers):
        return
    values, counts = np.unique(numbers, return_counts=True)
    starts = optimal_groups(values.astype(float), counts, k, "centre")
    groups = [group.tolist() for group in np.split(values, starts[1:])]
    held = [group.sum() for group in np.split(counts, starts[1:])]
    assert min(held) >= k
    assert spread(groups) == min(spread(ways) for ways in ways_to_cut(numbers, k))


@pytest.mark.parametrize("cost", ["median", "squared", "centre"])
def test_many_at_once_are_as_one_by_one(cost, monkeypatch):
    rng = np.random.default_rng(3)
    values, counts = np.sort(rng.lognormal(0, 1, 300)), rng.integers(1, 5, 300)
    found = optimal_groups(values, counts, 25, cost)
    for at_once in (1, 7, 100):
        monkeypatch.setattr("anonrisk.measures.recode.quantiles._AT_ONCE", at_once)
        assert optimal_groups(values, counts, 25, cost) == found


def test_costs_cut_where_they_are_least():
    # Many records close together, and a long tail.
    column = np.concatenate((np.arange(100).repeat(20), np.arange(100, 1_100, 4)))
    values, counts = np.unique(column, return_counts=True)

    def measured(cost):
        bins = optimal_bins(values, counts, 8, whole=True, cost=cost)
        places = bins.places(column)
        groups = [column[places == i] for i in range(len(bins.edges) + 1)]
        middles = [np.sort(group)[(len(group) - 1) // 2] for group in groups]
        distances = sum(
            np.abs(group - middle).sum() for group, middle in zip(groups, middles, strict=True)
        )
        differences = sum(len(group) ** 2 // 4 for group in groups)
        return distances, differences, spread([group.tolist() for group in groups])

    by_cost = {cost: measured(cost) for cost in ("median", "rank", "centre")}
    for i, cost in enumerate(by_cost):
        assert by_cost[cost][i] == min(found[i] for found in by_cost.values()), cost


# ---- error --------------------------------------------------------------------------------


@given(any_numbers, st.integers(1, 4))
def test_normalised_error_is_its_sum(numbers, k):
    if k > len(numbers) or len(set(numbers)) == 1:
        return
    mapped = quantile_map(numbers, k).tolist()
    mean = sum(numbers) / len(numbers)
    moved = sum((a - b) ** 2 for a, b in zip(numbers, mapped, strict=True))
    most = sum((mean - a) ** 2 for a in numbers)
    assert normalised_error(numbers, mapped) == pytest.approx(moved / most)
    assert normalised_error(numbers, [mean] * len(numbers)) == pytest.approx(1)
    assert normalised_error(numbers, numbers) == 0


@pytest.mark.parametrize(
    ("law", "times"),
    [(stats.uniform, 1.0), (stats.norm, 4.3), (stats.expon, 11.7), (stats.lognorm(1), 36)],
)
def test_one_over_the_square_of_the_groups_is_for_even_columns_only(law, times):
    # Lodha & Thomas, 5.2: "very closely follows 1/b²".
    n, b = 20_000, 10
    column = law.ppf((np.arange(n) + 0.5) / n)
    error = normalised_error(column, quantile_map(column, n // b))
    assert error * b**2 == pytest.approx(times, rel=0.02)


def test_squares_of_large_numbers_do_not_overflow():
    assert normalised_error([1e200, 2e200], [1e200, 1e200]) == pytest.approx(2.0)


def test_wrong_calls():
    with pytest.raises(errors.ArgumentError, match="values must differ"):
        rank_difference([1, 1, 2], [1, 1, 2])
    with pytest.raises(errors.ArgumentError, match="one of the values"):
        rank_difference([1, 2, 3], [1, 2, 4])
    with pytest.raises(errors.ArgumentError, match="same length"):
        normalised_error([1, 2], [1])
    with pytest.raises(errors.ArgumentError, match="nothing to normalise by"):
        normalised_error([2, 2], [2, 3])
    assert normalised_error([2, 2], [2, 2]) == 0
    with pytest.raises(errors.ArgumentError, match="k=3 is larger"):
        quantile_map([1, 2], 3)
    with pytest.raises(errors.ArgumentError, match="error must be a share"):
        sample_size(1, 0.05)
    with pytest.raises(errors.ArgumentError, match="error is too small"):
        sample_size(1e-200, 0.05)
    with pytest.raises(errors.ArgumentError, match="seed must be a whole number"):
        sampled_quantiles([1, 2], 2, seed="secret")
    for wrong in ([], [[1]], [1, math.nan], ["secret"], None):
        with pytest.raises(errors.ArgumentError, match="values must be a list of numbers") as told:
            ranks(wrong)
        assert "secret" not in str(told.value)
