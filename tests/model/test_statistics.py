"""Statistics against published tables and recorded values, and how often they are wrong where the truth is known."""

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from raidtui.model.statistics.judge import interval, judge, least_p, mann_whitney
from raidtui.model.statistics.samples import (
    geometric_mean,
    holm,
    mean_interval,
    merged,
    noise_floor,
    percentiles,
    quantile,
    robust_z,
    two_sided_p,
    welch,
)
from raidtui.model.statistics.steady import Change, lasting_change, steadiness, window_of

# Largest U that is significant at 5 %, two-sided: the tables of any textbook (Mann and Whitney 1947, Siegel 1956).
CRITICAL_U = {
    (4, 4): 0,
    (3, 5): 0,
    (5, 5): 2,
    (5, 6): 3,
    (6, 6): 5,
    (7, 7): 8,
    (5, 10): 8,
    (8, 8): 13,
    (10, 10): 23,
    (20, 20): 127,
}
# Student's t at 95 % and 99 %, two-sided (any textbook).
T_TABLE = {
    1: (12.706, 63.657),
    2: (4.303, 9.925),
    4: (2.776, 4.604),
    8: (2.306, 3.355),
    10: (2.228, 3.169),
    30: (2.042, 2.750),
}


def samples_of(n, m, u):
    """Samples of sizes n and m without ties whose U is `u`: how many pairs the first one wins."""
    first = []
    for place in range(n):
        won = min(m, u)
        u -= won
        first.append(won - 0.5 + place / 1000)
    return first, list(range(m))


@pytest.mark.parametrize(("sizes", "critical"), CRITICAL_U.items())
def test_mann_whitney_agrees_with_the_published_critical_values(sizes, critical):
    assert mann_whitney(*samples_of(*sizes, critical)) <= 0.05
    assert mann_whitney(*samples_of(*sizes, critical + 1)) > 0.05


def test_three_rounds_against_three_can_never_differ():
    assert mann_whitney([1, 2, 3], [7, 8, 9]) == pytest.approx(0.1)
    assert (least_p(3, 3), least_p(5, 5)) == (pytest.approx(0.1), pytest.approx(2 / 252))


@pytest.mark.parametrize(
    ("a", "b", "p"),
    [  # recorded from scipy 1.17.1: mannwhitneyu(a, b, method="exact")
        ([1.1, 2.2, 3.3, 4.4, 5.5], [2.0, 3.0, 6.0, 7.0, 8.0], 0.30952380952380953),
        ([19, 22, 16, 29, 24], [20, 11, 17, 12], 0.1111111111111111),
        ([101.2, 99.8, 100.4, 98.7, 100.9, 102.3], [103.1, 101.9, 104.4, 100.6, 105.0], 0.05194805194805195),
    ],
)
def test_mann_whitney_is_exact_without_ties(a, b, p):
    assert mann_whitney(a, b) == pytest.approx(p)


def test_with_ties_every_arrangement_of_the_midranks_is_counted():
    assert mann_whitney([1, 1, 1, 1, 1], [2, 2, 2, 2, 2]) == pytest.approx(2 / 252)
    assert mann_whitney([1, 1], [1, 1]) == 1.0


@given(st.lists(st.integers(0, 9), min_size=1, max_size=7), st.lists(st.integers(0, 9), min_size=1, max_size=7))
def test_mann_whitney_does_not_care_which_sample_is_first(a, b):
    assert mann_whitney(a, b) == pytest.approx(mann_whitney(b, a))
    assert 0 < mann_whitney(a, b) <= 1


def test_of_many_values_the_exact_and_the_normal_p_are_near():
    draw = random.Random(7)
    a, b = [draw.gauss(0, 1) for _ in range(30)], [draw.gauss(0.6, 1) for _ in range(30)]
    assert mann_whitney(a, b) == pytest.approx(mann_whitney([*a, 0.01], b), abs=0.01)


@pytest.mark.parametrize(("freedom", "values"), T_TABLE.items())
def test_students_t_agrees_with_the_published_table(freedom, values):
    assert quantile(freedom) == pytest.approx(values[0], abs=5e-4)
    assert quantile(freedom, 0.99) == pytest.approx(values[1], abs=5e-4)
    assert two_sided_p(values[0], freedom) == pytest.approx(0.05, abs=1e-4)


