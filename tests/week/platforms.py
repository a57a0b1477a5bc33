"""A platform of the simulated week: it outlives the bot, holds it to its limits, fails now and then, and
writes down what it sees.
"""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.bus.message_bus import AccountInbox
from bot.domain import ChatKind, InboundEvent, ReplyAddress
from bot.errors import DeliveryCategory, DeliveryError, RateLimited, StoreError
from bot.platforms.manifest import Manifest, Operation, Scope
from bot.render.renderer import Renderer
from roebot_testing.adapter import AdapterFault, Shown
from roebot_testing.clock import ManualClock
from roebot_testing.emulators.limits import CallLimit, RateLimits

CALLS = {Operation.POST: "post", Operation.EDIT: "edit", Operation.FINAL: "edit", Operation.TYPING: "typing"}
LOST, REFUSED, GONE = 0.008, 0.008, 0.003
"""How often a call's answer is lost, a call fails for a passing reason, a message to be edited is gone."""
TWICE = 0.02
"""How often an event that was acknowledged comes once more."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call of the bot, and what came of it: done, lost (its answer), refused, limited or gone."""

    at: float
    operation: Operation
    chat: str
    key: str
    text: str
    outcome: str

    @property
    def turn(self) -> int:
        """The turn whose reply it is part of (0: none)."""
        number = self.key.partition(":")[0]
        return int(number) if number.isdecimal() else 0


@dataclass(frozen=True, slots=True)
class Question:
    """A message with buttons."""

    platform: str
    message_id: str
    address: ReplyAddress
    text: str
    choices: tuple[str, ...]


class Limits:
    """The published budgets, counted as the platform does: by when a call arrives."""

    def __init__(self, manifest: Manifest) -> None:
        self._budgets = manifest.budgets
        self._counted = RateLimits()
        self._fixed: dict[tuple[int, str], tuple[float, int]] = {}
        """When each window ends that begins with a call, and the calls in it."""

    def over(self, operation: Operation, chat: str, kind: ChatKind, now: float) -> float:
        """Seconds to wait; 0.0 for a call within all of them, which is counted."""
        sliding: list[tuple[CallLimit, str]] = []
        fixed: dict[tuple[int, str], tuple[float, int]] = {}
        for number, budget in enumerate(self._budgets):
            if operation not in budget.operations or kind not in budget.kinds:
                continue
            key = chat if budget.scope is Scope.CHAT else ""
            if not budget.fixed:
                sliding.append((CallLimit(str(number), budget.count, budget.period, budget.burst), key))
                continue
            ends, used = self._fixed.get((number, key), (0.0, 0))
            if now < ends and used >= budget.count:
                return ends - now
            fixed[number, key] = (ends, used + 1) if now < ends else (now + budget.period, 1)
        if wait := self._counted.take(sliding, now):
            return wait
        self._fixed.update(fixed)
        return 0.0


@dataclass
class Platform:
    """One of the four. `line` is the inbox of the bot that is connected, None for none; `calm` ends the
    faults.

    `waiting` are events that were not acknowledged; `accepted` says when each was; `told` is what one person
    alone was told.
    """

    name: str
    manifest: Manifest
    renderer: Renderer
    clock: ManualClock
    chance: random.Random
    on_question: Callable[[Question], None]
    repeats_safely: bool
    calm: bool = False
    line: AccountInbox | None = None
    waiting: deque[InboundEvent] = field(default_factory=deque)
    accepted: dict[str, float] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)
    told: list[tuple[str, str]] = field(default_factory=list)
    shown: dict[str, Shown] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=lambda: {"f1": b"a file"})
    latest: dict[str, str] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)
    unknown: defaultdict[str, int] = field(default_factory=lambda: defaultdict(int))
    """Posts, by their key, whose outcome the bot cannot know."""
    removed: set[str] = field(default_factory=set)
    penalties: dict[str, float] = field(default_factory=dict)
    limited_until: float = 0.0
    """Every call is refused until then."""
    again: int = 0
    numbers: int = 0

    def __post_init__(self) -> None:
        self._limits = Limits(self.manifest)

    # What the bot does

    def note(self, operation: Operation, address: ReplyAddress, key: str, text: str, outcome: str) -> None:
        """Write a call down."""
        self.calls.append(Call(self.clock.now(), operation, address.chat, key, text, outcome))

    def fault(self, operation: Operation, address: ReplyAddress) -> AdapterFault | None:
        """What happens to a call that arrives now instead of what was asked."""
        now, name = self.clock.now(), CALLS[operation]
        if (until := max(self.limited_until, self.penalties.get(address.chat, 0.0))) > now:
            return AdapterFault(name, RateLimited(until - now))
        if wait := self._limits.over(operation, address.chat, address.chat_kind, now):
            return AdapterFault(name, RateLimited(wait, "earned"))
        if self.calm or operation is Operation.TYPING:
            return None
        drawn = self.chance.random()
        if drawn < LOST:
            error = DeliveryError(DeliveryCategory.TRANSIENT, "no answer", unknown_outcome=True)
            return AdapterFault(name, error, commit=self.chance.random() < 0.5)
        if drawn < LOST + REFUSED:
            return AdapterFault(name, DeliveryError(DeliveryCategory.TRANSIENT, "busy"))
        if drawn < LOST + REFUSED + GONE and name == "edit":
            return AdapterFault(name, DeliveryError(DeliveryCategory.NOT_FOUND, "gone"))
        return None

    # What the bot hears

    async def sends(self, event: InboundEvent) -> None:
        """Something happened; the bot hears of it once it is connected."""
        self.waiting.append(event)
        await self.deliver()

    async def deliver(self) -> None:
        """Hand over what waits, in its order: some of it together, some of it twice."""
        while self.waiting and (line := self.line) is not None:
            count = min(len(self.waiting), self.chance.choice((1, 1, 1, 2, 3)))
            batch = [self.waiting[number] for number in range(count)]
            if not await self._hand(line, batch):
                return
            for _ in batch:
                self.waiting.popleft()
            if not self.calm and self.chance.random() < TWICE:
                self.again += 1
                await self._hand(line, batch)

    async def _hand(self, line: AccountInbox, batch: Sequence[InboundEvent]) -> bool:
        """Whether the bot has acknowledged it."""
        try:
            refused = await line.accept(batch)
        except StoreError:
            return False
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is not None and task.cancelling():
                raise
            # The bot died of it; it is not this task that ends.
            if self.line is line:
                self.line = None
            return False
        for event in batch:
            self.accepted.setdefault(event.event_id, self.clock.now())
        for event in batch:
            if event.event_id in refused:
                self.refused[event.event_id] = refused[event.event_id]
                self.told.append((event.origin.sender.id, refused[event.event_id]))
        return True
