"""Creation of the app on Feishu or Lark through a page that a person opens by link or QR code.

The flow is that of `lark_oapi.scene.registration` 1.7: init, begin, then poll until the person has confirmed
(RFC 8628). It starts on accounts.feishu.cn, and moves to accounts.larksuite.com where the person's
organization is there.

Not every scope is requested: most organizations review `im:message.group_msg`, and the app would not answer
until it is approved. The QR code needs 79 columns, because the scopes are part of the link. Not yet tested
with a real organization.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx

from bot.errors import AccountLost, AccountRefused
from bot.platforms.feishu.manifest import CALLBACKS, EVENTS, SCOPES
from bot.platforms.setup import CreatedApp

REVIEWED_SCOPES = frozenset({"im:message.group_msg"})
"""Scopes for which most organizations require a review, which would delay the app."""
ADDONS: Mapping[str, Any] = {
    "scopes": {"tenant": [scope for scope, _ in SCOPES if scope not in REVIEWED_SCOPES]},
    "events": {"items": {"tenant": [event for event, _ in EVENTS]}},
    "callbacks": {"items": list(CALLBACKS)},
}
"""What the app gets in addition to the platform's template; the person confirms it on the page.

It travels in the link, so it decides how large the QR code is.
"""
_DENIED, _EXPIRED, _UNKNOWN_ANSWER = "access_denied", "expired_token", "unsupported_auth_method"
_NOT_FEISHU = "unexpected response from Feishu's app registration"


class FeishuSetup:
    """Creates the app, with the scopes, events and callbacks of the adapter."""

    async def create_app(self, name: str, base_url: str, show: Callable[[str, float], None]) -> CreatedApp:
        """Create an app; its owner is the person who confirms. Raises AccountError."""
        # Loading the SDK takes a moment and blocks.
        registration = await asyncio.to_thread(_load_registration)
        servers = {"domain": base_url, "lark_domain": base_url} if base_url else {}
        try:
            created = await registration.aregister_app(
                lambda page: show(page["url"], float(page["expire_in"])),
                app_preset={"name": name},
                addons=ADDONS,
                create_only=True,
                **servers,
            )
        except registration.RegisterAppError as error:
            raise _describe(error.code, error.description) from None
        except httpx.HTTPError as error:
            raise AccountLost(f"cannot reach Feishu: {error}") from None
        except (KeyError, TypeError, ValueError, AttributeError):
            raise AccountLost(_NOT_FEISHU) from None
        person = created.get("user_info") or {}
        settings = {"app_id": created["client_id"], "app_secret": created["client_secret"]}
        if person.get("tenant_brand") == "lark":
            settings["domain"] = "lark"
        return CreatedApp(settings, str(person.get("open_id") or ""))


def _load_registration() -> Any:
    from bot.platforms.feishu import sdk

    return sdk.load_registration()


def _describe(code: str, description: str) -> AccountRefused | AccountLost:
    if code == _DENIED:
        return AccountRefused("the app was not created, because the request was declined")
    if code == _EXPIRED:
        return AccountLost("the app was not created, because the code has expired")
    if code == _UNKNOWN_ANSWER:
        return AccountLost(_NOT_FEISHU)
    return AccountRefused(f"Feishu refused to create the app: {description or code}")


SETUP = FeishuSetup()
