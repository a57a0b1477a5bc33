"""Errors for logs and clients: without secrets, and with tracebacks formatted off the event loop."""

from __future__ import annotations

import asyncio
import re
import traceback
from collections.abc import Awaitable, Callable
from typing import Any, Final

import structlog

from agent.config.errors import ConfigErrors
from agent.errors import (
    FileError,
    GuardrailUnavailable,
    ModelCallFailed,
    ModelError,
    ProfileError,
    ToolUnavailable,
)
from agent.shared.text import shorten

LONGEST: Final = 2000
RESTART_SECONDS: Final = 5.0
_SECRETS: Final = re.compile(
    r"(?:\b(?:sk|pk|rk|xox[abprs]|gh[opsu]|glpat|AIza)[-_A-Za-z0-9]{12,}"
    r"|(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"
    r"|(?i:\bbearer\s+)[-._~+/A-Za-z0-9]{8,}=*"
    r"|(?i:\b(?:api[-_]?key|token|secret|password)\b[\"']?\s*[=:]\s*)[\"']?[^\s\"',}]{6,})"
)


def redact_secrets(text: str) -> str:
    """Replace all text that looks like a key, token or password."""
    return _SECRETS.sub("[redacted]", text)


def redact_text(text: str) -> str:
    """Redact secrets and shorten to 2,000 characters."""
    clean = redact_secrets(text)
    return shorten(clean, LONGEST + 1)


def describe_exception(error: BaseException) -> dict[str, str]:
    """Describe an exception for clients: class name and message, without secrets, and for a failed model call
    its category.
    """
    name = type(error).__name__
    category = {"category": str(error.category)} if isinstance(error, ModelCallFailed) else {}
    return {"error": name, "message": redact_text(str(error)) or name, **category}


log = structlog.get_logger("agent.runtime")
EXPECTED = (ModelError, ProfileError, ToolUnavailable, GuardrailUnavailable, FileError, ConfigErrors)
"""Errors that need no traceback in the log, because the code is not at fault."""


async def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Log an expected error as one line, and any other with its traceback, which is formatted in a thread."""
    if isinstance(error, EXPECTED) and getattr(error, "category", "") != "unexpected":
        detail = " ".join(redact_text(str(error)).split())
        log.warning(event, error=type(error).__name__, detail=detail, **fields)
        return
    lines = await asyncio.to_thread(traceback.format_exception, error)
    log.error(event, traceback="".join(lines), **fields)


async def keep_running(
    name: str, work: Callable[[], Awaitable[None]], sleep: Callable[[float], Awaitable[object]]
) -> None:
    """Run background work until it returns. After a failure, log it and restart in `RESTART_SECONDS`."""
    while True:
        try:
            await work()
            return
        except Exception as error:  # noqa: BLE001 - supervisor of the work
            await log_failure("background_task_failed", error, task=name)
        await sleep(RESTART_SECONDS)
