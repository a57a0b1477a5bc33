"""Failures in the log: the traceback is formatted off the loop, since it reads source files."""

from __future__ import annotations

import asyncio
import traceback
from typing import Any

import structlog

log = structlog.get_logger("agent.runtime")


async def log_failure(event: str, error: BaseException, **fields: Any) -> None:
    """Log `event` as an error with its traceback."""
    text = await asyncio.to_thread(_formatted, error)
    log.error(event, traceback=text, **fields)


def _formatted(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))
