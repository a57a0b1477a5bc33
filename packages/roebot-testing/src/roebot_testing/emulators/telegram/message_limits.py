"""Limits of what messages hold: texts, entities and buttons (sources are abbreviated as in `rules`)."""

from __future__ import annotations

from functools import partial
from typing import Any

from roebot_testing.emulators.telegram.limits import (
    Refuses,
    TelegramLimit,
    has_more_units,
    is_no_list,
    is_no_object,
    is_outside,
    takes_any,
)
from roebot_testing.emulators.telegram.links import find_link_error
from roebot_testing.emulators.telegram.rich_shapes import (
    RICH_BLOCKS,
    RICH_CHARACTERS,
    RICH_COLUMNS,
    RICH_DEPTH,
    RICH_MEDIA,
    RichShape,
    measure_rich,
)

TEXT_LIMIT = 4096
CAPTION_LIMIT = 1024
TEXT_BYTES = 1 << 15
BUTTONS_LIMIT = 100
CALLBACK_BYTES = 64
ENTITY_RANGE = 1_000_000
ENTITY_TYPES = frozenset(
    {
        *("bold", "italic", "underline", "strikethrough", "spoiler", "code", "pre", "blockquote"),
        *("text_link", "text_mention", "custom_emoji", "expandable_blockquote", "date_time"),
        *("mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bank_card_number"),
    }
)
"""Types of entities (server: get_text_entity_type)."""
STYLES = frozenset({"", "default", "primary", "danger", "success"})
"""Styles of buttons (server: get_button_style)."""
_BUTTON_KINDS = (
    "callback_game",
    "pay",
    "switch_inline_query",
    "switch_inline_query_chosen_chat",
    "switch_inline_query_current_chat",
    "login_url",
    "web_app",
    "copy_text",
)

TEXTS = frozenset({"sendMessage", "editMessageText", "sendMessageDraft"})
FILES = frozenset({"sendDocument", "sendPhoto"})
ALBUM = frozenset({"sendMediaGroup"})
EDITS = frozenset({"editMessageText", "editMessageReplyMarkup"})
RICH = frozenset({"sendRichMessage", "sendRichMessageDraft", "editMessageText"})
POSTS = FILES | {"sendMessage", "sendRichMessage"}
MARKED = POSTS | EDITS


def _lacks(field: str, kind: str) -> Refuses:
    return lambda entity: entity.get("type") == kind and field not in entity


def _has_no_action(button: Any) -> bool:
    named = any(button.get(field) for field in ("url", "callback_data"))
    return not named and not any(field in button for field in _BUTTON_KINDS)


def _has_too_many_buttons(rows: Any) -> bool:
    return sum(len(row) for row in rows) > BUTTONS_LIMIT


def _is_no_inline_keyboard(markup: Any) -> bool:
    others = ("keyboard", "remove_keyboard", "force_reply")
    return not markup.get("inline_keyboard") and any(markup.get(name) for name in others)


def _is_outside_range(value: Any) -> bool:
    return not isinstance(value, int) or not 0 <= value <= ENTITY_RANGE


def _find_text_link_error(entity: Any) -> str:
    if entity["type"] != "text_link" or not (error := find_link_error(entity["url"])):
        return ""
    return f"'{entity['url']}' is invalid: {error}"


def _shape(markdown: Any) -> RichShape:
    return measure_rich(str(markdown))


_KEYBOARD = "reply_markup.inline_keyboard"
_BUTTON = "can't parse inline keyboard button: "
_ENTITY = "can't parse MessageEntity: "
_marked = partial(TelegramLimit, methods=MARKED)
_text = partial(TelegramLimit, methods=TEXTS, path="text", plain=True)
_rich = partial(
    TelegramLimit,
    source="Bot API: rich message limits; errors: openabdev/openab#1106, openclaw/openclaw#133406",
    methods=RICH,
    path="rich_message.markdown",
)
_reply = partial(TelegramLimit, methods=POSTS | ALBUM, source="server: get_reply_parameters")

MARKUP_LIMITS = (
    _marked(
        "markup_object",
        "object expected as reply markup",
        "server: get_reply_markup",
        path="reply_markup",
        refuses=is_no_object,
    ),
    _marked(
        "keyboard_list",
        'field "inline_keyboard" must be of type Array',
        "tdutils: JSON.cpp, JsonObject::extract_optional_field",
        path=_KEYBOARD,
        refuses=is_no_list,
    ),
    _marked(
        "keyboard_row",
        'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays',
        "server: get_reply_markup",
        path=f"{_KEYBOARD}[]",
        refuses=is_no_list,
    ),
    _marked(
        "button_object",
        f"{_BUTTON}InlineKeyboardButton must be an Object",
        "server: get_inline_keyboard_button",
        path=f"{_KEYBOARD}[][]",
        refuses=is_no_object,
    ),
    _marked(
        "button_text",
        f'{_BUTTON}Can\'t find field "text"',
        "server: get_inline_keyboard_button",
        path=f"{_KEYBOARD}[][].text",
        required=True,
    ),
    _marked(
        "button_style",
        f"{_BUTTON}invalid button style specified",
        "server: get_button_style",
        path=f"{_KEYBOARD}[][].style",
        refuses=is_outside(STYLES),
    ),
    _marked(
        "button_action",
        f"{_BUTTON}Text buttons are unallowed in the inline keyboard",
        "server: get_inline_keyboard_button_type; Bot API: InlineKeyboardButton",
        path=f"{_KEYBOARD}[][]",
        refuses=_has_no_action,
    ),
    _marked(
        "button_url",
        "inline keyboard button URL '{value}' is invalid: {reason}",
        "tdlib: ReplyMarkup.cpp; LinkManager::check_link",
        path=f"{_KEYBOARD}[][].url",
        refuses=lambda url: bool(url) and find_link_error(url),
    ),
    _marked(
        "callback_data",
        "BUTTON_DATA_INVALID",
        "Bot API: InlineKeyboardButton, 1-64 bytes; error: telepot#293",
        path=f"{_KEYBOARD}[][].callback_data",
        refuses=lambda data: len(str(data).encode()) > CALLBACK_BYTES,
    ),
    _marked(
        "buttons",
        "reply markup is too long",
        "PTB: InlineKeyboardMarkupLimit.TOTAL_BUTTON_NUMBER; error: server, REPLY_MARKUP_TOO_LONG",
        path=_KEYBOARD,
        refuses=_has_too_many_buttons,
    ),
    TelegramLimit(
        "edit_keyboard",
        "inline keyboard expected",
        "tdlib: ReplyMarkup.cpp, get_inline_reply_markup",
        methods=EDITS,
        path="reply_markup",
        refuses=_is_no_inline_keyboard,
    ),
)


