"""A reply of 3,000 tokens in a minute on every platform: nobody is limited, and one whole answer stands.

How far it lags behind is a figure, of `make bench` (tests/benchmarks/staleness.py) with the machine's noise,
and of tests/platforms/test_pacing_lag.py without.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.staleness.measure import replies

pytestmark = [pytest.mark.soak, pytest.mark.alone, pytest.mark.may_block, pytest.mark.timeout(300)]
PLACES = ("telegram", "telegram_group", "slack", "feishu", "discord")


@pytest.mark.parametrize("count", [3000, 500], ids=["minute", "ten_seconds"])
async def test_a_steady_reply_is_within_every_budget_and_whole(tmp_path: Path, count: int) -> None:
    for one in await replies(tmp_path / "home", PLACES, count):
        assert one.calls[-1].shown == count, one
        assert len(one.calls) <= len(one.best.calls) + one.parts, one
