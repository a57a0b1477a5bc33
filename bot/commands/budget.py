"""`/budget`: how much somebody or a chat may use, decided by admins in the chat."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.access import Role
from bot.commands.naming import entry_of
from bot.commands.quoting import quoted
from bot.commands.registry import Invocation, Result
from bot.store.audit import author_of
from bot.store.budgets import Budget
from bot.texts import Texts

OFF, DEFAULT = "off", "default"
_LIMIT = re.compile(r"(?P<number>\d{1,9})(?P<thousands>k?)(?P<hourly>/(?:h|hour))?", re.IGNORECASE)
MOST_SHOWN = 50


async def budget(call: Invocation) -> Result:
    """Give somebody a budget, or list those that were given."""
    texts, budgets = call.texts, call.services.budgets
    if not call.words:
        return Result(_listed(call))
    entry = entry_of(call, call.words[0])
    if isinstance(entry, Result):
        return entry
    known = next((one for one in budgets.given() if one.entry == str(entry)), Budget(str(entry), None, None))
    if len(call.words) == 1:
        return Result(texts("budget_is", who=entry, limits=_limits(texts, known)))
    wanted = _wanted(known, " ".join(call.words[1:]).lower().removesuffix("tokens").strip())
    if wanted is None:
        return Result(texts("budget_how", word=quoted(" ".join(call.words[1:]))))
    if call.services.policy(call.turn.address.account).named(entry) >= Role.OWNER:
        return Result(texts("budget_owner", who=entry))
    author = author_of(call.turn)
    given = replace(wanted, by=author.person)
    await budgets.give(given, author, call.services.clock.now())
    return Result(texts("budget_is", who=entry, limits=_limits(texts, given)))


def _wanted(known: Budget, word: str) -> Budget | None:
    if word == OFF:
        return replace(known, messages=0, tokens=0)
    if word == DEFAULT:
        return replace(known, messages=None, tokens=None)
    match = _LIMIT.fullmatch(word)
    if match is None or not int(match["number"]):
        return None
    number = int(match["number"]) * (1000 if match["thousands"] else 1)
    return replace(known, messages=number) if match["hourly"] else replace(known, tokens=number)


def _listed(call: Invocation) -> str:
    given = call.services.budgets.given()
    if not given:
        return call.texts("budget_none")
    lines = [
        call.texts("budget_line", who=one.entry, limits=_limits(call.texts, one), by=quoted(one.by))
        for one in given[:MOST_SHOWN]
    ]
    return "\n".join([call.texts("budget_title"), "", *(f"- {line}" for line in lines)])


def _limits(texts: Texts, one: Budget) -> str:
    told = []
    for key, value in (("messages", one.messages), ("tokens", one.tokens)):
        if value is None:
            told.append(texts(f"budget_{key}_default"))
        else:
            told.append(texts(f"budget_{key}_most", most=value) if value else texts(f"budget_{key}_free"))
    return ", ".join(told)
