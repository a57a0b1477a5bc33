"""Texts with entities in the agent's format: links, code and quotations as Markdown, names in place of ids.

Bold and the like say nothing that the words don't, and stay out. The bot's own mention is removed.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime

from bot.domain import Mention, MentionKind
from bot.platforms.payload import (
    Json,
    Malformed,
    get_objects,
    get_string,
    require_int,
    require_object,
)
from bot.platforms.telegram.names import read_id, user_name

MAX_DATE = 253_402_300_799
"""The last second of the year 9999, the last one that `datetime` knows (s since the epoch)."""


@dataclass(frozen=True, slots=True)
class TelegramIdentity:
    """The bot's own id and username."""

    id: int
    username: str

    @property
    def tag(self) -> str:
        """Return the bot's mention in lower case."""
        return f"@{self.username}".casefold()

    def is_mentioned(self, text: str, user: Json) -> bool:
        """Return whether a mention refers to the bot: by `text`, such as `@roebot_bot`, or by a `User`."""
        return user.get("id") == self.id or (bool(self.username) and text.casefold() == self.tag)


NOBODY = TelegramIdentity(0, "")
"""Identity for reading texts of others, which address nobody."""


@dataclass(frozen=True, slots=True)
class TelegramReceivedText:
    """A text without the bot's name.

    `named`: the bot was mentioned; `command`: the text starts with a command; `other`: that command is
    addressed to another bot, and this one is not mentioned. `mentions` are the people whom the text names.
    """

    text: str
    named: bool = False
    command: bool = False
    other: bool = False
    mentions: tuple[Mention, ...] = ()


def read_text(message: Json, identity: TelegramIdentity = NOBODY) -> TelegramReceivedText:
    """Read a message's text or caption, without the bot's name. Raises Malformed."""
    key, entity_key = ("text", "entities") if "text" in message else ("caption", "caption_entities")
    return read_formatted(message, key, entity_key, identity)


def read_formatted(
    parent: Json, key: str, entity_key: str, identity: TelegramIdentity = NOBODY
) -> TelegramReceivedText:
    """Read a text and its entities; those that violate the documentation are ignored. Raises Malformed if
    the text does.
    """
    text = get_string(parent, key)
    try:
        entities = get_objects(parent, entity_key)
    except Malformed:
        entities = []
    return _EntityReader(text, identity).read(entities) if entities else TelegramReceivedText(text)


def format_date(at: int) -> str:
    """Format a time (s since the epoch) for the agent, or return "" for an invalid time."""
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M} UTC" if 0 < at <= MAX_DATE else ""


def mention_user(user: Json, shown: str) -> Mention:
    """Return the mention of a `User`; `shown` is the text of a mention that has no name of its own."""
    return Mention(MentionKind.PERSON, user_name(user) or shown, read_id(user))


def mention_username(text: str) -> Mention:
    """Return the mention of a username such as `@ada`, which the Bot API can't resolve to an id and which is
    its own address.
    """
    return Mention(MentionKind.PERSON, text.removeprefix("@"), text)


