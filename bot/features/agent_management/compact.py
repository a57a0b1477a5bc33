"""`/compact`: summarize a conversation's agent thread immediately."""

from __future__ import annotations

from dataclasses import replace

from bot.access.run_context import build_run_context
from bot.commands.conversation import chosen_agent, chosen_model
from bot.commands.registry import Invocation, Result, text_after
from bot.errors import RuntimeUnreachable
from bot.runtime.interface import CompactionOutcome, CompactionRequest, CompactionState
from bot.store.conversations import load_conversation, load_lane

LONGEST_FOCUS = 500
"""Characters."""
RETRY_SECONDS, MOST_TRIES = 1.0, 120
"""Pause between attempts while the runtime is unavailable, and their number."""


async def compact(call: Invocation) -> Result:
    """Summarize the older part of the thread and report the sizes.

    After a restart of the service the command runs again and continues the summary that it started.
    """
    texts, core = call.texts, call.core
    focus = text_after(call.turn.messages[0].text)
    if len(focus) > LONGEST_FOCUS:
        return Result(texts("compact_too_long", limit=LONGEST_FOCUS))
    lane = await core.db.transact(load_lane, call.turn.conversation)
    refusal = await core.db.transact(call.limits.find_refusal, core.clock.now())
    is_free = lane.turn is None and not lane.queued and not refusal
    outcome = await _follow(call, await _make_request(call, focus, starts=is_free))
    if outcome.state is CompactionState.BUSY and refusal:
        return Result(refusal)
    if outcome.used is not None:
        await core.db.transact(call.limits.count_message, core.clock.now())
    return Result(_describe(call, outcome), used=outcome.used)


async def _make_request(call: Invocation, focus: str, *, starts: bool) -> CompactionRequest:
    turn = call.turn
    view = await call.core.db.transact(load_conversation, turn.conversation)
    channel = call.core.accounts.get(turn.address.account)
    chosen = replace(turn, model=chosen_model(call, view), agent=chosen_agent(call, view))
    context = build_run_context(chosen, call.profile, call.texts.locale, call.role.role_names)
    return CompactionRequest(
        thread_id=turn.thread_id,
        key=f"{turn.id}:compact",
        configurable=context,
        focus=focus,
        assistant=channel.assistant if channel is not None else "",
        starts=starts,
    )


async def _follow(call: Invocation, request: CompactionRequest) -> CompactionOutcome:
    """Return the outcome, reconnecting if necessary, since the summary continues without a connection."""
    for tries in range(MOST_TRIES + 1):
        try:
            return await call.core.runtime.compact_thread(request)
        except RuntimeUnreachable:
            if tries == MOST_TRIES:
                raise
            await call.core.clock.sleep(RETRY_SECONDS)
    raise AssertionError("unreachable")


def _describe(call: Invocation, outcome: CompactionOutcome) -> str:
    problem = call.core.mask_secrets(outcome.problem)
    counts = {"before": outcome.before, "after": outcome.after, "count": outcome.messages}
    return call.texts(f"compact_{outcome.state.value}", problem=problem, **counts)
