"""The IM methods: messages, pictures and files (open.feishu.cn, im-v1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import orjson
from markdown_it import MarkdownIt

from bot.testing.emulators.api import CallResult
from bot.testing.emulators.feishu.call import FeishuCall
from bot.testing.emulators.feishu.errors import CARD_TOO_LONG, TOO_LONG, refused
from bot.testing.emulators.feishu.scopes import GROUP_MESSAGES
from bot.testing.emulators.feishu.state import (
    GROUP,
    MERGED,
    CardEntity,
    FeishuChat,
    FeishuMessage,
    elements,
)
from bot.testing.emulators.feishu.workspace import FeishuWorkspace

TEXT_LIMIT = 150 * 1024
"""Bytes of a text message's request body."""
CARD_LIMIT = 30 * 1024
"""Bytes of a card's or post's request body."""
TABLE_LIMIT = 3
"""Tables in a card (not documented; observed limits are between three and five)."""
IMAGE_LIMIT = 10 * 1024 * 1024
FILE_LIMIT = 30 * 1024 * 1024
UUID_SECONDS = 3600.0
UUID_LENGTH = 50
EDITS_LIMIT = 20
PAGE_LIMIT = 50
_KINDS = frozenset({"text", "post", "interactive", "image", "file", "media", "audio", "sticker"})


