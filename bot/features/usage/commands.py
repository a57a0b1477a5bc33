"""`/usage` and `/budget`: token usage, and the limits that admins set in the chat."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from bot.access import Permission, Role, Target
from bot.commands.escaping import quoted, quoted_person
from bot.commands.registry import Command, Invocation, Result
from bot.commands.targets import account_of, entry_of, home_of, reaches, twin
from bot.commands.token_usage import usage_fields
from bot.config import AccessEntry
from bot.domain import ChatKind
from bot.features.usage.budget_checks import EntryBudget, measure_limits
from bot.features.usage.budgets import Budgets
from bot.features.usage.usage_store import PersonTotals, list_top_usage, load_last_usage, sum_usage
from bot.store.audit import author_of
from bot.store.connection import Accounts
from bot.store.usage import UsageSum
from bot.texts import Texts
from bot.turn import turn_author

DAY = 24 * 3600.0
PERIODS: Mapping[str, float] = {"usage_day": DAY, "usage_week": 7 * DAY, "usage_month": 30 * DAY}
"""Periods that end now (s), since days begin at different times around the world; the longest is last."""
MOST_PEOPLE = 10


async def usage(call: Invocation) -> Result:
    """Show token usage of the last turn, the caller, the conversation and everyone."""
    texts, db, here = call.texts, call.core.db, call.turn.conversation
    last = await db.transact(load_last_usage, here)
    sections = [texts("usage_title"), *([texts("usage_last", **usage_fields(texts, last))] if last else [])]
    sections += await _usage_section(call, "usage_you", person=turn_author(call.turn))
    sections += await _usage_section(call, "usage_here", conversation=here)
    sections += await _limit_section(call)
    if call.may(Permission.USAGE, Target(call.caller.home.account)):
        is_private = call.turn.address.chat_kind is ChatKind.PRIVATE
        sections += await _total_sections(call) if is_private else [texts("usage_private")]
    return Result("\n\n".join(sections))


async def _limit_section(call: Invocation) -> list[str]:
    """Return the caller's limits here, with the percentage used."""
    texts, core = call.texts, call.core
    limits = core.part(Budgets).list_limits(call.origin, call.role, texts)
    lines = [
        texts(
            f"usage_budget_{one.limit.what}",
            used=one.used,
            most=one.limit.most,
            of=texts(f"usage_of_{one.limit.of}"),
        )
        for one in await core.db.transact(measure_limits, limits, core.clock.now())
    ]
    return [texts("usage_budget"), "\n".join(f"- {line}" for line in lines)] if lines else []


async def _total_sections(call: Invocation) -> list[str]:
    since = call.core.clock.now() - PERIODS["usage_month"]
    accounts = call.core.permissions.accounts_with(call.caller, Permission.USAGE)
    people = await call.core.db.transact(list_top_usage, since, MOST_PEOPLE, accounts)
    listed = "\n".join(f"- {_person_line(call.texts, one)}" for one in people)
    return [
        *await _usage_section(call, "usage_all" if accounts is None else "usage_accounts", accounts=accounts),
        *([call.texts("usage_people"), listed] if people else []),
    ]


async def _usage_section(
    call: Invocation,
    title: str,
    *,
    person: str | None = None,
    conversation: int | None = None,
    accounts: Accounts = None,
) -> list[str]:
    """Format a title and the usage per period, or a line that reports no usage."""
    texts, db, now = call.texts, call.core.db, call.core.clock.now()
    found = {
        name: await db.transact(
            sum_usage, now - seconds, person=person, conversation=conversation, accounts=accounts
        )
        for name, seconds in PERIODS.items()
    }
    if not found["usage_month"].turns:
        return [texts(title), texts("usage_none")]
    lines = [f"- {_usage_line(texts, texts(name), spent)}" for name, spent in found.items()]
    return [texts(title), "\n".join(lines)]


def _person_line(texts: Texts, one: PersonTotals) -> str:
    return _usage_line(texts, quoted_person(one.person, one.name), one.spending)


def _usage_line(texts: Texts, what: str, spent: UsageSum) -> str:
    return texts("usage_line", what=what, turns=spent.turns, **usage_fields(texts, spent))


OFF, DEFAULT = "off", "default"
_LIMIT = re.compile(r"(?P<number>\d{1,9})(?P<thousands>k?)(?P<hourly>/(?:h|hour))?", re.IGNORECASE)
MOST_SHOWN = 50


async def budget(call: Invocation) -> Result:
    """Set a limit, or list the granted limits."""
    if not call.words:
        return Result(_list_limits(call))
    wide = call.may(Permission.LIMIT, Target(home_of(call)))
    entry = entry_of(call, call.words[0], home_of(call) if wide else account_of(call))
    if isinstance(entry, Result):
        return entry
    if entry.kind:
        return Result(call.texts("budget_kind", who=entry))
    if not reaches(call, entry, Permission.LIMIT):
        return Result(call.texts("role_beyond", who=entry, account=account_of(call)))
    return Result(await _apply_limits(call, entry))


async def _apply_limits(call: Invocation, entry: AccessEntry) -> str:
    """Apply the limits in the command and return the entry's resulting limits."""
    texts, budgets, words = call.texts, call.core.part(Budgets), " ".join(call.words[1:])
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
    limits = replace(wanted, by=author.person)
    await budgets.set_limit(limits, author, call.core.clock.now())
    return texts("budget_is", who=entry, limits=_format_limits(texts, limits))


def _owns(call: Invocation, entry: AccessEntry) -> bool:
    """Return whether the entry is an owner here, by configuration or by a granted role."""
    people = call.core.people
    granted = (people.get(one) for one in (entry, twin(call, entry)))
    return Role.OWNER in (call.core.policy(account_of(call)).configured_role_of_entry(entry), *granted)


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
    granted = [
        one
        for one in call.core.part(Budgets).list_granted()
        if call.may(Permission.LIMIT, Target(one.entry.partition(":")[0]))
    ]
    if not granted:
        return call.texts("budget_none")
    lines = [
        call.texts("budget_line", who=one.entry, limits=_format_limits(call.texts, one), by=quoted(one.by))
        for one in granted[:MOST_SHOWN]
    ]
    return "\n".join([call.texts("budget_title"), "", *(f"- {line}" for line in lines)])


def _format_limits(texts: Texts, one: EntryBudget) -> str:
    parts = []
    for key, value in (("messages", one.messages), ("tokens", one.tokens)):
        if value is None:
            parts.append(texts(f"budget_{key}_default"))
        else:
            parts.append(texts(f"budget_{key}_most", most=value) if value else texts(f"budget_{key}_free"))
    return texts("list_separator").join(parts)


USAGE = Command("usage", usage, private=True)
BUDGET = Command(
    "budget",
    budget,
    argument="[WHO] [LIMIT]",
    most_words=3,
    permission=Permission.LIMIT,
    private=True,
    takes_person=True,
)
