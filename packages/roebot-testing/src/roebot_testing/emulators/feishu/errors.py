"""The refusals of the Feishu API: a code in the body, and the HTTP status around it.

Codes and texts from open.feishu.cn (server-side error codes, frequency control, IM and CardKit pages).
"""

from __future__ import annotations

import math
from typing import Any

from roebot_testing.emulators.api import ApiRefusal
from roebot_testing.emulators.http import Headers


class FeishuApiError(ApiRefusal):
    """A call is refused: HTTP `status`, `code` and `msg` of the body, further `headers`, and `details` of the
    body's `error`.
    """

    def __init__(
        self, status: int, code: int, msg: str, headers: Headers = (), details: dict[str, Any] | None = None
    ) -> None:
        super().__init__(msg)
        self.status = status
        self.code = code
        self.msg = msg
        self.headers = headers
        self.details = details or {}

    def body(self) -> dict[str, Any]:
        return {"code": self.code, "msg": self.msg, "error": {"log_id": "emulated", **self.details}}


def refused(code: int, msg: str) -> FeishuApiError:
    """Build a refusal with HTTP 400, as most are."""
    return FeishuApiError(400, code, msg)


def too_many_requests(wait: float, limit: int) -> FeishuApiError:
    """The frequency limit: HTTP 429 and whole seconds in the reset header, at least one."""
    seconds = max(1, math.ceil(wait - 1e-9))
    headers = ((b"x-ogw-ratelimit-limit", b"%d" % limit), (b"x-ogw-ratelimit-reset", b"%d" % seconds))
    return FeishuApiError(429, 99991400, "request trigger frequency limit", headers)


def bad_token() -> FeishuApiError:
    """The tenant access token is unknown or has expired."""
    return refused(99991663, "Invalid access token for authorization. Please make a test attempt")


def bad_secret() -> FeishuApiError:
    """The app secret is wrong: HTTP 200 with a code, as the token endpoint answers."""
    return FeishuApiError(200, 10014, "app secret invalid")
