"""Names in both directions: the agent reads whom a message mentions, and can mention people of the chat."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agent.shared.envelope import MentionedName, MessageEnvelope, parse_envelopes
from agent.shared.run_identity import CHAT_FACTS
from bot.domain import ChatKind, Mention, MentionKind, Quotation, QuotationKind
from bot.runtime.interface import RunEnded, TextDelta
from roebot_testing.runtime import ScriptedRun, answer_with
from tests.component.dispatch.bench import Bench

LENA = Mention(MentionKind.PERSON, "Lena Okoro", "U1")
DEPLOYS = Mention(MentionKind.CHANNEL, "deploys", "C1")
GROUP = {"chat": "g1", "kind": ChatKind.GROUP}


def read_by_agent(at: Bench) -> list[MessageEnvelope]:
    runs = at.runtime.runs.values()
    return [
        one
        for run in runs
        for message in run.request.messages
        for one in parse_envelopes(str(message["content"]))
    ]


async def test_the_agent_reads_whom_a_message_mentions(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        text = "ask @Lena Okoro in #deploys"
        await at.adapter.hears(text, mentions=(LENA, DEPLOYS), **GROUP)
        await at.until(lambda: at.adapter.texts("g1"))
        await at.adapter.hears("and Lena?", mentions=(LENA,), **GROUP)
        await at.until(lambda: len(at.adapter.texts("g1")) == 2)
    first, second = read_by_agent(at)
    assert first.mentions == (
        MentionedName("@Lena Okoro", "recording:U1"),
        MentionedName("#deploys", "recording:C1"),
    )
    assert second.mentions == (), "the text does not name her, such as after an edit"


@pytest.mark.parametrize("text", ["/role @Lena Okoro member", "role @Lena Okoro member"])
async def test_a_role_is_granted_to_the_id_of_a_mention(at: Bench, text: str) -> None:
    async with at.running():
        await at.adapter.hears(text, mentions=(LENA,), **GROUP)
        await at.until(lambda: at.adapter.texts("g1"))
    assert at.adapter.texts("g1") == ["`rec:U1` now has the role **member**."]


async def test_a_name_without_a_mention_is_nobody(at: Bench) -> None:
    at.runtime.script = answer_with("ok")
    async with at.running():
        await at.adapter.hears("hi", mentions=(LENA,), **GROUP)
        await at.until(lambda: at.adapter.texts("g1"))
        await at.adapter.hears("/allow @Lena", **GROUP)
        await at.until(lambda: len(at.adapter.texts("g1")) == 2)
    assert at.adapter.texts("g1")[-1].startswith("`@Lena` is not a person or group.")


class TestAnswers:
    """Names in answers: those that stand for one person or channel of the chat become mentions."""

    async def test_who_wrote_or_was_named_is_mentioned(self, at: Bench) -> None:
        at.runtime.script = answer_with("@P7: ask @Lena Okoro in #deploys, not @P8 or `@P7`")
        async with at.running():
            await at.adapter.hears("hi @Lena Okoro, see #deploys", mentions=(LENA, DEPLOYS), **GROUP)
            await at.until(lambda: at.adapter.texts("g1"))
        assert at.adapter.texts("g1") == ["<@7>: ask <@U1> in <#C1>, not @P8 or `@P7`"]

    async def test_a_role_is_mentioned_by_the_name_that_the_configuration_gives_it(self, at: Bench) -> None:
        at.adapter.mentionable_groups = {"oncall": "R9"}
        at.runtime.script = answer_with("@oncall and @admins, look")
        admins = Mention(MentionKind.ROLE, "admins", "R1")
        async with at.running():
            await at.adapter.hears("hi @admins, I am @oncall", mentions=(admins,), **GROUP)
            await at.until(lambda: at.adapter.texts("g1"))
        assert at.adapter.texts("g1") == ["<@&R9> and @admins, look"]
        [run] = at.runtime.runs.values()
        assert run.request.configurable[CHAT_FACTS]["roles"] == "@oncall"

    async def test_names_of_earlier_messages_and_of_the_record_are_known(self, at: Bench) -> None:
        at.runtime.script = answer_with("@P8, @Lena Okoro and @P9")
        async with at.running():
            await at.adapter.hears("/record on", person="9", **GROUP)
            await at.until(lambda: at.adapter.texts("g1"))
            await at.adapter.hears("by the way", person="8", addressed=False, **GROUP)
            await at.adapter.hears("see @Lena Okoro", person="8", addressed=False, mentions=(LENA,), **GROUP)
            await at.adapter.hears("who?", **GROUP)
            await at.until(lambda: len(at.adapter.texts("g1")) == 2)
            assert at.adapter.texts("g1")[-1] == "<@8>, <@U1> and @P9"
            await at.adapter.hears("hi", chat="g2", kind=ChatKind.GROUP)
            await at.until(lambda: at.adapter.texts("g2"))
        assert at.adapter.texts("g2") == ["@P8, @Lena Okoro and @P9"], "strangers to this chat"

    async def test_two_people_with_one_name_stay_text(self, at: Bench) -> None:
        at.runtime.script = answer_with("@Lena Okoro")
        twin = replace(LENA, id="U2")
        async with at.running():
            await at.adapter.hears("@Lena Okoro and @Lena Okoro", mentions=(LENA, twin), **GROUP)
            await at.until(lambda: at.adapter.texts("g1"))
        assert at.adapter.texts("g1") == ["@Lena Okoro"]

    @pytest.mark.parametrize("name", ["everyone", "here", "channel", "all"])
    async def test_nobody_makes_everyone_a_mention(self, at: Bench, name: str) -> None:
        at.runtime.script = answer_with(f"@{name}")
        async with at.running():
            await at.adapter.hears("hi", mentions=(replace(LENA, name=name),), **GROUP)
            await at.until(lambda: at.adapter.texts("g1"))
        assert at.adapter.texts("g1") == [f"@{name}"]

    @pytest.mark.guard(
        "no mention of people who have nothing to do with the chat",
        "bot/store/known_names.py",
        "if one.kind in CONTEXT_KINDS and one.author:",
        "if one.author:",
        against="unwanted mentions",
    )
    async def test_authors_of_forwarded_messages_are_not_of_this_chat(self, at: Bench) -> None:
        at.runtime.script = answer_with("@Mallory and @Ben")
        quoted = (
            Quotation(QuotationKind.FORWARD, "x", "Mallory", "666"),
            Quotation(QuotationKind.REPLY, "x", "Ben", "8"),
        )
        async with at.running():
            await at.adapter.hears("hi", quotations=quoted, **GROUP)
            await at.until(lambda: at.adapter.texts("g1"))
        assert at.adapter.texts("g1") == ["@Mallory and <@8>"]

    async def test_in_a_private_chat_and_in_answers_of_commands_names_stay(self, at: Bench) -> None:
        at.runtime.script = answer_with("@P7")
        async with at.running():
            await at.adapter.hears("hi")
            await at.adapter.hears("/nosuch @P7", **GROUP)
            await at.until(lambda: at.adapter.texts() and at.adapter.texts("g1"))
        assert at.adapter.texts() == ["@P7"]
        assert not any("<@" in text for text in at.adapter.texts("g1"))


class TestStreaming:
    """Frames mention nobody; an answer whose beginning mentions somebody is posted whole, so it notifies."""

    async def test_a_role_at_the_beginning_waits_for_the_whole(self, at: Bench) -> None:
        at.adapter.mentionable_groups = {"oncall": "R9"}
        async with at.running():
            run = await self.begin(at)
            run.say("For @oncall: it is about the ")
            await at.rest(5.0)
            assert at.adapter.texts("g1") == []
            run.emit(TextDelta("m1", "release"), RunEnded("success"))
            await at.until(lambda: at.adapter.texts("g1"))
        assert at.adapter.texts("g1") == ["For <@&R9>: it is about the release"]

    async def begin(self, at: Bench) -> ScriptedRun:
        await at.adapter.hears("hi @Lena Okoro", mentions=(LENA,), **GROUP)
        await at.until(lambda: at.runtime.runs)
        return next(iter(at.runtime.runs.values()))

    @pytest.mark.guard(
        "a mention waits for the whole answer",
        "bot/dispatch/reply/streaming.py",
        "if not self._sender.reply.visible and await self._waits_for_mention(texts):",
        "if False:",
        against="unwanted mentions",
    )
    @pytest.mark.parametrize(
        "beginning", ["For @Lena Okoro: it is about the ", "As you asked me to, I tell @Len"]
    )
    async def test_a_mention_at_the_beginning_waits_for_the_whole(self, at: Bench, beginning: str) -> None:
        async with at.running():
            run = await self.begin(at)
            run.say(beginning)
            await at.rest(5.0)
            assert at.adapter.texts("g1") == []
            rest = "release" if "Okoro" in beginning else "a Okoro"
            run.emit(TextDelta("m1", rest), RunEnded("success"))
            await at.until(lambda: at.adapter.texts("g1"))
        whole = (beginning + rest).replace("@Lena Okoro", "<@U1>")
        posts = [call for call in at.adapter.calls if call[0] in ("post", "edit")]
        assert posts == [("post", "g1", whole)]

    async def test_a_later_mention_comes_with_the_final_edit_alone(self, at: Bench) -> None:
        async with at.running():
            run = await self.begin(at)
            run.say("I have looked at all of it, and it is fine. ")
            await at.until(lambda: at.adapter.texts("g1"))
            run.emit(TextDelta("m1", "Thanks, @Lena Okoro."))
            await at.until(lambda: at.adapter.texts("g1")[0].endswith("Okoro."))
            await at.rest(5.0)
            assert "<@" not in str(at.adapter.calls)
            run.emit(RunEnded("success"))
            await at.until(lambda: "<@U1>" in at.adapter.texts("g1")[0])
        mentioned = [call for call in at.adapter.calls if "<@" in call[2]]
        assert [call[0] for call in mentioned] == ["edit"]

    @pytest.mark.guard(
        "frames mention nobody",
        "bot/dispatch/reply/sender.py",
        "mentions=names_in(text, self._names or ()) if final else (),",
        "mentions=names_in(text, self._names or ()),",
        against="unwanted mentions",
    )
    async def test_an_answer_to_its_author_streams(self, at: Bench) -> None:
        async with at.running():
            run = await self.begin(at)
            run.say("Hi @P7, this is going to be a long answer to you: ")
            await at.until(lambda: at.adapter.texts("g1"))
            assert at.adapter.texts("g1")[0].startswith("Hi @P7")
            run.emit(RunEnded("success"))
            await at.until(lambda: at.adapter.texts("g1")[0].startswith("Hi <@7>"))
