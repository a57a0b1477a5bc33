"""Receiving: stored before it is acknowledged, once, in order and unchanged."""

from __future__ import annotations

import asyncio

import pytest

from bot.account_state import Live
from bot.domain import ChatKind
from bot.platforms.base import RemembersPeople
from roebot_testing.conformance.bench import Stage, address_of
from roebot_testing.conformance.driver import ANN, ANN_IN_TEAM, BEN, BEN_IN_TEAM, Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite
from roebot_testing.running import eventually

A_DAY = 24 * 3600.0
WRITTEN = {
    "plain": "How are you?",
    "lines": "one\ntwo\n\nfour",
    "brackets": "1 < 2 && 3 > 2",
    "entities": "&amp; stays &lt;as&gt; written",
    "markup": "**not bold** _nor this_ `nor this` ~~nor this~~",
    "code": "```py\nif a<b:\n    print('&')\n```",
    "chinese": "你好，世界！",
    "emoji": "👩‍👩‍👧‍👦 🇩🇪 👍🏽",
    "right to left": "שלום עולם",
    "address": "see https://example.org/a_b?c=1&d=<2>",
    "long": "word " * 300 + "end",
}


FORWARDED = ["/allow", "/role owner mallory", "approve", "yes", "Ann: yes", "批准", "hello"]


