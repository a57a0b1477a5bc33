"""`/approve` and `/reject`: what the buttons of an approval do, in words."""

from __future__ import annotations

from bot.access import Role
from bot.commands.registry import Invocation, Result, number_in
from bot.store.turns import Decided

_REFUSALS = {
    Decided.NONE: "approval_none",
    Decided.SEVERAL: "approval_several",
    Decided.FOREIGN: "approval_foreign",
}


async def approve(call: Invocation) -> Result:
    """Let the call be made that waits here."""
    return await _decide(call, approve=True)


async def reject(call: Invocation) -> Result:
    """Have it left."""
    return await _decide(call, approve=False)


async def _decide(call: Invocation, *, approve: bool) -> Result:
    services, number = call.services, number_in(call.words)
    if call.words and not number:
        return Result(call.texts("approval_code_wrong"))
    decided, conversation = await services.store.decide(
        call.turn, number, services.clock.now(), approve=approve, senior=call.role >= Role.ADMIN
    )
    if decided is not Decided.DONE:
        return Result(call.texts(_REFUSALS[decided]))
    services.wake(conversation)
    return Result("", composed=True)
