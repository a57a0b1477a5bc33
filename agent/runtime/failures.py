"""Failures in the log: the traceback is formatted off the loop, since it reads source files."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import structlog

from agent.config.errors import ConfigErrors
from agent.errors import FileError, GuardrailUnavailable, ModelError, ProfileError, ToolUnavailable
from agent.runtime.redact import redact

log = structlog.get_logger("agent.runtime")
EXPECTED = (ModelError, ProfileError, ToolUnavailable, GuardrailUnavailable, FileError, ConfigErrors)
"""What a run may end with though nothing is wrong with the code; the text says it all."""


async def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Log `event`: what is expected as a line, anything else as an error with its traceback."""
    if isinstance(error, EXPECTED) and getattr(error, "category", "") != "unexpected":
        detail = " ".join(redact(str(error)).split())
        log.warning(event, error=type(error).__name__, detail=detail, **fields)
        return
    text = await asyncio.to_thread(_formatted, error)
    log.error(event, traceback=text, **fields)


def _formatted(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