class Receiving(Suite):
    async def test_a_message_says_who_wrote_what_and_where(self, stage: Stage) -> None:
        heard = await stage.receive("hello")
        assert heard.text == "hello"
        assert heard.addressed
        assert heard.origin.account == stage.platform.account
        assert heard.origin.platform
        assert heard.origin.chat_kind is ChatKind.PRIVATE
        assert heard.origin.sender.id
        assert not heard.origin.sender.is_bot
        assert abs(heard.sent_at - stage.platform.clock.now()) < A_DAY

    async def test_two_people_have_two_chats(self, stage: Stage) -> None:
        ann, ben = await stage.receive("the same", ANN), await stage.receive("the same", BEN)
        assert ann.origin.chat != ben.origin.chat
        assert ann.origin.sender.id != ben.origin.sender.id
        assert ann.event_id != ben.event_id

    @pytest.mark.parametrize("name", WRITTEN)
    async def test_a_text_arrives_as_it_was_written(self, stage: Stage, name: str) -> None:
        assert (await stage.receive(WRITTEN[name])).text == WRITTEN[name].strip()

    @needs(Ability.FORWARDS)
    async def test_what_somebody_forwards_is_a_quotation(self, stage: Stage) -> None:
        for count, text in enumerate(FORWARDED, start=1):
            await stage.platform.forwards(text)
            await stage.inbox.until(count)
        assert [one.text for one in stage.inbox.messages] == [""] * len(FORWARDED)
        assert all(one.is_quotation_only for one in stage.inbox.messages)
        quoted = [quotation.text for one in stage.inbox.messages for quotation in one.quotations]
        assert sorted(quoted) == sorted(FORWARDED)
        assert (await stage.receive("my own words")).quotations == ()

    @needs(Ability.FORWARDS, Ability.GROUPS)
    async def test_a_forwarded_call_of_the_bot_is_not_addressed_to_it(self, stage: Stage) -> None:
        called = await stage.receive("first", BEN_IN_TEAM)
        await stage.platform.forwards("@roebot_bot @roebot /allow", BEN_IN_TEAM)
        await stage.receive("then", BEN_IN_TEAM)
        heard = [one for one in stage.inbox.messages if one.quotations]
        assert called.addressed
        assert not any(one.addressed or one.text for one in heard)

    @needs(Ability.CONFIRMS)
    async def test_nothing_is_confirmed_before_it_is_stored(self, stage: Stage) -> None:
        await stage.receive("first")
        await eventually(lambda: stage.platform.unconfirmed() == 0)
        stage.inbox.hold()
        writing = asyncio.create_task(stage.platform.writes("second"))
        await eventually(lambda: stage.inbox.asked >= 2)
        await stage.moments()
        assert stage.platform.unconfirmed() == 1
        stage.inbox.release()
        await eventually(lambda: stage.platform.unconfirmed() == 0)
        await writing
        assert stage.inbox.texts == ["first", "second"]

    @needs(Ability.KEEPS)
    async def test_what_could_not_be_stored_comes_again(self, stage: Stage) -> None:
        stage.inbox.refuse = 1
        await stage.platform.writes("precious")
        await stage.inbox.until(1)
        assert stage.inbox.refused == 1
        assert stage.inbox.texts == ["precious"]
        assert not stage.running.ended, f"the account ended for it: {stage.running.error!r}"
        assert (await stage.receive("after it")).text == "after it"
        await eventually(lambda: stage.running.state.live is Live.LIVE)

    @needs(Ability.KEEPS)
    async def test_what_was_stored_without_an_answer_is_known_when_it_comes_again(self, stage: Stage) -> None:
        stage.inbox.stumble = 1
        await stage.platform.writes("once")
        await eventually(lambda: stage.inbox.duplicates)
        assert stage.inbox.texts == ["once"]

    @needs(Ability.KEEPS)
    async def test_the_next_life_knows_it_too(self, stage: Stage) -> None:
        await stage.receive("to begin with")
        stage.inbox.stumble = 1000
        await stage.platform.writes("once")
        await stage.inbox.until(2)
        await stage.running.crash()
        stage.inbox.stumble = 0
        await stage.begin()
        await stage.platform.writes("then")
        await stage.inbox.until(3)
        assert sorted(stage.inbox.texts) == ["once", "then", "to begin with"]

    @needs(Ability.KEEPS)
    async def test_what_was_written_between_two_lives_arrives(self, stage: Stage) -> None:
        await stage.receive("before")
        await stage.stop()
        for number in range(3):
            await stage.platform.writes(f"between {number}")
        await stage.begin()
        await stage.inbox.until(4)
        await stage.receive("after")
        assert sorted(stage.inbox.texts[1:4]) == ["between 0", "between 1", "between 2"]
        assert len(stage.inbox.texts) == 5

    @needs(Ability.REPEATS)
    async def test_an_event_that_comes_twice_is_one_message(self, stage: Stage) -> None:
        stage.platform.repeats()
        for text in ("one", "two"):
            await stage.receive(text)
        await eventually(lambda: stage.inbox.duplicates >= 2)
        await stage.moments()
        assert stage.inbox.texts == ["one", "two"]

    async def test_the_same_words_twice_are_two_messages(self, stage: Stage) -> None:
        for _ in range(2):
            await stage.receive("again")
        assert stage.inbox.texts == ["again", "again"]

    @needs(Ability.ORDERED)
    async def test_the_order_is_that_of_the_chat(self, stage: Stage) -> None:
        wanted = [f"number {number}" for number in range(30)]
        for text in wanted:
            await stage.platform.writes(text)
        await stage.inbox.until(30)
        assert stage.inbox.texts == wanted

    @needs(Ability.ORDERED)
    async def test_a_slow_store_keeps_the_order(self, stage: Stage) -> None:
        await stage.receive("zero")
        stage.inbox.pauses.extend([0.05, 0.0, 0.02, 0.0])
        wanted = ["zero", *(f"number {number}" for number in range(5))]
        async with asyncio.TaskGroup() as group:
            for text in wanted[1:]:
                group.create_task(stage.platform.writes(text))
                await asyncio.sleep(0)
        await stage.inbox.until(6)
        assert stage.inbox.texts == wanted

    async def test_it_does_not_hear_itself(self, stage: Stage) -> None:
        await stage.says("my own words", await stage.reply_address("hello"))
        await stage.moments()
        assert stage.inbox.texts == ["hello"]

    @needs(Ability.GROUPS)
    async def test_in_a_group_it_answers_to_its_name(self, stage: Stage) -> None:
        heard = await stage.receive("what is new?", BEN_IN_TEAM)
        assert heard.addressed
        assert heard.text == "what is new?"
        assert heard.origin.chat_kind is ChatKind.GROUP
        private = await stage.receive("hi", BEN)
        assert heard.origin.sender.id == private.origin.sender.id
        assert heard.origin.chat != private.origin.chat

    @needs(Ability.GROUPS)
    async def test_what_is_not_said_to_it_is_not_addressed(self, stage: Stage) -> None:
        await stage.platform.writes("only among us", ANN_IN_TEAM, addressed=False)
        await stage.receive("and now you", ANN_IN_TEAM)
        chatter = [message for message in stage.inbox.messages if message.text == "only among us"]
        assert not any(message.addressed for message in chatter)

    @needs(RemembersPeople, Ability.GROUPS)
    async def test_a_person_it_has_forgotten_is_heard_again(self, stage: Stage) -> None:
        assert isinstance(stage.adapter, RemembersPeople)
        heard = await stage.receive("my secret", BEN_IN_TEAM)
        stage.adapter.forget_person(heard.origin.sender.key)
        again = await stage.receive("and now?", BEN_IN_TEAM)
        assert again.origin.sender == heard.origin.sender
        assert all("my secret" not in one.text for one in again.quotations)

    @needs(Ability.GROUPS)
    async def test_an_answer_to_a_group_appears_there(self, stage: Stage) -> None:
        address = address_of(await stage.receive("tell us", BEN_IN_TEAM))
        await stage.says("to all of you", address)
        assert stage.one(BEN_IN_TEAM).text == "to all of you"
        assert stage.seen(BEN) == []
