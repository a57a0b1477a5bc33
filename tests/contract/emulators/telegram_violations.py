"""Calls that break a limit of the Bot API, each with Telegram's error and a call at the limit that passes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FILE = "<file>"
"""Stands for the id of a file that the bot has received."""
PERSON = 7
MINE = 3
"""Id of a message of the bot in the chat with PERSON."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A call of `method` that breaks the limit `name`, and one that keeps it (None: there is none)."""

    name: str
    method: str
    breaks: dict[str, Any]
    error: str
    keeps: dict[str, Any] | None = None


def text(value: str, **more: Any) -> dict[str, Any]:
    return {"chat_id": PERSON, "text": value, **more}


def rich(markdown: str) -> dict[str, Any]:
    return {"chat_id": PERSON, "rich_message": {"markdown": markdown}}


def table(columns: int) -> str:
    return f"|{'a|' * columns}\n|{'-|' * columns}"


def entity(**fields: Any) -> dict[str, Any]:
    return text("abc", entities=[{"type": "bold", "offset": 0, "length": 1, **fields}])


def without(field: str) -> dict[str, Any]:
    whole = {"type": "bold", "offset": 0, "length": 1}
    return text("abc", entities=[{key: value for key, value in whole.items() if key != field}])


def captioned(parameters: dict[str, Any]) -> dict[str, Any]:
    """The same for a caption: parameters of sendDocument."""
    rest = {key: value for key, value in parameters.items() if key not in ("text", "entities")}
    return {
        **rest,
        "document": FILE,
        "caption": parameters["text"],
        "caption_entities": parameters["entities"],
    }


def markup(value: Any) -> dict[str, Any]:
    return text("a", reply_markup=value)


def keyboard(*buttons: Any) -> dict[str, Any]:
    return markup({"inline_keyboard": [list(buttons)]})


def button(label: str = "Yes", **fields: Any) -> dict[str, Any]:
    return {"text": label, **(fields or {"callback_data": "yes"})}


def album(*media: Any) -> dict[str, Any]:
    return {"chat_id": PERSON, "media": list(media)}


def item(kind: str = "document", **fields: Any) -> dict[str, Any]:
    return {"type": kind, "media": FILE, **fields}


def commands(*given: tuple[str, str]) -> dict[str, Any]:
    return {"commands": [{"command": name, "description": description} for name, description in given]}


_ENTITY = "can't parse MessageEntity: "
_BUTTON = "can't parse inline keyboard button: "
_ITEM = "can't parse InputMedia: "
_COMMAND = "can't parse BotCommand: "
_LINK = {"type": "text_link", "url": "http://localhost:8080/x"}
_GOOD_LINK = {"type": "text_link", "url": "https://user@xn--e1aybc.example:8080/x?y#z"}

TEXTS = (
    Violation("text_bytes", "sendMessage", text("é" * 16_385), "text is too long"),
    Violation("text_length", "sendMessage", text("a" * 4097), "message is too long", text("a" * 4096)),
    Violation("text_missing", "sendMessage", text(""), "message text is empty", text("a")),
    Violation("text_blank", "sendMessage", text(" \n "), "text must be non-empty", text(" a ")),
    Violation(
        "caption_length",
        "sendDocument",
        {"chat_id": PERSON, "document": FILE, "caption": "a" * 1025},
        "message caption is too long",
        {"chat_id": PERSON, "document": FILE, "caption": "a" * 1024},
    ),
    Violation(
        "rich_length",
        "sendRichMessage",
        rich("**" + "a" * 32_769 + "**"),
        "RICH_MESSAGE_TEXT_TOO_LONG",
        rich("**" + "a" * 32_768 + "**"),
    ),
    Violation(
        "rich_blocks",
        "sendRichMessage",
        rich("a\n\n" * 250 + "- a\n" * 125 + "- b"),
        "RICH_MESSAGE_BLOCKS_TOO_MANY",
        rich("a\n\n" * 250 + "- a\n" * 124),
    ),
    Violation(
        "rich_depth",
        "sendRichMessageDraft",
        {**rich("> " * 15 + "**a**"), "draft_id": 1},
        "RICH_MESSAGE_DEPTH_INVALID",
        {**rich("> " * 15 + "a"), "draft_id": 1},
    ),
    Violation(
        "rich_media",
        "sendRichMessage",
        rich("![a](https://a.example/1.png)\n\n" * 51),
        "RICH_MESSAGE_MEDIA_TOO_MANY",
        rich("![a](https://a.example/1.png)\n\n" * 50),
    ),
    Violation(
        "rich_columns",
        "editMessageText",
        {**rich(table(21)), "message_id": MINE},
        "RICH_MESSAGE_TABLE_COLS_TOO_MANY",
        {**rich(table(20)), "message_id": MINE},
    ),
    Violation(
        "preview_object",
        "sendMessage",
        text("a", link_preview_options=[1]),
        "object expected as link preview options",
        text("a", link_preview_options={"is_disabled": True}),
    ),
    Violation(
        "reply_object", "sendMessage", text("a", reply_parameters=[1]), "object expected as reply parameters"
    ),
    Violation(
        "reply_message",
        "sendMessage",
        text("a", reply_parameters={"quote": "x"}),
        'can\'t find field "message_id"',
        text("a", reply_parameters={"message_id": MINE}),
    ),
)

