"""Wrong credentials are counted by address and detail, within a bounded memory."""

from __future__ import annotations

import pytest

from agent.shared import failure_limit
from agent.shared.failure_limit import Failure, FailureLimiter

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def limiter(clock: Clock) -> FailureLimiter:
    return FailureLimiter(clock, attempts=3, seconds=60.0)


def fail(limiter: FailureLimiter, times: int, address: str = HERE, detail: str = "") -> list[Failure]:
    return [limiter.record_failure(address, detail) for _ in range(times)]


@pytest.mark.guard(
    "an address waits after too many failures",
    "agent/shared/failure_limit.py",
    "            window.locked_until = now + self._seconds",
    "            window.locked_until = now",
    against="guessing",
)
def test_an_address_waits_after_its_last_attempt(limiter: FailureLimiter, clock: Clock) -> None:
    assert [one.locks for one in fail(limiter, 2)] == [False, False]
    assert limiter.retry_after(HERE) == 0
    clock.now += 30
    assert limiter.record_failure(HERE).locks
    assert limiter.retry_after(HERE) == 60
    clock.now += 59.9
    assert limiter.retry_after(HERE) == 1
    clock.now += 0.1
    assert limiter.retry_after(HERE) == 0
    assert limiter.record_failure(HERE).is_first


def test_another_address_and_another_detail_are_not_concerned(limiter: FailureLimiter) -> None:
    fail(limiter, 3)
    assert limiter.retry_after(HERE) > 0
    assert limiter.retry_after(THERE) == 0
    assert limiter.retry_after(HERE, "link") == 0


@pytest.mark.guard(
    "addresses of one IPv6 network are counted together",
    "agent/shared/address_group.py",
    "    return str(ipaddress.ip_network((address, IPV6_PREFIX), strict=False))",
    "    return str(address)",
    against="guessing",
)
@pytest.mark.parametrize(
    ("guesses_from", "others_from", "waits"),
    [
        ("2001:db8::1", "2001:db8::ffff:2", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", HERE, True),
    ],
)
def test_addresses_of_one_client_are_counted_together(
    limiter: FailureLimiter, guesses_from: str, others_from: str, waits: bool
) -> None:
    fail(limiter, 3, guesses_from)
    assert bool(limiter.retry_after(others_from)) is waits


def test_old_failures_do_not_count(limiter: FailureLimiter, clock: Clock) -> None:
    for _ in range(10):
        fail(limiter, 2)
        clock.now += 60
    assert limiter.retry_after(HERE) == 0


def test_an_attempt_that_was_under_way_does_not_end_the_wait(limiter: FailureLimiter, clock: Clock) -> None:
    fail(limiter, 2)
    clock.now += 50
    fail(limiter, 1)
    clock.now += 20
    assert not limiter.record_failure(HERE).locks
    assert limiter.retry_after(HERE) == 40


def test_attempts_are_counted_for_the_metrics(limiter: FailureLimiter) -> None:
    fail(limiter, 3)
    for _ in range(5):
        limiter.retry_after(HERE)
        limiter.retry_after(THERE)
    assert limiter.failures == 3
    assert limiter.refusals == 5


@pytest.mark.guard(
    "the memory of failures is bounded",
    "agent/shared/failure_limit.py",
    "_Window](MAX_ENTRIES)",
    "_Window](10**9)",
    against="guessing",
)
def test_memory_is_bounded_and_guessers_are_remembered_longest(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failure_limit, "MAX_ENTRIES", 50)
    limiter = FailureLimiter(clock, attempts=3, seconds=60.0)
    fail(limiter, 1, THERE)
    fail(limiter, 3)
    for n in range(200):
        fail(limiter, 1, f"198.51.100.{n}")
        assert limiter.retry_after(HERE) > 0
    assert len(limiter) == 50
    assert limiter.record_failure(THERE).is_first
