"""Names in place of ids: people, channels and groups, looked up in bounded number and time."""

from __future__ import annotations

import pytest

from bot.domain import AttachmentKind, Mention, MentionKind, QuotationKind
from bot.platforms.slack.directory import GROUPS_SCOPE, PERSON_SECONDS, UNKNOWN_SECONDS
from bot.platforms.slack.lookups import MAX_LOOKUPS
from roebot_testing.emulators.slack import SlackEmulator
from roebot_testing.emulators.slack.people import EXCERPT

from .conftest import Running, eventually


async def test_mentions_are_names_with_ids(running: Running) -> None:
    people = running.emulator.people
    running.emulator.world.user("U0000002", "Ben")
    channel = people.make_channel("support")
    people.says(f"ask <@U0000002> in <#{channel}>")
    [message] = await running.shelf.until(1)
    assert message.text == "ask @Ben in #support"
    ben, support = (
        Mention(MentionKind.PERSON, "Ben", "U0000002"),
        Mention(MentionKind.CHANNEL, "support", channel),
    )
    assert message.mentions == (ben, support)


@pytest.mark.guard(
    "Slack: a private channel is named in itself alone",
    "bot/platforms/slack/lookups.py",
    'return found.title if found.visibility == "public" or channel == chat else ""',
    "return found.title",
    against="forwarded commands",
)
async def test_a_private_channel_has_its_name_in_itself_alone(by_hand: Running) -> None:
    people = by_hand.emulator.people
    secret, public = people.make_channel("merger", private=True), people.make_channel("support")
    for channel, shown in ((public, f"#{secret} or #support"), (secret, "#merger or #support")):
        await by_hand.clock.advance(UNKNOWN_SECONDS)
        by_hand.shelf.recorded.add(channel)
        root = people.says(f"<#{secret}> or <#{public}>", channel=channel)
        await by_hand.shelf.until(len(by_hand.shelf.messages) + 1)
        assert by_hand.shelf.messages[-1].text == shown
        address = await by_hand.asked("@roebot so?", channel=channel, thread=root.ts)
        [earlier] = await by_hand.adapter.earlier(address, by_hand.shelf.messages[-1].origin.message_id, 5)
        assert earlier.text == shown


async def test_a_name_in_the_text_stands_in_for_one_that_is_not_found(running: Running) -> None:
    running.emulator.people.says("ask <@U0GONE|tomas> in <#C0PRIVATE|board>, <!subteam^S0OPS|@ops>")
    [message] = await running.shelf.until(1)
    assert message.text == "ask @tomas in #board, @ops"


async def test_a_group_has_its_name_where_the_app_may_ask(emulator: SlackEmulator) -> None:
    emulator.world.scopes += f",{GROUPS_SCOPE}"
    emulator.world.usergroups["S0ONCALL"] = []
    running = await Running(emulator).start()
    emulator.people.says("<!subteam^S0ONCALL> hello")
    [message] = await running.shelf.until(1)
    assert message.text == "@s0oncall hello"
    assert message.mentions == (Mention(MentionKind.ROLE, "s0oncall", "S0ONCALL"),)
    await running.stop()


async def test_a_group_is_its_id_where_it_may_not(running: Running) -> None:
    running.emulator.people.says("<!subteam^S0ONCALL> hello")
    [message] = await running.shelf.until(1)
    assert message.text == "@S0ONCALL hello"
    assert "usergroups.list" not in running.emulator.counters()["calls"]


async def test_somebody_with_a_new_name_is_called_by_it(by_hand: Running) -> None:
    people = by_hand.emulator.people
    by_hand.emulator.world.user("U0000002", "Ben")
    people.says("<@U0000002>?")
    await by_hand.shelf.until(1)
    people.renames("U0000002", "Benjamin")
    await by_hand.clock.advance(PERSON_SECONDS)
    people.says("<@U0000002>!")
    assert [one.text for one in await by_hand.shelf.until(2)] == ["@Ben?", "@Benjamin!"]