ENTITIES = (
    Violation("entity_object", "sendMessage", text("a", entities=[1]), f"{_ENTITY}expected an Object"),
    Violation("entity_offset", "sendMessage", without("offset"), f'{_ENTITY}Can\'t find field "offset"'),
    Violation("entity_length", "sendMessage", without("length"), f'{_ENTITY}Can\'t find field "length"'),
    Violation("entity_type", "sendMessage", without("type"), f'{_ENTITY}Can\'t find field "type"'),
    Violation(
        "entity_kind",
        "sendMessage",
        entity(type="loud"),
        f"{_ENTITY}Unsupported type specified",
        entity(type="blockquote"),
    ),
    Violation("entity_url", "sendMessage", entity(type="text_link"), f'{_ENTITY}Can\'t find field "url"'),
    Violation(
        "entity_user",
        "sendMessage",
        entity(type="text_mention"),
        f'{_ENTITY}Can\'t find field "user"',
        entity(type="text_mention", user={"id": PERSON}),
    ),
    Violation(
        "entity_link",
        "sendMessage",
        entity(**_LINK),
        "entity URL 'http://localhost:8080/x' is invalid: Wrong HTTP URL",
        entity(**_GOOD_LINK),
    ),
    Violation(
        "entity_offset_range",
        "sendMessage",
        entity(offset=-1),
        "receive an entity with incorrect offset -1",
        entity(offset=2),
    ),
    Violation(
        "entity_length_range",
        "sendMessage",
        entity(length=-1),
        "receive an entity with incorrect length -1",
        entity(length=3),
    ),
)

CAPTION_ENTITIES = tuple(
    Violation(
        f"caption_{one.name}",
        "sendDocument",
        captioned(one.breaks),
        one.error,
        captioned(one.keeps) if one.keeps else None,
    )
    for one in ENTITIES
)

MARKUP = (
    Violation("markup_object", "sendMessage", markup([1]), "object expected as reply markup"),
    Violation(
        "keyboard_list",
        "sendMessage",
        markup({"inline_keyboard": {}}),
        'field "inline_keyboard" must be of type Array',
    ),
    Violation(
        "keyboard_row",
        "sendMessage",
        markup({"inline_keyboard": [button()]}),
        'field "inline_keyboard" of the InlineKeyboardMarkup must be an Array of Arrays',
        keyboard(button()),
    ),
    Violation(
        "button_object", "sendMessage", keyboard("Yes"), f"{_BUTTON}InlineKeyboardButton must be an Object"
    ),
    Violation(
        "button_text", "sendMessage", keyboard({"callback_data": "x"}), f'{_BUTTON}Can\'t find field "text"'
    ),
    Violation(
        "button_style",
        "sendMessage",
        keyboard(button(style="loud", callback_data="x")),
        f"{_BUTTON}invalid button style specified",
        keyboard(button(style="danger", callback_data="x")),
    ),
    Violation(
        "button_action",
        "sendMessage",
        keyboard(button(callback_data="")),
        f"{_BUTTON}Text buttons are unallowed in the inline keyboard",
        keyboard(button(callback_data="x")),
    ),
    Violation(
        "button_url",
        "sendMessage",
        keyboard(button(url="ftp://example.com")),
        "inline keyboard button URL 'ftp://example.com' is invalid: Unsupported URL protocol",
        keyboard(button(url="tg://resolve?domain=x")),
    ),
    Violation(
        "callback_data",
        "sendMessage",
        keyboard(button(callback_data="é" * 32 + "a")),
        "BUTTON_DATA_INVALID",
        keyboard(button(callback_data="é" * 32)),
    ),
    Violation(
        "buttons",
        "sendMessage",
        markup({"inline_keyboard": [[button()]] * 101}),
        "reply markup is too long",
        markup({"inline_keyboard": [[button()]] * 100}),
    ),
    Violation(
        "edit_keyboard",
        "editMessageText",
        {**markup({"keyboard": [["Yes"]]}), "message_id": MINE},
        "inline keyboard expected",
        {**keyboard(button()), "message_id": MINE},
    ),
)

ALBUMS = (
    Violation("album_missing", "sendMediaGroup", {"chat_id": PERSON}, 'parameter "media" is required'),
    Violation(
        "album_list",
        "sendMediaGroup",
        {"chat_id": PERSON, "media": {}},
        "expected an Array of InputMedia",
    ),
    Violation("album_empty", "sendMediaGroup", album(), "there are no messages to send", album(item())),
    Violation(
        "album_length",
        "sendMediaGroup",
        album(*[item()] * 11),
        "too many messages to send as an album",
        album(*[item()] * 10),
    ),
    Violation("album_item", "sendMediaGroup", album("x"), f"{_ITEM}expected an Object"),
    Violation("album_type", "sendMediaGroup", album({"media": FILE}), f'{_ITEM}Can\'t find field "type"'),
    Violation(
        "album_kind", "sendMediaGroup", album(item("sticker")), f'{_ITEM}type "sticker" is unsupported'
    ),
    Violation(
        "album_animation",
        "sendMediaGroup",
        album(item("animation")),
        f'{_ITEM}type "animation" can\'t be used in sendMediaGroup',
    ),
    Violation(
        "album_mixture",
        "sendMediaGroup",
        album(item(), item("photo")),
        "document can't be mixed with other media types",
        album(item("video"), item("photo")),
    ),
    Violation(
        "album_caption",
        "sendMediaGroup",
        album(item(caption="a" * 1025)),
        "message caption is too long",
        album(item(caption="a" * 1024)),
    ),
)