def create(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/messages`."""
    chat = world.receiver(call.query.get("receive_id_type", ""), call.text("receive_id"))
    return _post(world, call, lambda: (chat, {}))


def reply(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/messages/:id/reply`; `reply_in_thread` creates or continues a topic."""
    parent = world.message(call.args[0])
    chat = world.writable(parent.chat)
    in_thread = call.body.get("reply_in_thread") is True
    return _post(world, call, lambda: (chat, world.answer_place(parent, in_thread=in_thread)))


def _post(world: FeishuWorkspace, call: FeishuCall, place: Any) -> CallResult:
    uuid = call.body.get("uuid") or ""
    if len(uuid) > UUID_LENGTH:
        raise refused(99992402, "field validation failed: uuid max len is 50")
    known = world.posted.get(uuid)
    if known is not None and world.monotonic() - known[0] < UUID_SECONDS * world.scale:
        return posted(world.messages[known[1]], committed=False)
    kind, content = call.text("msg_type"), call.json_in("content")
    if kind not in _KINDS:
        raise refused(230001, "invalid msg_type")
    card = _content(world, kind, content, call.size)
    chat, where = place()
    message = world.add(chat, world.bot, kind, content, card=card, **where)
    if card is not None:
        card.message_id = message.id
    if uuid:
        world.posted[uuid] = (world.monotonic(), message.id)
    return posted(message)


def _content(world: FeishuWorkspace, kind: str, content: dict[str, Any], size: int) -> CardEntity | None:
    """Check the content of a message; return the card entity it refers to, if any."""
    if size > (TEXT_LIMIT if kind == "text" else CARD_LIMIT):
        raise refused(*TOO_LONG)
    if kind in ("image", "file"):
        key = content.get("image_key" if kind == "image" else "file_key")
        if key not in world.files:
            raise refused(230001, f"invalid {kind}_key")
    if kind == "text" and not str(content.get("text", "")).strip():
        raise refused(230001, "the text is empty")
    if kind == "interactive" and content.get("type") == "card":
        card = world.card(str((content.get("data") or {}).get("card_id")))
        if card.message_id:
            raise refused(230099, "Failed to create card content, ext=ErrCode: 300307; card is already sent")
        return card
    if kind == "interactive":
        check_card(content, size)
    return None


def check_card(data: dict[str, Any], size: int) -> None:
    """Check schema (2.0), size and distinct element ids of a card. Raises ApiRefusal."""
    if data.get("schema") != "2.0" or not isinstance(data.get("body"), dict):
        raise refused(200621, "ErrMsg: parse card json err; ")
    if size > CARD_LIMIT:
        raise refused(*CARD_TOO_LONG)
    check_tables(str(one.get("content", "")) for one in elements(data) if one.get("tag") == "markdown")
    ids = [one["element_id"] for one in elements(data) if "element_id" in one]
    if len(ids) != len(set(ids)):
        raise refused(300301, "ErrMsg: Duplicate element_id; ")


def check_tables(texts: Iterable[str]) -> None:
    """Check the number of tables in a card. Raises ApiRefusal."""
    tables = sum(
        token.type == "table_open" for text in texts for token in MarkdownIt().enable("table").parse(text)
    )
    if tables > TABLE_LIMIT:
        raise refused(
            230099,
            "Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit; ",
        )


def patch(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PATCH im/v1/messages/:id`: replace the card of a message."""
    message = _own(world, call.args[0], ("interactive",))
    content = call.json_in("content")
    check_card(content, call.size)
    message.content, message.card = content, None
    message.edits += 1
    return CallResult({}, message.chat.id, message.id, message.text)


def update(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`PUT im/v1/messages/:id`: replace the text, at most 20 times."""
    message = _own(world, call.args[0], ("text", "post"))
    if message.edits >= EDITS_LIMIT:
        raise refused(230072, "The message has reached the number of times it can be edited.")
    message.content = call.json_in("content")
    message.edits += 1
    return posted(message)


def delete(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`DELETE im/v1/messages/:id`."""
    message = world.message(call.args[0])
    if message.sender is not world.bot:
        raise refused(230026, "No permission to recall this message.")
    message.deleted = True
    return CallResult({}, message.chat.id, message.id, message.text)


def _readable(world: FeishuWorkspace, chat: FeishuChat) -> None:
    """Check that the app may read the messages of a chat: of groups it needs a scope of its own (im-v1
    message/get and list). Raises ApiRefusal; its text is that in issue 1544 of openonion/connectonion.
    """
    if chat.kind == GROUP and GROUP_MESSAGES not in world.scopes:
        raise refused(230027, f"Lack of necessary permissions, ext=need scope: {GROUP_MESSAGES}")


def get(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`GET im/v1/messages/:id`: the message, and behind it those that it contains."""
    message = world.message(call.args[0])
    _readable(world, message.chat)
    inner = [{**_read(one, call), "upper_message_id": upper} for one, upper in _contained(world, message)]
    return CallResult({"items": [_read(message, call), *inner]})


def _contained(world: FeishuWorkspace, message: FeishuMessage) -> Iterator[tuple[FeishuMessage, str]]:
    """Yield the messages that were forwarded together, each with the id of the one that contains it."""
    for one in message.content.get("contains", []) if message.kind == MERGED else []:
        yield world.messages[one], message.id
        yield from _contained(world, world.messages[one])


def _read(message: FeishuMessage, call: FeishuCall) -> dict[str, Any]:
    """Return a message with what the query asks for: names of senders, cards as they were sent."""
    full = call.query.get("card_msg_content_type") == "user_card_content"
    wire = message_wire(message, full=full)
    if call.query.get("with_sender_name") == "true" and message.sender.is_bot:
        wire["sender"]["sender_name"] = message.sender.name
    return wire


def history(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`GET im/v1/messages`: the messages of a chat or topic, in pages of at most 50."""
    kind, place = call.query.get("container_id_type"), call.query.get("container_id", "")
    if kind not in ("chat", "thread") or not place:
        raise refused(99992402, "field validation failed: container_id_type and container_id are required")
    if kind == "thread" and {"start_time", "end_time"} & call.query.keys():
        raise refused(230001, "Your request contains an invalid request parameter, ext=invalid time range")
    size = int(call.query.get("page_size") or 20)
    if not 1 <= size <= PAGE_LIMIT:
        raise refused(99992402, "field validation failed: page_size")
    found = [one for one in world.messages.values() if place in (one.chat.id, one.thread_id)]
    for chat in {one.chat.id: one.chat for one in found}.values():
        world.writable(chat)
        _readable(world, chat)
    if call.query.get("sort_type") == "ByCreateTimeDesc":
        found.reverse()
    start = int(call.query.get("page_token") or 0)
    shown, more = found[start : start + size], len(found) > start + size
    items = [_read(one, call) for one in shown]
    return CallResult({"items": items, "has_more": more, "page_token": str(start + size) if more else ""})


def upload_image(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/images`: up to 10 MB."""
    if call.upload is None or call.body.get("image_type") != "message":
        raise refused(234001, "Invalid request param.")
    if len(call.upload[1]) > IMAGE_LIMIT:
        raise refused(234006, "The file size exceed the max value.")
    return CallResult({"image_key": world.store("img", *call.upload).key})


def upload_file(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`POST im/v1/files`: up to 30 MB, not empty."""
    if call.upload is None or not call.body.get("file_type") or not call.body.get("file_name"):
        raise refused(234001, "Invalid request param.")
    data = call.upload[1]
    if not data:
        raise refused(234010, "File's size can't be 0.")
    if len(data) > FILE_LIMIT:
        raise refused(234006, "The file size exceed the max value.")
    return CallResult({"file_key": world.store("file", str(call.body["file_name"]), data).key})


def resource(world: FeishuWorkspace, call: FeishuCall) -> CallResult:
    """`GET im/v1/messages/:id/resources/:key?type=`: a file of a message."""
    message, key = world.message(call.args[0]), call.args[1]
    file = world.files.get(key)
    if file is None or key not in orjson.dumps(message.content).decode():
        raise refused(234003, "File not in msg.")
    return CallResult(None, message.chat.id, message.id, raw=file.data)


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


def _own(world: FeishuWorkspace, message_id: str, kinds: tuple[str, ...]) -> FeishuMessage:
    message = world.message(message_id)
    if message.sender is not world.bot:
        raise refused(230027, "Lack of necessary permissions: the message is not the bot's.")
    if message.kind not in kinds:
        raise refused(230054, "This operation is not supported for this message type.")
    return message
