"""Checks of the contents of messages that the app sends (open.feishu.cn, im-v1 "Message content")."""

from __future__ import annotations

from typing import Any

from roebot_testing.emulators.feishu import rules
from roebot_testing.emulators.feishu.card_rules import CARD_LIMIT, check_message_card
from roebot_testing.emulators.feishu.errors import FeishuApiError
from roebot_testing.emulators.feishu.state import CardEntity
from roebot_testing.emulators.feishu.workspace import FeishuWorkspace

TEXT_LIMIT = 150 * 1024
"""Bytes of a text message's request body."""
KINDS = frozenset({"text", "post", "interactive", "image", "file", "media", "audio", "sticker"})
"""Kinds of messages that the emulated app can send; shared chats, shared people and system messages are not
emulated."""
_KEYS = {"image": "image_key", "file": "file_key", "media": "file_key", "audio": "file_key"}
_UPLOADED_AS = {"mp4": "media", "opus": "audio"}
"""The kind of message of a type of file; all other types are sent as files."""
_TAGS: dict[str, tuple[str, ...]] = {
    "text": ("text",),
    "a": ("text", "href"),
    "at": ("user_id",),
    "img": ("image_key",),
    "media": ("file_key",),
    "emotion": ("emoji_type",),
    "code_block": ("text",),
    "md": ("text",),
    "hr": (),
}
"""Nodes of a post, and the fields that each must have ("How to resolve error 230001")."""


def check_size(kind: str, size: int) -> None:
    """Check the bytes of the request of a message. Raises FeishuApiError."""
    if size > (TEXT_LIMIT if kind == "text" else CARD_LIMIT):
        raise rules.MESSAGE_TOO_LONG.refusal()


def check_content(world: FeishuWorkspace, kind: str, content: dict[str, Any]) -> CardEntity | None:
    """Check the content of a message; return the card entity it refers to, if any. Raises FeishuApiError."""
    if kind in _KEYS:
        _check_file(world, kind, str(content.get(_KEYS[kind])))
    if kind == "text" and not str(content.get("text", "")).strip():
        raise rules.MESSAGE_CONTENT.refusal("text")
    if kind == "post":
        _check_post(content)
    if kind == "interactive" and content.get("type") == "card":
        return _unsent_card(world, str((content.get("data") or {}).get("card_id")))
    if kind == "interactive":
        check_message_card(world, content)
    return None


def _check_file(world: FeishuWorkspace, kind: str, key: str) -> None:
    file = world.files.get(key)
    if file is None or (kind == "image") != key.startswith("img"):
        raise (rules.IMAGE_UNKNOWN if kind == "image" else rules.FILE_UNKNOWN).refusal()
    if not file.is_own:
        raise rules.FILE_FOREIGN.refusal()
    if kind != "image" and _UPLOADED_AS.get(file.file_type, "file") != kind:
        raise rules.FILE_TYPE.refusal()


def _check_post(content: dict[str, Any]) -> None:
    languages = [one for one in content.values() if isinstance(one, dict)]
    if not languages or not all(isinstance(one.get("content"), list) for one in languages):
        raise rules.MESSAGE_CONTENT.refusal("post")
    for node in (node for one in languages for line in one["content"] for node in line):
        wanted = _TAGS.get(node.get("tag"))
        if wanted is None:
            raise rules.MESSAGE_TAG.refusal()
        for name in wanted:
            if not node.get(name):
                raise rules.MESSAGE_TAG_FIELD.refusal(node["tag"], name)


def _unsent_card(world: FeishuWorkspace, card_id: str) -> CardEntity:
    """Return a card entity that has not been sent yet. Raises FeishuApiError."""
    try:
        card = world.card(card_id)
    except FeishuApiError:
        raise rules.MESSAGE_CARD_ID.refusal() from None
    if card.message_id:
        raise rules.MESSAGE_CARD_ID.refusal()
    return card
