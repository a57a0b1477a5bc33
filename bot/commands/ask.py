"""`/ask`: pass the text after the command name to the agent as a message."""

from __future__ import annotations

from bot.commands.registry import Invocation, Result
from bot.store.turns import AgentHandoff, hand_off_to_agent
from bot.turn import Busy

ASK = "ask"
"""The command whose text goes to the agent."""


async def ask(call: Invocation) -> Result:
    """Pass the text after the command name to the agent."""
    return await hand_off(call) if call.words else Result(call.texts("ask_usage"))


async def hand_off(call: Invocation) -> Result:
    """Convert a command's turn into a turn that the agent answers."""
    services = call.services
    handoff = AgentHandoff(
        busy=Busy(call.turn.busy or call.account.busy),
        limits=call.limits,
        queue_limit=services.queue_limit,
        texts=call.texts,
    )
    refusal, interrupts = await call.core.db.transact(
        hand_off_to_agent, call.turn, handoff, call.core.clock.now()
    )
    if refusal:
        return Result(refusal)
    if interrupts:
        services.runs.interrupt_run(call.turn.conversation)
    services.runs.wake_conversation(call.turn.conversation)
    return Result("", composed=True)
