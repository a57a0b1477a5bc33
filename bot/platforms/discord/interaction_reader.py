"""Conversion of commands, buttons, menus and forms used by people to their messages.

Source: docs.discord.com/developers/interactions/receiving-and-responding#interaction-object.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bot.domain import InboundMessage, Mention, MentionKind, QuotationKind
from bot.platforms.discord.attachments import file_name, read_attachments
from bot.platforms.discord.channel_cache import CachedChannel
from bot.platforms.discord.components import STOP, DiscordClick, find_component, pressed_label
from bot.platforms.discord.contents import quote
from bot.platforms.discord.inbound import DiscordInbound
from bot.platforms.discord.names import NO_ROLE, NOBODY, NOWHERE, MessageNames
from bot.platforms.discord.snowflake import snowflake, snowflake_time
from bot.platforms.payload import Json, Malformed, get_int, get_object, get_objects, get_string, get_strings
from bot.platforms.unreadable import mark_unreadable

COMMAND, COMPONENT, FORM = 2, 3, 5
"""Types of an interaction (#interaction-object-interaction-type)."""
ON_PERSON, ON_MESSAGE = 2, 3
"""Types of a command
(…/interactions/application-commands#application-command-object-application-command-types)."""
_NESTED = frozenset({1, 2})
_USER, _CHANNEL, _ROLE, _MENTIONABLE, _FILE = 6, 7, 8, 9, 11
"""Types of an option (…#application-command-object-application-command-option-type)."""
_STRING_MENU, _FILES = 3, 19
_MENUS = {5: _USER, 6: _ROLE, 7: _MENTIONABLE, 8: _CHANNEL, _FILES: _FILE}
"""Types of components whose values are ids, with the type of an option that has such values."""
_OWN_OPTION = "text"
_PERSON = re.compile(r"<@!?(\d+)>")


class DiscordUses:
    """Converts interactions for one account."""

    def __init__(self, inbound: DiscordInbound) -> None:
        self._inbound = inbound

    def convert_click(self, interaction: Json, place: CachedChannel) -> DiscordClick:
        """Convert a click on a choice or the stop button, or a menu choice. Raises Malformed.

        The label is read from the message in the event, so it is known after a restart too.
        """
        person, member = _read_user(interaction), get_object(interaction, "member")
        pressed, data = get_object(interaction, "message"), get_object(interaction, "data")
        number, token = snowflake(interaction, "id"), get_string(interaction, "token")
        name = get_string(data, "custom_id")
        label = pressed_label(pressed, name) or self._read_choice(interaction, place)
        if not label or not person or person.get("bot"):
            return DiscordClick(number, token, None)
        question = snowflake(pressed, "id")
        origin = self._inbound.build_origin(
            {"id": question, "member": member, "locale": interaction.get("locale")}, place, person, question
        )
        text, chosen = ("/stop", False) if name == STOP else (label, True)
        return DiscordClick(
            number, token, InboundMessage(number, origin, text, snowflake_time(number), clicked=chosen)
        )

    def convert_use(self, interaction: Json, place: CachedChannel) -> InboundMessage | None:
        """Convert a use of one of the bot's commands, or a form, to a written message. Raises Malformed."""
        author, data = _read_user(interaction), get_object(interaction, "data")
        kind = get_int(interaction, "type")
        if not author or kind not in (COMMAND, FORM) or not (kind == FORM or get_string(data, "name")):
            return None
        words = _Words(self._names(interaction, place), data)
        number = snowflake(interaction, "id")
        built = InboundMessage(
            event_id=number,
            origin=self._inbound.build_origin(interaction, place, author),
            text=words.read_form() if kind == FORM else words.read_command(),
            sent_at=snowflake_time(number),
            mentions=tuple(words.mentions),
        )
        return self._add_target(built, data, place, words.names)

    def _add_target(
        self, built: InboundMessage, data: Json, place: CachedChannel, names: MessageNames
    ) -> InboundMessage:
        """Return the message with the command's target message and its files."""
        targets = get_object(get_object(data, "resolved"), "messages")
        number = get_string(data, "target_id")
        if get_int(data, "type") != ON_MESSAGE or number not in targets:
            return built
        try:
            target = get_object(targets, number)
            quotation = quote(QuotationKind.SHARED, target, names)
            files = read_attachments(target, f"{place.id}/{snowflake(target, 'id')}")
        except Malformed as problem:
            return replace(built, quotations=(mark_unreadable(QuotationKind.SHARED, problem),))
        return replace(built, quotations=(quotation,), attachments=files)

    def _read_choice(self, interaction: Json, place: CachedChannel) -> str:
        """Return the choice from the message's menu, or "" if there is no such menu. Raises Malformed."""
        data = get_object(interaction, "data")
        menu = find_component(get_object(interaction, "message"), get_string(data, "custom_id"))
        kind, values = get_int(menu, "type"), get_strings(data, "values")
        if kind == _STRING_MENU:
            labels = {
                get_string(one, "value"): get_string(one, "label") for one in get_objects(menu, "options")
            }
            return ", ".join(filter(None, (labels.get(value, "") for value in values)))
        words = _Words(self._names(interaction, place), data)
        return ", ".join(words.name(_MENUS[kind], value) for value in values) if kind in _MENUS else ""

    def _names(self, interaction: Json, place: CachedChannel) -> MessageNames:
        data = get_object(interaction, "data")
        return self._inbound.names_in({**interaction, "resolved": data.get("resolved")}, place)


class _Words:
    """Builds an interaction's text from its data; `mentions` are the entities mentioned in it."""

    def __init__(self, names: MessageNames, data: Json) -> None:
        self.names = names
        self.mentions: dict[Mention, None] = {}
        self._data = data

    def read_command(self) -> str:
        """Return a command as a person would write it, or the name of a command for a message or a person."""
        name, kind = get_string(self._data, "name"), get_int(self._data, "type", 1)
        if kind == ON_MESSAGE:
            return name
        if kind == ON_PERSON:
            return f"{name} {self.name(_USER, get_string(self._data, 'target_id'))}"
        return " ".join([f"/{name}", *filter(None, self._read_options(self._data))])

    def read_form(self) -> str:
        """Return a form's values, each with its field's id."""
        return "\n".join(
            f"{get_string(field, 'custom_id')}: {', '.join(self._read_field(field))}"
            for row in get_objects(self._data, "components")
            for field in (get_object(row, "component"), *get_objects(row, "components"))
            if field.get("custom_id")
        )

    def name(self, kind: int, value: str) -> str:
        """Return the name for an id in an option or a menu."""
        if kind == _FILE:
            file = get_object(get_object(get_object(self._data, "resolved"), "attachments"), value)
            return file_name(file) if file else "file"
        if kind == _CHANNEL:
            return self._mention(MentionKind.CHANNEL, self.names.channel(value), value, f"#{NOWHERE}")
        role = self.names.role(value) if kind in (_ROLE, _MENTIONABLE) else ""
        if role or kind == _ROLE:
            return self._mention(MentionKind.ROLE, role, value, f"@{NO_ROLE}")
        return self._mention(MentionKind.PERSON, self.names.person(value), value, f"@{NOBODY}")

    def _mention(self, kind: MentionKind, name: str, number: str, unknown: str) -> str:
        if not name:
            return unknown
        self.mentions[Mention(kind, name, number)] = None
        return f"{'#' if kind is MentionKind.CHANNEL else '@'}{name}"

    def _read_options(self, parent: Json) -> list[str]:
        found: list[str] = []
        for option in get_objects(parent, "options"):
            name, kind, value = get_string(option, "name"), get_int(option, "type"), _read_value(option)
            if kind in _NESTED:
                found += [name, *self._read_options(option)]
            elif kind in (_USER, _CHANNEL, _ROLE, _MENTIONABLE, _FILE):
                found.append(f"{name}: {self.name(kind, value)}")
            elif name == _OWN_OPTION:
                found.append(_PERSON.sub(self._name_person, value))
            else:
                found.append(f"{name}: {value}")
        return found

    def _name_person(self, found: re.Match[str]) -> str:
        """Return a person's mention in text, or their id if the name is unknown."""
        number = found[1]
        return self._mention(MentionKind.PERSON, self.names.person(number) or number, number, "")

    def _read_field(self, field: Json) -> list[str]:
        kind = get_int(field, "type")
        values = get_strings(field, "values")
        if kind in _MENUS:
            return [self.name(_MENUS[kind], value) for value in values]
        return values or [_read_value(field)]


def _read_value(parent: Json) -> str:
    """Return the value of an option or field, which may be a number or boolean."""
    value = parent.get("value")
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else get_string(parent, "value")


def _read_user(interaction: Json) -> Json:
    """Return an interaction's person. Raises Malformed."""
    return get_object(get_object(interaction, "member"), "user") or get_object(interaction, "user")
