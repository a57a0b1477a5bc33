"""Posts, edits and deletions, and calls with a lost response."""

from __future__ import annotations

import pytest

from bot.domain import OutboundMessage
from bot.errors import DeliveryCategory, DeliveryError
from bot.platforms.base import (
    CommandHint,
    DeletesMessages,
    EditsMessages,
    Reacts,
    RegistersCommands,
    RepeatsSafely,
    ShowsTyping,
    StreamsDrafts,
)
from roebot_testing.conformance.bench import Stage, address_of
from roebot_testing.conformance.driver import ANN, ANN_IN_TEAM, BEN, Ability
from roebot_testing.conformance.needs import implements, needs
from roebot_testing.conformance.suite import Suite

SHUT_OUT = frozenset({DeliveryCategory.PERMISSION, DeliveryCategory.NOT_FOUND})


class Sending(Suite):
    async def test_two_posts_are_two_messages_in_order(self, stage: Stage) -> None:
        address = await stage.reply_address()
        ids = [await stage.says(text, address) for text in ("one", "two")]
        assert [seen.text for seen in stage.seen()] == ["one", "two"]
        assert [seen.id for seen in stage.seen()] == ids
        assert len(set(ids)) == 2

    async def test_a_post_reaches_only_its_chat(self, stage: Stage) -> None:
        ann, ben = await stage.reply_address(at=ANN), await stage.reply_address(at=BEN)
        await stage.says("for Ann", ann)
        await stage.says("for Ben", ben)
        assert stage.one(ANN).text == "for Ann"
        assert stage.one(BEN).text == "for Ben"

    @needs(EditsMessages)
    async def test_an_edit_replaces_the_text(self, stage: Stage) -> None:
        message = stage.message("first", await stage.reply_address())
        message_id = await stage.post(message)
        for text in ("second, longer", "third"):
            await stage.edit(_with(message, text), message_id)
        await stage.edit(_with(message, "third"), message_id)
        assert (stage.one().id, stage.one().text) == (message_id, "third")

    @needs(DeletesMessages)
    async def test_what_is_deleted_is_gone_and_may_be_deleted_again(self, stage: Stage) -> None:
        address = await stage.reply_address()
        assert isinstance(stage.adapter, DeletesMessages)
        keep, drop = await stage.says("keep", address), await stage.says("drop", address)
        await stage.adapter.delete(address, drop)
        if Ability.MODERATORS not in stage.platform.cannot:
            assert [seen.id for seen in stage.seen()] == [keep]
        await stage.adapter.delete(address, drop)

    @needs(EditsMessages, Ability.MODERATORS)
    async def test_a_message_that_is_gone_cannot_be_edited_but_posted_anew(self, stage: Stage) -> None:
        message = stage.message("a beginning", await stage.reply_address(), final=False)
        message_id = await stage.post(message)
        await stage.platform.removes(message_id)
        await stage.moments()  # some platforms tell it by an event alone
        whole = stage.message("the whole", message.address, turn=int(message.key.partition(":")[0]))
        with pytest.raises(DeliveryError) as caught:
            await stage.edit(whole, message_id)
        assert caught.value.category is DeliveryCategory.NOT_FOUND
        assert stage.seen() == []
        again = await stage.post(whole)
        assert (stage.one().text, stage.one().id) == ("the whole", again)

    @needs(Ability.EXPELS)
    async def test_where_it_was_thrown_out_it_says_so(self, stage: Stage) -> None:
        address = await stage.reply_address(at=ANN_IN_TEAM)
        await stage.platform.expels()
        with pytest.raises(DeliveryError) as caught:
            await stage.says("anybody here?", address)
        assert caught.value.category in SHUT_OUT
        assert not caught.value.unknown_outcome
        await stage.says("still there for you", await stage.reply_address(at=BEN))
        assert stage.one(BEN).text == "still there for you"

    @needs(Ability.LOSES_ANSWERS)
    async def test_a_post_whose_answer_got_lost_has_an_unknown_outcome(self, stage: Stage) -> None:
        message = stage.message("did you get it?", await stage.reply_address())
        stage.platform.loses_answer("post")
        with pytest.raises(DeliveryError) as caught:
            await stage.post(message)
        assert caught.value.unknown_outcome
        assert stage.one().text == "did you get it?"
        if implements(stage.adapter, RepeatsSafely):
            message_id = await stage.post(message)
            assert (stage.one().id, stage.one().text) == (message_id, "did you get it?")

    @needs(RepeatsSafely, Ability.LOSES_ANSWERS)
    async def test_a_repeat_after_a_restart_is_the_same_message_with_its_newest_text(
        self, stage: Stage
    ) -> None:
        address, turn = await stage.reply_address(), stage.turn()
        stage.platform.loses_answer("post")
        with pytest.raises(DeliveryError):
            await stage.post(stage.message("half of it", address, turn=turn))
        await stage.restart(crash=True)
        message_id = await stage.post(stage.message("half of it and the rest", address, turn=turn))
        assert (stage.one().id, stage.one().text) == (message_id, "half of it and the rest")

    @needs(Ability.LOSES_ANSWERS)
    async def test_after_an_error_of_the_server_it_is_tried_again(self, stage: Stage) -> None:
        message = stage.message("never mind", await stage.reply_address())
        stage.platform.fails("post")
        with pytest.raises(DeliveryError) as caught:
            await stage.post(message)
        assert caught.value.category is DeliveryCategory.TRANSIENT
        assert stage.seen() == []
        await stage.post(message)
        assert stage.one().text == "never mind"

    @needs(EditsMessages, Ability.LOSES_ANSWERS)
    async def test_an_edit_whose_answer_got_lost_may_be_repeated(self, stage: Stage) -> None:
        message = stage.message("a", await stage.reply_address())
        message_id = await stage.post(message)
        for fault in (stage.platform.loses_answer, stage.platform.fails):
            fault("edit")
            longer = _with(message, f"{stage.one().text} b")
            try:
                await stage.edit(longer, message_id)
            except DeliveryError as error:
                assert error.category is DeliveryCategory.TRANSIENT
                await stage.edit(longer, message_id)
            assert stage.one().text == longer.text

    @needs(ShowsTyping)
    async def test_it_shows_that_an_answer_is_on_its_way(self, stage: Stage) -> None:
        address = await stage.reply_address()
        assert isinstance(stage.adapter, ShowsTyping)
        for _ in range(2):
            await stage.adapter.typing(address)
        if Ability.TYPING not in stage.platform.cannot:
            assert stage.platform.typing()
        assert stage.seen() == []

    @needs(Reacts)
    async def test_a_reaction_may_be_added_and_removed_twice(self, stage: Stage) -> None:
        said = await stage.receive("go")
        address = address_of(said)
        assert isinstance(stage.adapter, Reacts)
        if not stage.adapter.reacts_in(address):
            return
        for call in (stage.adapter.react, stage.adapter.unreact):
            for _ in range(2):
                await call(address, said.origin.message_id)
        assert stage.seen() == []

    @needs(StreamsDrafts)
    async def test_a_draft_is_no_message_and_gives_way_to_the_final(self, stage: Stage) -> None:
        address = await stage.reply_address()
        assert isinstance(stage.adapter, StreamsDrafts)
        if not stage.adapter.drafts_in(address):
            return
        for text in ("dra", "draft"):
            await stage.adapter.draft(stage.message(text, address, final=False), 7)
        assert stage.seen() == []
        await stage.says("the final", address)
        assert stage.one().text == "the final"

    @needs(RegistersCommands)
    async def test_the_menu_shows_the_newest_commands(self, stage: Stage) -> None:
        assert isinstance(stage.adapter, RegistersCommands)
        for names in (["help", "old"], ["help", "new", "status"]):
            await stage.adapter.register_commands([CommandHint(name, f"What {name} does") for name in names])
            if Ability.MENU not in stage.platform.cannot:
                assert list(stage.platform.menu()) == names


def _with(message: OutboundMessage, text: str) -> OutboundMessage:
    return OutboundMessage(message.key, message.address, text, message.final, message.choices)
