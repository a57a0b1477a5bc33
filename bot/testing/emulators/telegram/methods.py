"""The Bot API methods about messages, files and the bot itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bot.testing.emulators.api import CallResult
from bot.testing.emulators.telegram import entities as text_entities
from bot.testing.emulators.telegram.errors import NOT_MODIFIED, bad_request
from bot.testing.emulators.telegram.params import Params
from bot.testing.emulators.telegram.state import PRIVATE, Edit, Media, TelegramChat, TelegramMessage
from bot.testing.emulators.telegram.wire import message_wire
from bot.testing.emulators.telegram.workspace import TelegramWorkspace
from bot.testing.emulators.transcript import FrameKind

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
RICH_LIMIT = 32_768
DOWNLOAD_LIMIT = 20 * 1024 * 1024
UPLOAD_LIMIT = 50 * 1024 * 1024
PHOTO_LIMIT = 10 * 1024 * 1024
DRAFT_SECONDS = 30.0
COMMANDS_LIMIT = 100
ACTIONS = frozenset(
    {
        "typing",
        "upload_photo",
        "record_video",
        "upload_video",
        "record_voice",
        "upload_voice",
        "upload_document",
        "choose_sticker",
        "find_location",
        "record_video_note",
        "upload_video_note",
    }
)
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
        """True for posts, edits, typing and drafts, which share one budget."""
        return self.kind in _LIMITED


_LIMITED = frozenset({FrameKind.POST, FrameKind.EDIT, FrameKind.TYPING, FrameKind.DRAFT})


def send_message(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendMessage`."""
    chat = world.reachable(params.chat_id())
    text, found = _text(params, "text", "entities", TEXT_LIMIT)
    if not text:
        raise bad_request("message text is empty")
    _preview(world, params, text, found)
    return _posted(_add(world, chat, params, text=text, entities=found))


