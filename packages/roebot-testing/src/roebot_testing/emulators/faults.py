"""Faults on demand: the failures of an emulator, by kind, call and number."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class FaultKind(StrEnum):
    """Kind of failure: `close` and `error` happen before the call takes effect, `drop` and `slow` after
    it.
    """

    CLOSE = "close"
    ERROR = "error"
    DROP = "drop"
    SLOW = "slow"


@dataclass(slots=True)
class Fault:
    """One fault. `method` and `chat` "" match all; `times` -1 means until cleared.

    `skip` lets that many calls pass first; `seconds` is the delay of `slow`; `status` and
    `description` are what `error` answers.
    """

    kind: FaultKind
    method: str = ""
    chat: str = ""
    times: int = 1
    skip: int = 0
    seconds: float = 0.0
    status: int = 500
    description: str = "Internal Server Error"

    def matches(self, method: str, chat: str) -> bool:
        """Return whether the fault strikes a call."""
        return self.method in ("", method) and self.chat in ("", chat)


class FaultBook:
    """Armed faults; the first that matches a call strikes."""

    def __init__(self) -> None:
        self._faults: list[Fault] = []
        self.struck = 0

    def add(self, fault: Fault) -> None:
        """Arm a fault."""
        self._faults.append(fault)

    def clear(self) -> None:
        """Disarm all."""
        self._faults.clear()

    def strike(self, kinds: frozenset[FaultKind], method: str, chat: str) -> Fault | None:
        """Return the fault of these kinds that strikes the call, and use it up by one; None for most
        calls."""
        if not self._faults:
            return None
        for fault in self._faults:
            if fault.kind in kinds and fault.matches(method, chat):
                if fault.skip > 0:
                    fault.skip -= 1
                    continue
                self._use(fault)
                return fault
        return None

    def _use(self, fault: Fault) -> None:
        self.struck += 1
        if fault.times > 0:
            fault.times -= 1
            if fault.times == 0:
                self._faults.remove(fault)


BEFORE = frozenset({FaultKind.CLOSE, FaultKind.ERROR})
AFTER = frozenset({FaultKind.DROP, FaultKind.SLOW})
