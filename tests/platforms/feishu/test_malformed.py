"""Events that are not what Feishu documents: counted, logged, acknowledged; never a crash."""

from __future__ import annotations

import asyncio
import contextlib
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.content import unsupported
from bot.domain import InboundMessage
from bot.platforms.feishu.card_reader import read_card
from bot.platforms.feishu.card_values import MAX_ADDRESSES, read_plain
from bot.platforms.feishu.client import FeishuClient
from bot.platforms.feishu.contacts import FeishuContacts
from bot.platforms.feishu.content import parse_object
from bot.platforms.feishu.forwarded import FeishuForwarded
from bot.platforms.feishu.inbound import FeishuIdentity, FeishuInbound
from bot.platforms.feishu.mentions import FeishuMentions, FeishuNames
from bot.platforms.payload import Malformed
from bot.platforms.unreadable import UNREADABLE
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.feishu import FeishuEmulator
from roebot_testing.inbox import RecordingInbox
from tests.harness.profile import examples

from .conftest import Running, eventually

GOOD: dict[str, Any] = {
    "schema": "2.0",
    "header": {"event_id": "e", "event_type": "im.message.receive_v1"},
    "event": {
        "sender": {"sender_id": {"open_id": "ou_1"}, "sender_type": "user"},
        "message": {
            "message_id": "om_1",
            "chat_id": "oc_1",
            "chat_type": "p2p",
            "message_type": "text",
            "create_time": "1700000000000",
            "content": '{"text":"hi"}',
        },
    },
}


def offline() -> FeishuInbound:
    """A converter whose client is closed: it asks for nothing."""
    clock = ManualClock()
    client = FeishuClient("cli_1", "s", "http://127.0.0.1:1", clock, lambda reason: None)
    people = FeishuContacts(client, clock, frozenset({"ou_bot"}))
    forwarded = FeishuForwarded(people, "ou_bot")
    return FeishuInbound("fs", FeishuIdentity("ou_bot", "Bot"), people, forwarded, RecordingInbox())


def changed(path: str, value: Any) -> dict[str, Any]:
    """`GOOD` with one value changed."""

    def copy(node: dict[str, Any], keys: list[str]) -> dict[str, Any]:
        head, *rest = keys
        return {**node, head: copy(node[head], rest) if rest else value}

    return copy(GOOD, path.split("."))


async def test_the_good_one_is_good() -> None:
    message = await offline().convert(GOOD, 1.0)
    assert message is not None
    assert (message.text, message.sent_at) == ("hi", 1_700_000_000.0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("header", None),
        ("header", "x"),
        ("header.event_type", 5),
        ("event", []),
        ("event.sender", 1),
        ("event.sender.sender_id", {}),
        ("event.message", "x"),
        ("event.message.message_id", None),
        ("event.message.chat_id", 7),
        ("event.message.message_type", ""),
        ("event.message.create_time", "yesterday"),
        ("event.message.create_time", "1" * 30),
        ("event.message.thread_id", 5),
    ],
)
async def test_broken_messages_are_malformed(path: str, value: Any) -> None:
    with pytest.raises(Malformed):
        await offline().convert(changed(path, value), 1.0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("event.message.chat_type", "new_kind"),
        ("event.sender.sender_type", "hologram"),
        ("event.sender.sender_type", None),
        ("event.sender", {"sender_id": {"open_id": "ou_bot"}, "sender_type": "bot"}),
        ("event.message.content", "{}"),
        ("header.event_type", "something.new_v9"),
    ],
)
async def test_what_is_not_for_us_is_ignored(path: str, value: Any) -> None:
    assert await offline().convert(changed(path, value), 1.0) is None