def _entity_limits(field: str, methods: frozenset[str]) -> tuple[TelegramLimit, ...]:
    prefix, item = field.removesuffix("entities"), f"{field}[]"
    missing = f"{_ENTITY}Can't find field "

    def limit(
        name: str,
        error: str,
        source: str,
        below: str = "",
        refuses: Refuses = takes_any,
        required: bool = False,
    ) -> TelegramLimit:
        return TelegramLimit(
            prefix + name,
            error,
            source,
            methods=methods,
            path=item + below,
            refuses=refuses,
            required=required,
        )

    entity, kind = "server: get_text_entity", "server: get_text_entity_type"
    fixed, unsupported = (
        "tdlib: MessageEntity.cpp, fix_formatted_text",
        f"{_ENTITY}Unsupported type specified",
    )
    offset, length = "receive an entity with incorrect offset", "receive an entity with incorrect length"
    return (
        limit("entity_object", f"{_ENTITY}expected an Object", entity, refuses=is_no_object),
        limit("entity_offset", f'{missing}"offset"', entity, ".offset", required=True),
        limit("entity_length", f'{missing}"length"', entity, ".length", required=True),
        limit("entity_type", f'{missing}"type"', kind, ".type", required=True),
        limit("entity_kind", unsupported, kind, ".type", is_outside(ENTITY_TYPES)),
        limit("entity_url", f'{missing}"url"', kind, refuses=_lacks("url", "text_link")),
        limit("entity_user", f'{missing}"user"', kind, refuses=_lacks("user", "text_mention")),
        limit(
            "entity_link",
            "entity URL {reason}",
            "tdlib: MessageEntity.cpp; LinkManager::check_link",
            refuses=_find_text_link_error,
        ),
        limit("entity_offset_range", f"{offset} {{value}}", fixed, ".offset", _is_outside_range),
        limit("entity_length_range", f"{length} {{value}}", fixed, ".length", _is_outside_range),
    )


TEXT_LIMITS = (
    _text(
        "text_bytes",
        "text is too long",
        "server: get_formatted_text, 32,768 bytes",
        refuses=lambda text: len(text.encode()) > TEXT_BYTES,
    ),
    _text(
        "text_length",
        "message is too long",
        "Bot API: sendMessage, 1-4096 characters after entities parsing",
        refuses=has_more_units(TEXT_LIMIT),
    ),
    _text(
        "text_missing",
        "message text is empty",
        "server: get_input_message_text",
        methods=frozenset({"sendMessage"}),
        required=True,
    ),
    _text(
        "text_blank",
        "text must be non-empty",
        "tdlib: MessageEntity.cpp, fix_formatted_text",
        methods=TEXTS - {"sendMessageDraft"},
        refuses=lambda text: not text.strip(),
    ),
    TelegramLimit(
        "caption_length",
        "message caption is too long",
        "Bot API: sendDocument, 0-1024 characters after entities parsing",
        methods=FILES,
        path="caption",
        refuses=has_more_units(CAPTION_LIMIT),
        plain=True,
    ),
    _rich(
        "rich_length",
        "RICH_MESSAGE_TEXT_TOO_LONG",
        refuses=lambda one: _shape(one).characters > RICH_CHARACTERS,
    ),
    _rich(
        "rich_blocks", "RICH_MESSAGE_BLOCKS_TOO_MANY", refuses=lambda one: _shape(one).blocks > RICH_BLOCKS
    ),
    _rich("rich_depth", "RICH_MESSAGE_DEPTH_INVALID", refuses=lambda one: _shape(one).depth > RICH_DEPTH),
    _rich("rich_media", "RICH_MESSAGE_MEDIA_TOO_MANY", refuses=lambda one: _shape(one).media > RICH_MEDIA),
    _rich(
        "rich_columns",
        "RICH_MESSAGE_TABLE_COLS_TOO_MANY",
        refuses=lambda one: _shape(one).columns > RICH_COLUMNS,
    ),
    TelegramLimit(
        "preview_object",
        "object expected as link preview options",
        "server: get_link_preview_options",
        methods=TEXTS - {"sendMessageDraft"},
        path="link_preview_options",
        refuses=is_no_object,
    ),
    _reply(
        "reply_object",
        "object expected as reply parameters",
        path="reply_parameters",
        refuses=is_no_object,
    ),
    _reply(
        "reply_message",
        'can\'t find field "message_id"',
        path="reply_parameters.message_id",
        required=True,
    ),
)

MESSAGE_LIMITS: tuple[TelegramLimit, ...] = (
    *TEXT_LIMITS,
    *_entity_limits("entities", TEXTS),
    *_entity_limits("caption_entities", FILES),
    *MARKUP_LIMITS,
)
