"""The budgets of single methods, and the proxy that the SDK would take by itself."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.errors import AccountRefused
from bot.platforms.http import proxy_for
from bot.platforms.slack.method_limits import MINUTE, STARTS, STOPS, StreamBudget
from tests.harness.profile import examples

_ACTS = st.lists(st.tuples(st.booleans(), st.floats(0, 8), st.integers(0, 40)), max_size=300)


@given(_ACTS)
@settings(max_examples=examples(200), deadline=None, derandomize=True)
def test_whatever_was_started_can_be_stopped_in_its_minute(acts: list[tuple[bool, float, int]]) -> None:
    budget = StreamBudget()
    now, open_streams = 0.0, 0
    starts: list[float] = []
    stops: list[float] = []
    for starting, pause, count in acts:
        now += pause
        if starting:
            for _ in range(count):
                if budget.may_start(now, open_streams):
                    budget.record_start(now)
                    starts.append(now)
                    open_streams += 1
        else:
            for _ in range(min(count, open_streams)):
                budget.record_stop(now)
                stops.append(now)
                open_streams -= 1
    for times, most in ((starts, STARTS), (stops, STOPS)):
        assert all(sum(at - MINUTE < other <= at for other in times) <= most for at in times)


def clear(monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in more.items():
        monkeypatch.setenv(name, value)


def test_the_environments_proxy_is_taken_for_slack_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    clear(monkeypatch, https_proxy="proxy.example.org:3128", http_proxy="http://proxy.example.org:3128")
    assert proxy_for("https://slack.com/api/") == "http://proxy.example.org:3128"
    assert proxy_for("http://127.0.0.1:8082/api/") is None
    assert proxy_for("http://localhost:8082/api/") is None


def test_exceptions_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    clear(monkeypatch, https_proxy="http://proxy.example.org:3128", no_proxy="slack.com")
    assert proxy_for("https://slack.com/api/") is None
    clear(monkeypatch)
    assert proxy_for("https://slack.com/api/") is None


def test_a_proxy_of_another_kind_is_refused_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    clear(monkeypatch, all_proxy="socks5://proxy.example.org:1080")
    with pytest.raises(AccountRefused, match=r"socks5 proxy for slack\.com"):
        proxy_for("https://slack.com/api/")
