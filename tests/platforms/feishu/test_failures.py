"""What each refusal means to the core."""

from __future__ import annotations

import pytest

from bot.errors import DeliveryCategory, RateLimited
from bot.platforms.feishu.errors import (
    BAD_SECRET,
    BAD_TOKEN,
    CARD_CLOSED,
    FREQUENCY,
    FeishuRefused,
    FeishuUnreached,
    delivery_error,
    is_card_refused,
)


@pytest.mark.parametrize(
    ("code", "category"),
    [
        (99991663, DeliveryCategory.AUTH),
        (10014, DeliveryCategory.AUTH),
        (99991672, DeliveryCategory.PERMISSION),
        (230002, DeliveryCategory.PERMISSION),
        (230013, DeliveryCategory.PERMISSION),
        (230027, DeliveryCategory.PERMISSION),
        (230035, DeliveryCategory.PERMISSION),
        (230011, DeliveryCategory.NOT_FOUND),
        (231003, DeliveryCategory.NOT_FOUND),
        (234003, DeliveryCategory.NOT_FOUND),
        (200740, DeliveryCategory.NOT_FOUND),
        (200750, DeliveryCategory.NOT_FOUND),
        (200810, DeliveryCategory.TRANSIENT),
        (300305, DeliveryCategory.INVALID_PAYLOAD),
        (230049, DeliveryCategory.TRANSIENT),
        (230001, DeliveryCategory.INVALID_PAYLOAD),
        (230099, DeliveryCategory.INVALID_PAYLOAD),
        (999_999_999, DeliveryCategory.INVALID_PAYLOAD),
    ],
)
def test_codes_have_a_category(code: int, category: DeliveryCategory) -> None:
    error = delivery_error(FeishuRefused(400, code, "words"), posting=True)
    assert error.category is category
    assert not error.unknown_outcome
    assert "words" in str(error)


@pytest.mark.parametrize("code", sorted(FREQUENCY))
def test_too_many_calls_whatever_the_status(code: int) -> None:
    for status in (200, 400, 429):
        error = delivery_error(FeishuRefused(status, code, "", reset=12.0), posting=True)
        assert isinstance(error, RateLimited)
        assert error.retry_after == 12.0


def test_a_429_without_a_word_is_a_limit_too() -> None:
    error = delivery_error(FeishuRefused(429, 429, "HTTP status 429"), posting=False)
    assert isinstance(error, RateLimited)
    assert error.retry_after == 1.0


@pytest.mark.parametrize(("limit", "wide"), [(0, False), (5, False), (10, False), (50, True), (1000, True)])
def test_the_header_tells_a_chat_from_the_app(limit: int, wide: bool) -> None:
    error = delivery_error(FeishuRefused(429, 99991400, "", reset=1.0, limit=limit), posting=True)
    assert isinstance(error, RateLimited)
    assert error.account_wide is wide


@pytest.mark.parametrize("posting", [True, False])
def test_a_server_error_leaves_a_post_in_doubt(posting: bool) -> None:
    error = delivery_error(FeishuRefused(502, 502, "Bad Gateway"), posting=posting)
    assert (error.category, error.unknown_outcome) == (DeliveryCategory.TRANSIENT, posting)


@pytest.mark.parametrize(("sent", "posting"), [(True, True), (True, False), (False, True), (False, False)])
def test_no_answer(sent: bool, posting: bool) -> None:
    error = delivery_error(FeishuUnreached("no answer", sent=sent), posting=posting)
    assert error.category is DeliveryCategory.TRANSIENT
    assert error.unknown_outcome is (sent and posting)


@pytest.mark.parametrize("code", [*sorted(CARD_CLOSED), 300305, 200740, 300313, 230011, 230099, 200621])
def test_refusals_of_the_card_itself(code: int) -> None:
    assert is_card_refused(FeishuRefused(400, code, ""))


@pytest.mark.parametrize(
    "code", [*sorted(FREQUENCY | BAD_TOKEN | BAD_SECRET), 230002, 99991672, 230049, 200810]
)
def test_refusals_that_another_card_would_meet_too(code: int) -> None:
    assert not is_card_refused(FeishuRefused(400, code, ""))


def test_a_card_in_an_interaction_is_left_for_later() -> None:
    locked = FeishuRefused(
        400, 230099, "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card action is lock; "
    )
    assert not is_card_refused(locked)
    assert delivery_error(locked, posting=False).category is DeliveryCategory.TRANSIENT


def test_a_server_error_is_not_about_the_card() -> None:
    assert not is_card_refused(FeishuRefused(503, 300305, ""))
