"""What Discord demands of the fields of messages, threads, pages and commands.

Limits are those of the documentation. Texts of form errors are in no document ("a complete list of errors is
not feasible", docs.discord.com/developers/reference#error-messages): they are quoted from reports about the
live API, whose issues are named beside the rule.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from roebot_testing.emulators.discord.forms import (
    FormRule,
    at_least,
    at_most,
    choice,
    length,
    required,
    rule,
    snowflake,
    url,
)
from roebot_testing.emulators.fields import Path

_MESSAGE = "docs.discord.com/developers/resources/message#create-message"
_OBJECT = "docs.discord.com/developers/resources/message#"
_EMBED = "docs.discord.com/developers/resources/message#embed-object-embed-limits"
_MENTIONS = "docs.discord.com/developers/resources/message#allowed-mentions-object"
_THREAD = "docs.discord.com/developers/resources/channel#start-thread-from-message"
_COMMAND = "docs.discord.com/developers/interactions/application-commands"
EMBED_CHARACTERS = 6000
"""Characters of all embeds of a message, those of all fields together (…#embed-object-embed-limits)."""
COMMAND_CHARACTERS = 8000
"""Characters of names, descriptions and values of one command (…/application-commands#slash-commands)."""
_NAME = re.compile(r"[-_'\w]{1,32}")
CHAT_INPUT = 1


def embed_characters(embeds: Any) -> int:
    """Return the number of characters that Discord counts in embeds."""
    return sum(len(text.strip()) for embed in embeds if isinstance(embed, dict) for text in _counted(embed))


def _counted(embed: dict[str, Any]) -> Iterator[str]:
    fields = [field for field in embed.get("fields") or [] if isinstance(field, dict)]
    for part, key in (
        (embed, "title"),
        (embed, "description"),
        (embed.get("footer") or {}, "text"),
        (embed.get("author") or {}, "name"),
        *((field, key) for field in fields for key in ("name", "value")),
    ):
        yield str(part.get(key) or "")


def _is_exclusive(kind: str, mentions: Any) -> bool:
    return not (isinstance(mentions, dict) and kind in (mentions.get("parse") or []) and mentions.get(kind))


_EMBEDS = (
    length("embeds", 10, source=f"{_MESSAGE}; text: dotnize/Dodong#28"),
    rule(
        "embeds",
        "MAX_EMBED_SIZE_EXCEEDED",
        f"Embed size exceeds maximum size of {EMBED_CHARACTERS}",
        lambda embeds: embed_characters(embeds) <= EMBED_CHARACTERS,
        f"{_EMBED}; text: NelsonDane/auto-rsa#451",
    ),
    length("embeds[].title", 256, source=_EMBED, trimmed=True),
    length("embeds[].description", 4096, source=_EMBED, trimmed=True),
    length("embeds[].fields", 25, source=_EMBED),
    length("embeds[].fields[].name", 256, source=_EMBED, trimmed=True),
    length("embeds[].fields[].value", 1024, source=_EMBED, trimmed=True),
    required("embeds[].fields[].name", "Glitchii/embedbuilder#57"),
    required("embeds[].fields[].value", "Glitchii/embedbuilder#57"),
    length("embeds[].footer.text", 2048, source=_EMBED, trimmed=True),
    length("embeds[].author.name", 256, source=_EMBED, trimmed=True),
    url("embeds[].url", ("http", "https"), f"{_OBJECT}embed-object-embed-structure"),
    url(
        "embeds[].image.url", ("http", "https", "attachment"), f"{_OBJECT}embed-object-embed-image-structure"
    ),
)
MESSAGE = (
    length("content", 2000, source=f"{_MESSAGE}; text: kacesensitive/ollama-discord#5"),
    rule(
        "nonce",
        "NONCE_TYPE_INVALID_TYPE",
        "This field must be a string or integer.",
        lambda nonce: isinstance(nonce, str | int) and not isinstance(nonce, bool),
        "discord-api-docs#955, #1158",
    ),
    rule(
        "nonce",
        "NONCE_TYPE_TOO_LONG",
        "Must be 25 or fewer characters long.",
        lambda nonce: len(str(nonce)) <= 25,
        f"{_MESSAGE}; text: discord-api-docs#1158",
    ),
    *_EMBEDS,
    choice("allowed_mentions.parse[]", ("roles", "users", "everyone"), f"{_MENTIONS}-allowed-mention-types"),
    *(
        rule(
            "allowed_mentions",
            "MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE",
            f'parse:["{kind}"] and {kind}: [ids...] are mutually exclusive.',
            partial(_is_exclusive, kind),
            f"{_MENTIONS}; text: Mephisto5558/Teufelsbot#285, discord-haskell/discord-haskell#75",
        )
        for kind in ("users", "roles")
    ),
    length("allowed_mentions.users", 100, source=_MENTIONS),
    length("allowed_mentions.roles", 100, source=_MENTIONS),
    snowflake("allowed_mentions.users[]", f"{_MENTIONS}; text: discord-php/DiscordPHP#588"),
    snowflake("allowed_mentions.roles[]", f"{_MENTIONS}; text: discord-php/DiscordPHP#588"),
    rule(
        "message_reference",
        "MODEL_TYPE_CONVERT",
        "Expected an object/dictionary.",
        lambda reference: isinstance(reference, dict),
        "simmsb/racket-cord#16",
    ),
    snowflake("message_reference.message_id", "discord-api-docs#2582"),
    length("attachments[].description", 1024, source=f"{_OBJECT}attachment-object"),
    length("attachments[].title", 1024, source="discord-api-spec: MessageAttachmentRequest"),
)
"""Fields of Create Message, Edit Message, follow-ups and the data of callbacks."""

THREAD = (
    required("name", _THREAD),
    length("name", 100, 1, source=f"{_THREAD}; text: LandOfTheRair/LandOfTheRair#441"),
    choice("auto_archive_duration", (60, 1440, 4320, 10080), _THREAD),
    at_least("rate_limit_per_user", 0, _THREAD),
    at_most("rate_limit_per_user", 21600, _THREAD),
)
PAGE = (
    at_least("limit", 1, f"{_OBJECT}get-channel-messages"),
    at_most("limit", 100, f"{_OBJECT}get-channel-messages; text: Mephisto5558/Teufelsbot#271"),
)
DIRECT = (
    required("recipient_id", "docs.discord.com/developers/resources/user#create-dm"),
    snowflake("recipient_id", "docs.discord.com/developers/resources/user#create-dm"),
)


def _is_name(name: Any) -> bool:
    return bool(_NAME.fullmatch(str(name))) and str(name) == str(name).lower()


def command_characters(command: Any) -> int:
    """Return the number of characters that Discord counts in a command with its options and choices."""
    if not isinstance(command, dict):
        return 0
    own = sum(
        len(text) for key in ("name", "description", "value") if isinstance(text := command.get(key), str)
    )
    parts = [*(command.get("options") or []), *(command.get("choices") or [])]
    return own + sum(command_characters(part) for part in parts)


def _list_repeated_names(options: Any) -> list[Path]:
    names = [option.get("name") for option in options]
    return [(index,) for index, name in enumerate(names) if name in names[:index]]


def _list_late_required(options: Any) -> list[Path]:
    """Return the required options behind an optional one."""
    needed = [bool(option.get("required")) for option in options]
    return [(index,) for index, one in enumerate(needed) if one and not all(needed[:index])]


def _list_repeated_commands(commands: Any) -> list[Path]:
    keys = [(command.get("type", CHAT_INPUT), command.get("name")) for command in commands]
    return [(index,) for index, key in enumerate(keys) if key in keys[:index]]


_INVALID_NAME = ("APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
COMMANDS = (
    FormRule(
        "",
        "APPLICATION_COMMANDS_DUPLICATE_NAME",
        "Application command names must be unique",
        _list_repeated_commands,
        f"{_COMMAND}#registering-a-command; text: albertgmz/BeatDock#103",
    ),
)
"""Rules about the list of all commands."""
COMMAND = (
    required("name", f"{_COMMAND}#application-command-object"),
    choice("type", (1, 2, 3, 4), f"{_COMMAND}#application-command-object-application-command-types"),
    length("options", 25, source=f"{_COMMAND}#application-command-object"),
    FormRule(
        "options",
        "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID",
        "Required options must be placed before non-required options",
        _list_late_required,
        f"{_COMMAND}#application-command-object; text: discord-api-docs#5615",
    ),
    FormRule(
        "options",
        "APPLICATION_COMMAND_OPTIONS_NAME_INVALID",
        "Option name {value} is already used in these options",
        _list_repeated_names,
        f"{_COMMAND}#application-command-object-application-command-option-structure; discord-api-docs#4964",
        shown=lambda option: str(option["name"]),
    ),
    required("options[].name", f"{_COMMAND}#application-command-object"),
    rule("options[].name", *_INVALID_NAME, _is_name, "Garlic-Team/gcommands#295"),
    required("options[].description", f"{_COMMAND}#application-command-object"),
    length("options[].description", 100, 1, source=f"{_COMMAND}#application-command-object"),
    choice("options[].type", tuple(range(1, 12)), f"{_COMMAND}#application-command-object"),
    length("options[].choices", 25, source=f"{_COMMAND}#application-command-object"),
    length("options[].choices[].name", 100, 1, source=f"{_COMMAND}#application-command-object"),
    length("options[].choices[].value", 100, source=f"{_COMMAND}#application-command-object"),
    rule(
        "",
        "APPLICATION_COMMAND_TOO_LARGE",
        f"Command exceeds maximum size ({COMMAND_CHARACTERS})",
        lambda command: command_characters(command) <= COMMAND_CHARACTERS,
        f"{_COMMAND}#slash-commands; text: docs.discord.com/developers/reference#error-messages",
    ),
)
"""Rules about each command."""
SLASH = (
    rule(
        "name", *_INVALID_NAME, _is_name, f"{_COMMAND}#application-command-object-application-command-naming"
    ),
    required("description", f"{_COMMAND}#application-command-object"),
    length("description", 100, 1, source="Kord-Extensions/kord-extensions#73"),
)
"""Rules about commands that are typed; those of menus may have spaces and have no description."""
MENU = (
    length("name", 32, 1, source=f"{_COMMAND}#application-command-object-application-command-naming"),
    length("description", 0, source=f"{_COMMAND}#application-command-object"),
)

TABLES: Mapping[str, tuple[FormRule, ...]] = MappingProxyType(
    {
        "message": MESSAGE,
        "thread": THREAD,
        "page": PAGE,
        "direct": DIRECT,
        "commands": COMMANDS,
        "command": COMMAND,
        "slash": SLASH,
        "menu": MENU,
    }
)
"""All rules of this module by the form that they are about."""
