"""Names needed by a message: mentions by placeholder, people and groups by id."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress

from bot.domain import Mention, MentionKind
from bot.platforms.payload import Json, Malformed, get_object, get_string, require_string

EVERYONE = "@_all"
"""The placeholder of a mention of everybody in the group."""
_PLACEHOLDER = re.compile(rf"@_user_\d+|{EVERYONE}")
SOMEBODY = "somebody"


class FeishuNames:
    """Names of people and groups by id. Unknown ids are collected, so that they can be looked up and the
    message be read again.
    """

    def __init__(
        self, people: Mapping[str, str] | None = None, groups: Mapping[str, str] | None = None
    ) -> None:
        self._people = people or {}
        self._groups = groups or {}
        self.missing_people: dict[str, None] = {}
        self.missing_groups: dict[str, None] = {}

    def find_person(self, open_id: str) -> str:
        """Return the name of a person, or "" if it is not known."""
        if open_id and open_id not in self._people:
            self.missing_people[open_id] = None
        return self._people.get(open_id, "")

    def find_group(self, chat: str) -> str:
        """Return the name of a group, or "" if it is not known."""
        if chat and chat not in self._groups:
            self.missing_groups[chat] = None
        return self._groups.get(chat, "")


class FeishuMentions:
    """A message's placeholders (`@_user_1`) and their owners. `named`: the bot is among them; `listed` are
    the others.
    """

    def __init__(self, message: Json, bot: str, names: FeishuNames) -> None:
        self.named = False
        self._known = names
        self._names: dict[str, str] = {}
        self._listed: dict[Mention, None] = {}
        listed = message.get("mentions")
        for mention in listed if isinstance(listed, list) else ():
            # The text is used unchanged if one of its mentions can't be read.
            with suppress(Malformed):
                self._add(mention if isinstance(mention, dict) else {}, bot)
        self.listed = tuple(self._listed)
        others = (key for key in self._names if not _PLACEHOLDER.fullmatch(key))
        keys = sorted(others, key=len, reverse=True)
        choices = "|".join([*map(re.escape, keys), _PLACEHOLDER.pattern])
        self._pattern = re.compile(f"({choices})( ?)")

    def _add(self, mention: Json, bot: str) -> None:
        key = require_string(mention, "key")
        plain = mention.get("id")
        open_id = plain if isinstance(plain, str) else get_string(get_object(mention, "id"), "open_id")
        name = get_string(mention, "name") or SOMEBODY
        if key == EVERYONE:
            self._names[key] = "@all"
        elif open_id == bot:
            self.named, self._names[key] = True, ""
        else:
            self._names[key] = f"@{name}"
            if open_id:
                self._listed[Mention(MentionKind.PERSON, name, open_id)] = None

    def resolve(self, text: str) -> str:
        """Replace placeholders by names, and remove the bot's own."""
        return self._pattern.sub(self._replace, text).strip()

    def _replace(self, found: re.Match[str]) -> str:
        name = self.find(found[1])
        return f"{name}{found[2]}" if name else ""

    def find(self, key: str, shown: str = "") -> str:
        """Return the text for a mention, by its placeholder or an id; "" for the bot's own. `shown` is its
        name in the message.
        """
        if key in self._names:
            return self._names[key]
        if key in (EVERYONE, "all"):
            return "@all"
        known = shown or ("" if key.startswith("@") else self._known.find_person(key))
        return f"@{known or SOMEBODY}"
