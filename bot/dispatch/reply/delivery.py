"""Final replies, composed once and then delivered part by part until each part is posted or abandoned."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePosixPath

import structlog

from agent.shared.aio import shielded
from bot.commands.escaping import quoted
from bot.commands.registry import Button
from bot.dispatch.pacing import AccountChannel
from bot.dispatch.reply.diff import Action, EditPart, PostPart, RemovePart, place_parts
from bot.dispatch.reply.sender import ReplySender
from bot.dispatch.run.outcome import RunOutcome
from bot.domain import ChatKind, Part, PartKind, PartState, Sender, ToolStep, person_of
from bot.errors import DeliveryCategory, DeliveryError, RateLimited, RuntimeProblem, RuntimeUnreachable
from bot.faults import Step, reach
from bot.platforms.base import TooLong
from bot.platforms.manifest import Operation
from bot.render.partial_markdown import close_fence
from bot.render.renderer import Renderer
from bot.store.usage import TurnUsage, increment_counter
from bot.texts import Texts
from bot.turn import RunTrace, Turn, TurnState, turn_author

log = structlog.get_logger(__name__)


MAX_CHOICE = 60
"""Maximum length in characters of a choice on a button, which every platform shows in full (the smallest
limit is 75); longer choices are listed in the text.
"""


def composed_outcome(turn: Turn) -> RunOutcome:
    """Return the outcome of a turn whose final reply was composed before a restart."""
    ends = {"": TurnState.DONE, "deleted": TurnState.CANCELLED, "expired": TurnState.EXPIRED}
    state = TurnState.CANCELLED if turn.stopped and not turn.error else ends.get(turn.error, TurnState.FAILED)
    return RunOutcome("", state=state, error=turn.error)


def without_retried_failure(outcome: RunOutcome, parts: Sequence[Part], *, will_retry: bool) -> RunOutcome:
    """Return the outcome without text and files if the turn failed and will be retried.

    The text is kept if a part may already be in the chat, since that needs an explanation.
    """
    failed = outcome.state in (TurnState.FAILED, TurnState.EXPIRED)
    unknown = any(part.state is PartState.INTENDED for part in parts)
    if not failed or unknown or outcome.joined or not will_retry:
        return outcome
    return replace(outcome, text="", artifacts=())


def with_stopper(turn: Turn, outcome: RunOutcome, stopper: Sender | None, texts: Texts) -> RunOutcome:
    """Return the outcome of a stopped turn, with the person who stopped it (`platform:id`) unless the chat
    shows their command.
    """
    people = {
        person_of(turn.platform, one)
        for one in (*turn.askers, *(message.sender for message in turn.messages))
    }
    if stopper is None or stopper.id in people or not outcome.text.endswith(texts("stopped")):
        return outcome
    if turn.address.chat_kind is ChatKind.GROUP and stopper.id.partition(":")[0] == turn.platform:
        return outcome
    mark = texts("stopped_by", name=quoted(stopper.name or stopper.id))
    return replace(outcome, text=outcome.text.removesuffix(texts("stopped")) + mark)


def spent_tokens(turn: Turn, outcome: RunOutcome) -> TurnUsage | None:
    """Return a turn's token usage, charged to its author, or None if none was reported."""
    used = outcome.used
    if used is None:
        return None
    counts = used.input_tokens, used.output_tokens, used.total_tokens, used.cached_tokens
    return TurnUsage(turn_author(turn), *counts, used.cost, used.currency)


REQUEST_FILE = "request.txt"
"""Name of the file with the whole call, for an approval that is too long for its message."""


def final_parts(outcome: RunOutcome, channel: AccountChannel, renderer: Renderer | None = None) -> list[Part]:
    """Split an outcome into the parts of its final reply: texts within the platform's limit (or the limit of
    `renderer`), then files.

    The choices of a question become buttons of the last text if the platform has buttons, else a list in the
    text. A question that shows only a part of a call has the whole call as a file.
    """
    choices, buttons = outcome.question.choices, channel.capabilities.asks_choice
    native = (
        buttons is not None
        and len(choices) <= buttons.most_choices
        and all(len(choice) <= MAX_CHOICE for choice in choices)
    )
    listed = [] if native else [f"- {choice}" for choice in choices]
    whole = "\n\n".join(filter(None, [outcome.text, "\n".join([outcome.question.text, *listed]).strip()]))
    texts = [text for text in (renderer or channel.adapter.renderer).split(whole) if text.strip()]
    parts = [Part(index, PartKind.TEXT, text) for index, text in enumerate(texts)]
    if parts and native and choices:
        parts[-1] = replace(parts[-1], choices=choices)
    if outcome.question.complete:
        parts.append(Part(len(parts), PartKind.DOCUMENT, outcome.question.complete, filename=REQUEST_FILE))
    for path in outcome.artifacts:
        parts.append(Part(len(parts), PartKind.FILE, path, filename=PurePosixPath(path).name))
    return parts


