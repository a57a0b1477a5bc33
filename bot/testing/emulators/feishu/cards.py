"""The CardKit methods: card entities that stream (open.feishu.cn, cardkit-v1)."""

from __future__ import annotations

from typing import Any

import orjson

from bot.testing.emulators.api import CallResult
from bot.testing.emulators.feishu.call import FeishuCall
from bot.testing.emulators.feishu.errors import (
    BAD_SEQUENCE,
    CARD_TOO_LONG,
    NO_ELEMENT,
    NOT_STREAMING,
    STREAM_EXPIRED,
    no_message,
    refused,
)
from bot.testing.emulators.feishu.messages import CARD_LIMIT, check_card, check_tables
from bot.testing.emulators.feishu.state import CardEntity, elements
from bot.testing.emulators.feishu.workspace import FeishuWorkspace

LAST_SEQUENCE = 2**31 - 1


def create(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST cardkit/v1/cards`: a card entity, to be sent by its id."""
    if call.text("type") != "card_json":
        raise refused(99992402, "field validation failed: type")
    data = call.json_in("data")
    check_card(data, call.size)
    card = world.make_card(data)
    return CallResult({"card_id": card.id})


def content(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT cardkit/v1/cards/:id/elements/:element/content`: the whole text of an element, while streaming."""
    card = world.card(call.args[0])
    text = str(call.body.get("content", ""))
    element = next((one for one in elements(card.data) if one.get("element_id") == call.args[1]), None)
    if element is None:
        raise refused(NO_ELEMENT[0], NO_ELEMENT[1].format(call.args[1]))
    if not card.streaming_until:
        raise refused(*NOT_STREAMING)
    if card.streaming_until <= world.monotonic():
        card.streaming_until = 0.0
        raise refused(*STREAM_EXPIRED)
    if call.size > CARD_LIMIT:
        raise refused(*CARD_TOO_LONG)
    check_tables([text])
    _advance(card, call)
    element["content"] = text
    return _changed(world, card)


def element(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT cardkit/v1/cards/:id/elements/:element`: replace an element."""
    card = world.card(call.args[0])
    found = next((one for one in elements(card.data) if one.get("element_id") == call.args[1]), None)
    if found is None:
        raise refused(NO_ELEMENT[0], NO_ELEMENT[1].format(call.args[1]))
    new = call.json_in("element")
    _advance(card, call)
    found.clear()
    found.update(new)
    return _changed(world, card)


def settings(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PATCH cardkit/v1/cards/:id/settings`: the streaming mode on or off, the summary."""
    card = world.card(call.args[0])
    config = call.json_in("settings").get("config")
    if not isinstance(config, dict):
        raise refused(300302, "ErrMsg: settings is invalid; ")
    _advance(card, call)
    card.data["config"] = {**(card.data.get("config") or {}), **config}
    if "streaming_mode" in config:
        world.stream(card, config["streaming_mode"] is True)
    return CallResult({}, *_place(world, card))


def update(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT cardkit/v1/cards/:id`: replace the card JSON."""
    card = world.card(call.args[0])
    given = call.body.get("card")
    inner = FeishuCall(body=given if isinstance(given, dict) else {})
    data = inner.json_in("data")
    check_card(data, call.size)
    _advance(card, call)
    card.data = data
    config = data.get("config")
    world.stream(card, isinstance(config, dict) and config.get("streaming_mode") is True)
    return _changed(world, card)


def id_convert(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST cardkit/v1/cards/id_convert`: the card entity of a message, created if there is none."""
    message = world.messages.get(call.text("message_id"))
    if message is None or message.deleted or message.kind != "interactive":
        raise no_message()
    if message.card is None:
        message.card = world.make_card(message.content)
        message.card.message_id = message.id
    return CallResult({"card_id": message.card.id})


def delayed_update(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST interactive/v1/card/update`: by the token of a click, twice within 30 minutes."""
    token = call.text("token")
    message_id, left = world.click_tokens.get(token, ("", 0))
    if left <= 0:
        raise refused(300010, "ErrMsg: the token is invalid or used up; ")
    message = world.message(message_id)
    data: Any = call.body.get("card")
    if not isinstance(data, dict):
        raise refused(200621, "ErrMsg: parse card json err; ")
    check_card(data, len(orjson.dumps(data)))
    world.click_tokens[token] = (message_id, left - 1)
    message.content, message.card = data, None
    message.edits += 1
    return CallResult({}, message.chat.id, message.id, message.text)


def _advance(card: CardEntity, call: FeishuCall) -> None:
    sequence = call.number("sequence")
    if not card.sequence < sequence <= LAST_SEQUENCE:
        raise refused(*BAD_SEQUENCE)
    card.sequence = sequence


def _changed(world: FeishuWorkspace, card: CardEntity) -> CallResult:
    message = world.messages.get(card.message_id)
    if message is not None:
        message.edits += 1
    return CallResult({}, *_place(world, card), card.text)


def _place(world: FeishuWorkspace, card: CardEntity) -> tuple[str, str]:
    message = world.messages.get(card.message_id)
    return (message.chat.id, message.id) if message is not None else ("", "")
