"""People in the store, and the interface to their stored data for erasure, export and retention.

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
    """A person on a platform, identified by the platform's id."""

    platform: str
    id: str

    def __str__(self) -> str:
        return f"{self.platform}:{self.id}"

    @classmethod
    def of(cls, text: str) -> PersonKey:
        """Parse `platform:id`."""
        platform, _, id_ = text.partition(":")
        return cls(platform, id_)

    def is_written_by(self, sender: Sender) -> bool:
        """Return whether a sender is this person, also in the web console."""
        return sender.key in (self.id, str(self))

    @property
    def mark(self) -> str:
        """Return the `LIKE :mark` pattern for columns that may quote or mention the person."""
        return f"%{orjson.dumps(self.id).decode()}%"

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the statement parameters that match the person's messages."""
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
    """A chat, identified by its account and the platform's id."""

    account: str
    chat: str


@dataclass(frozen=True, slots=True)
class StoredWords:
    """Columns of a stored message that can name or quote people."""

    sender: str
    text: str
    quotations: str
    mentions: str

    @property
    def columns(self) -> dict[str, str]:
        """Return the columns that an erasure can change."""
        return {"text": self.text, "quotations": self.quotations, "mentions": self.mentions}


def list_made_texts(quotations: str) -> list[str]:
    """Return texts derived from a message's own attachments, such as voice transcripts."""
    return [one.text for one in decode_quotations(quotations) if one.kind in MADE_KINDS]


def list_quoted_texts(quotations: str, person: PersonKey) -> list[tuple[str, str]]:
    """Return the person's texts quoted in a message, each with the displayed name."""
    return [(one.text, one.author) for one in decode_quotations(quotations) if one.author_id == person.id]


def is_quoted_or_mentioned(person: PersonKey, quotations: str, mentions: str) -> bool:
    """Return whether a message quotes or mentions the person."""
    return any(one.author_id == person.id for one in decode_quotations(quotations)) or any(
        one.id == person.id for one in decode_mentions(mentions)
    )


class PersonData:
    """Access to a feature's data about people. Every method does nothing unless overridden, and is
    repeatable: an interrupted erasure starts over.
    """

    def find_chats(self, connection: Connection, person: PersonKey) -> Iterable[ChatKey]:
        """Return the chats with stored messages that are from the person, or quote or mention them."""
        return ()

    def list_texts(
        self, connection: Connection, person: PersonKey, chat: ChatKey
    ) -> Iterable[tuple[str, str]]:
        """Return each stored text of the person in a chat, including quotations by others, with the displayed
        name.
        """
        return ()

    def mask_messages(
        self, connection: Connection, chat: ChatKey, mask: Callable[[StoredWords], StoredWords]
    ) -> None:
        """Replace the content of each stored message in a chat by the result of `mask`."""

    def move_chat(self, connection: Connection, account: str, old: str, new: str) -> None:
        """Assign the new id to the data of a chat."""

    def erase(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, int]:
        """Erase the person's data, and return the counts for the report by category."""
        return {}

    def export(self, connection: Connection, person: PersonKey, now: float) -> Mapping[str, Any]:
        """Return the stored data about the person, as JSON by its name in the exported document. Times under
        a key that ends in `at` become ISO 8601.
        """
        return {}

    def delete_turns(self, connection: Connection, turns: Sequence[int]) -> None:
        """Delete the stored data of closed turns whose texts have expired."""

    def delete_chat(self, connection: Connection, chat: ChatKey) -> None:
        """Delete the stored data of a chat whose conversation is deleted."""

    def purge(self, connection: Connection, now: float) -> None:
        """Delete expired data. Called every few hours."""

    def list_copies(self, home: Path) -> Sequence[tuple[str, float]]:
        """Return path and time (s since the epoch) of each copy of the data directory, oldest first. Erasures
        do not affect copies. Blocking.
        """
        return ()
