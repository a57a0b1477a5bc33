"""`/data`: retention, export and erasure of the caller's data."""

from __future__ import annotations

from bot.commands.registry import AnswerFile, Invocation, Result
from bot.domain import ChatKind, person_of
from bot.privacy.data_export import export_person, memory_scopes
from bot.store.audit import AuditEvent, author_of, record_event
from bot.store.retention import PersonKey

EXPORT, ERASE, SURE = "export", "erase", "yes"
FILENAME = "roebot-data.json"
LARGEST_EXPORT = 5_000_000
"""Characters of an export that is sent into a chat."""


def is_data_argument(rest: str) -> bool:
    """Return True if the text after the command's name is one of its arguments."""
    return rest.lower().split() in ([], [EXPORT], [ERASE], [ERASE, SURE])


async def data(call: Invocation) -> Result:
    """Show the retention of this chat, or export or erase the data of the caller."""
    texts = call.texts
    words = [word.lower() for word in call.words]
    if not words:
        days = call.account.retention_days
        return Result(texts("data_kept", days=days) if days else texts("data_kept_for_ever"))
    if call.turn.address.chat_kind is not ChatKind.PRIVATE:
        return Result(texts("data_private"))
    if words == [EXPORT]:
        return await _export(call)
    if words == [ERASE]:
        return Result(texts("data_sure"))
    if words == [ERASE, SURE]:
        return await _erase(call)
    return Result(texts("data_how"))


async def _export(call: Invocation) -> Result:
    core, person = call.core, _caller(call)
    now = core.clock.now()
    found = await export_person(core.db, core.runtime, person, _scopes(call, person), now)
    await core.db.run(record_event, author_of(call.turn), AuditEvent("data exported", str(person)), now)
    if len(found) > LARGEST_EXPORT:
        return Result(call.texts("data_too_large", megabytes=len(found) / 1_000_000))
    return Result(call.texts("data_exported"), documents=(AnswerFile(FILENAME, found.decode()),))


async def _erase(call: Invocation) -> Result:
    services, texts, person = call.services, call.texts, _caller(call)
    done = await services.retention.erase_person(person, _scopes(call, person))
    await call.core.db.run(
        record_event, author_of(call.turn), AuditEvent("data erased", str(person)), call.core.clock.now()
    )
    lines = [
        texts("data_erased", messages=done.erased.messages, threads=len(done.erased.gone)),
        *([texts("data_shared", threads=len(done.erased.shared))] if done.erased.shared else []),
        *([texts("data_open", messages=done.open_)] if done.open_ else []),
        *([texts("data_remembers")] if done.remembers else []),
        texts("data_stays"),
    ]
    return Result("\n\n".join(lines))


def _caller(call: Invocation) -> PersonKey:
    return PersonKey.of(person_of(call.turn.platform, call.turn.messages[-1].sender))


def _scopes(call: Invocation, person: PersonKey) -> list[str]:
    states = call.core.accounts.states()
    return memory_scopes(
        person, [name for name, (platform, _) in states.items() if platform == person.platform]
    )