def send_rich_message(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendRichMessage` (Bot API 10.1): the Markdown is stored as the text."""
    chat = world.reachable(params.chat_id())
    text = _rich(params)
    world.previews.show_images(text)
    return _posted(_add(world, chat, params, text=text, rich=True))


def edit_message_text(world: TelegramWorkspace, params: Params) -> CallResult:
    """`editMessageText`, with `text` or with `rich_message`."""
    chat = world.reachable(params.chat_id())
    message = _own(world, chat, params.number("message_id"), "edit", "edited")
    if message.media is not None:
        raise bad_request("there is no text in the message to edit")
    rich = "rich_message" in params.values
    text, found = (_rich(params), []) if rich else _text(params, "text", "entities", TEXT_LIMIT)
    if not text:
        raise bad_request("message text is empty")
    markup = params.object("reply_markup")
    if (text, found, markup, rich) == (message.text, message.entities, message.markup, message.rich):
        raise bad_request(NOT_MODIFIED)
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
    message = _own(world, chat, params.number("message_id"), "edit", "edited")
    markup = params.object("reply_markup")
    if markup == message.markup:
        raise bad_request(NOT_MODIFIED)
    message.markup = markup
    return CallResult(message_wire(message), message_id=str(message.id))


def delete_message(world: TelegramWorkspace, params: Params) -> CallResult:
    """`deleteMessage`."""
    chat = world.reachable(params.chat_id())
    message = _own(world, chat, params.number("message_id"), "delete", "deleted")
    message.deleted = True
    return CallResult(True, message_id=str(message.id), text=message.text)


def send_chat_action(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendChatAction`."""
    chat = world.reachable(params.chat_id())
    action = params.text("action")
    if action not in ACTIONS:
        raise bad_request("wrong parameter action in request")
    world.thread_of(chat, params.number("message_thread_id"), None)
    return CallResult(True, text=action)


def send_message_draft(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendMessageDraft`: a preview of 30 seconds, in private chats only."""
    text, _ = _text(params, "text", "entities", TEXT_LIMIT)
    return _draft(world, params, text)


def send_rich_message_draft(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendRichMessageDraft` (Bot API 10.1)."""
    return _draft(world, params, _rich(params))


def send_document(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendDocument`."""
    return _send_file(world, params, "document", UPLOAD_LIMIT)


def send_photo(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendPhoto`: the bytes must be a picture."""
    return _send_file(world, params, "photo", PHOTO_LIMIT)


def send_media_group(world: TelegramWorkspace, params: Params) -> CallResult:
    """`sendMediaGroup`: 2 to 10 files as one album."""
    chat = world.reachable(params.chat_id())
    items = params.object("media")
    if not isinstance(items, list) or not 2 <= len(items) <= 10:
        raise bad_request("wrong number of items in the album: must be from 2 to 10")
    album = f"album{world.serial()}"
    media = [
        _store_media(world, item["type"], params.attached(str(item.get("media"))), UPLOAD_LIMIT)
        for item in items
    ]
    messages = [
        _add(world, chat, params, text=str(item.get("caption", "")), media=one, album=album)
        for item, one in zip(items, media, strict=True)
    ]
    return CallResult(
        [message_wire(message) for message in messages],
        message_id=",".join(str(message.id) for message in messages),
    )


def get_file(world: TelegramWorkspace, params: Params) -> CallResult:
    """`getFile`: files of up to 20 MB."""
    file = world.file(params.text("file_id"))
    if len(file.data) > DOWNLOAD_LIMIT:
        raise bad_request("file is too big")
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
    """`setMyCommands`: at most 100, names of 1 to 32 lower-case letters, digits and underscores."""
    commands = params.object("commands")
    if not isinstance(commands, list) or len(commands) > COMMANDS_LIMIT:
        raise bad_request("BOT_COMMANDS_TOO_MUCH" if isinstance(commands, list) else "can't parse commands")
    for command in commands:
        name, description = str(command.get("command", "")), str(command.get("description", ""))
        if not 1 <= len(name) <= 32 or not name.replace("_", "a").isalnum() or name != name.lower():
            raise bad_request("BOT_COMMAND_INVALID")
        if not 1 <= len(description) <= 256:
            raise bad_request("BOT_COMMAND_DESCRIPTION_INVALID")
    world.commands = commands
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
        raise bad_request("query is too old and response timeout expired or query ID is invalid")
    world.answered[query_id] = params.text("text")
    return CallResult(True, text=params.text("text"))


def _text(params: Params, text: str, entities: str, limit: int) -> tuple[str, list[dict[str, Any]]]:
    if params.text("parse_mode"):
        raise bad_request("can't parse entities: the emulator reads entities only, no parse_mode")
    kept, found = text_entities.checked(params.text(text), params.object(entities))
    if text_entities.units(kept) > limit:
        raise bad_request("message is too long" if limit == TEXT_LIMIT else "message caption is too long")
    return kept, found


def _preview(world: TelegramWorkspace, params: Params, text: str, entities: list[dict[str, Any]]) -> None:
    """Fetch the links of a text, unless `link_preview_options` disables that."""
    if not (params.object("link_preview_options") or {}).get("is_disabled"):
        world.previews.show(" ".join([text, *(str(one.get("url", "")) for one in entities)]))


def _rich(params: Params) -> str:
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
    if len(markdown) > RICH_LIMIT:
        raise bad_request("message is too long")
    return markdown


def _add(world: TelegramWorkspace, chat: TelegramChat, params: Params, **content: Any) -> TelegramMessage:
    reply_to = _reply_target(chat, params)
    thread = world.thread_of(chat, params.number("message_thread_id"), reply_to)
    chat.draft_until = 0.0
    return world.add(
        chat, world.bot, reply_to=reply_to, markup=params.object("reply_markup"), **content, **thread
    )


def _reply_target(chat: TelegramChat, params: Params) -> TelegramMessage | None:
    wanted = params.object("reply_parameters")
    if not isinstance(wanted, dict):
        return None
    target = chat.messages.get(wanted.get("message_id", 0))
    if target is not None and not target.deleted:
        return target
    if wanted.get("allow_sending_without_reply"):
        return None
    raise bad_request("message to be replied not found")


def _own(
    world: TelegramWorkspace, chat: TelegramChat, message_id: int, verb: str, done: str
) -> TelegramMessage:
    message = chat.messages.get(message_id)
    if message is None or message.deleted:
        raise bad_request(f"message to {verb} not found")
    if message.sender is not world.bot:
        raise bad_request(f"message can't be {done}")
    return message


def _draft(world: TelegramWorkspace, params: Params, text: str) -> CallResult:
    chat = world.reachable(params.chat_id())
    if chat.kind != PRIVATE:
        raise bad_request("TEXTDRAFT_PEER_INVALID")
    if not params.number("draft_id"):
        raise bad_request("draft_id must be non-zero")
    chat.draft, chat.draft_until = text, time.time() + DRAFT_SECONDS
    chat.draft_id, chat.can_stop = params.number("draft_id"), params.flag("can_stop")
    return CallResult(True, text=text)


def _send_file(world: TelegramWorkspace, params: Params, kind: str, limit: int) -> CallResult:
    chat = world.reachable(params.chat_id())
    caption, found = _text(params, "caption", "caption_entities", CAPTION_LIMIT)
    upload = params.upload(kind)
    media = _store_media(world, kind, upload, limit) if upload else Media(kind, world.file(params.text(kind)))
    return _posted(_add(world, chat, params, text=caption, entities=found, media=media))


def _store_media(world: TelegramWorkspace, kind: str, upload: Any, limit: int) -> Media:
    if upload is None:
        raise bad_request(f"there is no {kind} in the request")
    if not upload.data:
        raise bad_request("file must be non-empty")
    if len(upload.data) > limit:
        raise bad_request("file is too big")
    if kind == "photo" and not upload.data.startswith(_IMAGES):
        raise bad_request("IMAGE_PROCESS_FAILED")
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
