"""The answers of the Bot API, and the errors of every request."""

from __future__ import annotations

from typing import Any

import orjson
from telegram.error import NetworkError, TelegramError

_TOO_MANY = 429


class TelegramRefused(TelegramError):
    """Telegram answered with an error: `status`, its description, and what its `parameters` say."""

    def __init__(self, status: int, description: str, parameters: dict[str, Any]) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.retry_after = float(parameters.get("retry_after") or (1.0 if status == _TOO_MANY else 0.0))
        self.migrate_to = str(parameters.get("migrate_to_chat_id") or "")


class TelegramNotSent(NetworkError):
    """The request did not leave the machine."""


def parse_answer(payload: bytes) -> dict[str, Any]:
    """An answer's JSON object. Raises NetworkError where it is none (a proxy's page, a cut-off body)."""
    try:
        loaded = orjson.loads(payload)
    except orjson.JSONDecodeError:
        raise NetworkError("the answer is not JSON") from None
    if not isinstance(loaded, dict) or "result" not in loaded:
        raise NetworkError("the answer is not one of the Bot API")
    return loaded


def check_status(status: int, body: bytes) -> tuple[int, bytes]:
    """The answer, if it is a success. Raises ApiRefused otherwise."""
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
