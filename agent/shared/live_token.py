"""The token of a running server, kept in sync with its file."""

from __future__ import annotations

import asyncio
import hmac
from pathlib import Path
from typing import Final

import structlog

from agent.shared.tokens import TokenFileError, find_weakness, read_token

log = structlog.get_logger(__name__)
CHECK_EVERY: Final = 0.5
"""Interval (s) at which the file is read."""


class LiveToken:
    """A running server's token. A new token in its file takes effect within a second."""

    def __init__(self, value: str, path: Path | None = None) -> None:
        if not value:
            raise ValueError("a server must have a token")
        self.value = value
        self.generation = 0
        """Number of replacements since the start; sessions of earlier tokens must end."""
        self._path = path
        self._complaint = ""

    def matches(self, sent: bytes) -> bool:
        """Return whether a value is the token, in constant time."""
        return hmac.compare_digest(sent, self.value.encode())

    @property
    def is_weak(self) -> bool:
        """Return whether the token can be guessed."""
        return find_weakness(self.value) is not None

    async def follow_file(self) -> None:
        """Apply new tokens from the file until cancelled. An unusable or missing file changes nothing."""
        while self._path is not None:
            await asyncio.sleep(CHECK_EVERY)
            try:
                found = await asyncio.to_thread(read_token, self._path)
            except TokenFileError as problem:
                if self._complaint != str(problem):
                    log.error("token_file_unusable", problem=str(problem))
                self._complaint = str(problem)
                continue
            self._complaint = ""
            if found is not None and found != self.value:
                self.value = found
                self.generation += 1
                log.info("token_replaced")
