"""The Bot API methods about messages, files and the bot itself."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.platforms.telegram.account import TELEGRAM_REACTIONS
from roebot_testing.emulators.api import CallResult
from roebot_testing.emulators.telegram import entities as text_entities
from roebot_testing.emulators.telegram import rules
from roebot_testing.emulators.telegram.errors import bad_request
from roebot_testing.emulators.telegram.params import Params
from roebot_testing.emulators.telegram.rich_shapes import cut_source
from roebot_testing.emulators.telegram.state import (
    PRIVATE,
    SUPERGROUP,
    Edit,
    Media,
    TelegramChat,
    TelegramMessage,
)
from roebot_testing.emulators.telegram.wire import message_wire
from roebot_testing.emulators.telegram.workspace import TelegramWorkspace
from roebot_testing.emulators.transcript import FrameKind

DOWNLOAD_LIMIT = 20 * 1024 * 1024
UPLOAD_LIMIT = 50 * 1024 * 1024
PHOTO_LIMIT = 10 * 1024 * 1024
DRAFT_SECONDS = 30.0
_THINKING = re.compile(r"^<tg-thinking>", re.MULTILINE)
"""A block that drafts alone can have (core.telegram.org/bots/api#richblockthinking)."""
ENTITIES_LIMIT = 100
"""Entities that are shown, further ones are ignored (PTB: MessageLimit.MESSAGE_ENTITIES)."""
GENERAL_TOPIC = 1
REACTION_RIGHT = "reactions"
"""A group may forbid reactions, or allow other ones (`available_reactions` of its ChatFullInfo)."""
TEXT_RIGHT = "text messages"
RICH_RIGHT = "rich messages"
FILE_RIGHTS = {"document": "documents", "photo": "photos"}
_IMAGES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM")


@dataclass(frozen=True, slots=True)
class TelegramMethod:
    """A method of the Bot API; `limited` ones count against the rate limits."""

    name: str
    kind: FrameKind
    call: Callable[[TelegramWorkspace, Params], CallResult]
    rich: bool = False

    @property
    def limited(self) -> bool:
        """True for posts, edits, typing, drafts and, to be on the safe side, reactions: they share one
        budget.
        """
        return self.kind in _LIMITED


_LIMITED = frozenset({FrameKind.POST, FrameKind.EDIT, FrameKind.TYPING, FrameKind.DRAFT, FrameKind.REACTION})


def send_message(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendMessage`."""
    chat = _writable(world, params, TEXT_RIGHT)
    text, found = _text(params, "text", "entities")
    _preview(world, params, text, found)
    return _posted(_add(world, chat, params, text=text, entities=found))


def send_rich_message(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendRichMessage` (Bot API 10.1): the Markdown is stored as the text."""
    chat = _writable(world, params, RICH_RIGHT)
    text = _rich(params)
    world.previews.show_images(text)
    return _posted(_add(world, chat, params, text=text, rich=True))


def edit_message_text(world: TelegramWorkspace, params: Params) -> CallResult:
    """`editMessageText`, with `text` or with `rich_message`."""
    chat = world.reachable(params.chat_id())
    message = _own(world, chat, params.number("message_id"))
    if message.media is not None:
        raise rules.EDIT_WITHOUT_TEXT.refusal()
    rich = "rich_message" in params.values
    text, found = (_rich(params), []) if rich else _text(params, "text", "entities")
    if not text:
        raise bad_request("message text is empty")
    markup = params.object("reply_markup")
    if (text, found, markup, rich) == (message.text, message.entities, message.markup, message.rich):
        raise rules.UNCHANGED.refusal()
    if rich:
        world.previews.show_images(text)
    else:
        _preview(world, params, text, found)
    now = time.time()
    message.edits.append(Edit(message.text, now))
    message.text, message.entities, message.markup, message.rich = text, found, markup, rich
    message.edit_date = int(now)
    return _posted(message)


def edit_message_reply_markup(world: TelegramWorkspace, params: Params) -> CallResult:
    """`editMessageReplyMarkup`: the buttons alone."""
    chat = world.reachable(params.chat_id())
    message = _own(world, chat, params.number("message_id"))
    markup = params.object("reply_markup")
    if markup == message.markup:
        raise rules.UNCHANGED.refusal()
    message.markup = markup
    return CallResult(message_wire(message), message_id=str(message.id))


def delete_message(world: TelegramWorkspace, params: Params) -> CallResult:
    """`deleteMessage`: messages of up to 48 hours; those of others in groups need rights."""
    if not params.chat_id():
        raise rules.NO_DELETE_CHAT.refusal()
    message_id = params.number("message_id")
    if not message_id:
        raise rules.NO_DELETE_ID.refusal()
    chat = world.reachable(params.chat_id())
    message = chat.messages.get(message_id)
    if message is None or message.deleted:
        raise rules.NOTHING_TO_DELETE.refusal()
    _check_deletion(world, message)
    message.deleted = True
    return CallResult(True, message_id=str(message.id), text=message.text)


def _check_deletion(world: TelegramWorkspace, message: TelegramMessage) -> None:
    chat = message.chat
    is_old = time.time() - message.date >= rules.DELETABLE_SECONDS
    if chat.kind == SUPERGROUP:
        if is_old:
            raise rules.DELETE_OLD_IN_SUPERGROUP.refusal()
        if "forum_topic_created" in message.service:
            raise rules.DELETE_TOPIC_START.refusal()
    elif is_old:
        raise rules.DELETE_OLD.refusal()
    if message.sender is not world.bot and chat.kind != PRIVATE and not chat.is_administered:
        raise (rules.DELETE_IN_SUPERGROUP if chat.kind == SUPERGROUP else rules.DELETE_IN_GROUP).refusal()


def send_chat_action(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendChatAction`."""
    chat = world.reachable(params.chat_id())
    _check_topic(chat, params)
    return CallResult(True, text=params.text("action"))


def set_message_reaction(world: TelegramWorkspace, params: Params) -> CallResult:
    """`setMessageReaction`: replaces the bot's reaction; the same once more is no error."""
    chat = world.reachable(params.chat_id())
    message = chat.messages.get(params.number("message_id"))
    if message is None or message.deleted:
        raise rules.NOTHING_TO_REACT.refusal()
    wanted = [str(one.get("emoji", "")) for one in params.object("reaction") or []]
    if any(one not in TELEGRAM_REACTIONS for one in wanted) or (wanted and REACTION_RIGHT in chat.denied):
        raise rules.REACTION_REFUSED.refusal()
    message.reaction = "".join(wanted)
    return CallResult(True, message_id=str(message.id), text=message.reaction)


def send_message_draft(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendMessageDraft`: a preview of 30 seconds, in private chats only."""
    text, _ = _text(params, "text", "entities")
    return _draft(world, params, text)


def send_rich_message_draft(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendRichMessageDraft` (Bot API 10.1)."""
    return _draft(world, params, _rich(params, is_draft=True))


def send_document(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendDocument`."""
    return _send_file(world, params, "document")


def send_photo(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendPhoto`: the bytes must be a picture."""
    return _send_file(world, params, "photo")


def send_media_group(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendMediaGroup`: up to 10 files as one album.

    The documentation demands two files, but the server takes one (server: process_send_media_group_query).
    """
    chat = _writable(world, params, FILE_RIGHTS["document"])
    items = params.object("media")
    album = f"album{world.serial()}"
    media = [_album_media(world, params, item) for item in items]
    messages = [
        _add(world, chat, params, text=str(item.get("caption", "")), media=one, album=album)
        for item, one in zip(items, media, strict=True)
    ]
    return CallResult(
        [message_wire(message) for message in messages],
        message_id=",".join(str(message.id) for message in messages),
    )


def _album_media(world: TelegramWorkspace, params: Params, item: dict[str, Any]) -> Media:
    reference = str(item.get("media"))
    upload = params.attached(reference)
    if upload is not None:
        return _store_media(world, item["type"], upload)
    if reference not in world.files:
        raise rules.NO_MEDIA.refusal()
    return Media(item["type"], world.files[reference])


def get_file(world: TelegramWorkspace, params: Params) -> CallResult:
    """`getFile`: files of up to 20 MB."""
    file = world.files.get(params.text("file_id"))
    if file is None:
        raise rules.UNKNOWN_FILE.refusal()
    if len(file.data) > DOWNLOAD_LIMIT:
        raise rules.FILE_TOO_BIG.refusal()
    return CallResult(
        {
            "file_id": file.file_id,
            "file_unique_id": file.unique_id,
            "file_size": len(file.data),
            "file_path": file.path,
        }
    )


def get_me(world: TelegramWorkspace, params: Params) -> CallResult:
    """`getMe`."""
    abilities = {
        "can_join_groups": True,
        "can_read_all_group_messages": True,
        "supports_inline_queries": False,
        "can_connect_to_business": False,
        "has_main_web_app": False,
    }
    return CallResult({**world.bot.wire(), **abilities})


def get_chat(world: TelegramWorkspace, params: Params) -> CallResult:
    """`getChat`."""
    chat = world.reachable(params.chat_id())
    return CallResult(
        {
            **chat.wire(),
            "accent_color_id": 0,
            "max_reaction_count": 11,
            "accepted_gift_types": {
                "unlimited_gifts": False,
                "limited_gifts": False,
                "unique_gifts": False,
                "premium_subscription": False,
                "gifts_from_channels": False,
            },
        }
    )


def set_my_commands(world: TelegramWorkspace, params: Params) -> CallResult:
    """`setMyCommands`."""
    world.commands = params.object("commands") or []
    return CallResult(True)


def get_my_commands(world: TelegramWorkspace, params: Params) -> CallResult:
    """`getMyCommands`."""
    return CallResult(world.commands)


def delete_my_commands(world: TelegramWorkspace, params: Params) -> CallResult:
    """`deleteMyCommands`."""
    world.commands = []
    return CallResult(True)


def _profile(key: str) -> Callable[[TelegramWorkspace, Params], CallResult]:
    def call(world: TelegramWorkspace, params: Params) -> CallResult:
        world.profile[key] = params.text(key)
        return CallResult(True)

    return call


def answer_callback_query(world: TelegramWorkspace, params: Params) -> CallResult:
    """`answerCallbackQuery`: once for each query."""
    query_id = params.text("callback_query_id")
    if not query_id.startswith("cq") or query_id in world.answered:
        raise rules.EXPIRED_QUERY.refusal()
    world.answered[query_id] = params.text("text")
    return CallResult(True, text=params.text("text"))


def _text(params: Params, text: str, entities: str) -> tuple[str, list[dict[str, Any]]]:
    if params.text("parse_mode"):
        raise bad_request("can't parse entities: the emulator reads entities only, no parse_mode")
    kept, found = text_entities.checked(params.text(text), params.object(entities))
    return kept, found[:ENTITIES_LIMIT]


def _preview(world: TelegramWorkspace, params: Params, text: str, entities: list[dict[str, Any]]) -> None:
    """Fetch the links of a text, unless `link_preview_options` disables that."""
    if not (params.object("link_preview_options") or {}).get("is_disabled"):
        world.previews.show(" ".join([text, *(str(one.get("url", "")) for one in entities)]))


def _rich(params: Params, *, is_draft: bool = False) -> str:
    rich = params.object("rich_message")
    if not isinstance(rich, dict):
        raise bad_request(
            "rich message must be non-empty" if not params.values else "can't parse rich message"
        )
    if len(rich.keys() & {"markdown", "html", "blocks"}) != 1:
        raise bad_request("exactly one of markdown, html and blocks must be given")
    markdown = rich.get("markdown")
    if not isinstance(markdown, str):
        raise bad_request("the emulator reads rich messages in markdown only")
    if not markdown.strip():
        raise bad_request("message text is empty")
    if not is_draft and _THINKING.search(markdown):
        raise bad_request("can't parse rich message: thinking blocks are for drafts only")
    return cut_source(markdown)


def _add(world: TelegramWorkspace, chat: TelegramChat, params: Params, **content: Any) -> TelegramMessage:
    _check_topic(chat, params)
    reply_to = _reply_target(chat, params)
    thread = world.thread_of(chat, params.number("message_thread_id"), reply_to)
    if thread.get("thread_id") in chat.closed_topics and not chat.is_administered:
        raise rules.TOPIC_CLOSED.refusal()
    chat.draft_until = 0.0
    return world.add(
        chat, world.bot, reply_to=reply_to, markup=params.object("reply_markup"), **content, **thread
    )


def _writable(world: TelegramWorkspace, params: Params, right: str) -> TelegramChat:
    """Return the chat of a post of a kind that the bot may send there."""
    chat = world.writable(params.chat_id())
    if right in chat.denied and not chat.is_administered:
        raise rules.NO_RIGHT_RICH.refusal() if right == RICH_RIGHT else rules.NO_RIGHT.refusal(right)
    return chat


def _check_topic(chat: TelegramChat, params: Params) -> None:
    """Check the topic that a call names; groups without topics and basic groups ignore it."""
    topic = params.number("message_thread_id")
    if not topic or (chat.kind != PRIVATE and not chat.is_forum):
        return
    if chat.is_forum and topic == GENERAL_TOPIC:
        raise rules.GENERAL_TOPIC.refusal()
    if topic not in chat.topics:
        raise rules.UNKNOWN_TOPIC.refusal()


def _reply_target(chat: TelegramChat, params: Params) -> TelegramMessage | None:
    wanted = params.object("reply_parameters")
    if not wanted:
        return None
    target = chat.messages.get(wanted["message_id"])
    if target is not None and not target.deleted:
        return target
    if wanted.get("allow_sending_without_reply"):
        return None
    raise rules.NO_REPLY_TARGET.refusal()


def _own(world: TelegramWorkspace, chat: TelegramChat, message_id: int) -> TelegramMessage:
    message = chat.messages.get(message_id)
    if message is None or message.deleted:
        raise rules.NOTHING_TO_EDIT.refusal()
    if message.sender is not world.bot:
        raise rules.EDIT_OF_OTHERS.refusal()
    return message


def _draft(world: TelegramWorkspace, params: Params, text: str) -> CallResult:
    chat = world.reachable(params.chat_id())
    if chat.kind != PRIVATE:
        raise rules.DRAFT_IN_GROUP.refusal()
    if not params.number("draft_id"):
        raise bad_request("draft_id must be non-zero")
    _check_topic(chat, params)
    chat.draft, chat.draft_until = text, time.time() + DRAFT_SECONDS
    chat.draft_id, chat.can_stop = params.number("draft_id"), params.flag("can_stop")
    return CallResult(True, text=text)


def _send_file(world: TelegramWorkspace, params: Params, kind: str) -> CallResult:
    chat = _writable(world, params, FILE_RIGHTS[kind])
    caption, found = _text(params, "caption", "caption_entities")
    upload = params.upload(kind)
    if upload is None and not params.text(kind):
        raise rules.NO_FILE.refusal(kind)
    media = _store_media(world, kind, upload) if upload else Media(kind, world.file(params.text(kind)))
    return _posted(_add(world, chat, params, text=caption, entities=found, media=media))


def _store_media(world: TelegramWorkspace, kind: str, upload: Any) -> Media:
    if not upload.data:
        raise rules.EMPTY_FILE.refusal()
    if len(upload.data) > UPLOAD_LIMIT:
        raise rules.UPLOAD_TOO_BIG.refusal()
    if kind == "photo" and len(upload.data) > PHOTO_LIMIT:
        raise rules.PHOTO_TOO_BIG.refusal(len(upload.data))
    if kind == "photo" and not upload.data.startswith(_IMAGES):
        raise rules.NO_PICTURE.refusal()
    return world.media(kind, upload.name, upload.mime or "application/octet-stream", upload.data)


def _posted(message: TelegramMessage) -> CallResult:
    return CallResult(message_wire(message), message_id=str(message.id), text=message.text)


_TABLE = (
    TelegramMethod("sendMessage", FrameKind.POST, send_message),
    TelegramMethod("sendRichMessage", FrameKind.POST, send_rich_message, rich=True),
    TelegramMethod("editMessageText", FrameKind.EDIT, edit_message_text),
    TelegramMethod("editMessageReplyMarkup", FrameKind.OTHER, edit_message_reply_markup),
    TelegramMethod("deleteMessage", FrameKind.DELETE, delete_message),
    TelegramMethod("sendChatAction", FrameKind.TYPING, send_chat_action),
    TelegramMethod("setMessageReaction", FrameKind.REACTION, set_message_reaction),
    TelegramMethod("sendMessageDraft", FrameKind.DRAFT, send_message_draft),
    TelegramMethod("sendRichMessageDraft", FrameKind.DRAFT, send_rich_message_draft, rich=True),
    TelegramMethod("sendDocument", FrameKind.POST, send_document),
    TelegramMethod("sendPhoto", FrameKind.POST, send_photo),
    TelegramMethod("sendMediaGroup", FrameKind.POST, send_media_group),
    TelegramMethod("getFile", FrameKind.OTHER, get_file),
    TelegramMethod("getMe", FrameKind.OTHER, get_me),
    TelegramMethod("getChat", FrameKind.OTHER, get_chat),
    TelegramMethod("setMyCommands", FrameKind.OTHER, set_my_commands),
    TelegramMethod("getMyCommands", FrameKind.OTHER, get_my_commands),
    TelegramMethod("deleteMyCommands", FrameKind.OTHER, delete_my_commands),
    TelegramMethod("setMyName", FrameKind.OTHER, _profile("name")),
    TelegramMethod("setMyDescription", FrameKind.OTHER, _profile("description")),
    TelegramMethod("setMyShortDescription", FrameKind.OTHER, _profile("short_description")),
    TelegramMethod("answerCallbackQuery", FrameKind.OTHER, answer_callback_query),
)
METHODS = {method.name.lower(): method for method in _TABLE}
