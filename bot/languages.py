"""Languages of the service's texts.

In this order: the person's choice, the chat's, the language of the person's app or words, the account's.
"""

from __future__ import annotations

import re
from dataclasses import replace

from bot.domain import InboundEvent, InboundMessage
from bot.store import Database
from bot.store.languages import list_languages, reported_entry, set_language
from bot.texts import find_language

_CHINESE = re.compile(r"(?:/\w+\s+)?[^\w]*[\u3400-\u9fff]")
"""A text whose first letter, after a command if there is one, is a Chinese character."""
_OTHER_SCRIPTS = re.compile(r"[\u3040-\u30ff\uac00-\ud7af]")
"""Kana and Hangul, which only Japanese and Korean texts contain."""


class Languages:
    """Languages of people and chats, in memory because every text needs them. Call `load_languages` first."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._known: dict[str, str] = {}

    async def load_languages(self) -> None:
        """Reload the languages from the store."""
        self._known = dict(await self._db.transact(list_languages))

    def get(self, entry: str) -> str:
        """Return the language chosen for a person or a chat, or "" if there is none."""
        return self._known.get(entry, "")

    def find(self, person: str, chat: str, locale: str = "") -> str:
        """Return the language for a person (`platform:id`) in a chat (`account:id`), or "" if unknown.

        `locale` is that of their message ("": use the one reported last).
        """
        reported = find_language(locale) or self.get(reported_entry(person))
        return self.get(person) or self.get(chat) or reported

    async def set_language(self, entry: str, language: str) -> None:
        """Choose a language for a person or a chat; "" returns to the default."""
        await self._db.transact(set_language, entry, language)
        self._known[entry] = language

    async def note_locale(self, person: str, locale: str, default: str) -> None:
        """Store the language of a person's message if it is available and new; `default` is not stored."""
        entry, language = reported_entry(person), find_language(locale)
        if language and language != (self.get(entry) or default):
            await self.set_language(entry, language)


def add_locale(event: InboundEvent) -> InboundEvent:
    """Return a message with the language of its words, if the platform reports no locale for its author."""
    if not isinstance(event, InboundMessage) or event.clicked or event.origin.sender.locale:
        return event
    if not _CHINESE.match(event.text) or _OTHER_SCRIPTS.search(event.text):
        return event
    sender = replace(event.origin.sender, locale="zh")
    return replace(event, origin=replace(event.origin, sender=sender))
