"""What arrives: every kind of payload, from the socket to the inbox."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.domain import AttachmentKind, ChatKind, Mention, MentionKind
from bot.platforms.payload import Malformed
from bot.platforms.slack.choices import button_blocks
from bot.platforms.slack.inbound import Ignored, SlackIdentity, SlackInbound, SlackMessage
from bot.platforms.slack.mrkdwn import close_gaps, read_mrkdwn
from bot.platforms.slack.names import BOT_MARK, AuthorNames, SlackNames
from tests.harness.profile import examples

from .conftest import PERSON, Running, eventually

BOT = "U0ROEBOT"


async def test_a_direct_message(running: Running) -> None:
    said = running.emulator.people.says("hi &lt;there&gt; &amp; you", user=PERSON, name="Ada L.")
    [message] = await running.shelf.until(1)
    origin = message.origin
    assert message.text == "hi <there> & you"
    assert (message.event_id, origin.chat, origin.message_id) == (
        f"{said.channel}:{said.ts}",
        said.channel,
        said.ts,
    )
    assert (origin.chat_kind, origin.topic, origin.reply_to) == (ChatKind.PRIVATE, said.ts, "")
    assert (origin.sender.id, origin.sender.name, message.addressed) == (PERSON, "Ada L.", True)
    assert message.sent_at == float(said.ts)


async def test_a_thread_in_a_direct_message_is_its_topic(running: Running) -> None:
    root = running.emulator.people.says("one")
    reply = running.emulator.people.says("two", thread=root.ts)
    [_, message] = await running.shelf.until(2)
    assert (message.origin.topic, message.origin.message_id, message.origin.reply_to) == (
        root.ts,
        reply.ts,
        root.ts,
    )


@pytest.mark.parametrize("mention_first", [True, False])
async def test_message_and_app_mention_are_one(running: Running, mention_first: bool) -> None:
    running.emulator.people.first_mention = mention_first
    team = running.emulator.people.make_channel("team")
    said = running.emulator.people.says("@roebot, do it", channel=team)
    await eventually(lambda: running.adapter.counts.messages == 2)
    [message] = running.shelf.messages
    assert (message.text, message.addressed, message.origin.topic) == ("do it", True, said.ts)
    assert message.origin.chat_kind is ChatKind.GROUP
    assert running.shelf.duplicates == 1


def test_the_address_of_a_message() -> None:
    us = SlackIdentity(BOT, "B0", "T0", url="https://team.slack.com/")
    assert (
        us.message_link("C1", "1700000000.000100", "")
        == "https://team.slack.com/archives/C1/p1700000000000100"
    )
    assert us.message_link("C1", "1700000002.000200", "1700000000.000100") == (
        "https://team.slack.com/archives/C1/p1700000002000200?thread_ts=1700000000.000100&cid=C1"
    )
    assert SlackIdentity(BOT, "B0", "T0").message_link("C1", "1700000000.000100", "") == ""


async def test_who_talks_to_others_is_known_where_a_record_is_kept(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    running.shelf.recorded.add(team)
    said = running.emulator.people.says("lunch?", channel=team, user=PERSON, name="Ada L.")
    [message] = await running.shelf.until(1)
    assert (message.addressed, message.origin.sender.name) == (False, "Ada L.")
    assert message.link.endswith(f"/archives/{team}/p{said.ts.replace('.', '')}")


async def test_what_is_said_to_others_is_not_for_the_bot(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    running.emulator.people.says("good morning", channel=team)
    [message] = await running.shelf.until(1)
    assert not message.addressed
    assert "users.info" not in running.emulator.counters()["calls"]


async def test_a_thread_begun_with_the_bot_goes_on_without_mentions(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    root = running.emulator.people.says("@roebot hi", channel=team)
    running.emulator.people.says("and then", channel=team, thread=root.ts, user="U0000002")
    running.emulator.people.says("<@U0000003> what do you think", channel=team, thread=root.ts)
    await eventually(lambda: running.adapter.counts.messages == 4)
    [_, follow, aside] = running.shelf.messages
    assert (follow.text, follow.addressed, follow.origin.topic) == ("and then", True, root.ts)
    assert (aside.text, aside.addressed) == ("@U0000003 what do you think", False)


async def test_after_a_restart_the_thread_is_still_known(emulator: Any) -> None:
    first = await Running(emulator).start()
    team = emulator.people.make_channel("team")
    root = emulator.people.says("@roebot hi", channel=team)
    other = emulator.people.says("not for it", channel=team)
    await first.shelf.until(2)
    await first.stop()
    second = await Running(emulator).start()
    emulator.people.says("go on", channel=team, thread=root.ts)
    emulator.people.says("go away", channel=team, thread=other.ts)
    emulator.people.says("go on again", channel=team, thread=root.ts)
    messages = await second.shelf.until(3)
    assert [message.addressed for message in messages] == [True, False, True]
    assert emulator.counters()["calls"]["conversations.replies"] == 2
    await second.stop()


async def test_a_thread_below_the_bots_own_message_is_for_the_bot(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    await running.adapter.session.client.web.chat_postMessage(channel=team, text="the digest")
    [posted] = running.shown(team)
    running.emulator.people.says("more about it", channel=team, thread=posted["ts"])
    [message] = await running.shelf.until(1)
    assert message.addressed


async def test_while_slack_limits_the_question_the_event_is_not_lost(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    root = running.emulator.people.says("@roebot hi", channel=team)
    await eventually(lambda: running.adapter.counts.messages == 2)
    running.emulator.limits(False, scale=0.01)
    running.adapter.session.events._places._threads._cached.pop(f"{team}:{root.ts}")
    running.emulator.fault("error", method="conversations.replies", status=429, description="ratelimited")
    running.emulator.people.says("go on", channel=team, thread=root.ts)
    messages = await running.shelf.until(2)
    assert messages[1].addressed
    assert running.adapter.counts.failed == 1


async def test_its_own_messages_are_ignored(running: Running) -> None:
    team = running.emulator.people.make_channel("team")
    await running.adapter.session.client.web.chat_postMessage(channel=team, text="mine")
    running.emulator.people.says("@roebot yes", channel=team)
    await running.shelf.until(1)
    assert running.shelf.texts == ["yes"]
    assert running.adapter.counts.ignored == 1


async def test_files_come_with_their_facts(running: Running) -> None:
    running.emulator.people.says(
        "look",
        files=[
            {"data": b"x" * 10, "filename": "a.png", "mime": "image/png"},
            {"data": b"y", "filename": "b.txt", "mime": "text/plain"},
        ],
    )
    [message] = await running.shelf.until(1)
    assert [(one.kind, one.filename, one.size) for one in message.attachments] == [
        (AttachmentKind.IMAGE, "a.png", 10),
        (AttachmentKind.FILE, "b.txt", 1),
    ]


async def test_the_slash_command(running: Running) -> None:
    running.emulator.people.commands("status now", user=PERSON)
    running.emulator.people.commands("", user=PERSON)
    await running.shelf.until(2)
    team = running.emulator.people.make_channel("team")
    running.emulator.people.commands("/help", user=PERSON, channel=team)
    direct, bare, public = await running.shelf.until(3)
    assert [message.text for message in (direct, bare, public)] == ["/status now", "/help", "/help"]
    assert direct.origin.chat_kind is ChatKind.PRIVATE and direct.addressed
    assert (public.origin.chat, public.origin.chat_kind, public.origin.topic) == (team, ChatKind.GROUP, "")


async def test_people_in_a_slash_command_are_mentions(running: Running) -> None:
    running.emulator.world.user("U0LENA", "Lena Okoro")
    text = "role <@U0LENA|lena> member &amp; <@U0ROEBOT> <https://example.org>"
    running.emulator.people.commands(text, user=PERSON)
    [message] = await running.shelf.until(1)
    assert message.text == "/role @Lena Okoro member & @roebot https://example.org"
    assert message.mentions == (Mention(MentionKind.PERSON, "Lena Okoro", "U0LENA"),)


async def test_a_command_from_a_foreign_direct_message_is_answered_in_the_bots_own(running: Running) -> None:
    running.emulator.people.says("hi", user=PERSON)
    [said] = await running.shelf.until(1)
    payload = running.emulator.people.commands("status", user=PERSON)
    foreign = {**payload, "channel_id": "D0OTHERS", "trigger_id": "77.1"}
    running.emulator.inject(foreign, "slash_commands")
    messages = await running.shelf.until(3)
    assert {message.origin.chat for message in messages} == {said.origin.chat}


async def test_a_click_is_a_message_in_the_thread_of_its_button(running: Running) -> None:
    address = await running.asked("@roebot x", channel=running.emulator.people.make_channel("team"))
    web = running.adapter.session.client.web
    posted = await web.chat_postMessage(
        channel=address.chat, thread_ts=address.topic, text="?", blocks=button_blocks(["/approve A1"])
    )
    running.emulator.people.clicks(address.chat, posted["ts"], "/approve A1", user="U0000009")
    message = (await running.shelf.until(2))[1]
    assert (message.text, message.origin.sender.id) == ("/approve A1", "U0000009")
    assert (message.origin.chat, message.origin.topic) == (address.chat, address.topic)
    running.emulator.people.clicks(address.chat, posted["ts"], "/approve A1", user="U0000009")
    await running.shelf.until(3)


async def test_the_stop_button_is_a_stop(running: Running) -> None:
    address = await running.asked("[long]")
    await running.adapter.typing(address)
    running.emulator.people.stops(address.chat, address.topic)
    message = (await running.shelf.until(2))[1]
    assert (message.text, message.addressed, message.origin.topic) == ("/stop", True, address.topic)
    assert message.origin.chat_kind is ChatKind.PRIVATE
    running.emulator.redeliver()
    await eventually(lambda: running.shelf.duplicates == 1)


async def test_unknown_events_are_acknowledged_and_counted(running: Running) -> None:
    running.emulator.people.event({"type": "team_join", "user": {"id": "U1"}})
    running.emulator.inject({"type": "view_submission", "user": {"id": "U1"}}, "interactive")
    await eventually(lambda: running.emulator.outbox.acked == 2)
    assert running.adapter.counts.ignored == 2


@pytest.mark.parametrize(
    "event",
    [
        {"type": "message", "user": "U1", "channel": "C1", "ts": "nonsense"},
        {"type": "message", "user": "U1", "channel": ["C1"], "ts": "1.2"},
        {"type": "message", "user": "U1", "ts": "1.2"},
        {"type": "agent_session_stopped", "channel": "C1"},
    ],
)
async def test_malformed_events_are_counted_and_not_sent_again(
    running: Running, event: dict[str, Any]
) -> None:
    running.emulator.people.event(event)
    await eventually(lambda: running.emulator.outbox.acked == 1)
    assert running.adapter.counts.malformed == 1
    running.emulator.people.says("still there")
    assert [message.text for message in await running.shelf.until(1)] == ["still there"]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
_KEYS = st.sampled_from(
    ["type", "user", "channel", "ts", "thread_ts", "text", "files", "subtype", "bot_id", "channel_type"]
)
_EVENT = st.dictionaries(_KEYS, _JSON | st.sampled_from(["message", "app_mention", "1.5", "C1"]), max_size=10)


@given(_EVENT, st.dictionaries(st.sampled_from(["command", "actions", "message", "user", "x"]), _JSON))
@settings(max_examples=examples(300), deadline=None)
def test_anything_at_all_is_read_or_refused(event: dict[str, Any], rest: dict[str, Any]) -> None:
    inbound = SlackInbound("sl", SlackIdentity(BOT, "B0", "T0"))
    for body in (
        {"type": "event_callback", "event": event, "event_id": "E1"},
        {"type": "block_actions", **rest},
        {**rest, "command": "/roebot"},
    ):
        try:
            assert isinstance(inbound.read(body), SlackMessage | Ignored)
        except Malformed as error:
            assert len(str(error)) < 60


@pytest.mark.parametrize(
    ("written", "read", "named"),
    [
        ("<@U0ROEBOT> hi", "hi", True),
        ("hey <@U0ROEBOT>, do it", "hey, do it", True),
        ("<@U0ROEBOT|roebot>: hi", "hi", True),
        ("ask <@U0ROEBOT>", "ask", True),
        ("no mention  here ", "no mention  here ", False),
        ("<@U1|ada> and <@U2>", "@ada and @U2", False),
        ("see <#C1|general> and <#C2>", "see #general and #C2", False),
        ("<!here> <!subteam^S1|@devs> <!date^1^{date}|today>", "@here @devs today", False),
        ("<https://example.org/a?b=1&amp;c=2>", "https://example.org/a?b=1&c=2", False),
        ("<https://example.org|the site>", "[the site](https://example.org)", False),
        ("<mailto:a@example.org|a@example.org>", "a@example.org", False),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2", False),
        ("&amp;lt;", "&lt;", False),
        ("a < b > c", "a < b > c", False),
    ],
)
def test_texts_are_read_as_they_were_meant(written: str, read: str, named: bool) -> None:
    author = AuthorNames(SlackNames(BOT))
    text = read_mrkdwn(written, author)
    assert (close_gaps(text) if named else text, author.named) == (read, named)


@pytest.mark.parametrize(
    ("text", "other"), [("<@U1> ask <@U0ROEBOT>", True), ("<@U0ROEBOT> ask <@U1>", False)]
)
def test_a_mention_of_somebody_else_first(text: str, *, other: bool) -> None:
    author = AuthorNames(SlackNames(BOT))
    read_mrkdwn(text, author)
    assert author.other is other


@pytest.mark.parametrize("gap", [" ", "\t"])
def test_a_long_gap_is_read_in_linear_time(gap: str) -> None:
    text = f"{BOT_MARK} hi{gap * 1_000_000}x{gap}{BOT_MARK}"
    assert close_gaps(text) == f"hi{gap * 1_000_000}x"
