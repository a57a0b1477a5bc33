"""`/approve`, `/reject` and `/approved`: approval buttons as commands, and the standing approvals."""

from __future__ import annotations

from bot.access import Permission
from bot.commands.escaping import quoted, quoted_person
from bot.commands.registry import Invocation, Result, number_in
from bot.domain import ChatKind
from bot.store.audit import author_of
from bot.store.interrupts import (
    DecisionOutcome,
    DecisionWord,
    ToolGrant,
    decide_approval,
    list_tool_grants,
    revoke_tool_grant,
)

_REFUSALS = {
    DecisionOutcome.NONE: "approval_none",
    DecisionOutcome.SEVERAL: "approval_several",
    DecisionOutcome.FOREIGN: "approval_foreign",
    DecisionOutcome.SENIOR: "approval_senior",
    DecisionOutcome.ONCE: "approval_once",
}
_WORDS = {"once": DecisionWord.ONCE, "here": DecisionWord.HERE, "always": DecisionWord.ALWAYS}
FORGET = "forget"


async def approve(call: Invocation) -> Result:
    """Approve the pending tool call, optionally also later calls of the same tool."""
    words = [word.lower() for word in call.words]
    word = _WORDS.get(words[-1]) if words else None
    return await _decide(call, words[:-1] if word else words, word or DecisionWord.ONCE)


async def reject(call: Invocation) -> Result:
    """Reject the pending tool call."""
    return await _decide(call, call.words, DecisionWord.NO)


async def approved(call: Invocation) -> Result:
    """List the tools that need no approval here, or require approval for one again."""
    texts, core, turn = call.texts, call.core, call.turn
    found = await core.db.run(list_tool_grants, turn.address.account, turn.conversation)
    if not call.words:
        return Result(_format_grants(call, found))
    number = number_in(call.words[1:])
    if call.words[0].lower() != FORGET or not number:
        return Result(texts("approved_how"))
    one = next((one for one in found if one.id == number), None)
    if one is None:
        return Result(texts("approved_unknown"))
    in_group = turn.address.chat_kind is ChatKind.GROUP
    if (in_group or not one.conversation) and not call.may(Permission.WITHDRAW):
        return Result(texts("approved_admins"))
    await core.db.run(revoke_tool_grant, number, author_of(turn), core.clock.now())
    return Result(texts("approved_gone", tool=quoted(one.tool)))


async def _decide(call: Invocation, words: tuple[str, ...] | list[str], word: DecisionWord) -> Result:
    services, number = call.services, number_in(words)
    if words and not number:
        return Result(call.texts("approval_code_wrong", command=call.name))
    decided, conversation = await call.core.db.run(
        decide_approval,
        call.turn,
        number,
        call.core.clock.now(),
        word,
        is_admin=call.may(Permission.DECIDE),
    )
    if decided is not DecisionOutcome.DONE:
        return Result(call.texts(_REFUSALS[decided], command=call.name))
    services.runs.wake_conversation(conversation)
    return Result("", composed=True)


def _format_grants(call: Invocation, found: list[ToolGrant]) -> str:
    texts = call.texts
    if not found:
        return texts("approved_none")
    lines = [
        texts(
            "approved_here" if one.conversation else "approved_always",
            number=one.id,
            tool=quoted(one.tool),
            who=quoted_person(one.person, one.name),
        )
        for one in found
    ]
    return "\n".join(
        [texts("approved_title"), "", *(f"- {line}" for line in lines), "", texts("approved_how")]
    )
