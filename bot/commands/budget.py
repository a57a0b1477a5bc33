"""`/budget`: limits for a person or a chat, set by admins in the chat."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.access import Role
from bot.commands.escaping import quoted
from bot.commands.registry import Invocation, Result
from bot.commands.targets import account_of, entry_of, home_of, twin
from bot.config import AccessEntry
from bot.store.audit import author_of
from bot.store.budgets import EntryBudget
from bot.texts import Texts

OFF, DEFAULT = "off", "default"
_LIMIT = re.compile(r"(?P<number>\d{1,9})(?P<thousands>k?)(?P<hourly>/(?:h|hour))?", re.IGNORECASE)
MOST_SHOWN = 50


async def budget(call: Invocation) -> Result:
    """Set a limit, or list the limits that were set."""
    if not call.words:
        return Result(_list_limits(call))
    entry = entry_of(call, call.words[0], home_of(call))
    if isinstance(entry, Result):
        return entry
    if entry.kind:
        return Result(call.texts("budget_kind", who=entry))
    return Result(await _apply_limits(call, entry))


async def _apply_limits(call: Invocation, entry: AccessEntry) -> str:
    """Apply the limits in the command and return those now in force for the entry."""
    texts, budgets, words = call.texts, call.core.budgets, " ".join(call.words[1:])
    known = next(
        (one for one in budgets.list_granted() if one.entry == str(entry)),
        EntryBudget(str(entry), None, None),
    )
    if not words:
        return texts("budget_is", who=entry, limits=_format_limits(texts, known))
    wanted = _parse_limit(known, words.lower().removesuffix("tokens").strip())
    if wanted is None:
        return texts("budget_how", word=quoted(words))
    if _owns(call, entry):
        return texts("budget_owner", who=entry)
    author = author_of(call.turn)
    given = replace(wanted, by=author.person)
    await budgets.set_limit(given, author, call.core.clock.now())
    return texts("budget_is", who=entry, limits=_format_limits(texts, given))


def _owns(call: Invocation, entry: AccessEntry) -> bool:
    """Return True if the entry is an owner here, by configuration or by a granted role."""
    people = call.core.people
    given = (people.get(one) for one in (entry, twin(call, entry)))
    return Role.OWNER in (call.core.policy(account_of(call)).configured_role_of_entry(entry), *given)


def _parse_limit(known: EntryBudget, word: str) -> EntryBudget | None:
    if word == OFF:
        return replace(known, messages=0, tokens=0)
    if word == DEFAULT:
        return replace(known, messages=None, tokens=None)
    match = _LIMIT.fullmatch(word)
    if match is None or not int(match["number"]):
        return None
    number = int(match["number"]) * (1000 if match["thousands"] else 1)
    return replace(known, messages=number) if match["hourly"] else replace(known, tokens=number)


def _list_limits(call: Invocation) -> str:
    given = call.core.budgets.list_granted()
    if not given:
        return call.texts("budget_none")
    lines = [
        call.texts("budget_line", who=one.entry, limits=_format_limits(call.texts, one), by=quoted(one.by))
        for one in given[:MOST_SHOWN]
    ]
    return "\n".join([call.texts("budget_title"), "", *(f"- {line}" for line in lines)])


def _format_limits(texts: Texts, one: EntryBudget) -> str:
    told = []
    for key, value in (("messages", one.messages), ("tokens", one.tokens)):
        if value is None:
            told.append(texts(f"budget_{key}_default"))
        else:
            told.append(texts(f"budget_{key}_most", most=value) if value else texts(f"budget_{key}_free"))
    return texts("list_separator").join(told)
