"""`/data` and `/memory`: show, export and delete what is stored about people and groups."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import PurePath

import orjson

from agent.shared.memory_document import MemoryDocument
from bot.access import Permission
from bot.commands.registry import AnswerFile, Button, Invocation, Result
from bot.domain import ChatKind, person_of
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.privacy.data_export import export_person, memory_scopes
from bot.privacy.person_erasure import ErasureReport
from bot.store.audit import AuditEvent, author_of, record_event
from bot.store.erasures import find_last_erasure
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
    core, person = call.core, _caller(call)
    now = core.clock.now()
    found = await export_person(core.db, core.runtime, person, _scopes(call, person), now)
    await core.db.transact(record_event, author_of(call.turn), AuditEvent("data exported", str(person)), now)
    if len(found) > LARGEST_EXPORT:
        return Result(call.texts("data_too_large", megabytes=len(found) / 1_000_000))
    return Result(call.texts("data_exported"), documents=(AnswerFile(FILENAME, found.decode()),))


def _describe_retention(call: Invocation) -> str:
    days = call.account.retention_days
    return call.texts("data_kept", days=days) if days else call.texts("data_kept_for_ever")


async def _describe_last(call: Invocation) -> str:
    """Return a line about the caller's last erasure in a private chat, "" if there is none."""
    if call.turn.address.chat_kind is not ChatKind.PRIVATE:
        return ""
    last = await call.core.db.transact(find_last_erasure, _caller(call))
    if last is None:
        return ""
    at = datetime.fromtimestamp(last.finished_at or last.requested_at, UTC).strftime("%Y-%m-%d %H:%M")
    return call.texts("data_last_done" if last.finished_at else "data_last_open", at=at)


async def _erase(call: Invocation) -> Result:
    services, person = call.services, _caller(call)
    done = await services.retention.erase_person(person, _scopes(call, person), author_of(call.turn))
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


def _scopes(call: Invocation, person: PersonKey) -> list[str]:
    states = call.core.accounts.states()
    return memory_scopes(
        person, [name for name, (platform, _) in states.items() if platform == person.platform]
    )


SHOW, FORGET, EXPORT = "show", "forget", "export"


async def memory(call: Invocation) -> Result:
    """Show the memory of this person (in a group, of the group), export it or delete from it."""
    action = call.words[0].lower() if call.words else SHOW
    fact = call.words[1].strip("`") if len(call.words) > 1 else ""
    try:
        text = await _run_action(call, action, fact)
    except RuntimeRefused:
        text = call.texts("memory_none")
    except RuntimeProblem:
        text = call.texts("memory_unreachable")
    return Result(text)


async def _run_action(call: Invocation, action: str, fact: str) -> str:
    if action == FORGET:
        return await _forget(call, fact)
    if action not in {SHOW, EXPORT} or fact:
        return call.texts("memory_usage")
    found = await call.core.runtime.management.get_memory(scope_of(call))
    if action == SHOW:
        return _format_memory(call, found)
    return f"```json\n{orjson.dumps(found.model_dump(), option=orjson.OPT_INDENT_2).decode()}\n```"


async def _forget(call: Invocation, fact: str) -> str:
    if _in_group(call) and not call.may(Permission.GROUP_MEMORY):
        return call.texts("memory_admins")
    memories, scope = call.core.runtime.management, scope_of(call)
    if not fact:
        await memories.delete_memory(scope)
    elif fact in {one.id for one in (await memories.get_memory(scope)).facts}:
        await memories.delete_fact(fact, scope)
    else:
        return call.texts("memory_no_fact")
    event = AuditEvent("memory forgotten", scope_of(call), fact)
    await call.core.db.transact(record_event, author_of(call.turn), event, call.core.clock.now())
    if fact:
        return call.texts("memory_fact_gone")
    return call.texts("memory_gone_group" if _in_group(call) else "memory_gone")


def scope_of(call: Invocation) -> str:
    """Return the memory scope of a chat: the person in private, the group in a group."""
    address, sender = call.turn.address, call.turn.messages[0].sender
    if _in_group(call):
        return f"group:{address.account}:{address.chat}"
    return f"person:{sender.account or address.account}:{person_of(call.turn.platform, sender)}"


def _in_group(call: Invocation) -> bool:
    return call.turn.address.chat_kind is ChatKind.GROUP


def _format_memory(call: Invocation, found: MemoryDocument) -> str:
    texts, group = call.texts, _in_group(call)
    if found.is_empty:
        return texts("memory_empty_group" if group else "memory_empty")
    lines = [f"- {one.summary}" for _, one in found.list_summaries() if one.summary]
    lines += [f"- {fact.content} `{fact.id}`" for fact in found.facts]
    title = texts("memory_title_group" if group else "memory_title")
    return "\n".join([title, "", *lines, "", texts("memory_hint")])
