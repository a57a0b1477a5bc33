"""`/memory`: show, export and delete the agent's memory of a person or group."""

from __future__ import annotations

import orjson

from agent.shared.memory_document import MemoryDocument
from bot.access import Permission
from bot.commands.registry import Invocation, Result
from bot.domain import ChatKind, person_of
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.store.audit import AuditEvent, author_of, record_event

SHOW, FORGET, EXPORT = "show", "forget", "export"


async def memory(call: Invocation) -> Result:
    """Show, export or delete the memory of this person (in a group, of the group)."""
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
