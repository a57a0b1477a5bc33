"""`/approve`, `/reject` and `/approved`: approval buttons as commands, and the standing approvals."""

from __future__ import annotations

import math

from bot.access import Permission
from bot.commands.escaping import quoted, quoted_person
from bot.commands.registry import Command, Invocation, Result, number_in
from bot.domain import ChatKind
from bot.store.approval_rules import DAY, MOST_DAYS, refusal_of
from bot.store.audit import author_of
from bot.store.interrupts import Decision, DecisionOutcome, DecisionWord, decide_approval
from bot.store.tool_grants import ToolGrant, list_tool_grants, revoke_tool_grant

_REFUSALS = {
    DecisionOutcome.NONE: "approval_none",
    DecisionOutcome.SEVERAL: "approval_several",
    DecisionOutcome.SENIOR: "approval_senior",
    DecisionOutcome.HERE_ADMINS: "approval_here_admins",
    DecisionOutcome.ONCE: "approval_once",
}
_WORDS = {"once": DecisionWord.ONCE, "here": DecisionWord.HERE, "always": DecisionWord.ALWAYS}
FORGET = "forget"


async def approve(call: Invocation) -> Result:
    """Approve the pending tool call, optionally also later calls of the same tool."""
    words = [word.lower() for word in call.words]
    given = _parse_word(words[-1]) if words else None
    return await _decide(call, words[:-1] if given else words, given or Decision(DecisionWord.ONCE))


async def reject(call: Invocation) -> Result:
    """Reject the pending tool call."""
    return await _decide(call, call.words, Decision(DecisionWord.NO))


async def approved(call: Invocation) -> Result:
    """List the tools that need no approval here, or require approval for one again."""
    texts, core, turn = call.texts, call.core, call.turn
    now = core.clock.now()
    found = await core.db.transact(list_tool_grants, turn.address.account, turn.conversation, now)
    if not call.words:
        return Result(_format_grants(call, found, now))
    number = number_in(call.words[1:])
    if call.words[0].lower() != FORGET or not number:
        return Result(texts("approved_how"))
    one = next((one for one in found if one.id == number), None)
    if one is None:
        return Result(texts("approved_unknown"))
    in_group = turn.address.chat_kind is ChatKind.GROUP
    own = bool(one.conversation) and one.person == author_of(turn).person
    if not own and (in_group or not one.conversation) and not call.may(Permission.WITHDRAW):
        return Result(texts("approved_admins"))
    await core.db.transact(revoke_tool_grant, number, author_of(turn), now)
    return Result(texts("approved_gone", tool=quoted(one.tool)))


def _parse_word(word: str) -> Decision | None:
    """Parse `once`, `here`, `here:DAYS` or `always`; None for anything else."""
    name, limited, rest = word.partition(":")
    known = _WORDS.get(name)
    if known is None or not limited:
        return Decision(known) if known else None
    is_number = rest.isascii() and rest.isdecimal() and len(rest) <= len(str(MOST_DAYS))
    days = int(rest) if is_number else 0
    return Decision(known, days) if days and known is DecisionWord.HERE else None


async def _decide(call: Invocation, words: tuple[str, ...] | list[str], given: Decision) -> Result:
    services, number = call.services, number_in(words)
    if words and (not number or len(words) > 1):
        return Result(call.texts("approval_code_wrong", command=call.name))
    decided, conversation = await call.core.db.transact(
        decide_approval,
        call.turn,
        number,
        call.core.clock.now(),
        given,
        is_admin=call.may(Permission.DECIDE),
        rules=call.account.approvals_for(call.origin),
    )
    if decided is not DecisionOutcome.DONE:
        return Result(call.texts(_refusal(call, decided), command=call.name))
    services.runs.wake_conversation(conversation)
    return Result("", composed=True)


def _refusal(call: Invocation, decided: DecisionOutcome) -> str:
    """Return the key of the text about a decision that did not count."""
    if decided is not DecisionOutcome.FOREIGN:
        return _REFUSALS[decided]
    return refusal_of(call.account.approvals_for(call.origin).approvers((), call.turn.address.topic))


def _format_grants(call: Invocation, found: list[ToolGrant], now: float) -> str:
    texts = call.texts
    if not found:
        return texts("approved_none")
    lines = [
        texts(
            "approved_here" if one.conversation else "approved_always",
            number=one.id,
            tool=quoted(one.tool),
            who=quoted_person(one.person, one.name),
            days=math.ceil((one.ends_at - now) / DAY),
        )
        for one in found
    ]
    return "\n".join(
        [texts("approved_title"), "", *(f"- {line}" for line in lines), "", texts("approved_how")]
    )


COMMANDS = (
    Command("approve", approve, argument="[NUMBER] [here[:DAYS]/always]", with_slash=True, numbered=True),
    Command("reject", reject, argument="[NUMBER]", with_slash=True, numbered=True),
    Command("approved", approved, argument="[forget NUMBER]", with_slash=True),
)
