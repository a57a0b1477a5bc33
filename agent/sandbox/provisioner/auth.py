"""Access to the sandbox service: a token for every caller, and no calls from web pages."""

from __future__ import annotations

from ipaddress import ip_address

from starlette.types import ASGIApp

from agent.shared.http_guard import HttpGuard, no_origin, token_required

OPEN = frozenset({"/health"})
LEAST_TOKEN = 16


class TokenMissing(Exception):
    """The service is reachable from other machines and has no token, or a short one."""


def guarded(app: ASGIApp, token: str | None) -> HttpGuard:
    """Serve `app` to callers with the token, and to no web page. Without a token local callers are served."""
    checks = [
        no_origin(),
        token_required(token or None, open_paths=OPEN, detail="The token is wrong or missing."),
    ]
    return HttpGuard(app, checks)


def check_token(host: str, token: str | None) -> None:
    """Raise TokenMissing if `host` is reachable from other machines and the token is missing or too short."""
    if token is None and not is_loopback(host):
        raise TokenMissing(f"A service at {host} needs a token in ROEBOT_SANDBOX_TOKEN.")
    if token is not None and len(token) < LEAST_TOKEN:
        raise TokenMissing(f"ROEBOT_SANDBOX_TOKEN is too short; it needs {LEAST_TOKEN} characters.")


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches `host`."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
