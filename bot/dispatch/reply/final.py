"""How a turn ends: its final reply as the platform takes it, its state, and what it cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from bot.dispatch.account_channel import AccountChannel
from bot.dispatch.run.request import turn_author
from bot.dispatch.run.session import RunOutcome
from bot.domain import Part, PartKind, PartState, Turn, TurnState
from bot.platforms.base import AsksChoice
from bot.schedules.retry_policy import is_tried_again
from bot.store.usage import TurnUsage

MAX_CHOICE = 60
"""Characters of a choice that every platform's buttons show whole (Slack: 75, Discord: 80); a longer one is
shown in the text.
"""


def composed_outcome(turn: Turn) -> RunOutcome:
    """How a turn ends whose final was composed before a restart."""
    ends = {"": TurnState.DONE, "deleted": TurnState.CANCELLED, "expired": TurnState.EXPIRED}
    state = TurnState.CANCELLED if turn.stopped and not turn.error else ends.get(turn.error, TurnState.FAILED)
    return RunOutcome("", state=state, error=turn.error)


def without_retried_failure(turn: Turn, outcome: RunOutcome, parts: Sequence[Part]) -> RunOutcome:
    """The outcome without its words where a schedule tries once more what came to nothing. What may stand in
    the chat, nobody knows where, is explained all the same.
    """
    failed = outcome.state in (TurnState.FAILED, TurnState.EXPIRED)
    unknown = any(part.state is PartState.INTENDED for part in parts)
    if not failed or unknown or outcome.joined or not is_tried_again(turn):
        return outcome
    return replace(outcome, text="", artifacts=())


def spent_tokens(turn: Turn, outcome: RunOutcome) -> TurnUsage | None:
    """What a turn's run cost, put down to its author; None where nobody counted."""
    used = outcome.used
    if used is None:
        return None
    return TurnUsage(turn_author(turn), used.input_tokens, used.output_tokens, used.total_tokens)


def final_parts(outcome: RunOutcome, outlet: AccountChannel) -> list[Part]:
    """The final reply as this platform takes it: texts within its limit, then files.

    Where the platform has buttons the choices of a question are buttons of the last text, else a list in it.
    """
    adapter, choices = outlet.adapter, outcome.question.choices
    native = (
        isinstance(adapter, AsksChoice)
        and len(choices) <= adapter.most_choices
        and all(len(choice) <= MAX_CHOICE for choice in choices)
    )
    listed = [] if native else [f"- {choice}" for choice in choices]
    whole = "\n\n".join(filter(None, [outcome.text, "\n".join([outcome.question.text, *listed]).strip()]))
    texts = [text for text in adapter.renderer.split(whole) if text.strip()]
    parts = [Part(index, PartKind.TEXT, text) for index, text in enumerate(texts)]
    if parts and native and choices:
        parts[-1] = replace(parts[-1], choices=choices)
    for path in outcome.artifacts:
        parts.append(Part(len(parts), PartKind.FILE, path, filename=PurePosixPath(path).name))
    return parts
