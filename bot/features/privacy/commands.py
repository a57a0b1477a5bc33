"""`/data`: show the retention of a chat, and export or erase the data of a person."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePath

from bot.commands.registry import AnswerFile, Button, Command, Invocation, Result
from bot.domain import ChatKind, person_of
from bot.features.privacy.data_export import export_person
from bot.features.privacy.deletion_job import DeletionJob
from bot.features.privacy.erasures import find_last_erasure
from bot.features.privacy.person_erasure import ErasureReport
from bot.store.audit import author_of
from bot.store.person_data import PersonKey
from bot.texts import Texts

EXPORT, ERASE, SURE = "export", "erase", "yes"
FILENAME = "roebot-data.json"
LARGEST_EXPORT = 5_000_000
"""Maximum size of an export that is sent into a chat (characters)."""


def is_data_argument(rest: str) -> bool:
    """Return True if the text after the command's name is one of its arguments."""
    return rest.lower().split() in ([], [EXPORT], [ERASE], [ERASE, SURE])


async def data(call: Invocation) -> Result:
    """Show the retention of this chat, or export or erase the data of the caller."""
    texts = call.texts
    words = [word.lower() for word in call.words]
    if not words:
        return Result("\n\n".join(filter(None, [_describe_retention(call), await _describe_last(call)])))
    if call.turn.address.chat_kind is not ChatKind.PRIVATE:
        return Result(texts("data_private"))
    if words == [EXPORT]:
        return await _export(call)
    if words == [ERASE]:
        sure = Button(texts("button_erase"), f"data {ERASE} {SURE}")
        return Result(texts("data_sure"), buttons=(sure,))
    if words == [ERASE, SURE]:
        return await _erase(call)
    return Result(texts("data_how"))


async def _export(call: Invocation) -> Result:
    found = await export_person(call.core, _caller(call), author_of(call.turn))
    if len(found) > LARGEST_EXPORT:
        return Result(call.texts("data_too_large", megabytes=len(found) / 1_000_000))
    return Result(call.texts("data_exported"), documents=(AnswerFile(FILENAME, found.decode()),))


def _describe_retention(call: Invocation) -> str:
    days = call.core.config.kept_days(call.turn.address.account)
    return call.texts("data_kept", days=days) if days else call.texts("data_kept_for_ever")


async def _describe_last(call: Invocation) -> str:
    """Return a line about the caller's last erasure in a private chat, or "" if there is none."""
    if call.turn.address.chat_kind is not ChatKind.PRIVATE:
        return ""
    last = await call.core.db.transact(find_last_erasure, _caller(call))
    if last is None:
        return ""
    at = datetime.fromtimestamp(last.finished_at or last.requested_at, UTC).strftime("%Y-%m-%d %H:%M")
    return call.texts("data_last_done" if last.finished_at else "data_last_open", at=at)


async def _erase(call: Invocation) -> Result:
    done = await call.core.part(DeletionJob).erase_person(_caller(call), author_of(call.turn))
    return Result("\n\n".join(_describe_erasure(call.texts, done)))


def _describe_erasure(texts: Texts, done: ErasureReport) -> list[str]:
    counts = done.counts
    shared = counts.get("shared_threads", 0)
    copies = [f"`{PurePath(path).name}`" for path, _ in done.copies]
    separator = texts("list_separator")
    waiting = done.open_messages - 1  # without this command, which is erased once it is answered
    return [
        texts("data_erased", messages=counts.get("messages", 0), threads=counts.get("deleted_threads", 0)),
        *([texts("data_shared", threads=shared)] if shared else []),
        texts(
            "data_details",
            quotations=counts.get("quotations", 0),
            schedules=counts.get("schedules", 0),
            files=counts.get("files", 0),
            audit=counts.get("audit_events", 0),
        ),
        *([texts("data_open", messages=waiting)] if waiting > 0 else []),
        *([texts("data_remembers")] if done.problem else []),
        *([texts("data_unsupported", places=separator.join(done.unsupported))] if done.unsupported else []),
        *([texts("data_copies", copies=separator.join(copies))] if copies else []),
        texts("data_stays"),
    ]


def _caller(call: Invocation) -> PersonKey:
    return PersonKey.of(person_of(call.turn.platform, call.turn.messages[-1].sender))


DATA = Command("data", data, argument="[export/erase]", matches_word=is_data_argument, private=True)
