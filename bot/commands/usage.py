"""`/usage`: token usage of the caller and the conversation; in private chats, admins see everybody's."""

from __future__ import annotations

from collections.abc import Mapping

from bot.access import Permission
from bot.commands.escaping import quoted_person
from bot.commands.registry import Invocation, Result
from bot.domain import ChatKind, turn_author
from bot.store.budgets import measure_limits
from bot.store.usage import PersonTotals, TurnUsage, UsageSum, list_top_usage, load_last_usage, sum_usage
from bot.texts import Texts

DAY = 24 * 3600.0
PERIODS: Mapping[str, float] = {"usage_day": DAY, "usage_week": 7 * DAY, "usage_month": 30 * DAY}
"""Back from now, since days begin at other times for other people. The last one is the longest."""
MOST_PEOPLE = 10


async def usage(call: Invocation) -> Result:
    """Show token usage of the last turn, the caller, the conversation and everybody."""
    texts, db, here = call.texts, call.core.db, call.turn.conversation
    last = await db.run(load_last_usage, here)
    sections = [texts("usage_title"), *([texts("usage_last", **_token_counts(last))] if last else [])]
    sections += await _usage_section(call, "usage_you", person=turn_author(call.turn))
    sections += await _usage_section(call, "usage_here", conversation=here)
    sections += await _limit_section(call)
    if call.may(Permission.USAGE):
        is_private = call.turn.address.chat_kind is ChatKind.PRIVATE
        sections += await _total_sections(call) if is_private else [texts("usage_private")]
    return Result("\n\n".join(sections))


async def _limit_section(call: Invocation) -> list[str]:
    """Return the caller's limits here, with the used share."""
    texts, core = call.texts, call.core
    lines = [
        texts(
            f"usage_budget_{one.limit.what}",
            used=one.used,
            most=one.limit.most,
            of=texts(f"usage_of_{one.limit.of}"),
        )
        for one in await core.db.run(measure_limits, call.limits, core.clock.now())
    ]
    return [texts("usage_budget"), "\n".join(f"- {line}" for line in lines)] if lines else []


async def _total_sections(call: Invocation) -> list[str]:
    since = call.core.clock.now() - PERIODS["usage_month"]
    people = await call.core.db.run(list_top_usage, since, MOST_PEOPLE)
    listed = "\n".join(f"- {_person_line(call.texts, one)}" for one in people)
    return [
        *await _usage_section(call, "usage_all"),
        *([call.texts("usage_people"), listed] if people else []),
    ]


async def _usage_section(
    call: Invocation, title: str, *, person: str | None = None, conversation: int | None = None
) -> list[str]:
    """Format a title and the usage per period, or a line that says there was none."""
    texts, db, now = call.texts, call.core.db, call.core.clock.now()
    found = {
        name: await db.run(sum_usage, now - seconds, person=person, conversation=conversation)
        for name, seconds in PERIODS.items()
    }
    if not found["usage_month"].turns:
        return [texts(title), texts("usage_none")]
    lines = [f"- {_usage_line(texts, texts(name), spent)}" for name, spent in found.items()]
    return [texts(title), "\n".join(lines)]


def _person_line(texts: Texts, one: PersonTotals) -> str:
    return _usage_line(texts, quoted_person(one.person, one.name), one.spending)


def _usage_line(texts: Texts, what: str, spent: UsageSum) -> str:
    return texts("usage_line", what=what, turns=spent.turns, **_token_counts(spent))


def _token_counts(of: UsageSum | TurnUsage) -> dict[str, int]:
    return {"total": of.total_tokens, "input": of.input_tokens, "output": of.output_tokens}
