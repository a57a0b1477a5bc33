"""Creation of apps: the device flow behind a page that a person opens or scans.

The flow, its fields and its errors are those of `lark_oapi.scene.registration` 1.7 and of RFC 8628, which it
follows; what the page knows of the app travels in its address (`addons` is gzipped JSON in base64url).
"""

from __future__ import annotations

import base64
import binascii
import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import inf
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson

from roebot_testing.emulators.http import Exchange

PATH = "/oauth/v1/app/registration"
PAGE = "/page/launcher"
INTERVAL = 5.0
LIFETIME = 600.0
"""Seconds between two polls, and until the code expires: what the SDK assumes where an answer lacks them."""
TOLERANCE = 0.9
"""A poll counts as early before this part of the interval."""
ARCHETYPE = "PersonalAgent"
_ADDONS = frozenset({"preset", "scopes", "events", "callbacks"})


class RegistrationError(StrEnum):
    """Reasons for refusing a request (RFC 8628, section 3.5, and RFC 6749, section 5.2)."""

    PENDING = "authorization_pending"
    SLOW_DOWN = "slow_down"
    DENIED = "access_denied"
    EXPIRED = "expired_token"
    INVALID_REQUEST = "invalid_request"
    UNSUPPORTED = "unsupported_grant_type"
    INVALID_GRANT = "invalid_grant"


@dataclass(slots=True)
class AppRequest:
    """A requested app. `polled_at` and `expires_at` are monotonic seconds.

    `addons` and `name` stand in the address of the page; `owner` ("" until then) confirmed it there.
    """

    device_code: str
    user_code: str
    expires_at: float
    polled_at: float = -inf
    addons: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    owner: str = ""
    brand: str = "feishu"
    is_denied: bool = False
    is_told_brand: bool = False


class AppRegistration:
    """Answers the requests of a program, and lets people confirm or decline on the page.

    `create` makes the app and returns its id and its secret.
    """

    def __init__(
        self,
        create: Callable[[AppRequest], tuple[str, str]],
        url: Callable[[], str],
        monotonic: Callable[[], float],
    ) -> None:
        self._create = create
        self._url = url
        self._monotonic = monotonic
        self._requests: dict[str, AppRequest] = {}
        self.interval = INTERVAL
        self.created: list[AppRequest] = []

    def reset(self) -> None:
        """Delete every request."""
        self._requests.clear()
        self.created.clear()

    async def handle(self, http: Exchange) -> None:
        """Answer a form with an `action`."""
        if http.method != "POST" or http.content_type != "application/x-www-form-urlencoded":
            await _refuse(http, RegistrationError.INVALID_REQUEST)
            return
        form = await http.read_form("replace")
        action = {"init": self._init, "begin": self._begin, "poll": self._poll}.get(form.get("action", ""))
        found = action(form) if action is not None else RegistrationError.INVALID_REQUEST
        if isinstance(found, RegistrationError):
            await _refuse(http, found)
        else:
            await http.answer(200, found)

    def _init(self, form: Mapping[str, str]) -> dict[str, Any] | RegistrationError:
        return {"supported_auth_methods": ["client_secret"]}

    def _begin(self, form: Mapping[str, str]) -> dict[str, Any] | RegistrationError:
        if form.get("archetype") != ARCHETYPE or form.get("auth_method") != "client_secret":
            return RegistrationError.INVALID_REQUEST
        number, now = len(self._requests) + 1, self._monotonic()
        request = AppRequest(f"device-{number}", f"USER-{number:04}", now + LIFETIME)
        self._requests[request.device_code] = request
        return {
            "device_code": request.device_code,
            "user_code": request.user_code,
            "verification_uri": f"{self._url()}{PAGE}",
            "verification_uri_complete": f"{self._url()}{PAGE}?user_code={request.user_code}",
            "expires_in": int(LIFETIME),
            "interval": self.interval,
        }

    def _poll(self, form: Mapping[str, str]) -> dict[str, Any] | RegistrationError:
        request = self._requests.get(form.get("device_code", ""))
        if request is None:
            return RegistrationError.INVALID_GRANT
        if refusal := self._refusal(request):
            return refusal
        person = {"open_id": request.owner, "tenant_brand": request.brand}
        if request.brand == "lark" and not request.is_told_brand:
            # The rest comes from Lark's own server, which counts its own calls.
            request.is_told_brand, request.polled_at = True, -inf
            return {"user_info": person, "error": RegistrationError.PENDING.value}
        del self._requests[request.device_code]
        self.created.append(request)
        app_id, secret = self._create(request)
        return {"client_id": app_id, "client_secret": secret, "user_info": person}

    def _refusal(self, request: AppRequest) -> RegistrationError | None:
        now = self._monotonic()
        if now >= request.expires_at:
            return RegistrationError.EXPIRED
        if request.is_denied:
            return RegistrationError.DENIED
        is_early, request.polled_at = now - request.polled_at < self.interval * TOLERANCE, now
        if is_early:
            return RegistrationError.SLOW_DOWN
        return None if request.owner else RegistrationError.PENDING

    def confirm(self, link: str, owner: str, brand: str = "feishu") -> AppRequest:
        """Confirm the app on the page, as its owner. Raises ValueError for a link that the page refuses."""
        request, query = self._open(link)
        request.addons = _read_addons(query.get("addons", ""))
        request.name = query.get("name", "")
        request.owner, request.brand = owner, brand
        return request

    def decline(self, link: str) -> None:
        """Decline on the page."""
        self._open(link)[0].is_denied = True

    def expire(self) -> None:
        """Let every code expire."""
        for request in self._requests.values():
            request.expires_at = self._monotonic()

    def _open(self, link: str) -> tuple[AppRequest, dict[str, str]]:
        address = urlsplit(link)
        query = {key: values[0] for key, values in parse_qs(address.query, strict_parsing=True).items()}
        found = [one for one in self._requests.values() if one.user_code == query.get("user_code")]
        if address.path != PAGE or not found or self._monotonic() >= found[0].expires_at:
            raise ValueError("link expired")
        return found[0], query


def _read_addons(encoded: str) -> dict[str, Any]:
    if not encoded:
        return {}
    try:
        padded = encoded + "=" * (-len(encoded) % 4)
        found = orjson.loads(gzip.decompress(base64.urlsafe_b64decode(padded)))
    except (binascii.Error, OSError, EOFError, zlib.error, orjson.JSONDecodeError) as error:
        raise ValueError("addons cannot be read") from error
    if not isinstance(found, dict) or not found.keys() <= _ADDONS:
        raise ValueError("addons cannot be read")
    return found


async def _refuse(http: Exchange, error: RegistrationError) -> None:
    await http.answer(400, {"error": error.value, "error_description": ""})