def add_buttons(parts: Sequence[Part], buttons: Sequence[Button], channel: AccountChannel) -> list[Part]:
    """Add buttons below the last text, up to the platform's maximum.

    Without any, if two of them would look the same.
    """
    adapter, texts = channel.capabilities.asks_choice, [part for part in parts if part.kind is PartKind.TEXT]
    if not buttons or not texts or adapter is None:
        return [*parts]
    offered = buttons[: adapter.most_choices]
    commands = {button.label[:MAX_CHOICE]: button.command for button in offered}
    if len(commands) < len(offered):
        return [*parts]
    shown = replace(texts[-1], choices=tuple(commands), commands=tuple(commands.values()))
    return [shown if part is texts[-1] else part for part in parts]


def parts_of_answer(outcome: RunOutcome, sender: ReplySender) -> list[Part]:
    """Return an answer's parts, with the features' additions if it is complete.

    On platforms with buttons, a message ends after an addition that has buttons.
    """
    channel, renderer, text = sender.channel, sender.renderer, outcome.text
    parts: list[Part] = []
    for one in outcome.additions if outcome.state is TurnState.DONE else ():
        text = "\n\n".join(filter(None, [close_fence(text), one.text]))
        if one.buttons and channel.capabilities.asks_choice is not None:
            parts += add_buttons(final_parts(RunOutcome(text), channel, renderer), one.buttons, channel)
            text = ""
    parts += final_parts(replace(outcome, text=text), channel, renderer)
    return [replace(part, index=index) for index, part in enumerate(parts)]


# Seconds between attempts of a call that failed temporarily; the last one repeats until GIVE_UP has passed.
BACKOFF = (0.5, 1.0, 2.0, 5.0, 25.0, 120.0, 600.0)
GIVE_UP = 24 * 3600.0
RETRYABLE = frozenset({DeliveryCategory.TRANSIENT, DeliveryCategory.AUTH, DeliveryCategory.UNKNOWN})
UNDELIVERED_COUNTER = "undelivered"


def final_parts_of(parts: Sequence[Part]) -> list[Part]:
    """Return the parts of the final reply, omitting stored parts without content."""
    return [part for part in parts if part.content]


