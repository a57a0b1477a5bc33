"""Names in texts, in place of the ids of people, channels, roles, commands, emoji and times.

Source: docs.discord.com/developers/reference#message-formatting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from bot.core.recent_values import RecentValues
from bot.domain import Mention, MentionKind
from bot.platforms.discord.channel_cache import PRIVATE_THREAD, CachedChannel, ChannelCache
from bot.platforms.discord.snowflake import optional_snowflake, snowflake
from bot.platforms.discord.times import format_time
from bot.platforms.payload import Json, Malformed, get_object, get_objects, get_string

MAX_PEOPLE, MAX_CHANNELS, MAX_MESSAGES = 4096, 1024, 64
LONGEST_NAME = 100
"""Characters of a name; Discord allows fewer."""
FORWARD = 1
"""Type of a reference (docs.discord.com/developers/resources/message#message-reference-types)."""
NOBODY, NOWHERE, NO_ROLE = "unknown-user", "unknown", "unknown-role"
"""Names of what can't be found, as Discord's clients show it."""
MENTIONED = re.compile(r"<@!?(?P<person>\d{1,20})>|<@&(?P<role>\d{1,20})>|<#(?P<channel>\d{1,20})>")
_PAGES = {
    "browse": "Browse Channels",
    "customize": "Channels & Roles",
    "guide": "Server Guide",
    "linked-roles": "Linked Roles",
}
_MARKED = re.compile(
    r"(?<!`)(?P<ticks>`++).+?(?<!`)(?P=ticks)(?!`)"
    rf"|{MENTIONED.pattern}"
    r"|<a?:(?P<emoji>\w{1,32}):\d{1,20}>"
    r"|<t:(?P<time>-?\d{1,13})(?::\w)?>"
    r"|</(?P<command>[^:<>\n]{1,100}):\d{1,20}>"
    rf"|<id:(?P<page>{'|'.join(_PAGES)})>",
    re.DOTALL,
)
"""Code, which stays as it is, and whatever has a meaning of its own outside code."""


@dataclass(frozen=True, slots=True)
class DiscordIdentity:
    """The bot's own id and name."""

    id: str
    name: str


class ReadableText(NamedTuple):
    """A text without ids, and its mentions other than the bot. `names_bot`: it mentions the bot."""

    text: str
    mentions: tuple[Mention, ...]
    names_bot: bool


class KnownNames:
    """Known people, channels and messages, in addition to those in `places`; of bounded size.

    Nicknames are learned from what people write, since the list of members is a privileged intent.
    """

    def __init__(self, bot: DiscordIdentity, places: ChannelCache) -> None:
        self.bot = bot
        self.places = places
        self.channels: RecentValues[CachedChannel] = RecentValues(MAX_CHANNELS)
        self.messages: RecentValues[Json] = RecentValues(MAX_MESSAGES)
        self._people: RecentValues[str] = RecentValues(MAX_PEOPLE)

    def put_person(self, guild: str, user: Json, member: Json) -> str:
        """Store the name of a person in a server and return it. Raises Malformed."""
        name = one_line(get_string(member, "nick") or account_name(user))
        if name:
            self._people.put(f"{guild}/{snowflake(user, 'id')}", name)
        return name

    def find_person(self, guild: str, user: str) -> str:
        """Return the name of a person in a server ("" if unknown)."""
        return self._people.get(f"{guild}/{user}") or ""

    def find_channel(self, channel: str) -> CachedChannel | None:
        """Return a channel, or None if it is unknown."""
        return self.places.get(channel) or self.channels.get(channel)

    def learn(self, message: Json, guild: str) -> None:
        """Store the names of a message's author and of mentioned people. Raises Malformed."""
        author, member = get_object(message, "author"), get_object(message, "member")
        if guild and member and author:
            self.put_person(guild, author, member)
        for user in get_objects(message, "mentions"):
            if guild and user.get("member") is not None:
                self.put_person(guild, user, get_object(user, "member"))


class MessageNames:
    """Names for the ids in a message or interaction, including contained messages.

    Channels of other servers and private threads have no name here, except for the thread that the message
    is in: not everybody in the chat can see them.
    """

    def __init__(self, known: KnownNames, place: CachedChannel, message: Json) -> None:
        self._known = known
        self._guild = place.guild
        self._here = place.id
        self._people: dict[str, str] = {}
        self._channels: dict[str, str] = {}
        self._roles: dict[str, str] = {}
        for one in contained_messages(message):
            with suppress(Malformed):  # it is named where it is read
                self._collect(one)

    def name_of(self, user: Json) -> str:
        """Return an account's name: nickname, display name or user name. Raises Malformed."""
        number = get_string(user, "id")
        return self._known.find_person(self._guild, number) or one_line(account_name(user))

    def person(self, number: str) -> str:
        """Return a person's name by their id ("" if unknown)."""
        return self._known.find_person(self._guild, number) or self._people.get(number, "")

    def channel(self, number: str) -> str:
        """Return a channel's name by its id ("" if unknown)."""
        place = self._known.find_channel(number)
        if place is None or place.guild != self._guild or self._is_hidden(place):
            return one_line(self._channels.get(number, ""))
        return one_line(self._channels.get(number, "") or place.name)

    def _is_hidden(self, place: CachedChannel) -> bool:
        return place.type == PRIVATE_THREAD and place.id != self._here

    def role(self, number: str) -> str:
        """Return a role's name by its id ("" if unknown)."""
        return one_line(self._roles.get(number, "") or self._known.places.find_role(self._guild, number))

    def read(self, text: str) -> str:
        """Return another person's text with names in place of ids, including the bot's."""
        return self._replace(text, f"@{self._known.bot.name}").text

    def read_own(self, text: str) -> ReadableText:
        """Return the author's own text without ids and without the bot's name."""
        found = self._replace(text, "")
        return found._replace(text=found.text.lstrip(" ,:\n").rstrip()) if found.names_bot else found

    def _replace(self, text: str, bot: str) -> ReadableText:
        if "<" not in text:
            return ReadableText(text, (), False)
        own_role = self._known.places.find_bot_role(self._guild)
        mentions: dict[Mention, None] = {}
        named: list[bool] = []

        def stand_in(found: re.Match[str]) -> str:
            if found["person"] == self._known.bot.id or (own_role and found["role"] == own_role):
                named.append(True)
                return bot
            mention = self._find_mention(found)
            if mention is not None and mention.name:
                mentions[mention] = None
            return _read_mention(mention) if mention is not None else _read_other(found)

        return ReadableText(_MARKED.sub(stand_in, text), tuple(mentions), bool(named))

    def _find_mention(self, found: re.Match[str]) -> Mention | None:
        if found["person"]:
            return Mention(MentionKind.PERSON, self.person(found["person"]), found["person"])
        if found["role"]:
            return Mention(MentionKind.ROLE, self.role(found["role"]), found["role"])
        if found["channel"]:
            return Mention(MentionKind.CHANNEL, self.channel(found["channel"]), found["channel"])
        return None

    def _collect(self, message: Json) -> None:
        """Read the names included in a message. Raises Malformed."""
        self._known.learn(message, self._guild)
        resolved = get_object(message, "resolved")
        members, users = get_object(resolved, "members"), get_object(resolved, "users")
        for user in (get_object(message, "author"), *get_objects(message, "mentions")):
            if user:
                nick = get_string(get_object(user, "member"), "nick")
                self._people[get_string(user, "id")] = one_line(nick or account_name(user))
        for number in users:
            nick = get_string(get_object(members, number), "nick")
            self._people[number] = one_line(nick or account_name(get_object(users, number)))
        for channel in get_objects(message, "mention_channels"):
            self._channels[get_string(channel, "id")] = get_string(channel, "name")
        for key, names in (("channels", self._channels), ("roles", self._roles)):
            found = get_object(resolved, key)
            names.update({number: get_string(get_object(found, number), "name") for number in found})


def contained_messages(message: Json) -> Iterator[Json]:
    """Yield a message and the messages in it: replied to, forwarded, or the target of a command.

    Unreadable ones are skipped.
    """
    yield message
    for read in (_list_inner, list_snapshots):
        try:
            inner = read(message)
        except Malformed:
            continue
        for one in inner:
            yield one
            with suppress(Malformed):
                yield from list_snapshots(one)


def list_snapshots(message: Json) -> list[Json]:
    """Return a message's forwarded messages, for which Discord omits the authors
    (docs.discord.com/developers/resources/message#message-snapshot-object). Raises Malformed.
    """
    return [get_object(one, "message") for one in get_objects(message, "message_snapshots")]


def is_forward(message: Json) -> bool:
    """Return whether a message only contains other messages; its reference is checked where it is read."""
    reference = message.get("message_reference")
    return isinstance(reference, dict) and reference.get("type") == FORWARD


def refers_to(message: Json, channel: str = "") -> str:
    """Return the id of the message that a message replies to or is about, "" if there is none, or none in
    `channel`. Raises Malformed.
    """
    reference = get_object(message, "message_reference")
    number = "" if is_forward(message) else optional_snowflake(reference, "message_id")
    return number if not channel or reference.get("channel_id") in (None, channel) else ""


def account_name(user: Json) -> str:
    """Return an account's display name or user name. Raises Malformed."""
    return get_string(user, "global_name") or get_string(user, "username")


def one_line(name: str) -> str:
    """Return a name as a single line of bounded length."""
    return " ".join(name.split())[:LONGEST_NAME]


def _list_inner(message: Json) -> list[Json]:
    targets = get_object(get_object(message, "resolved"), "messages")
    replied = get_object(message, "referenced_message")
    return [*([replied] if replied else []), *(get_object(targets, number) for number in targets)]


def _read_mention(mention: Mention) -> str:
    """Return the text for a mention; an entity without a name is displayed as in Discord's clients."""
    match mention.kind:
        case MentionKind.PERSON:
            return f"@{mention.name or NOBODY}"
        case MentionKind.ROLE:
            return mention.name if mention.name.startswith("@") else f"@{mention.name or NO_ROLE}"
        case MentionKind.CHANNEL:
            return f"#{mention.name or NOWHERE}"


def _read_other(found: re.Match[str]) -> str:
    """Return the text for an emoji, a time, a command or a server page; code is unchanged."""
    if found["emoji"]:
        return f":{found['emoji']}:"
    if found["time"]:
        try:
            return format_time(int(found["time"]))
        except Malformed:
            return found[0]
    if found["command"]:
        return f"/{found['command']}"
    return f"#{_PAGES[found['page']]}" if found["page"] else found[0]
