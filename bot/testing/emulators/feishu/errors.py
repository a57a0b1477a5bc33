"""The refusals of the Feishu API: a code in the body, and the HTTP status around it.

Codes and texts from open.feishu.cn (server-side error codes, frequency control, IM and CardKit pages).
"""

from __future__ import annotations

import math
from typing import Any

from bot.testing.emulators.api import ApiRefusal
from bot.testing.emulators.http import Headers


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


def no_message() -> FeishuApiError:
    """No such message, or recalled."""
    return refused(230011, "The message was withdrawn.")


def no_card() -> FeishuApiError:
    """No card entity of that id."""
    return refused(300305, "ErrMsg: card id not exist; ")


NOT_STREAMING = (300309, "ErrMsg: streaming mode is closed; ")
STREAM_EXPIRED = (200850, "ErrMsg: card streaming timeout; ")
BAD_SEQUENCE = (300317, "ErrMsg: sequence number compare failed; ")
NO_ELEMENT = (300313, "ErrMsg: not find elementID : {}; ")
TOO_LONG = (230025, "The length of the message content reaches its limit.")
CARD_TOO_LONG = (200860, "ErrMsg: card content size over limit; ")
