"""Answers to the agent's service calls during a run. The turn alone determines what a call may do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import orjson
import structlog

from agent.shared.service_calls import RESULT, SERVICE_CALL
from bot.dispatch.run.hooks import RunHooks, ServiceCall, ServiceHandler
from bot.runtime.interface import RunInterrupted
from bot.turn import Turn

log = structlog.get_logger(__name__)

MAX_SERVICE_CALLS = 20
"""Maximum number of service calls of a turn."""
MAX_REFUSED = 10
"""Maximum number of calls over that limit that are answered with a problem, so that the run can end."""


def read_service_call(asked: RunInterrupted | None) -> ServiceCall | None:
    """Return the service call that a run waits for, or None if it waits for people or nothing."""
    value = asked.value if asked is not None else None
    if asked is None or not isinstance(value, Mapping) or value.get("type") != SERVICE_CALL:
        return None
    arguments = value.get("arguments")
    known = arguments if isinstance(arguments, Mapping) else {}
    return ServiceCall(asked.id, str(value.get("name") or ""), known)


def refuse_call() -> dict[str, str]:
    """Return the resume value for a run that has made too many calls."""
    return {RESULT: orjson.dumps({"problem": "limit"}).decode()}


class ServiceCalls:
    """Answers the calls of one turn."""

    def __init__(self, turn: Turn, hooks: Sequence[RunHooks]) -> None:
        self._turn = turn
        self._services: dict[str, ServiceHandler] = {}
        for hook in hooks:
            self._services |= hook.service_calls()

    @property
    def offered(self) -> list[str]:
        """Return the services that the agent may call in this turn."""
        return list(self._services)

    async def answer_call(self, call: ServiceCall, now: float) -> dict[str, str]:
        """Return the resume value for a call; `now` is in seconds since the epoch."""
        service = self._services.get(call.name)
        result = {"problem": "unknown"} if service is None else await service(call, now)
        log.info("service_called", turn=self._turn.id, service=call.name if service else "unknown")
        return {RESULT: orjson.dumps(result).decode()}
