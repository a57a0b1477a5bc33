"""Signing in: the token, and the cookie that stands for it in a browser."""

from __future__ import annotations

import hashlib
import hmac
from collections import deque
from typing import Annotated

from fastapi import APIRouter, Depends, HTTPException, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from bot.clock import Clock

COOKIE = "roebot_session"
LASTS = 30 * 24 * 3600
TRIES = 10
TRIES_WINDOW = 60.0


class Sessions:
    """Checks tokens and cookies. Nothing is kept: a cookie is its expiry and a signature made of the token,
    so a changed token ends every session.
    """

    def __init__(self, token: str, clock: Clock) -> None:
        self._token = token.encode()
        self._clock = clock
        self._failures: deque[float] = deque(maxlen=TRIES)

    @property
    def needed(self) -> bool:
        """Whether clients need a token at all."""
        return bool(self._token)

    def is_token(self, given: str) -> bool:
        """Whether that is the token."""
        return self.needed and hmac.compare_digest(given.encode(), self._token)

    def holds(self, value: str) -> bool:
        """Whether a cookie is one of ours and not expired."""
        expiry, _, _ = value.partition(".")
        if not expiry.isdecimal() or not value.isascii() or int(expiry) < self._clock.now():
            return False
        return hmac.compare_digest(value, self._cookie(int(expiry)))

    def issue(self) -> str:
        """A fresh cookie."""
        return self._cookie(int(self._clock.now()) + LASTS)

    def locked(self) -> bool:
        """Whether there were too many wrong tokens in the last minute."""
        return len(self._failures) == TRIES and self._clock.now() - self._failures[0] < TRIES_WINDOW

    def failed(self) -> None:
        """Somebody gave a wrong token."""
        self._failures.append(self._clock.now())

    def _cookie(self, expiry: int) -> str:
        key = hashlib.sha256(b"roebot session\0" + self._token).digest()
        return f"{expiry}.{hmac.new(key, str(expiry).encode(), hashlib.sha256).hexdigest()}"


class SignIn(BaseModel):
    """The token, as `server.token` has it."""

    model_config = ConfigDict(extra="forbid")
    token: str = Field(max_length=4096)


def sessions_of(request: Request) -> Sessions:
    """The sessions of the application that answers a request."""
    found: Sessions = request.app.state.sessions
    return found


router = APIRouter(prefix="/api/session", tags=["session"])
Known = Annotated[Sessions, Depends(sessions_of)]


@router.post("", status_code=204)
async def sign_in(body: SignIn, request: Request, sessions: Known) -> Response:
    """Exchange the token for a cookie (HttpOnly, SameSite=Strict, 30 days)."""
    if sessions.needed:
        if sessions.locked():
            raise HTTPException(429, "Too many wrong tokens. Wait a minute.", {"retry-after": "60"})
        if not sessions.is_token(body.token):
            sessions.failed()
            raise HTTPException(401, "That is not the token.")
    response = Response(status_code=204)
    secure = request.url.scheme == "https"
    response.set_cookie(
        COOKIE, sessions.issue(), max_age=LASTS, httponly=True, samesite="strict", secure=secure
    )
    return response


@router.delete("", status_code=204)
async def sign_out() -> Response:
    """Forget the cookie."""
    response = Response(status_code=204)
    response.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return response