def of_kind(kind: str, content: Any) -> dict[str, Any]:
    """`GOOD` as a message of another type."""
    event = changed("event.message.message_type", kind)
    event["event"]["message"] |= {"content": content}
    return event


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("text", "no json"),
        ("text", "[]"),
        ("text", 5),
        ("text", '{"text": 5}'),
        ("post", '{"content": 5}'),
        ("post", '{"zh_cn": 5}'),
        ("image", "{}"),
        ("file", '{"file_name": "a.txt"}'),
        ("media", '{"file_key": 5}'),
        ("audio", "{}"),
    ],
)
async def test_a_message_that_cannot_be_read_is_named(kind: str, content: Any) -> None:
    message = await offline().convert(of_kind(kind, content), 1.0)
    assert isinstance(message, InboundMessage)
    assert (message.text, message.quotations) == ("", (unsupported(kind),))


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ({"title": "Notes"}, "Notes"),
        ({"title": 5, "content": [[{"tag": "text", "text": "words"}]]}, "words"),
        ({"content": [[{"tag": "text", "text": "words", "style": "bold"}]]}, "words"),
        ({"content": [[{"tag": "a", "text": "words", "href": 5}]]}, "words"),
        ({"content": [[{"tag": "img"}], [{"tag": "text", "text": "words"}]]}, f"{UNREADABLE}\nwords"),
        ({"content": [5, [5, {"tag": "text", "text": "words"}]]}, f"{UNREADABLE}\n{UNREADABLE}words"),
        ({"content": [[{"tag": 5}, {"tag": "text", "text": "words"}]]}, f"{UNREADABLE}words"),
    ],
)
async def test_an_unreadable_part_does_not_cost_the_rest(content: dict[str, Any], text: str) -> None:
    message = await offline().convert(of_kind("post", json.dumps(content)), 1.0)
    assert isinstance(message, InboundMessage)
    assert message.text == text


@pytest.mark.parametrize("broken", [1, {}, {"key": ""}, {"key": 5}, {"key": "@_user_3", "id": [1]}])
async def test_an_unreadable_mention_does_not_cost_the_rest(broken: Any) -> None:
    event = of_kind("text", '{"text": "@_user_1 @_user_2 and @_user_3"}')
    bot = {"key": "@_user_1", "id": {"open_id": "ou_bot"}, "name": "Bot"}
    plain = {"key": "@_user_2", "id": "ou_ada", "name": "Ada"}
    event["event"]["message"] |= {"mentions": [broken, bot, plain], "chat_type": "group"}
    message = await offline().convert(event, 1.0)
    assert isinstance(message, InboundMessage)
    assert (message.text, message.addressed) == ("@Ada and @somebody", True)
    assert [(one.name, one.id) for one in message.mentions] == [("Ada", "ou_ada")]


async def test_mentions_that_are_no_list_are_ignored() -> None:
    message = await offline().convert(changed("event.message.mentions", "x"), 1.0)
    assert message is not None
    assert message.text == "hi"


async def test_half_a_surrogate_pair_is_replaced() -> None:
    event = changed("event.message.content", '{"text": "a\\ud800b"}')
    try:
        message = await offline().convert(event, 1.0)
    except Malformed:
        return
    assert message is not None
    message.text.encode()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PATHS = [
    "header",
    "header.event_id",
    "event",
    "event.sender",
    "event.sender.sender_id",
    "event.message",
    "event.message.message_id",
    "event.message.chat_type",
    "event.message.message_type",
    "event.message.content",
    "event.message.mentions",
    "event.message.parent_id",
]
KINDS = [
    "im.message.receive_v1",
    "card.action.trigger",
    "application.bot.menu_v6",
    "im.chat.access_event.bot_p2p_chat_entered_v1",
    "im.chat.member.user.added_v1",
    "im.chat.updated_v1",
]