class _EntityReader:
    """Applies the entities of one text; offsets count UTF-16 units."""

    def __init__(self, text: str, identity: TelegramIdentity) -> None:
        self._text = text
        self._units = text.encode("utf-16-le")
        self._identity = identity
        self._opening: defaultdict[int, list[str]] = defaultdict(list)
        self._closing: defaultdict[int, list[str]] = defaultdict(list)
        self._removed: set[int] = set()
        self._cuts: set[int] = set()
        self._mentions: dict[Mention, None] = {}
        self._named = self._command = False
        self._other: tuple[int, int] | None = None

    def read(self, entities: list[Json]) -> TelegramReceivedText:
        for entity in entities:
            try:
                self._read_entity(entity)
            except Malformed:
                continue
        if self._other is not None and self._named:
            # As code, another bot's command is not taken for one of this bot.
            self._wrap(*self._other, "`", "`")
        text = self._join()
        other = self._other is not None and not self._named
        return TelegramReceivedText(text, self._named, self._command, other, tuple(self._mentions))

    def _read_entity(self, entity: Json) -> None:
        kind, start = get_string(entity, "type"), require_int(entity, "offset")
        end = start + require_int(entity, "length")
        if not 0 <= start < end <= len(self._units) // 2:
            return
        if kind == "bot_command":
            self._read_command(start, end)
        elif kind in ("mention", "text_mention"):
            self._read_mention(kind, entity, start, end)
        elif kind in ("blockquote", "expandable_blockquote"):
            self._read_quotation(start, end)
        else:
            before, after = self._find_marks(kind, entity, start, end)
            self._wrap(start, end, before, after)

    def _find_marks(self, kind: str, entity: Json, start: int, end: int) -> tuple[str, str]:
        """Return the Markdown before and after the text of an entity."""
        inner = self._slice_text(start, end)
        if kind == "text_link":
            url = get_string(entity, "url")
            return ("[", f"]({url})") if url and url != inner else ("", "")
        if kind == "code":
            mark = "``" if "`" in inner else "`"
            return mark, mark
        if kind == "pre":
            fence = "~~~" if "```" in inner else "```"
            first, last = self._slice_text(start - 1, start), self._slice_text(end, end + 1)
            language = get_string(entity, "language")
            before = f"{'' if first in ('', chr(10)) else chr(10)}{fence}{language}\n"
            return before, f"\n{fence}{'' if last in ('', chr(10)) else chr(10)}"
        if kind == "strikethrough":
            return "~~", "~~"
        date = format_date(require_int(entity, "unix_time")) if kind == "date_time" else ""
        return "", f" ({date})" if date else ""

    def _read_mention(self, kind: str, entity: Json, start: int, end: int) -> None:
        shown = self._slice_text(start, end)
        user = require_object(entity, "user") if kind == "text_mention" else {}
        if self._identity.is_mentioned(shown if kind == "mention" else "", user):
            self._cut_mention(start, end)
            return
        mention = mention_user(user, shown) if user else mention_username(shown)
        self._mentions[mention] = None
        if user:
            self._removed.update(range(start, end))
            self._opening[start].append(f"@{mention.name}")

    def _read_quotation(self, start: int, end: int) -> None:
        quoted = self._slice_text(start, end).encode("utf-16-le")
        breaks = [at for at in range(len(quoted) // 2) if quoted[2 * at : 2 * at + 2] == b"\n\0"]
        for at in (start, *(start + at + 1 for at in breaks if start + at + 1 < end)):
            self._opening[at].insert(0, "> ")
        if self._slice_text(end, end + 1) == "\n":
            self._closing[end].append("\n")

    def _read_command(self, start: int, end: int) -> None:
        before = (self._slice_text(at, at + 1) for at in range(start) if at not in self._removed)
        if any(one.strip(" ,:\n") for one in before):
            return
        self._command = True
        name, _, tag = self._slice_text(start, end).partition("@")
        if not tag:
            return
        if f"@{tag}".casefold() == self._identity.tag:
            self._cut_mention(start + len(name), end)
        else:
            self._other = (start, end)

    def _cut_mention(self, start: int, end: int) -> None:
        self._named = True
        self._removed.update(range(start, end))
        self._cuts.add(end)

    def _wrap(self, start: int, end: int, before: str, after: str) -> None:
        """Put marks around a text. Entities come outermost first, and are closed in reverse order."""
        if before:
            self._opening[start].append(before)
        if after:
            self._closing[end].insert(0, after)

    def _slice_text(self, start: int, end: int) -> str:
        return self._units[max(start, 0) * 2 : end * 2].decode("utf-16-le", "replace")

    def _join(self) -> str:
        """Return the text with the marks. Of the spaces and commas around the bot's mention, those before it
        are kept.
        """
        parts: list[str] = []
        at, is_cut = 0, False
        for character in self._text:
            parts += self._closing[at] + self._opening[at]
            is_cut = is_cut or at in self._cuts
            if at not in self._removed:
                at_word = not parts or parts[-1][-1:].isspace()
                is_cut = is_cut and at_word and character in " ,:"
                if not is_cut:
                    parts.append(character)
            at += 2 if character > "\uffff" else 1
        text = "".join(parts) + "".join(self._closing[at])
        return text.strip() if self._cuts else text