def test_welch_of_a_textbook():
    """The sleep data of "Student" (Biometrika 6, 1908), as every statistics package has them."""
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = welch(one, two)
    assert found.p == pytest.approx(0.07939, abs=1e-5)
    assert (found.low, found.high) == (pytest.approx(-0.2054832, abs=2e-3), pytest.approx(3.3654832, abs=2e-3))


def test_welch_of_samples_of_unlike_size():
    """Recorded from scipy 1.17.1: ttest_ind(equal_var=False) and its confidence_interval()."""
    found = welch([101.2, 99.8, 100.4, 98.7, 100.9, 102.3], [103.1, 101.9, 104.4])
    assert found.p == pytest.approx(0.042106047515397156)
    assert (found.low, found.high) == (pytest.approx(0.1486123, abs=2e-3), pytest.approx(5.0180543, abs=2e-3))


def test_the_interval_of_a_mean():
    low, high = mean_interval([1, 2, 3, 4, 5])
    assert (low, high) == (pytest.approx(3 - 1.963243, abs=1e-4), pytest.approx(3 + 1.963243, abs=1e-4))
    assert mean_interval([1]) is None
    assert interval([100.0]) is None


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_the_geometric_mean_of_half_and_double_is_one():
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    assert geometric_mean([]) is None
    assert geometric_mean([1.0, 0.0]) is None


def test_a_robust_z_score_is_not_fooled_by_the_outlier_itself():
    scores = robust_z([10.0, 10.2, 9.9, 10.1, 5.0])
    assert abs(scores[4]) > 3.5
    assert max(map(abs, scores[:4])) < 3.5
    assert robust_z([3.0, 3.0, 3.0]) == [0.0, 0.0, 0.0]
    assert robust_z([3.0, 3.0, 3.0, 3.0, 1.0])[4] < -3.5
    assert robust_z([]) == []


def test_one_of_a_few_can_be_an_outlier_where_the_others_are_equal():
    assert robust_z([3.0, 3.0, 3.0, 1.0]) == [0.0, 0.0, 0.0, -math.inf]
    assert robust_z([3.0, 3.0, 5.0])[2] == math.inf
    assert abs(robust_z([3.0, 3.0, 3.0, 1.0, 1.0])[4]) < 3.5
    assert robust_z([3.0]) == [0.0]


def test_steady_state_of_the_specifications_own_example():
    """SNIA PTS 2.0.2: rounds as printed there, rounded; it works with more digits and finds 11.82 and 9.66."""
    window = window_of([228.90, 240.21, 240.60, 240.71, 240.71])
    assert window.steady
    assert (window.range, window.excursion) == (pytest.approx(11.82, abs=0.02), pytest.approx(9.66, abs=0.02))


def test_what_drifts_is_not_steady_though_it_hardly_scatters():
    drifting = window_of([100, 103, 106, 109, 112])
    assert drifting.range < 0.2 * drifting.average
    assert not drifting.steady


def test_what_scatters_is_not_steady_though_it_does_not_drift():
    scattering = window_of([100, 130, 100, 130, 100])
    assert scattering.excursion < 0.1 * scattering.average
    assert not scattering.steady


def test_steady_state_is_the_first_window_in_which_all_variables_are():
    found = steadiness({"iops": [300, 200, 100, 100, 100, 100, 100], "latency": [1.0] * 7})
    assert (found.round, found.windows["iops"].average) == (7, 100)
    assert steadiness({"iops": [1000 / (n + 1) for n in range(40)]}).round is None
    assert not steadiness({"iops": [100] * 4}).reached
    assert not steadiness({}).reached


def test_percentiles_come_from_merged_counts_and_not_from_averages():
    fast, slow = {100: 990, 200: 10}, {1000: 100}
    assert percentiles(merged([fast, slow]), (0.5, 0.99)) == [100, 1000]
    average_of_p99 = (percentiles(fast, (0.99,))[0] + percentiles(slow, (0.99,))[0]) / 2
    assert average_of_p99 == 550


def test_a_percentile_that_was_not_seen_is_not_said():
    assert percentiles({5: 99}, (0.5, 0.99)) == [5, None]
    assert percentiles({}, (0.5,)) == [None]


@given(st.lists(st.dictionaries(st.integers(1, 50), st.integers(0, 100), max_size=8), max_size=5))
def test_merging_loses_no_operation(histograms):
    assert sum(merged(histograms).values()) == sum(sum(one.values()) for one in histograms)


