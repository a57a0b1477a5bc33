"""Whether a group message means the bot, and its text without the bot's name. Offsets count UTF-16 units."""

from __future__ import annotations

from dataclasses import dataclass

from bot.platforms.payload import Json, require_int, get_objects, get_object, get_string


@dataclass(frozen=True, slots=True)
class TelegramIdentity:
    """Who the bot is."""

    id: int
    username: str

    @property
    def tag(self) -> str:
        """How people mention it, in lower case."""
        return f"@{self.username}".casefold()


@dataclass(frozen=True, slots=True)
class TelegramText:
    """A text as it was meant, without the bot's name.

    `named` says that the name stood there, `command` that a command starts the text, `other` that this
    command is another bot's.
    """

    text: str
    named: bool = False
    command: bool = False
    other: bool = False


def read_text(message: Json, identity: TelegramIdentity) -> TelegramText:
    """The text or caption of a message. Raises Malformed."""
    key, entity_key = ("text", "entities") if "text" in message else ("caption", "caption_entities")
    text = get_string(message, key)
    entities = get_objects(message, entity_key)
    if not entities:
        return TelegramText(text)
    return _EntityReader(text, identity).read(entities)


class _EntityReader:
    def __init__(self, text: str, identity: TelegramIdentity) -> None:
        self._units = text.encode("utf-16-le")
        self._identity = identity
        self._cuts: list[tuple[int, int]] = []
        self._named = self._command = self._other = False

    def read(self, entities: list[Json]) -> TelegramText:
        for entity in entities:
            self._read_entity(entity)
        text = self._join_rest()
        return TelegramText(text, self._named, self._command, self._other)

    def _read_entity(self, entity: Json) -> None:
        kind = get_string(entity, "type")
        start, end = require_int(entity, "offset"), require_int(entity, "offset") + require_int(entity, "length")
        if not 0 <= start < end <= len(self._units) // 2:
            return
        if kind == "bot_command":
            self._read_command(start, end)
        elif self._is_own_mention(kind, entity, start, end):
            self._cut_mention(start, end)

    def _is_own_mention(self, kind: str, entity: Json, start: int, end: int) -> bool:
        if kind == "mention":
            return self._slice_text(start, end).casefold() == self._identity.tag
        return kind == "text_mention" and get_object(entity, "user").get("id") == self._identity.id

    def _read_command(self, start: int, end: int) -> None:
        if start != 0 and not self._named:
            return
        self._command = True
        name, _, tag = self._slice_text(start, end).partition("@")
        if not tag:
            return
        if f"@{tag}".casefold() == self._identity.tag:
            self._cut_mention(start + len(name), end)
        else:
            self._other = True

    def _cut_mention(self, start: int, end: int) -> None:
        self._named = True
        self._cuts.append((start, end))

    def _slice_text(self, start: int, end: int) -> str:
        return self._units[start * 2 : end * 2].decode("utf-16-le", "replace")

    def _join_rest(self) -> str:
        kept, at = "", 0
        for start, end in sorted(self._cuts):
            before = self._slice_text(at, start)
            kept += before
            at = end
            while (not kept or kept[-1].isspace()) and self._slice_text(at, at + 1) in (" ", ",", ":"):
                at += 1
        kept += self._slice_text(at, len(self._units) // 2)
        return kept.strip() if self._cuts else kept
