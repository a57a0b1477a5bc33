"""Languages of the service's texts, chosen by people for themselves or a chat, or reported by a platform."""

from __future__ import annotations

from collections.abc import Mapping

from bot.store.connection import Connection, sql

LIST_LANGUAGES = sql("SELECT entry, language FROM languages")
# Set the language of a person or a chat.
SAVE_LANGUAGE = sql(
    """INSERT INTO languages (entry, language) VALUES (:entry, :language)
    ON CONFLICT (entry) DO UPDATE SET language = excluded.language"""
)
DELETE_LANGUAGE = sql("DELETE FROM languages WHERE entry = :entry")


def reported_entry(person: str) -> str:
    """Return the entry of the language that a platform reports for a person; no account has such a name."""
    return f"~{person}"


def list_languages(connection: Connection) -> Mapping[str, str]:
    """Return the languages by entry: `platform:id` of a person, `account:chat`, or `reported_entry`."""
    return {row.entry: row.language for row in connection.execute(LIST_LANGUAGES).all()}


def set_language(connection: Connection, entry: str, language: str) -> None:
    """Set the language of an entry; "" removes it."""
    if language:
        connection.execute(SAVE_LANGUAGE, {"entry": entry, "language": language})
    else:
        connection.execute(DELETE_LANGUAGE, {"entry": entry})
