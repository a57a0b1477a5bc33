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
    refusal, interrupts = await call.core.db.transact(
        hand_off_to_agent, call.turn, prepare_handoff(call), call.core.clock.now()
    )
    return start_handoff(call, refusal, interrupts=interrupts)


def prepare_handoff(call: Invocation) -> AgentHandoff:
    """Return the busy mode and limits for a command's turn that is handed to the agent."""
    return AgentHandoff(
        busy=Busy(call.turn.busy or call.profile.get("busy") or Busy.QUEUE),
        limits=call.limits,
        queue_limit=call.services.queue_limit,
        texts=call.texts,
    )


def start_handoff(call: Invocation, refusal: str, *, interrupts: bool) -> Result:
    """Start the turn that was handed to the agent, unless it was refused."""
    if refusal:
        return Result(refusal)
    if interrupts:
        call.services.runs.interrupt_run(call.turn.conversation)
    call.services.runs.wake_conversation(call.turn.conversation)
    return Result("", composed=True)