COMMANDS = (
    Violation("commands_list", "setMyCommands", {"commands": {}}, "expected an Array of BotCommand"),
    Violation("command_object", "setMyCommands", {"commands": [1]}, f"{_COMMAND}expected an Object"),
    Violation(
        "command_missing",
        "setMyCommands",
        {"commands": [{"description": "x"}]},
        f'{_COMMAND}Can\'t find field "command"',
    ),
    Violation(
        "command_description_missing",
        "setMyCommands",
        {"commands": [{"command": "x"}]},
        f'{_COMMAND}Can\'t find field "description"',
    ),
    Violation("command_empty", "setMyCommands", commands(("/", "x")), "command must be non-empty"),
    Violation(
        "command_length",
        "setMyCommands",
        commands(("a" * 33, "x")),
        "command length must not exceed 32",
        commands(("a" * 32, "x")),
    ),
    Violation(
        "command_letters",
        "setMyCommands",
        commands(("перевод", "x")),
        "BOT_COMMAND_INVALID",
        commands(("a_1", "x")),
    ),
    Violation(
        "command_description_empty",
        "setMyCommands",
        commands(("a", " ")),
        "command description must be non-empty",
        commands(("a", "x")),
    ),
    Violation(
        "command_description_length",
        "setMyCommands",
        commands(("a", "x" * 257)),
        "command description length must not exceed 256",
        commands(("a", "x" * 256)),
    ),
    Violation(
        "commands_length",
        "setMyCommands",
        commands(*[(f"a{number}", "x") for number in range(101)]),
        "BOT_COMMANDS_TOO_MUCH",
        commands(*[(f"a{number}", "x") for number in range(100)]),
    ),
    Violation(
        "command_scope",
        "setMyCommands",
        {**commands(("a", "x")), "scope": {"type": "everybody"}},
        "can't parse BotCommandScope: Unsupported type specified",
        {**commands(("a", "x")), "scope": {"type": "all_group_chats"}},
    ),
)

OTHERS = (
    Violation(
        "chat_action",
        "sendChatAction",
        {"chat_id": PERSON, "action": "thinking"},
        "wrong parameter action in request",
        {"chat_id": PERSON, "action": "find_location"},
    ),
    Violation(
        "answer_length",
        "answerCallbackQuery",
        {"callback_query_id": "cq1", "text": "a" * 201},
        "MESSAGE_TOO_LONG",
        {"callback_query_id": "cq1", "text": "a" * 200},
    ),
    Violation("file_id_missing", "getFile", {}, "file_id not specified", {"file_id": FILE}),
    Violation(
        "webhook_url",
        "setWebhook",
        {"url": "ftp://example.com"},
        "invalid webhook URL specified",
        {"url": "https://127.0.0.1:9/hook"},
    ),
    Violation(
        "secret_length",
        "setWebhook",
        {"url": "https://127.0.0.1:9", "secret_token": "a" * 257},
        "secret token is too long",
        {"url": "https://127.0.0.1:9", "secret_token": "a" * 256},
    ),
    Violation(
        "secret_letters",
        "setWebhook",
        {"url": "https://127.0.0.1:9", "secret_token": "a b"},
        "secret token contains unallowed characters",
        {"url": "https://127.0.0.1:9", "secret_token": "aZ0_-"},
    ),
)


def reaction(*types: Any) -> dict[str, Any]:
    return {"chat_id": PERSON, "message_id": MINE, "reaction": list(types)}


_REACT, _REACTION = "setMessageReaction", "can't parse ReactionType: "
_EYES = reaction({"type": "emoji", "emoji": "👀"})
REACTIONS = (
    Violation(
        "reaction_list",
        _REACT,
        {**_EYES, "reaction": {"type": "emoji"}},
        "expected an Array of ReactionType",
        _EYES,
    ),
    Violation("reaction_object", _REACT, reaction("👀"), f"{_REACTION}expected an Object", reaction()),
    Violation("reaction_type", _REACT, reaction({"emoji": "👀"}), f'{_REACTION}Can\'t find field "type"'),
    Violation(
        "reaction_kind", _REACT, reaction({"type": "paid"}), f"{_REACTION}invalid reaction type specified"
    ),
    Violation("reaction_emoji", _REACT, reaction({"type": "emoji"}), f'{_REACTION}Can\'t find field "emoji"'),
)
VIOLATIONS = (*TEXTS, *ENTITIES, *CAPTION_ENTITIES, *MARKUP, *ALBUMS, *COMMANDS, *REACTIONS, *OTHERS)
