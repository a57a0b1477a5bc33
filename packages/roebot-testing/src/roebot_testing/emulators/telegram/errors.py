"""The refusals of the Bot API, word for word if clients read them."""

from __future__ import annotations

import math
from typing import Any

from roebot_testing.emulators.api import ApiRefusal


class TelegramApiError(ApiRefusal):
    """A call is refused: `status` is the HTTP status and the `error_code` of the body."""

    def __init__(self, status: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"ok": False, "error_code": self.status, "description": self.description}
        if self.parameters:
            body["parameters"] = self.parameters
        return body


def bad_request(detail: str, **parameters: Any) -> TelegramApiError:
    """Build a 400."""
    return TelegramApiError(400, f"Bad Request: {detail}", **parameters)


def forbidden(detail: str) -> TelegramApiError:
    """Build a 403."""
    return TelegramApiError(403, f"Forbidden: {detail}")


def too_many_requests(wait: float) -> TelegramApiError:
    """Build a 429; Telegram writes whole seconds, at least one."""
    seconds = max(1, math.ceil(wait - 1e-9))
    return TelegramApiError(429, f"Too Many Requests: retry after {seconds}", retry_after=seconds)


NOT_FOUND = (404, "Not Found")
UNAUTHORIZED = (401, "Unauthorized")
NOT_MODIFIED = (
    "message is not modified: specified new message content and reply markup are exactly the same "
    "as a current content and reply markup of the message"
)
