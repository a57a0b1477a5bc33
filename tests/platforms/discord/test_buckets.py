"""Rate limits as headers tell them."""

from __future__ import annotations

import pytest

from bot.platforms.discord.rest import MOST, Buckets

POST, EDIT = "POST /channels/{channel_id}/messages", "PATCH /channels/{channel_id}/messages/{message_id}"
CALLBACK = "POST /interactions/{webhook_id}/{webhook_token}/callback"
ANSWER = "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original"


class Now:
    """A clock that moves when told."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at


def told(remaining: int, reset: float, bucket: str = "abc") -> dict[str, str]:
    return {
        "X-RateLimit-Bucket": bucket,
        "X-RateLimit-Remaining": str(remaining),
        "X-RateLimit-Reset-After": str(reset),
    }


@pytest.fixture
def now() -> Now:
    return Now()


@pytest.fixture
def buckets(now: Now) -> Buckets:
    return Buckets(now)


def test_what_is_not_known_is_free(buckets: Buckets) -> None:
    assert buckets.reserve_call(POST, "1") == (0.0, False)
    buckets.read_headers(POST, "1", {})
    assert buckets.reserve_call(POST, "1") == (0.0, False)


def test_an_empty_bucket_says_how_long(buckets: Buckets, now: Now) -> None:
    buckets.read_headers(POST, "1", told(0, 3.5))
    assert buckets.reserve_call(POST, "1") == (3.5, False)
    now.at += 3
    assert buckets.reserve_call(POST, "1") == (0.5, False)
    now.at += 0.5
    assert buckets.reserve_call(POST, "1") == (0.0, False)


def test_calls_that_are_under_way_are_counted(buckets: Buckets) -> None:
    buckets.read_headers(POST, "1", told(2, 5))
    assert [buckets.reserve_call(POST, "1")[0] for _ in range(3)] == [0.0, 0.0, 5.0]
    buckets.read_headers(POST, "1", told(1, 5))  # an answer from before the second call was counted
    assert buckets.reserve_call(POST, "1")[0] == 5.0


def test_channels_and_routes_have_buckets_of_their_own(buckets: Buckets) -> None:
    buckets.read_headers(POST, "1", told(0, 5))
    assert buckets.reserve_call(POST, "2") == (0.0, False)
    assert buckets.reserve_call(EDIT, "1") == (0.0, False)


def test_routes_that_share_a_name_share_a_bucket(buckets: Buckets) -> None:
    buckets.read_headers(EDIT, "1", told(3, 5, "same"))
    buckets.read_headers(POST, "1", told(0, 5, "same"))
    assert buckets.reserve_call(EDIT, "1") == (5.0, False)


def test_a_refusal_is_taken_at_its_word(buckets: Buckets, now: Now) -> None:
    buckets.record_refusal(POST, "1", 5000, everywhere=False)
    assert buckets.reserve_call(POST, "1") == (5000, False)
    assert buckets.reserve_call(EDIT, "1") == (0.0, False)
    buckets.record_refusal(EDIT, "2", 2, everywhere=True)
    assert buckets.reserve_call(EDIT, "7") == (2, True)
    now.at += 2
    assert buckets.reserve_call(EDIT, "7") == (0.0, False)


@pytest.mark.parametrize("route", [CALLBACK, ANSWER])
def test_a_limit_on_all_calls_does_not_hold_up_interactions(buckets: Buckets, route: str) -> None:
    buckets.record_refusal(POST, "1", 5, everywhere=True)
    assert buckets.reserve_call(POST, "2") == (5, True)
    assert buckets.reserve_call(route, "9+token") == (0.0, False)
    buckets.record_refusal(route, "9+token", 3, everywhere=False)
    assert buckets.reserve_call(route, "9+token") == (3, False)
    assert buckets.reserve_call(route, "9+other") == (0.0, False)


@pytest.mark.parametrize("route", [POST, CALLBACK])
def test_a_ban_holds_for_every_call(buckets: Buckets, route: str) -> None:
    buckets.record_refusal(route, "1", 60, everywhere=True, banned=True)
    assert buckets.reserve_call(POST, "2") == (60, True)
    assert buckets.reserve_call(CALLBACK, "9+token") == (60, True)


@pytest.mark.parametrize("wrong", [told(0, 5) | {"X-RateLimit-Remaining": "x"}, {"X-RateLimit-Bucket": "a"}])
def test_headers_that_cannot_be_read_are_nothing(buckets: Buckets, wrong: dict[str, str]) -> None:
    buckets.read_headers(POST, "1", wrong)
    assert buckets.reserve_call(POST, "1") == (0.0, False)


def test_old_buckets_are_forgotten(buckets: Buckets, now: Now) -> None:
    for number in range(MOST):
        buckets.read_headers(POST, str(number), told(1, 1))
    now.at += 2
    buckets.read_headers(POST, "new", told(0, 9))
    assert len(buckets._buckets) == 1
    assert buckets.reserve_call(POST, "new") == (9.0, False)
