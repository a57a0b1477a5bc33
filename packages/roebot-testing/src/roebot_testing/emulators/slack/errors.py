"""The refusals of the Web API, by the names that clients read."""

from __future__ import annotations

import math
from typing import Any

from roebot_testing.emulators.api import ApiRefusal


class SlackApiError(ApiRefusal):
    """A call is refused: `error` is Slack's name of the reason, `status` the HTTP status (mostly 200)."""

    def __init__(self, error: str, status: int = 200, retry_after: int = 0, **more: Any) -> None:
        super().__init__(error)
        self.error = error
        self.status = status
        self.headers = ((b"retry-after", b"%d" % retry_after),) if retry_after else ()
        self.more = more

    def body(self) -> dict[str, Any]:
        return {"ok": False, "error": self.error, **self.more}


def rate_limited(wait: float) -> SlackApiError:
    """HTTP 429; Slack writes whole seconds, at least one (docs.slack.dev/apis/web-api/rate-limits)."""
    return SlackApiError("ratelimited", 429, max(1, math.ceil(wait - 1e-9)))