class Delivery:
    """Delivery of a turn's final reply."""

    def __init__(self, sender: ReplySender) -> None:
        self._sender = sender
        self._final: list[Part] = []
        self._failed = False

    async def compose(
        self,
        parts: Sequence[Part],
        error: str = "",
        spent: TurnUsage | None = None,
        joined: Sequence[int] = (),
        steps: Sequence[ToolStep] = (),
        trace: RunTrace | None = None,
    ) -> None:
        """Store the final parts, the token usage, the messages that joined the turn, its tool calls and its
        trace. The stored answer survives a crash, whatever happens to the run.
        """
        self._stage_parts(parts)
        await self._sender.flush(
            TurnState.DELIVERING, error=error, spent=spent, joined=joined, steps=steps, trace=trace
        )
        reach(Step.FINAL_COMPOSED)

    def _stage_parts(self, parts: Sequence[Part]) -> None:
        """Stage the parts in existing messages first, then in new ones."""
        known = self._sender.reply.parts
        places = {part.index: part for part in place_parts(parts, known)}
        for index, part in places.items():
            have = known[index] if index < len(known) else part
            self._sender.stage_part(
                replace(part, state=have.state, platform_id=have.platform_id, repeated=have.repeated)
            )
        for have in known:
            if have.index not in places:
                self._sender.stage_part(replace(have, content=""))

    async def finish(self, state: TurnState = TurnState.DONE, error: str = "") -> None:
        """Deliver the composed parts, then close the turn as `state` (failed if a part could not be
        delivered).
        """
        self._final = final_parts_of(self._sender.reply.parts)
        self._failed = any(part.state is PartState.UNDELIVERED for part in self._final)
        self._sender.finish_progress(state)
        await self._sender.load_names(part.content for part in self._final if part.kind is PartKind.TEXT)
        started = self._sender.clock.now()
        tries = 0
        while (action := self._sender.reply.next_final(self._final)) is not None:
            try:
                await self._carry_out(action)
                tries = 0
            except asyncio.CancelledError:
                # On shutdown, store the result of the last call, so that it is not repeated after the
                # restart.
                await self._sender.flush()
                raise
            except (DeliveryError, RuntimeProblem) as problem:
                spent = self._sender.clock.now() - started
                pause = await self._handle_failure(action, problem, tries, spent)
                tries += 1
                await self._sender.clock.sleep(pause)
            if self._sender.reply.next_final(self._final) is not None:
                await self._sender.flush()
        closing = TurnState.FAILED if self._failed else state
        keep = max((part.index + 1 for part in self._final), default=0)
        await self._sender.flush(closing, error="undelivered" if self._failed else error, keep=keep)
        typing = self._sender.channel.capabilities.ends_typing
        if typing is not None and not self._final:
            typing.end_typing(self._sender.turn.address, self._sender.turn.id)
        reach(Step.RECORDED)

    async def _carry_out(self, action: Action) -> None:
        """Perform an action within the rate limits; a part that is already displayed needs no call."""
        if isinstance(action, EditPart) and self._sender.is_shown(action.part):
            self._sender.stage_part(replace(action.part, state=PartState.FINAL))
            return
        operation = Operation.POST if isinstance(action, PostPart) else Operation.FINAL
        async with self._sender.channel.governor.required_call(self._sender.turn.address, operation):
            if isinstance(action, PostPart):
                await shielded(self._sender.post_part(action, final=True))
            elif isinstance(action, EditPart):
                await shielded(self._sender.edit_part(action, final=True))
            else:
                await shielded(self._sender.remove_part(action))

    async def _handle_failure(
        self, action: Action, problem: DeliveryError | RuntimeProblem, tries: int, spent: float
    ) -> float:
        """Handle a failed call. Return the seconds to wait before the next one."""
        if isinstance(problem, RateLimited):
            log.warning("rate_limited", account=self._sender.channel.account, retry_after=problem.retry_after)
            self._sender.channel.governor.add_penalty(
                self._sender.turn.address, problem.retry_after, account_wide=problem.account_wide
            )
            if isinstance(action, PostPart):
                await self._sender.unmark_intended(action)
            return 0.0
        log.warning("delivery_failed", turn=self._sender.turn.id, problem=str(problem), tries=tries)
        pause = BACKOFF[min(tries, len(BACKOFF) - 1)]
        if isinstance(problem, TooLong) and await self._split_further(action, problem):
            return 0.0
        if isinstance(action, PostPart):
            return (
                pause
                if await self._should_retry_post(action, problem, spent)
                else await self._give_up(action, problem)
            )
        if isinstance(action, EditPart) and _is_gone(problem):
            # The message no longer exists, so the answer is posted as a new one.
            self._sender.stage_part(replace(action.part, state=PartState.PLANNED, platform_id=""))
            return 0.0
        passing = isinstance(problem, DeliveryError) and problem.category in RETRYABLE and spent < GIVE_UP
        return pause if passing else await self._give_up(action, problem)

    async def _split_further(self, action: Action, problem: TooLong) -> bool:
        """Split a text into several messages, in the store first, and shift the following parts. Return False
        if it fits into one.
        """
        texts = problem.renderer.split(action.part.content) if action.part.kind is PartKind.TEXT else ()
        if len(texts) < 2:
            return False
        self._sender.split_smaller(problem)
        if isinstance(action, PostPart):
            await self._sender.unmark_intended(action)
        parts: list[Part] = []
        for part in self._final:
            new = replace(part, state=PartState.PLANNED, platform_id="", repeated=False)
            pieces = texts if part.index == action.part.index else [part.content]
            parts += [replace(new, content=text, choices=(), commands=()) for text in pieces[:-1]]
            parts.append(replace(new, content=pieces[-1]))
        self._stage_parts([replace(part, index=index) for index, part in enumerate(parts)])
        self._final = final_parts_of(self._sender.reply.parts)
        await self._sender.flush()
        return True

    async def _should_retry_post(
        self, action: PostPart, problem: DeliveryError | RuntimeProblem, spent: float
    ) -> bool:
        """Return whether to retry a failed post. A post with an unknown outcome is repeated once, with a
        mark.
        """
        if isinstance(problem, DeliveryError) and problem.unknown_outcome:
            have = self._sender.reply.parts[action.part.index]
            return self._sender.repeats_safely(have) or not have.repeated
        await self._sender.unmark_intended(action)
        if isinstance(problem, DeliveryError):
            return problem.category in RETRYABLE and spent < GIVE_UP
        return isinstance(problem, RuntimeUnreachable) and spent < BACKOFF[-2]

    async def _give_up(self, action: Action, problem: DeliveryError | RuntimeProblem) -> float:
        """Record that a part can't be delivered; a text line replaces a file."""
        part = self._sender.reply.parts[action.part.index]
        if isinstance(action, RemovePart):
            self._sender.reply.update_part(replace(part, state=PartState.UNDELIVERED))
            return 0.0
        if part.kind is not PartKind.TEXT:
            instead = Part(part.index, PartKind.TEXT, f"📎 `{part.filename}` could not be sent: {problem}")
            self._final = [instead if one.index == part.index else one for one in self._final]
            self._sender.stage_part(instead)
            return 0.0
        self._failed = True
        category = problem.category.value if isinstance(problem, DeliveryError) else "unknown"
        self._sender.stage_part(replace(part, state=PartState.UNDELIVERED), category=category)
        await self._sender.db.transact(
            increment_counter, self._sender.turn.address.account, UNDELIVERED_COUNTER
        )
        return 0.0


def _is_gone(problem: DeliveryError | RuntimeProblem) -> bool:
    return isinstance(problem, DeliveryError) and problem.category is DeliveryCategory.NOT_FOUND
