"""The CardKit methods: card entities that stream (open.feishu.cn, cardkit-v1)."""

from __future__ import annotations

from typing import Any

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.card_rules import check_card, check_config, tagged
from roebot_testing.emulators.feishu.errors import FeishuApiError
from roebot_testing.emulators.feishu.state import CardEntity
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace

LAST_SEQUENCE = 2**31 - 1
_TEXTS = frozenset({"markdown", "plain_text"})


def create(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST cardkit/v1/cards`: a card entity, to be sent by its id."""
    if call.text("type") != "card_json":
        raise rules.ENTITY_PARAMETER.refusal("type")
    data = call.json_in("data", rules.CARD_JSON.refusal("data"))
    check_card(world, data)
    card = world.make_card(data)
    return CallResult({"card_id": card.id})


def content(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT cardkit/v1/cards/:id/elements/:element/content`: the whole text of an element, while streaming."""
    card = _find(world, call)
    text, element = str(call.body["content"]), _find_element(card, call.args[1])
    if element["tag"] not in _TEXTS:
        raise rules.ELEMENT_NOT_TEXT.refusal()
    if not card.streaming_until:
        raise rules.NOT_STREAMING.refusal()
    if card.streaming_until <= world.monotonic():
        card.streaming_until = 0.0
        raise rules.STREAM_EXPIRED.refusal()
    _replace(world, card, call, element, {**element, "content": text})
    return _changed(world, card)


def element(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT cardkit/v1/cards/:id/elements/:element`: replace an element."""
    card = _find(world, call)
    found = _find_element(card, call.args[1])
    new = call.json_in("element", rules.ENTITY_PARAMETER.refusal("element"))
    _replace(world, card, call, found, new)
    return _changed(world, card)


def settings(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PATCH cardkit/v1/cards/:id/settings`: turns streaming mode on or off and sets the summary."""
    card = _find(world, call)
    config = call.json_in("settings", rules.ENTITY_PARAMETER.refusal("settings")).get("config")
    if not isinstance(config, dict):
        raise rules.ENTITY_SETTINGS.refusal()
    check_config(config)
    _advance(card, call)
    card.data["config"] = {**(card.data.get("config") or {}), **config}
    if "streaming_mode" in config:
        world.stream(card, config["streaming_mode"] is True)
    return CallResult({}, *_place(world, card))


def update(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT cardkit/v1/cards/:id`: replace the card JSON."""
    card = _find(world, call)
    data = FeishuCall(body=call.body["card"]).json_in("data", rules.CARD_JSON.refusal("data"))
    check_card(world, data)
    _advance(card, call)
    card.data = data
    config = data.get("config")
    world.stream(card, isinstance(config, dict) and config.get("streaming_mode") is True)
    return _changed(world, card)


def id_convert(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST cardkit/v1/cards/id_convert`: the card entity of a message, created if there is none."""
    message = world.messages.get(call.text("message_id"))
    if message is None or message.deleted or message.kind != "interactive":
        raise rules.RECALLED.refusal()
    if message.card is None:
        message.card = world.make_card(message.content, message.sender.app_id)
        message.card.message_id = message.id
    return CallResult({"card_id": message.card.id})


def delayed_update(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST interactive/v1/card/update`: by the token of a click, twice within 30 minutes."""
    data: Any = call.body["card"]
    token = world.click_tokens.get(call.text("token"))
    if token is None:
        raise rules.DELAYED_TOKEN.refusal()
    if token.until <= world.monotonic():
        raise rules.DELAYED_EXPIRED.refusal()
    if token.left <= 0:
        raise rules.DELAYED_USED_UP.refusal()
    message = world.messages[token.message_id]
    if message.deleted:
        raise rules.DELAYED_RECALLED.refusal()
    if not isinstance(data, dict):
        raise rules.ENTITY_PARAMETER.refusal("card")
    check_card(world, data)
    token.left -= 1
    message.content, message.card = data, None
    message.edits += 1
    return CallResult({}, message.chat.id, message.id, message.text)


def _find(world: FeishuWorkspace, call: FeishuCall) -> CardEntity:
    """Return the card entity of a call, if it can be changed now. Raises FeishuApiError."""
    card = world.card(call.args[0])
    if card.app_id != world.bot.app_id:
        raise rules.ENTITY_FOREIGN.refusal()
    message = world.messages.get(card.message_id)
    if message is not None and message.is_in_interaction(world.monotonic()):
        raise rules.ENTITY_IN_INTERACTION.refusal()
    return card


def _find_element(card: CardEntity, element_id: str) -> dict[str, Any]:
    found = next((one for one in tagged(card.data) if one.get("element_id") == element_id), None)
    if found is None:
        raise rules.ELEMENT_UNKNOWN.refusal(element_id)
    return found


def _replace(
    world: FeishuWorkspace, card: CardEntity, call: FeishuCall, found: dict[str, Any], new: dict[str, Any]
) -> None:
    """Put new properties in place of an element's, unless the card would break a rule with them."""
    before = dict(found)
    found.clear()
    found.update(new)
    try:
        check_card(world, card.data)
        _advance(card, call)
    except FeishuApiError:
        found.clear()
        found.update(before)
        raise


def _advance(card: CardEntity, call: FeishuCall) -> None:
    sequence, uuid = call.number("sequence"), str(call.body.get("uuid") or "")
    if uuid in card.uuids:
        raise rules.ENTITY_UUID.refusal()
    if not card.sequence < sequence <= LAST_SEQUENCE:
        raise rules.ENTITY_SEQUENCE.refusal()
    card.sequence = sequence
    card.uuids.update({uuid} - {""})


def _changed(world: FeishuWorkspace, card: CardEntity) -> CallResult:
    message = world.messages.get(card.message_id)
    if message is not None:
        message.edits += 1
    return CallResult({}, *_place(world, card), card.text)


def _place(world: FeishuWorkspace, card: CardEntity) -> tuple[str, str]:
    message = world.messages.get(card.message_id)
    return (message.chat.id, message.id) if message is not None else ("", "")
