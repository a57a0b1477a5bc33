"""What the drivers over emulators share: versions from the transcript, buttons, faults, connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from bot.domain import OutboundMessage
from bot.platforms.base import Adapter, ReceivesWebhooks
from roebot_testing.clock import QuickClock
from roebot_testing.conformance import ANN, Driver, Seen, SuitePerson, Where
from roebot_testing.conformance.viewer import Read
from roebot_testing.emulators.transcript import FrameKind
from tests.harness.platforms import Port

NAMES = {SuitePerson.ANN: "Ann", SuitePerson.BEN: "Ben"}
SHOWN = frozenset({FrameKind.POST, FrameKind.EDIT})


class Emulated(Driver):
    """A driver over one of our emulators; `methods` names the calls that an operation makes there."""

    methods: ClassVar[Mapping[str, Sequence[str]]] = {}

    clock: QuickClock

    def __init__(self, emulator: Any, port: Port | None = None, clock: QuickClock | None = None) -> None:
        super().__init__()
        self.clock = clock or QuickClock()
        self.emulator = emulator
        self.port = port
        self._choices: dict[str, tuple[str, ...]] = {}

    def make(self, **changes: Any) -> Adapter:
        """An adapter of the account, with other configuration where given."""
        raise NotImplementedError

    def name_of(self, at: Where) -> str:
        return NAMES[at.person]

    def adapter(self) -> Adapter:
        made = self.make()
        if self.port is not None and isinstance(made, ReceivesWebhooks):
            self.port.adapter = made
        return made

    def recorded(self, message: OutboundMessage, message_id: str) -> None:
        if message.choices:
            self._choices[message_id] = message.choices

    def loses_answer(self, operation: str) -> None:
        for method in self.methods[operation]:
            self.emulator.fault("drop", method=method)

    def fails(self, operation: str) -> None:
        for method in self.methods[operation]:
            self.emulator.fault("error", method=method, status=500)

    def lifts(self, at: Where) -> None:
        self.emulator.rate_limits.reset()

    def typing(self, at: Where = ANN) -> bool:
        return bool(self.emulator.transcript.of(FrameKind.TYPING))

    def connections(self) -> int:
        return int(self.emulator._server.connections)

    def button(self, message_id: str, choice: str) -> int:
        """The number of the button that stands for a choice."""
        return self._choices[message_id].index(choice)

    def message(self, message_id: str, read: Read, **more: Any) -> Seen:
        """A message as people see it, with what stood there before."""
        versions: list[str] = []
        for frame in self.emulator.transcript.of():
            shown = frame.kind in SHOWN and frame.committed and frame.message_id == message_id
            if shown and frame.text and frame.text not in versions[-1:]:
                versions.append(frame.text)
        return Seen(message_id, read.text, tuple(versions), tuple(read.code), tuple(read.links), **more)


def pick(where: Where, ann: Any, ben: Any) -> Any:
    """What belongs to the person."""
    return ann if where.person is SuitePerson.ANN else ben


def pressable(labels: Sequence[str]) -> tuple[str, ...]:
    """The buttons that are still an offer: what was chosen is marked."""
    return tuple(label for label in labels if not label.startswith("✓"))


def signs(labels: Sequence[str]) -> tuple[str, ...]:
    """What is marked as chosen."""
    return tuple(label for label in labels if label.startswith("✓"))
