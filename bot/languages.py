"""Languages of the service's texts, chosen by the person, else for the chat, else for the account."""

from __future__ import annotations

from collections.abc import Mapping

from bot.store import Database
from bot.store.languages import list_languages, set_language


class Languages:
    """Chosen languages, in memory because every text needs them. Call `load_languages` first."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._chosen: Mapping[str, str] = {}

    async def load_languages(self) -> None:
        """Reload the choices from the store."""
        self._chosen = await self._db.transact(list_languages)

    def get(self, entry: str) -> str:
        """Return the language chosen for a person or a chat, or "" if there is none."""
        return self._chosen.get(entry, "")

    def find(self, person: str, chat: str) -> str:
        """Return the language of a person (`platform:id`), else of a chat (`account:id`), or "" if neither
        has one.
        """
        return self.get(person) or self.get(chat)

    async def set_language(self, entry: str, language: str) -> None:
        """Choose a language for a person or a chat; "" returns to the default."""
        await self._db.transact(set_language, entry, language)
        await self.load_languages()
