"""Cases for other contents of messages: quoted messages, names of people, and messages of other apps."""

from __future__ import annotations

from bot.domain import CONTEXT_KINDS, QuotationKind
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import ANN, ANN_IN_TEAM, BEN_IN_TEAM, Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite


class Contents(Suite):
    @needs(Ability.REPLIES)
    async def test_a_reply_names_the_message_that_it_answers(self, stage: Stage) -> None:
        answered = await stage.receive("the first words")
        message_id = answered.origin.message_id
        await stage.platform.replies("I agree", message_id)
        heard = (await stage.inbox.until(2))[-1]
        assert heard.text == "I agree"
        assert message_id in (heard.origin.reply_to, heard.origin.topic)
        assert all(one.kind in CONTEXT_KINDS for one in heard.quotations)
        replied = [one for one in heard.quotations if one.kind is QuotationKind.REPLY]
        assert [one.text for one in replied] in ([], ["the first words"])
        assert all(one.author_id == answered.origin.sender.id for one in replied)
        assert not heard.is_quotation_only

    @needs(Ability.REPLIES, Ability.GROUPS)
    async def test_a_reply_to_the_bot_is_addressed_to_it(self, stage: Stage) -> None:
        answer = await stage.says("an answer", await stage.reply_address("tell us", BEN_IN_TEAM))
        await stage.platform.replies("and then?", answer, ANN_IN_TEAM)
        heard = (await stage.inbox.until(2))[-1]
        assert heard.addressed
        assert heard.text == "and then?"

    @needs(Ability.NAMES)
    async def test_people_have_their_names(self, stage: Stage) -> None:
        for at in (ANN, BEN_IN_TEAM):
            heard = await stage.receive("hello", at)
            assert heard.origin.sender.name == stage.platform.name_of(at)

    @needs(Ability.APPS, Ability.GROUPS)
    async def test_words_of_another_app_are_nobody_s(self, stage: Stage) -> None:
        await stage.platform.app_writes("the deployment failed", ANN_IN_TEAM)
        await stage.receive("and now you", ANN_IN_TEAM)
        theirs = [one for one in stage.inbox.messages if "deployment" in one.text or one.quotations]
        assert all(one.origin.sender.is_bot for one in theirs)
