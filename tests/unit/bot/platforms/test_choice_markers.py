"""An adapter's sign and the service's words for one question: who comes first, and who gives way."""

from __future__ import annotations

import asyncio

import pytest

from bot.domain import ChatKind, OutboundMessage, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, NotModified
from bot.platforms.choice_markers import ChoiceMarkers

AT = ReplyAddress("a", "c", ChatKind.GROUP)
WORDS = OutboundMessage("1:0", AT, "Which? ✓ red, by Ann")
QUESTION = OutboundMessage("1:0", AT, "Which?", choices=("red", "blue"))


async def may_sign(signs: ChoiceMarkers) -> bool:
    async with signs.claim_marker("m1") as due:
        return due


async def test_words_on_their_way_take_the_place_of_a_sign() -> None:
    signs = ChoiceMarkers()
    async with signs.guard_edit("m1", WORDS):
        assert not await may_sign(signs)
    assert not await may_sign(signs)


async def test_words_wait_for_a_sign_that_is_on_its_way() -> None:
    signs, told = ChoiceMarkers(), list[str]()

    async def words() -> None:
        async with signs.guard_edit("m1", WORDS):
            told.append("words")

    async with signs.claim_marker("m1") as due:
        assert due
        later = asyncio.create_task(words())
        await asyncio.sleep(0)
        told.append("sign")
    await later
    assert told == ["sign", "words"]


@pytest.mark.parametrize(
    ("problem", "due"),
    [(NotModified(), False), (DeliveryError(DeliveryCategory.TRANSIENT, "500"), True)],
    ids=["stands already", "failed"],
)
async def test_words_that_failed_leave_room_for_the_sign(problem: DeliveryError, *, due: bool) -> None:
    signs = ChoiceMarkers()
    with pytest.raises(DeliveryError):
        async with signs.guard_edit("m1", WORDS):
            raise problem
    assert await may_sign(signs) is due


async def test_a_question_that_only_comes_to_stand_settles_nothing() -> None:
    signs = ChoiceMarkers()
    async with signs.guard_edit("m1", QUESTION):
        pass
    assert await may_sign(signs)
