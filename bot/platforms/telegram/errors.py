"""Errors of Bot API calls: classes, meaning for the core, and texts without the token."""

from __future__ import annotations

import logging
import re
from typing import Any

import orjson
from telegram.error import NetworkError, TelegramError

from bot.errors import AccountRefused, DeliveryCategory, DeliveryError, NotModified, RateLimited

HIDDEN = "<token>"
_TOKEN = re.compile(r"(?<!\d)\d{5,}:[A-Za-z0-9_-]{10,}")
_URL_LOGGERS = ("aiohttp.client", "asyncio", "telegram", "telegram.Bot")
_TOO_MANY = 429
_GONE = (
    "not found",
    "message_id_invalid",
    "peer_id_invalid",
    "group chat was deactivated",
    "user_deactivated",
    "topic_deleted",
    "topic_closed",
)
_FORBIDDEN = (
    "not enough rights",
    "have no rights",
    "write_forbidden",
    "restricted",
    "administrator",
    "can't be edited",
    "can't be deleted",
)
_BY_STATUS = {
    401: DeliveryCategory.AUTH,
    403: DeliveryCategory.PERMISSION,
    404: DeliveryCategory.NOT_FOUND,
    409: DeliveryCategory.CONFLICT,
}


class TelegramRefused(TelegramError):
    """Telegram responded with an error: HTTP `status`, description, and its `parameters`."""

    def __init__(self, status: int, description: str, parameters: dict[str, Any]) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after = float(parameters.get("retry_after") or (1.0 if status == _TOO_MANY else 0.0))
        self.migrate_to = str(parameters.get("migrate_to_chat_id") or "")

    @property
    def is_token_refused(self) -> bool:
        """True if Telegram does not recognize the token."""
        return self.status in (401, 404)


class TelegramNotSent(NetworkError):
    """The request did not leave the machine."""


def refused_token(account: str) -> AccountRefused:
    """Describe a token that Telegram does not recognize."""
    return AccountRefused(
        f"Telegram refuses the token of account {account}: it is wrong or was revoked; "
        "@BotFather shows the current one (/mybots, API Token)"
    )


def parse_answer(payload: bytes) -> dict[str, Any]:
    """Parse an API response. Raises NetworkError for anything else (a proxy's page, a cut-off body)."""
    try:
        loaded = orjson.loads(payload)
    except orjson.JSONDecodeError:
        raise NetworkError("the response is not JSON") from None
    if not isinstance(loaded, dict) or "result" not in loaded:
        raise NetworkError("the response does not match the Bot API")
    return loaded


def check_status(status: int, body: bytes) -> tuple[int, bytes]:
    """Return a successful answer unchanged. Raises TelegramRefused for an error."""
    if 200 <= status < 300:
        return status, body
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        answer = None
    answer = answer if isinstance(answer, dict) else {}
    parameters = answer.get("parameters")
    description = str(answer.get("description") or f"HTTP status {status}")
    raise TelegramRefused(status, description, parameters if isinstance(parameters, dict) else {})


def delivery_error(error: TelegramError, *, posting: bool) -> DeliveryError:
    """Convert an error of a call; with `posting`, repeating the call would duplicate a message."""
    if isinstance(error, TelegramRefused):
        return _convert_refusal(error, posting)
    sent = not isinstance(error, TelegramNotSent)
    detail = without_token(str(error))
    return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting and sent)


def _convert_refusal(error: TelegramRefused, posting: bool) -> DeliveryError:
    detail = without_token(error.description)
    if error.status == _TOO_MANY:
        return RateLimited(error.retry_after)
    if error.status >= 500:
        return DeliveryError(DeliveryCategory.TRANSIENT, detail, unknown_outcome=posting)
    if error.status == 400:
        return _convert_bad_request(detail)
    return DeliveryError(_BY_STATUS.get(error.status, DeliveryCategory.INVALID_PAYLOAD), detail)


def _convert_bad_request(detail: str) -> DeliveryError:
    lowered = detail.lower()
    if "message is not modified" in lowered:
        return NotModified()
    if any(words in lowered for words in _GONE):
        return DeliveryError(DeliveryCategory.NOT_FOUND, detail)
    if any(words in lowered for words in _FORBIDDEN):
        return DeliveryError(DeliveryCategory.PERMISSION, detail)
    return DeliveryError(DeliveryCategory.INVALID_PAYLOAD, detail)


def without_token(text: str) -> str:
    """Replace all text that looks like a bot token, which Telegram requires in every URL."""
    return _TOKEN.sub(HIDDEN, text)


class TokenFilter(logging.Filter):
    """Rewrites log records that would show a token."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if _TOKEN.search(text):
            record.msg, record.args = without_token(text), None
        return True


_FILTER = TokenFilter()


def guard_logs() -> None:
    """Add the filter to the loggers of libraries that handle URLs."""
    for name in _URL_LOGGERS:
        logger = logging.getLogger(name)
        if _FILTER not in logger.filters:
            logger.addFilter(_FILTER)
