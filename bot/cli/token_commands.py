"""`roebot token`, `roebot link` and `roebot agent token`: credentials of the HTTP servers."""

from __future__ import annotations

import os
import re
import sys
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from agent.shared.tokens import AGENT_TOKEN_FILE, SERVICE_TOKEN_FILE, ensure_token, rotate_token
from bot.app.home import find_service, prepare_home
from bot.app.service_token import (
    configured_token,
    ensure_service_token,
    replace_service_token,
    token_file_errors,
    token_source,
)
from bot.cli.common import (
    bearer_headers,
    error_detail,
    home_folder,
    no_service,
    server_config,
    service_token,
)
from bot.cli.open_console import has_desktop, open_in_browser, remove_redirect
from bot.errors import StartError
from bot.runtime.spawn import TOKEN_VARIABLE as AGENT_TOKEN_VARIABLE

PICK_UP_SECONDS = 5.0
"""Maximum time that a running service takes to accept a new token."""
ASK_SECONDS = 2.0
OPEN_SECONDS = 10.0
"""Time that a browser has to read the file that leads to the link."""


def print_service_token(home: Path | None, file: Path | None) -> None:
    """Print the service token, generating it if there is none. Raises ConfigErrors, StartError."""
    folder = home_folder(home)
    found = configured_token(server_config(file, folder), os.environ)
    if not found:
        _announce_new(folder / SERVICE_TOKEN_FILE)
        prepare_home(folder)
        found = ensure_service_token(folder)
    print(found)


def _announce_new(path: Path) -> None:
    """Report that a token is being generated, because in a wrong data directory no service accepts it."""
    if not path.exists():
        print(f"roebot: no token existed yet; generating one in {path}", file=sys.stderr)


def link_command(home: Path | None, file: Path | None, *, open_browser: bool) -> int:
    """Print or open a sign-in link of the running service, and return the exit code.

    Raises ConfigErrors and StartError.
    """
    url = str(_call_service(home, file, "POST", "/api/session/links")["url"])
    if open_browser and _opens(home_folder(home), url):
        return 0
    print(url)
    return int(open_browser)


def _call_service(home: Path | None, file: Path | None, method: str, path: str, body: Any = None) -> Any:
    """Call the running service as the owner, and return the JSON of its response (None if empty).

    Raises ConfigErrors and StartError.
    """
    import httpx

    folder = home_folder(home)
    running = find_service(folder)
    if running is None:
        raise no_service(folder)
    headers, url = bearer_headers(service_token(file, folder)), running.url + path
    try:
        answer = httpx.request(method, url, json=body, headers=headers, timeout=ASK_SECONDS, trust_env=False)
    except httpx.HTTPError as error:
        raise StartError(f"the service at {running.url} does not respond: {type(error).__name__}") from error
    if not answer.is_success:
        raise StartError(f"the service at {running.url} refused the request: {error_detail(answer)}")
    return answer.json() if answer.content else None


def create_api_token(home: Path | None, file: Path | None, name: str, scope: str, expires: str) -> None:
    """Create an API token and print it. Raises ConfigErrors and StartError."""
    lifetime = re.fullmatch(r"([0-9]{1,3})d", expires)
    if lifetime is None:
        raise StartError("--expires: expected a number of days such as 90d, at most 366d")
    body = {"name": name, "scope": scope, "expires_days": int(lifetime[1])}
    made = _call_service(home, file, "POST", "/api/tokens", body)
    until = _format_time(made["expires_at"])
    print(f"roebot: API token {name} ({scope}) expires {until} UTC; it can't be shown again", file=sys.stderr)
    print(made["token"])


def list_api_tokens(home: Path | None, file: Path | None) -> None:
    """Print the API tokens, a line each; times are UTC. Raises ConfigErrors and StartError."""
    for one in _call_service(home, file, "GET", "/api/tokens"):
        state = "expired" if one["expires_at"] <= time.time() else "expires"
        used = _format_time(one["used_at"]) if one["used_at"] else "never"
        until = _format_time(one["expires_at"])
        print(f"{one['name']}: {one['scope']}, {state} {until}, last used {used}, created by {one['by']}")


def revoke_api_token(home: Path | None, file: Path | None, name: str) -> None:
    """Revoke an API token. Raises ConfigErrors and StartError."""
    _call_service(home, file, "DELETE", f"/api/tokens/{quote(name, safe='')}")
    print(f"roebot: API token {name} was revoked")


def _format_time(at: float) -> str:
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"


def _opens(folder: Path, url: str) -> bool:
    """Open a link, and give the browser time to read it."""
    try:
        if not has_desktop(os.environ) or not open_in_browser(folder, url):
            print("roebot: no browser can be opened here; open the link yourself", file=sys.stderr)
            return False
        time.sleep(OPEN_SECONDS)
    finally:
        remove_redirect(folder)
    return True


def rotate_service_token(home: Path | None, file: Path | None) -> int:
    """Replace the service token and return the exit code. Raises ConfigErrors and StartError."""
    folder = home_folder(home)
    server = server_config(file, folder)
    if configured_token(server, os.environ):
        source = token_source(server)
        raise StartError(f"{source} sets the token of the service. Change it there and restart the service.")
    prepare_home(folder)
    token = replace_service_token(folder)
    running = find_service(folder)
    if running is not None and not _is_accepted(running.url, token):
        print(
            f"roebot: the token was replaced, but the service at {running.url} still uses another one. "
            "Restart it.",
            file=sys.stderr,
        )
        return 1
    print("roebot: the token was replaced; sessions and sign-in links of the old one have ended")
    return 0


def print_agent_token(home: Path | None) -> None:
    """Print the token of `roebot agent serve`, generating it if there is none. Raises StartError."""
    folder = home_folder(home)
    found = os.environ.get(AGENT_TOKEN_VARIABLE, "")
    if not found:
        _announce_new(folder / AGENT_TOKEN_FILE)
        prepare_home(folder)
        with token_file_errors():
            found = ensure_token(folder / AGENT_TOKEN_FILE)
    print(found)


def rotate_agent_token(home: Path | None) -> None:
    """Replace the token of `roebot agent serve`. Raises StartError."""
    if os.environ.get(AGENT_TOKEN_VARIABLE):
        raise StartError(
            f"{AGENT_TOKEN_VARIABLE} sets the token of the runtime. Change it there and restart it."
        )
    folder = home_folder(home)
    prepare_home(folder)
    with token_file_errors():
        rotate_token(folder / AGENT_TOKEN_FILE)
    print("roebot: the token was replaced; a running server accepts the new one within a second")


def _is_accepted(url: str, token: str) -> bool:
    """Return whether the service accepts the token, allowing it time to read the file."""
    import httpx

    deadline = time.monotonic() + PICK_UP_SECONDS
    headers = bearer_headers(token)
    while time.monotonic() < deadline:
        with suppress(httpx.HTTPError):
            answer = httpx.get(f"{url}/api/session", headers=headers, timeout=ASK_SECONDS, trust_env=False)
            if answer.is_success:
                return True
        time.sleep(0.1)
    return False
