"""People as the store knows them, and what a feature stores about them: for erasure, export and retention.

Erasure masks quotations of a person in what others wrote, erases what they wrote themselves, and replaces
the agent threads of every chat in which they took part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from bot.domain import MADE_KINDS, Sender
from bot.store.connection import Connection, decode_mentions, decode_quotations

MASK = "[erased]"
"""Replacement for what an erased person said, and for their name."""


@dataclass(frozen=True, slots=True)
class PersonKey:
    """A person on a platform, by the platform's own id."""

    platform: str
    id: str

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    @classmethod
    def of(cls, text: str) -> PersonKey:
        """Return the person of `platform:id`."""
        platform, _, id_ = text.partition(":")
        return cls(platform, id_)

    def is_written_by(self, sender: Sender) -> bool:
        """Return whether this is the person of a sender, also in the web console."""
        return sender.key in (self.id, str(self))

    @property
    def mark(self) -> str:
        """Return the pattern (`LIKE :mark`) of the columns that can quote or mention the person."""
        return f"%{orjson.dumps(self.id).decode()}%"

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters that match the person's messages."""
        prefix, linked = (f"[{orjson.dumps(one).decode()}," for one in (self.id, str(self)))
        lengths = {"length": len(prefix), "linked_length": len(linked)}
        return {"platform": self.platform, "prefix": prefix, "linked": linked, **lengths}


PLATFORM_ACCOUNTS = "(SELECT account FROM conversations WHERE platform = :platform)"
WEB_ACCOUNTS = "(SELECT account FROM conversations WHERE platform = 'web')"
# Matches a person's messages: `:prefix` starts the sender column on their platform, `:linked` in the web
# console.
WRITTEN_BY = (
    f"(i.account IN {PLATFORM_ACCOUNTS} AND substr(i.sender, 1, :length) = :prefix"
    f" OR i.account IN {WEB_ACCOUNTS} AND substr(i.sender, 1, :linked_length) = :linked)"
)


@dataclass(frozen=True, slots=True)
class ChatKey:
    """A chat by its account and the platform's id."""

    account: str
    chat: str


@dataclass(frozen=True, slots=True)
class StoredWords:
    """Columns of a stored message, which can name or quote people."""

    sender: str
    text: str
    quotations: str
    mentions: str

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns that an erasure can change."""
        return {"text": self.text, "quotations": self.quotations, "mentions": self.mentions}


def list_made_texts(quotations: str) -> list[str]:
    """Return the texts of content that the author of a message made, such as their spoken words."""
    return [one.text for one in decode_quotations(quotations) if one.kind in MADE_KINDS]


def list_quoted_texts(quotations: str, person: PersonKey) -> list[tuple[str, str]]:
    """Return the texts of the person that a message quotes, with the display name shown."""
    return [(one.text, one.author) for one in decode_quotations(quotations) if one.author_id == person.id]


def is_quoted_or_mentioned(person: PersonKey, quotations: str, mentions: str) -> bool:
    """Return whether a message quotes or mentions the person."""
    return any(one.author_id == person.id for one in decode_quotations(quotations)) or any(
        one.id == person.id for one in decode_mentions(mentions)
    )


class PersonData:
    """What a feature stores about people. Each method does nothing unless it is overridden, and can be
    repeated: an interrupted erasure starts over.
    """

    def find_chats(self, connection: Connection, person: PersonKey) -> Iterable[ChatKey]:
        """Return the chats where stored messages are from the person, or quote or mention them."""
        return ()

    def list_texts(
        self, connection: Connection, person: PersonKey, chat: ChatKey
    ) -> Iterable[tuple[str, str]]:
        """Return each text of the person that is stored for a chat, also where others quote it, with the
        display name shown.
        """
        return ()

    def mask_messages(
        self, connection: Connection, chat: ChatKey, mask: Callable[[StoredWords], StoredWords]
    ) -> None:
        """Replace the content of each stored message of a chat by what `mask` returns for it."""

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        """Erase the person, and return the numbers for the report by what is counted."""
        return {}

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        """Return what is stored about the person, as JSON by its name in the exported document. Times under
        a key that ends in `at` become ISO 8601.
        """
        return {}

    def delete_turns(self, connection: Connection, turns: Sequence[int]) -> None:
        """Delete what is stored of closed turns, whose texts have expired."""

    def purge(self, connection: Connection, now: float) -> None:
        """Delete what has expired. This is called every few hours."""

    def list_copies(self, home: Path) -> Sequence[tuple[str, float]]:
        """Return path and time (s since the epoch) of each copy of the data directory, oldest first. No
        erasure reaches them. Blocking.
        """
        return ()
