"""Growing replies: one message that never shrinks, and exactly one final."""

from __future__ import annotations

from contextlib import suppress
from itertools import pairwise

import pytest

from bot.dispatch.reply.diff import RETRACTED_TEXT
from bot.errors import DeliveryError, RateLimited
from bot.platforms.base import DeletesMessages, EditsMessages
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import ANN, ANN_IN_TEAM, BEN, Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite

WORDS = " ".join(f"word{number}" for number in range(120))
MARKUP = "Some **bold words** and `code_with_signs`, then\n\n```py\nx = 1\ny = 2\n```\n\nand *an end*."
CHINESE = "流式输出的每一步都只会变长，不会倒退。" * 6
SIGNS = "\u2060\u200b"
"""Invisible characters that a platform's frames may contain."""


class Streaming(Suite):
    @needs(EditsMessages)
    @pytest.mark.parametrize("text", [WORDS, CHINESE], ids=["words", "chinese"])
    async def test_one_message_grows_and_never_takes_a_word_back(self, stage: Stage, text: str) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.send(text)
        seen = stage.one()
        assert seen.id == reply.ids[0]
        assert seen.text == text
        assert not seen.growing
        versions = [_visible_text(version) for version in seen.versions]
        assert len(versions) > 1, "it was shown only when it was done"
        for before, after in pairwise(versions):
            assert after.startswith(before), f"{before!r} was taken back for {after!r}"
        assert versions[-1] == text

    @needs(EditsMessages, Ability.FORMATS)
    async def test_unfinished_markup_leaves_nothing_behind(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        for end in range(4, len(MARKUP), 5):
            with suppress(RateLimited):  # a frame that there is no room for
                await reply.frame(MARKUP[:end])
        await reply.finish(MARKUP)
        seen = stage.one()
        assert seen.code == ("x = 1\ny = 2",)
        assert "Some bold words and code_with_signs, then" in seen.text
        assert "and an end." in seen.text

    @needs(EditsMessages)
    async def test_a_final_that_shows_already_changes_nothing(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("all of it")
        await reply.finish("all of it")
        assert stage.one().text == "all of it"
        assert not stage.one().growing
        again = stage.message("all of it", reply.address, turn=reply.turn)
        await stage.edit(again, reply.ids[0])
        assert stage.one().text == "all of it"

    @needs(EditsMessages)
    async def test_a_new_attempt_replaces_what_is_shown(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("The first attempt said quite a lot")
        await reply.frame("Another")
        await reply.frame("Another attempt says")
        await reply.finish("Another attempt says this.")
        assert stage.one().text == "Another attempt says this."
        assert not stage.one().growing

    @needs(EditsMessages)
    async def test_a_text_that_is_taken_back_leaves_no_word(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("This was said too early, and breaks")
        await reply.frame(RETRACTED_TEXT)
        assert "early" not in stage.one().text
        await reply.frame("Here it is")
        await reply.finish("Here it is now.")
        assert stage.one().text == "Here it is now."
        assert stage.one().id == reply.ids[0]
        assert not stage.one().growing

    @needs(EditsMessages, DeletesMessages, Ability.ENDS)
    async def test_a_shorter_attempt_takes_surplus_messages_back(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame(_longer_than_one_part(stage))
        assert len(stage.seen()) > 1
        await reply.finish("In short: no.")
        if Ability.MODERATORS not in stage.platform.cannot:
            assert stage.one().text == "In short: no."

    @needs(EditsMessages, Ability.ENDS)
    async def test_a_long_reply_grows_over_several_messages(self, stage: Stage) -> None:
        text = _longer_than_one_part(stage)
        reply = stage.reply(await stage.reply_address())
        for number in range(1, 5):
            await reply.frame(text[: len(text) * number // 5])
        await reply.finish(text)
        seen = stage.seen()
        assert len(seen) > 1
        assert [one.id for one in seen] == reply.ids
        assert [word for one in seen for word in one.text.split()] == text.split()
        assert not any(one.growing for one in seen)

    @needs(EditsMessages)
    async def test_two_replies_grow_side_by_side(self, stage: Stage) -> None:
        ann, ben = (
            stage.reply(await stage.reply_address(at=ANN)),
            stage.reply(await stage.reply_address(at=BEN)),
        )
        for number in range(1, 5):
            await ann.frame("so" + ", for Ann" * number)
            await ben.frame("so" + ", for Ben" * number)
        await ben.finish("so" + ", for Ben" * 5)
        await ann.finish("so" + ", for Ann" * 5)
        assert stage.one(ANN).text == "so" + ", for Ann" * 5
        assert stage.one(BEN).text == "so" + ", for Ben" * 5

    @needs(EditsMessages, Ability.GROUPS)
    async def test_it_grows_in_a_group(self, stage: Stage) -> None:
        await stage.reply(await stage.reply_address(at=ANN_IN_TEAM)).send(WORDS)
        assert stage.one(ANN_IN_TEAM).text == WORDS
        assert not stage.one(ANN_IN_TEAM).growing

    @needs(EditsMessages, Ability.LOSES_ANSWERS)
    @pytest.mark.parametrize("fault", ["loses_answer", "fails"])
    async def test_a_frame_that_went_wrong_doubles_nothing(self, stage: Stage, fault: str) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("one ")
        for text in ("one two ", "one two three "):
            getattr(stage.platform, fault)("frame")
            with suppress(DeliveryError):
                await reply.frame(text)
        await reply.frame("one two three four ")
        await reply.finish("one two three four five")
        assert stage.one().text == "one two three four five"
        assert not stage.one().growing

    @needs(EditsMessages, Ability.LOSES_ANSWERS)
    @pytest.mark.parametrize("fault", ["loses_answer", "fails"])
    async def test_a_final_that_went_wrong_stands_once(self, stage: Stage, fault: str) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("one two ")
        getattr(stage.platform, fault)("final")
        final = stage.message("one two three", reply.address, turn=reply.turn)
        for _ in range(3):
            with suppress(DeliveryError):
                await stage.edit(final, reply.ids[0])
                break
        assert stage.one().text == "one two three"
        assert not stage.one().growing

    @needs(EditsMessages)
    @pytest.mark.parametrize("crash", [True, False], ids=["killed", "stopped"])
    async def test_the_next_life_finishes_what_was_begun(self, stage: Stage, crash: bool) -> None:
        reply = stage.reply(await stage.reply_address())
        for text in ("the beginning", "the beginning and the "):
            await reply.frame(text)
        await stage.restart(crash=crash)
        await reply.frame("the beginning and the mid")
        await reply.finish("the beginning and the end")
        assert stage.one().text == "the beginning and the end"
        assert not stage.one().growing

    @needs(EditsMessages, Ability.EXPIRES)
    async def test_a_message_that_the_platform_closed_goes_on(self, stage: Stage) -> None:
        reply = stage.reply(await stage.reply_address())
        await reply.frame("before ")
        stage.platform.expires()
        await reply.frame("before and ")
        await reply.frame("before and after ")
        stage.platform.expires()
        await reply.finish("before and after it all")
        assert stage.one().text == "before and after it all"
        assert not stage.one().growing


def _visible_text(version: str) -> str:
    return version.translate(dict.fromkeys(map(ord, SIGNS))).rstrip()


def _longer_than_one_part(stage: Stage) -> str:
    """Build a text of whole words that needs at least two messages."""
    text = "a sentence of a few words. " * 50
    while len(stage.adapter.renderer.split(text)) < 2:
        assert len(text) <= 500_000, "it is longer than a message may be"
        text *= 2
    return text.strip()
