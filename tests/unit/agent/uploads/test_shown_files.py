"""The content of older files leaves in steps."""

from __future__ import annotations

import pytest

from agent.uploads.inline_images import ShowLimits, find_first_shown

LIMITS = ShowLimits(texts=100, images=4)


@pytest.mark.parametrize(
    ("costs", "first"),
    [
        ([], 0),
        ([(50, 0), (0, 0), (50, 0)], 0),
        ([(50, 0), (0, 0), (50, 0), (1, 0)], 1),
        ([(40, 0), (40, 0), (40, 0)], 2),
        ([(10, 0)] * 11, 4),
        ([(0, 1)] * 5, 2),
        ([(0, 1)] * 6, 2),
        ([(0, 1)] * 7, 4),
        ([(500, 0), (1, 0)], 1),
        ([(0, 0), (500, 9)], 1),
    ],
)
def test_the_first_message_whose_files_are_shown(costs: list[tuple[int, int]], first: int) -> None:
    assert find_first_shown(costs, LIMITS) == first


def test_most_new_files_change_nothing_before_them() -> None:
    costs = [(10, 0)] * 100
    places = [find_first_shown(costs[:count], LIMITS) for count in range(1, 101)]
    assert len(set(places)) < 40
    assert all(sum(cost for cost, _ in costs[at:count]) <= 100 for count, at in enumerate(places, 1))