async def test_who_becomes_a_guest_is_one_when_asked_about_again(by_hand: Running) -> None:
    people = by_hand.emulator.people
    people.says("before")
    await by_hand.shelf.until(1)
    people.makes_guest(by_hand.shelf.messages[0].origin.sender.id)
    await by_hand.clock.advance(PERSON_SECONDS)
    people.says("after")
    await by_hand.shelf.until(2)
    assert [one.origin.sender.guest for one in by_hand.shelf.messages] == [False, True]


async def test_one_who_is_not_found_is_asked_about_once_a_minute(by_hand: Running) -> None:
    calls = by_hand.emulator.transcript.calls
    for count, wait in enumerate((0.0, 0.0, UNKNOWN_SECONDS), start=1):
        await by_hand.clock.advance(wait)
        by_hand.emulator.people.says("<@U0NOBODY> hello")
        assert (await by_hand.shelf.until(count))[-1].text == "@U0NOBODY hello"
    assert calls["users.info"] == 3, "one for the writer, two for the unknown person"


async def test_a_message_that_names_many_asks_about_some(running: Running) -> None:
    ids = [f"U1{number:06d}" for number in range(MAX_LOOKUPS + 10)]
    for one in ids:
        running.emulator.world.user(one, f"Name {one}")
    running.emulator.people.says(" ".join(f"<@{one}>" for one in ids))
    [message] = await running.shelf.until(1)
    assert message.text.count("@Name ") == MAX_LOOKUPS
    assert message.text.count("@U1") == 10


@pytest.mark.parametrize("method", ["users.info", "conversations.info", "files.info", "bots.info"])
async def test_a_lookup_that_fails_costs_no_message(running: Running, method: str) -> None:
    people = running.emulator.people
    channel = people.make_channel("team", shared=True)
    running.shelf.recorded.add(channel)
    running.emulator.fault("error", method=method, status=500, times=-1)
    people.says(f"see <@U0000002> <#{channel}>", channel=channel, filename="a.txt", data=b"x")
    people.app_posts("done", channel=channel, subtype="bot_message")
    said, posted = await running.shelf.until(2)
    assert said.text.startswith("see @") and len(said.attachments) == 1
    assert posted.text == "done"


async def test_a_voice_message_has_its_transcript(running: Running) -> None:
    running.emulator.people.speaks("move it to Thursday")
    [message] = await running.shelf.until(1)
    assert [(one.kind, one.filename) for one in message.attachments] == [
        (AttachmentKind.VOICE, "audio_message.m4a")
    ]
    [spoken] = message.quotations
    assert (spoken.kind, spoken.text, spoken.files) == (
        QuotationKind.TRANSCRIPT,
        "move it to Thursday",
        ("audio_message.m4a",),
    )
    assert message.text == ""


async def test_a_long_transcript_is_fetched_whole(running: Running) -> None:
    words = " ".join(f"word{number}" for number in range(100))
    running.emulator.people.speaks(words)
    running.emulator.fault("error", method="download", status=403, times=1)
    running.emulator.people.speaks(words)
    found = [one.quotations[0].text for one in await running.shelf.until(2)]
    assert sorted(found, key=len) == [f"{words[:EXCERPT]} …", words]


async def test_a_transcript_in_progress_is_asked_for_once(running: Running) -> None:
    running.emulator.people.speaks()
    [message] = await running.shelf.until(1)
    assert (len(message.attachments), message.quotations) == (1, ())
    assert running.emulator.counters()["calls"]["files.info"] == 1


async def test_files_that_cannot_be_read_leave_the_words(running: Running) -> None:
    event = {"type": "message", "user": "U1", "channel": "D1", "ts": "1.2", "text": "hi", "files": "x"}
    running.emulator.people.event({**event, "blocks": 5, "attachments": [{"fields": "x"}]})
    await eventually(lambda: running.shelf.messages)
    [message] = running.shelf.messages
    assert message.text == "hi"
    assert {one.kind for one in message.quotations} == {QuotationKind.UNSUPPORTED, QuotationKind.CARD}
