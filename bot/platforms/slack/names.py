"""Names of people, channels, user groups and apps that a payload mentions by id, and data known only by a
file's id or a transcript's address.

A payload is converted twice where names are missing: the first pass tells which ones (`SlackNames.missing`),
the directory looks them up, and the second pass finds them. The conversion itself makes no calls.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from bot.content import Card, CardLink, card_text, link_text, preview
from bot.domain import Mention, MentionKind, Quotation, QuotationKind
from bot.platforms.payload import Json, get_string

BOT_MARK = "\x00"
"""Placeholder for a mention of the bot while a text is read."""


class LookupKind(StrEnum):
    """Kind of an entity that a payload refers to by id."""

    PERSON = "person"
    CHANNEL = "channel"
    GROUP = "group"
    APP = "app"
    FILE = "file"
    TRANSCRIPT = "transcript"


@dataclass(frozen=True, slots=True)
class Lookup:
    """An entity known only by its id, in Slack's spelling (a transcript by its address)."""

    kind: LookupKind
    id: str


@dataclass(slots=True)
class SlackNames:
    """Known and missing data for reading a payload; `bot` and `bot_name` are the bot's own.

    `names` are without `@` and `#`, `files` as `files.info` describes them. `chat` is where the payload is
    from: other private channels have no name in it.
    """

    bot: str
    bot_name: str = ""
    names: Mapping[Lookup, str] = field(default_factory=dict)
    files: Mapping[str, Json] = field(default_factory=dict)
    missing: dict[Lookup, None] = field(default_factory=dict)
    chat: str = ""

    def find(self, kind: LookupKind, key: str) -> str:
        """Return a name, or "" if it is unknown."""
        wanted = Lookup(kind, key)
        if wanted not in self.names:
            self.missing[wanted] = None
        return self.names.get(wanted, "")

    def find_file(self, file_id: str) -> Json:
        """Return a file's description, or an empty one if unknown."""
        if file_id not in self.files:
            self.missing[Lookup(LookupKind.FILE, file_id)] = None
        return self.files.get(file_id, {})

    def find_person(self, user: str) -> str:
        """Return a person's name, or "" if it is unknown."""
        return self.bot_name if user == self.bot and self.bot_name else self.find(LookupKind.PERSON, user)

    def show_person(self, user: str, label: str = "") -> str:
        """Return a person's mention; an unknown name is replaced by the label or id."""
        return f"@{self.find_person(user) or label.lstrip('@') or user}"

    def show_channel(self, channel: str, label: str = "") -> str:
        """Return a mention of a channel."""
        name = label.lstrip("#") or self.find(LookupKind.CHANNEL, channel).lstrip("#")
        return f"#{name or channel}"

    def show_group(self, group: str, label: str = "") -> str:
        """Return a mention of a user group."""
        name = label.lstrip("@") or self.find(LookupKind.GROUP, group)
        return f"@{name or group}"

    def show_reference(self, element: Json) -> str:
        """Return a rich text reference to a message, file or object: its title with its address."""
        return link_text(CardLink(read_title(element), get_string(element, "url")))


@dataclass(slots=True)
class AuthorNames:
    """Like `SlackNames`, for the author's own text: it also records who is mentioned and whether the bot is.

    What a reference shows of something else becomes a quotation, since the author did not write it.

    `labels` are names by id that the payload brings itself.
    """

    names: SlackNames
    labels: Mapping[str, str] = field(default_factory=dict)
    mentions: dict[Mention, None] = field(default_factory=dict)
    quotations: list[Quotation] = field(default_factory=list)
    people: list[str] = field(default_factory=list)

    @property
    def named(self) -> bool:
        """Return whether the bot is mentioned."""
        return self.names.bot in self.people

    @property
    def other(self) -> bool:
        """Return whether another person is mentioned first."""
        return bool(self.people) and self.people[0] != self.names.bot

    def show_person(self, user: str, label: str = "") -> str:
        self.people.append(user)
        if user == self.names.bot:
            return BOT_MARK
        return self._mention(
            MentionKind.PERSON, self.names.show_person(user, label or self.labels.get(user, "")), user
        )

    def show_channel(self, channel: str, label: str = "") -> str:
        return self._mention(
            MentionKind.CHANNEL,
            self.names.show_channel(channel, label or self.labels.get(channel, "")),
            channel,
        )

    def show_group(self, group: str, label: str = "") -> str:
        return self._mention(
            MentionKind.ROLE, self.names.show_group(group, label or self.labels.get(group, "")), group
        )

    def show_reference(self, element: Json) -> str:
        url, title = get_string(element, "url"), read_title(element)
        if get_string(element, "type") == "message_mention":
            author = get_string(element, "author_id")
            name = self.names.find_person(author) if author else ""
            self.quotations.append(Quotation(QuotationKind.SHARED, title, name, author))
        elif card_text(Card(title=title, url=url)):
            self.quotations.append(preview(Card(title=title, url=url)))
        return url

    def _mention(self, kind: MentionKind, shown: str, key: str) -> str:
        self.mentions[Mention(kind, shown[1:], key)] = None
        return shown


Names = SlackNames | AuthorNames


def read_title(element: Json) -> str:
    """Return the title that Slack displays for a reference."""
    return get_string(element, "text") or get_string(element, "label")
