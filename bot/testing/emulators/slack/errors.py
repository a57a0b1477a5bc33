"""The refusals of the Web API, by the names that clients read."""

from __future__ import annotations

import math
from typing import Any


class SlackApiError(Exception):
    """A call is refused: `error` is Slack's name of the reason, `status` the HTTP status (mostly 200)."""

    def __init__(self, error: str, status: int = 200, retry_after: int = 0, **more: Any) -> None:
        super().__init__(error)
        self.error = error
        self.status = status
        self.retry_after = retry_after
        self.more = more

    def body(self) -> dict[str, Any]:
        """The answer's JSON body."""
        return {"ok": False, "error": self.error, **self.more}

    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers beside the body."""
        return ((b"retry-after", b"%d" % self.retry_after),) if self.retry_after else ()


def rate_limited(wait: float) -> SlackApiError:
    """HTTP 429; Slack writes whole seconds, at least one (docs.slack.dev/apis/web-api/rate-limits)."""
    return SlackApiError("ratelimited", 429, max(1, math.ceil(wait - 1e-9)))
