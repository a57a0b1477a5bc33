"""All limits of parameters, each with the text of its error and its source (abbreviated as in `rules`)."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

from roebot_testing.emulators.telegram.limits import (
    TelegramLimit,
    has_more_units,
    is_longer,
    is_no_list,
    is_no_object,
    is_outside,
)
from roebot_testing.emulators.telegram.links import find_url_error
from roebot_testing.emulators.telegram.message_limits import ALBUM, CAPTION_LIMIT, MESSAGE_LIMITS

ANSWER_LIMIT = 200
COMMANDS_LIMIT = 100
COMMAND_LIMIT = 32
DESCRIPTION_LIMIT = 256
ALBUM_LIMIT = 10
SECRET_LIMIT = 256
ACTIONS = frozenset(
    {
        *("cancel", "typing", "choose_sticker", "find_location", "pick_up_location"),
        *("upload_photo", "upload_video", "upload_voice", "upload_audio", "upload_document"),
        *("record_video", "record_voice", "record_audio", "record_video_note", "upload_video_note"),
    }
)
"""Chat actions (server: get_chat_action)."""
SCOPES = frozenset(
    {
        *("default", "all_private_chats", "all_group_chats", "all_chat_administrators"),
        *("chat", "chat_administrators", "chat_member"),
    }
)
"""Scopes of commands (server: get_bot_command_scope)."""
MEDIA = frozenset({"photo", "live_photo", "video", "animation", "audio", "document"})
"""Types of media (server: get_input_media)."""
_COMMAND = re.compile(r"[a-z0-9_]*")
_SECRET = re.compile(r"[A-Za-z0-9_-]*")
COMMANDS = frozenset({"setMyCommands"})


def _find_mixture(media: Any) -> str:
    kinds = {one["type"] for one in media}
    alone = sorted(kinds & {"audio", "document"}) if len(kinds) > 1 else []
    return alone[0] if alone else ""


_ITEM = "can't parse InputMedia: "
_COMMAND_ITEM = "can't parse BotCommand: "
_NAME, _DESCRIPTION = "commands[].command", "commands[].description"
_album = partial(TelegramLimit, methods=ALBUM, path="media")
_command = partial(TelegramLimit, methods=COMMANDS)
_secret = partial(TelegramLimit, methods=frozenset({"setWebhook"}), path="secret_token", plain=True)

ALBUM_LIMITS = (
    _album(
        "album_missing", 'parameter "media" is required', "server: get_required_string_arg", required=True
    ),
    _album(
        "album_list",
        "expected an Array of InputMedia",
        "server: get_input_message_contents",
        refuses=is_no_list,
    ),
    _album(
        "album_empty",
        "there are no messages to send",
        "tdlib: check_message_group_message_contents",
        refuses=lambda media: not media,
    ),
    _album(
        "album_length",
        "too many messages to send as an album",
        "tdlib: check_message_group_message_contents; Bot API: sendMediaGroup, 2-10 items",
        refuses=is_longer(ALBUM_LIMIT),
    ),
    _album(
        "album_item",
        f"{_ITEM}expected an Object",
        "server: get_input_media",
        path="media[]",
        refuses=is_no_object,
    ),
    _album(
        "album_type",
        f'{_ITEM}Can\'t find field "type"',
        "server: get_input_media",
        path="media[].type",
        required=True,
    ),
    _album(
        "album_kind",
        f'{_ITEM}type "{{value}}" is unsupported',
        "server: get_input_media",
        path="media[].type",
        refuses=is_outside(MEDIA),
    ),
    _album(
        "album_animation",
        f'{_ITEM}type "animation" can\'t be used in sendMediaGroup',
        "server: get_input_media",
        path="media[].type",
        refuses=lambda kind: kind == "animation",
    ),
    _album(
        "album_mixture",
        "{reason} can't be mixed with other media types",
        "tdlib: check_message_group_message_contents",
        refuses=_find_mixture,
    ),
    _album(
        "album_caption",
        "message caption is too long",
        "Bot API: InputMediaPhoto, 0-1024 characters after entities parsing",
        path="media[].caption",
        refuses=has_more_units(CAPTION_LIMIT),
    ),
)

COMMAND_LIMITS = (
    _command(
        "commands_list",
        "expected an Array of BotCommand",
        "server: get_bot_commands",
        path="commands",
        refuses=is_no_list,
    ),
    _command(
        "command_object",
        f"{_COMMAND_ITEM}expected an Object",
        "server: get_bot_command",
        path="commands[]",
        refuses=is_no_object,
    ),
    _command(
        "command_missing",
        f'{_COMMAND_ITEM}Can\'t find field "command"',
        "server: get_bot_command",
        path=_NAME,
        required=True,
    ),
    _command(
        "command_description_missing",
        f'{_COMMAND_ITEM}Can\'t find field "description"',
        "server: get_bot_command",
        path=_DESCRIPTION,
        required=True,
    ),
    _command(
        "command_empty",
        "command must be non-empty",
        "tdlib: BotCommand.cpp, set_commands",
        path=_NAME,
        refuses=lambda name: name.strip() in ("", "/"),
    ),
    _command(
        "command_length",
        f"command length must not exceed {COMMAND_LIMIT}",
        "tdlib: BotCommand.cpp, set_commands",
        path=_NAME,
        refuses=is_longer(COMMAND_LIMIT),
    ),
    _command(
        "command_letters",
        "BOT_COMMAND_INVALID",
        "Bot API: BotCommand, lowercase letters, digits and underscores; error: telegram-bot-api#98",
        path=_NAME,
        refuses=lambda name: not _COMMAND.fullmatch(name.removeprefix("/")),
    ),
    _command(
        "command_description_empty",
        "command description must be non-empty",
        "tdlib: BotCommand.cpp, set_commands",
        path=_DESCRIPTION,
        refuses=lambda description: not description.strip(),
    ),
    _command(
        "command_description_length",
        f"command description length must not exceed {DESCRIPTION_LIMIT}",
        "tdlib: BotCommand.cpp, set_commands",
        path=_DESCRIPTION,
        refuses=is_longer(DESCRIPTION_LIMIT),
    ),
    _command(
        "commands_length",
        "BOT_COMMANDS_TOO_MUCH",
        "Bot API: setMyCommands, at most 100 commands; error: openclaw#15309",
        path="commands",
        refuses=is_longer(COMMANDS_LIMIT),
    ),
    _command(
        "command_scope",
        "can't parse BotCommandScope: Unsupported type specified",
        "server: get_bot_command_scope",
        path="scope.type",
        refuses=is_outside(SCOPES),
    ),
)

_REACTION_ITEM = "can't parse ReactionType: "
_reaction = partial(
    TelegramLimit, source="server: get_reaction_types", methods=frozenset({"setMessageReaction"})
)
REACTION_LIMITS = (
    _reaction("reaction_list", "expected an Array of ReactionType", path="reaction", refuses=is_no_list),
    _reaction(
        "reaction_object", f"{_REACTION_ITEM}expected an Object", path="reaction[]", refuses=is_no_object
    ),
    _reaction(
        "reaction_type", f'{_REACTION_ITEM}Can\'t find field "type"', path="reaction[].type", required=True
    ),
    _reaction(
        "reaction_kind",
        f"{_REACTION_ITEM}invalid reaction type specified",
        path="reaction[].type",
        refuses=is_outside(frozenset({"emoji", "custom_emoji"})),
    ),
    _reaction(
        "reaction_emoji",
        f'{_REACTION_ITEM}Can\'t find field "emoji"',
        path="reaction[]",
        refuses=lambda one: one["type"] == "emoji" and "emoji" not in one,
    ),
)

OTHER_LIMITS = (
    TelegramLimit(
        "chat_action",
        "wrong parameter action in request",
        "server: get_chat_action",
        methods=frozenset({"sendChatAction"}),
        path="action",
        refuses=lambda action: action.lower() not in ACTIONS,
        plain=True,
        required=True,
    ),
    TelegramLimit(
        "answer_length",
        "MESSAGE_TOO_LONG",
        "Bot API: answerCallbackQuery, 0-200 characters; error: pyTelegramBotAPI#500",
        methods=frozenset({"answerCallbackQuery"}),
        path="text",
        refuses=is_longer(ANSWER_LIMIT),
        plain=True,
    ),
    TelegramLimit(
        "file_id_missing",
        "file_id not specified",
        "server: check_remote_file_id",
        methods=frozenset({"getFile"}),
        path="file_id",
        plain=True,
        required=True,
    ),
    _secret(
        "webhook_url",
        "invalid webhook URL specified",
        "server: do_set_webhook",
        path="url",
        refuses=lambda url: bool(find_url_error(url)),
    ),
    _secret(
        "secret_length",
        "secret token is too long",
        "server: do_set_webhook; Bot API: setWebhook, 1-256 characters",
        refuses=is_longer(SECRET_LIMIT),
    ),
    _secret(
        "secret_letters",
        "secret token contains unallowed characters",
        "server: do_set_webhook; Bot API: setWebhook, A-Z, a-z, 0-9, _ and -",
        refuses=lambda secret: not _SECRET.fullmatch(secret),
    ),
)

LIMITS: tuple[TelegramLimit, ...] = (
    *MESSAGE_LIMITS,
    *ALBUM_LIMITS,
    *COMMAND_LIMITS,
    *REACTION_LIMITS,
    *OTHER_LIMITS,
)
"""All limits, in the order in which they are checked."""