def test_the_noise_floor_is_what_identical_pairs_did_not_exceed():
    assert noise_floor([(100, 102), (100, 97)]) == pytest.approx(100 / 97 - 1)
    assert noise_floor([]) is None
    many = [(100, 101)] * 39 + [(100, 150)]
    assert noise_floor(many) == pytest.approx(0.01)


def rounds(draw, count, noise, factor=1.0):
    return [1000 * factor * math.exp(draw.gauss(0, noise)) for _ in range(count)]


@pytest.mark.parametrize("count", [4, 5, 8])
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.2])
def test_at_most_one_identical_pair_in_twenty_is_called_different(count, noise):
    draw = random.Random(f"{count} {noise}")
    pairs = [(rounds(draw, count, noise), rounds(draw, count, noise)) for _ in range(1500)]
    assert sum(judge([pair])[0].verdict == "different" for pair in pairs) <= 0.05 * len(pairs)


def test_identical_pairs_that_scatter_unevenly_are_no_more_often_called_different():
    """Most rounds alike and one in five slow, as where a cache is full now and then."""
    draw = random.Random(11)

    def some():
        return [value * (0.6 if draw.random() < 0.2 else 1.0) for value in rounds(draw, 5, 0.02)]

    assert sum(judge([(some(), some())])[0].verdict == "different" for _ in range(1500)) <= 75


@pytest.mark.parametrize("factor", [1.1, 1 / 1.1])
def test_a_difference_of_ten_percent_is_found_at_five_rounds(factor):
    draw = random.Random(5)
    found = [judge([(rounds(draw, 5, 0.02), rounds(draw, 5, 0.02, factor))])[0] for _ in range(300)]
    assert sum(one.verdict == "different" for one in found) >= 0.98 * len(found)


def test_and_it_is_found_among_thirty_comparisons_too():
    draw = random.Random(6)
    for _ in range(20):
        base = rounds(draw, 5, 0.015)
        pairs = [(base, rounds(draw, 5, 0.015)) for _ in range(29)] + [(base, rounds(draw, 5, 0.015, 0.9))]
        assert judge(pairs)[-1].verdict == "different"


def test_of_twenty_identical_layouts_together_hardly_ever_one_is_called_different():
    draw = random.Random(8)
    families = 0
    for _ in range(200):
        pairs = [(rounds(draw, 5, 0.03), rounds(draw, 5, 0.03)) for _ in range(20)]
        families += any(one.verdict == "different" for one in judge(pairs))
    assert families <= 0.05 * 200


def test_the_interval_holds_the_true_ratio_in_ninety_five_of_a_hundred():
    draw = random.Random(9)
    found = [judge([(rounds(draw, 5, 0.05), rounds(draw, 5, 0.05, 1.2))])[0] for _ in range(1000)]
    assert sum(one.low <= 1.2 <= one.high for one in found) >= 935


def test_too_few_rounds_are_said_to_be_too_few():
    assert judge([([100, 101, 102], [200, 201, 202])])[0].verdict == "too few rounds"
    assert judge([([100], [200])])[0] == judge([([100], [200])])[0]._replace(low=None, high=None)
    assert judge([([0, 1, 2, 3, 4], [5, 6, 7, 8, 9])])[0].verdict == "too few rounds"  # nothing positive to take a ratio of
    assert judge([]) == []


def test_rounds_that_are_all_equal_are_told_apart_only_where_they_differ():
    same, other = [100.0] * 5, [110.0] * 5
    assert judge([(same, other)])[0].verdict == "different"
    assert judge([(same, list(same))])[0].verdict == "not told apart"


def test_a_series_that_moves_to_another_level_says_where() -> None:
    assert lasting_change([10.0] * 9 + [7.0] * 6) == Change(9, 10.0, 7.0)
    assert lasting_change([10.0] * 9 + [8.5] * 6) is None
    assert lasting_change([10.0] * 5 + [1.0] * 4 + [10.0] * 5) is None
    assert lasting_change([10.0] * 5 + [1.0] * 6) is None, "eleven values are too few"
    assert lasting_change([0.0] * 20) is None
    long = lasting_change([100.0] * 2000 + [50.0] * 1600)
    assert long is not None
    assert abs(long.at - 2000) <= 30


@given(st.lists(st.floats(95, 105), min_size=12, max_size=200))
def test_a_series_on_one_level_has_no_change(values: list[float]) -> None:
    assert lasting_change(values) is None
