"""Keeps the bot token, which Telegram wants in every URL, out of the log."""

from __future__ import annotations

import logging
import re

_TOKEN = re.compile(r"(?<!\d)\d{5,}:[A-Za-z0-9_-]{10,}")
_SPEAKERS = ("aiohttp.client", "asyncio", "telegram", "telegram.Bot")
HIDDEN = "<token>"


def without_token(text: str) -> str:
    """The text with everything hidden that looks like a bot token."""
    return _TOKEN.sub(HIDDEN, text)


class TokenFilter(logging.Filter):
    """Rewrites records that would show a token."""

    def filter(self, record: logging.LogRecord) -> bool:
        """See logging.Filter."""
        shown = record.getMessage()
        if _TOKEN.search(shown):
            record.msg, record.args = without_token(shown), None
        return True


_FILTER = TokenFilter()


def guard_logs() -> None:
    """Put the filter on the loggers of libraries that see URLs."""
    for name in _SPEAKERS:
        logger = logging.getLogger(name)
        if _FILTER not in logger.filters:
            logger.addFilter(_FILTER)
