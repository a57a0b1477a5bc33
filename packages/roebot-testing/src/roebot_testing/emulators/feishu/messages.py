"""The IM methods about messages (open.feishu.cn, im-v1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.card_rules import check_message_card
from roebot_testing.emulators.feishu.contents import KINDS, check_content, check_size
from roebot_testing.emulators.feishu.scopes import GROUP_MESSAGES
from roebot_testing.emulators.feishu.state import GROUP, MERGED, FeishuChat, FeishuMessage
from roebot_testing.emulators.feishu.workspace import CARD_SECONDS, FeishuWorkspace

UUID_SECONDS = 3600.0
"""Time in which a uuid posts once (im-v1 message/create)."""
EDITS_LIMIT = 20
"""Edits of one message (im-v1 message/update)."""
_EDITABLE = ("text", "post")
_NOT_RECALLED = frozenset({"system", "hongbao"})
"""Kinds that can't be recalled ("Unsupported message type verification"); system messages take no reply."""
_SORTED = ("ByCreateTimeAsc", "ByCreateTimeDesc")


def create(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/messages`."""
    chat = world.receiver(call.query.get("receive_id_type", ""), call.text("receive_id"))
    return _post(world, call, lambda: (chat, {}))


def reply(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/messages/:id/reply`; `reply_in_thread` creates or continues a topic."""
    parent = world.message(call.args[0])
    chat = world.allowed(parent.chat, "message.reply")
    if parent.kind == "system":
        raise rules.KIND_UNSUPPORTED.refusal()
    in_thread = call.body.get("reply_in_thread") is True
    return _post(world, call, lambda: (chat, world.answer_place(parent, in_thread=in_thread)))


def _post(world: FeishuWorkspace, call: FeishuCall, place: Any) -> CallResult:
    uuid = call.body.get("uuid") or ""
    known = world.posted.get(uuid)
    if known is not None and world.monotonic() - known[0] < UUID_SECONDS * world.scale:
        return posted(world.messages[known[1]], committed=False)
    kind, content = call.text("msg_type"), call.json_in("content", rules.MESSAGE_JSON.refusal())
    if kind not in KINDS:
        raise rules.MESSAGE_KIND.refusal()
    check_size(kind, call.size)
    card = check_content(world, kind, content)
    chat, where = place()
    message = world.add(chat, world.bot, kind, content, card=card, **where)
    if card is not None:
        card.message_id = message.id
    if uuid:
        world.posted[uuid] = (world.monotonic(), message.id)
    return posted(message)


def patch(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PATCH im/v1/messages/:id`: replace the card of a message, within 14 days."""
    message = world.message(call.args[0])
    world.allowed(message.chat, "message.patch")
    if message.sender is not world.bot:
        raise rules.PATCH_FOREIGN.refusal()
    if message.kind != "interactive":
        raise rules.PATCH_NO_CARD.refusal()
    content = call.json_in("content", rules.MESSAGE_JSON.refusal())
    check_size(message.kind, call.size)
    if _age(world, message) >= CARD_SECONDS * world.scale:
        raise rules.PATCH_TOO_LATE.refusal()
    if message.is_in_interaction(world.monotonic()):
        raise rules.MESSAGE_CARD_LOCKED.refusal()
    check_message_card(world, content)
    message.content, message.card = content, None
    message.edits += 1
    return CallResult({}, message.chat.id, message.id, message.text)


def update(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT im/v1/messages/:id`: replace the text, at most 20 times and as long as administrators allow."""
    message, kind = world.message(call.args[0]), call.text("msg_type")
    world.allowed(message.chat, "message.update")
    if message.sender is not world.bot:
        raise rules.UPDATE_FOREIGN.refusal()
    if message.kind not in _EDITABLE:
        raise rules.KIND_UNSUPPORTED.refusal()
    if kind not in _EDITABLE:
        raise rules.MESSAGE_KIND.refusal()
    content = call.json_in("content", rules.MESSAGE_JSON.refusal())
    check_size(kind, call.size)
    check_content(world, kind, content)
    if message.edits >= EDITS_LIMIT:
        raise rules.UPDATE_TOO_OFTEN.refusal()
    if _age(world, message) >= world.edit_seconds:
        raise rules.UPDATE_TOO_LATE.refusal()
    message.kind, message.content = kind, content
    message.edits += 1
    return posted(message)


def delete(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`DELETE im/v1/messages/:id`, as long as administrators allow."""
    message = world.message(call.args[0])
    world.allowed(message.chat, "message.delete")
    if message.kind in _NOT_RECALLED:
        raise rules.KIND_UNSUPPORTED.refusal()
    if message.sender is not world.bot:
        raise rules.RECALL_FOREIGN.refusal()
    if _age(world, message) >= world.recall_seconds:
        raise rules.RECALL_TOO_LATE.refusal()
    message.deleted = True
    return CallResult({}, message.chat.id, message.id, message.text)


def _age(world: FeishuWorkspace, message: FeishuMessage) -> float:
    return world.monotonic() - message.added_at


def get(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`GET im/v1/messages/:id`: the message, followed by the messages it contains. A recalled one is marked
    as deleted.
    """
    message = world.messages.get(call.args[0])
    if message is None:
        raise rules.RECALLED.refusal()
    _check_readable(world, message.chat, "message.get")
    inner = [{**_read(one, call), "upper_message_id": upper} for one, upper in _contained(world, message)]
    return CallResult({"items": [_read(message, call), *inner]})


def _check_readable(world: FeishuWorkspace, chat: FeishuChat, method: str) -> None:
    """Check that the app may read a chat's messages, which for groups requires a separate scope. Raises
    FeishuApiError.
    """
    world.allowed(chat, method)
    if chat.kind == GROUP and GROUP_MESSAGES not in world.scopes:
        raise rules.READ_GROUP.refusal()


def _contained(world: FeishuWorkspace, message: FeishuMessage) -> Iterator[tuple[FeishuMessage, str]]:
    """Yield the messages that were forwarded together, each with its container's id."""
    for one in message.content.get("contains", []) if message.kind == MERGED else []:
        yield world.messages[one], message.id
        yield from _contained(world, world.messages[one])


def _read(message: FeishuMessage, call: FeishuCall) -> dict[str, Any]:
    """Return a message in the requested form: with names of senders, and cards as they were sent."""
    full = call.query.get("card_msg_content_type") == "user_card_content"
    wire = message_wire(message, full=full)
    if call.query.get("with_sender_name") == "true" and message.sender.is_bot:
        wire["sender"]["sender_name"] = message.sender.name
    return wire


def history(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`GET im/v1/messages`: the messages of a chat or topic, in pages of at most 50."""
    query, place = call.query, call.query["container_id"]
    _check_listing(query)
    found = [one for one in world.messages.values() if place in (one.chat.id, one.thread_id)]
    for chat in {one.chat.id: one.chat for one in found}.values():
        _check_readable(world, chat, "message.list")
    if query.get("sort_type") == "ByCreateTimeDesc":
        found.reverse()
    start, size = int(query.get("page_token") or 0), int(query.get("page_size") or 20)
    shown, more = found[start : start + size], len(found) > start + size
    items = [_read(one, call) for one in shown]
    return CallResult({"items": items, "has_more": more, "page_token": str(start + size) if more else ""})


def _check_listing(query: Mapping[str, str]) -> None:
    """Check the parameters of a listing: a topic has no time range. Raises FeishuApiError."""
    if query["container_id_type"] not in ("chat", "thread"):
        raise rules.LIST_CONTAINER.refusal()
    for key, rule in (("start_time", rules.LIST_START), ("end_time", rules.LIST_END)):
        if key in query and (query["container_id_type"] == "thread" or not query[key].isdecimal()):
            raise rule.refusal()
    if query.get("sort_type", _SORTED[0]) not in _SORTED:
        raise rules.LIST_SORT.refusal()
    if not (query.get("page_token") or "0").isdecimal():
        raise rules.LIST_PAGE.refusal()


def posted(message: FeishuMessage, *, committed: bool = True) -> CallResult:
    """Return the result of a post."""
    return CallResult(message_wire(message), message.chat.id, message.id, message.text, committed=committed)


def message_wire(message: FeishuMessage, *, full: bool = False) -> dict[str, Any]:
    """Build a message as the API returns it; `full` gives cards as they were sent."""
    sender: dict[str, str] = {"id": message.sender.open_id, "id_type": "open_id", "sender_type": "user"}
    if message.sender.is_bot:
        sender = {"id": message.sender.app_id, "id_type": "app_id", "sender_type": "app"}
        sender["open_bot_id"] = message.sender.open_id
    body = message.api_content(full=full)
    return {
        "message_id": message.id,
        "root_id": message.root_id,
        "parent_id": message.parent_id,
        "thread_id": message.thread_id,
        "msg_type": message.kind,
        "create_time": str(message.created),
        "chat_id": message.chat.id,
        "sender": {**sender, "tenant_key": message.sender.tenant},
        "mentions": [{**one, "id": one["id"]["open_id"], "id_type": "open_id"} for one in message.mentions],
        "body": {"content": "This message was recalled" if message.deleted else body},
        "deleted": message.deleted,
        "updated": message.edits > 0,
    }