@settings(
    max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(path=st.sampled_from(PATHS), value=JSON)
def test_no_value_anywhere_is_a_crash(path: str, value: Any) -> None:
    with contextlib.suppress(Malformed):
        asyncio.run(offline().convert(changed(path, value), 1.0))


@settings(max_examples=examples(300), deadline=None)
@given(
    kind=st.sampled_from(KINDS),
    event=st.dictionaries(
        st.sampled_from(
            [
                *[
                    "operator",
                    "action",
                    "context",
                    "event_key",
                    "operator_id",
                    "chat_id",
                    "message",
                    "users",
                    "after_change",
                ]
            ]
        ),
        JSON,
    ),
)
def test_no_event_is_a_crash(kind: str, event: dict[str, Any]) -> None:
    payload = {"header": {"event_id": "e", "event_type": kind}, "event": event}
    with contextlib.suppress(Malformed):
        asyncio.run(offline().convert(payload, 1.0))


ELEMENTS = st.fixed_dictionaries(
    {"tag": st.sampled_from(["button", "div", "form", "table", "chart", "select_static", "overflow", "at"])},
    optional=dict.fromkeys(
        [
            "text",
            "content",
            "title",
            "elements",
            "columns",
            "rows",
            "options",
            "fields",
            "extra",
            "behaviors",
            "chart_spec",
            "href",
        ],
        JSON,
    ),
)


@settings(max_examples=examples(300), deadline=None)
@given(
    kind=st.sampled_from(["interactive", "todo", "vote", "calendar", "system", "location", "share_user"]),
    content=st.dictionaries(
        st.sampled_from(
            ["title", "elements", "user_dsl", "header", "body", "summary", "options", "template", "latitude"]
        ),
        JSON | st.lists(ELEMENTS | st.lists(ELEMENTS, max_size=2), max_size=3),
    ),
)
def test_content_of_any_form_is_kept(kind: str, content: dict[str, Any]) -> None:
    event = changed("event.message.message_type", kind)
    event["event"]["message"] |= {"content": json.dumps(content)}
    message = asyncio.run(offline().convert(event, 1.0))
    assert isinstance(message, InboundMessage)
    assert [one.kind for one in message.quotations] != []


def test_a_card_of_any_depth_is_read() -> None:
    card: dict[str, Any] = {"tag": "markdown", "content": "deep"}
    for _ in range(100):
        card = {"tag": "form", "elements": [card, {"tag": "markdown", "content": "line"}]}
    event = changed("event.message.message_type", "interactive")
    event["event"]["message"] |= {"content": json.dumps({"body": {"elements": [card]}})}
    message = asyncio.run(offline().convert(event, 1.0))
    assert isinstance(message, InboundMessage)
    assert message.quotations[0].text.startswith("line\nline")


@given(st.binary(max_size=60))
def test_no_bytes_are_a_crash(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        assert isinstance(parse_object(data), dict)


async def test_malformed_events_are_acknowledged_and_counted(
    running: Running, emulator: FeishuEmulator
) -> None:
    push = emulator.inject(changed("event.message.create_time", "yesterday"))
    await eventually(lambda: push.answer)
    assert push.answer["code"] == 200
    assert running.adapter.counts.malformed == 1
    emulator.people.says("fine")
    assert (await running.shelf.until(1))[0].text == "fine"


async def test_a_reply_to_what_cannot_be_read_is_kept() -> None:
    found = await offline().convert(changed("event.message.parent_id", 5), 0.0)
    assert isinstance(found, InboundMessage)
    assert (found.text, found.origin.reply_to) == ("hi", "")
    assert [one.text for one in found.quotations] == [UNREADABLE]


def test_addresses_that_name_each_other_are_filled_in_once() -> None:
    hrefs = {f"a{number}": {"url": f"($a{number + 1})" * 2} for number in range(40)}
    assert read_plain({"tag": "lark_md", "content": "[x]($a0)", "href": hrefs}) == "[x](($a1)($a1))"


def test_a_text_takes_a_limited_number_of_addresses() -> None:
    text = read_plain({"content": "($a)" * (MAX_ADDRESSES + 1), "href": {"a": {"url": "https://a.example"}}})
    assert text == "(https://a.example)" * MAX_ADDRESSES + "($a)"


@pytest.mark.parametrize("tag", [[], {}, None, 1])
def test_a_tag_of_another_type_costs_no_text(tag: object) -> None:
    nodes = [{"tag": tag, "text": "first"}, {"tag": "text", "text": "second"}]
    card = {"elements": [nodes]}
    quotation = read_card(card, FeishuMentions({}, "", FeishuNames()))
    assert quotation.text == "first\nsecond"


def test_thousands_of_mentions_are_read_in_linear_time() -> None:
    people = [
        {"key": f"@_user_{number}", "name": f"n{number}", "id": {"open_id": f"ou_{number}"}}
        for number in range(30_000)
    ]
    mentions = FeishuMentions({"mentions": people}, "ou_bot", FeishuNames())
    assert len(mentions.listed) == len(people)
    assert mentions.resolve(" ".join(one["key"] for one in people)).endswith("@n29998 @n29999")
