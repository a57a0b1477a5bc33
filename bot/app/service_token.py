"""The token of the service: from the configuration, the environment, or a file in the data directory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from agent.shared.tokens import (
    SERVICE_TOKEN_FILE,
    TokenFileError,
    ensure_token,
    find_weakness,
    read_token,
    rotate_token,
)
from bot.config.models import ServerConfig
from bot.errors import StartError

if TYPE_CHECKING:
    from agent.shared.live_token import LiveToken

TOKEN_VARIABLE = "ROEBOT_TOKEN"  # noqa: S105 - a variable's name


def configured_token(server: ServerConfig, env: Mapping[str, str]) -> str:
    """Return the token that `server.token` or ROEBOT_TOKEN sets, "" if neither does."""
    if server.token is not None:
        return server.token.get_secret_value()
    return env.get(TOKEN_VARIABLE, "").strip()


def load_service_token(server: ServerConfig, env: Mapping[str, str], home: Path) -> LiveToken:
    """Return the token that the service accepts; it is generated at the first start. Blocking.

    Raises StartError if the file is unusable, or the token is too weak for the address.
    """
    from agent.shared.live_token import LiveToken

    token = configured_token(server, env)
    if not token:
        return LiveToken(ensure_service_token(home), home / SERVICE_TOKEN_FILE)
    if not server.is_loopback and (weakness := find_weakness(token)):
        name = "ROEBOT_TOKEN" if server.token is None else "server.token"
        raise StartError(
            f"other machines can reach {server.host}, and {name} must not be used there: "
            f"{weakness}. Remove it to have a token generated, or use the output of `openssl rand -hex 32`."
        )
    return LiveToken(token)


def find_service_token(server: ServerConfig, env: Mapping[str, str], home: Path) -> str | None:
    """Return the token that clients on this machine send, None if none has been generated yet. Blocking.

    Raises StartError.
    """
    if token := configured_token(server, env):
        return token
    try:
        return read_token(home / SERVICE_TOKEN_FILE)
    except TokenFileError as problem:
        raise StartError(str(problem)) from problem


def ensure_service_token(home: Path) -> str:
    """Return the token in the data directory, generated if there is none. Blocking. Raises StartError."""
    try:
        return ensure_token(home / SERVICE_TOKEN_FILE)
    except TokenFileError as problem:
        raise StartError(str(problem)) from problem


def replace_service_token(home: Path) -> str:
    """Generate a new token in the data directory and return it. Blocking. Raises StartError."""
    try:
        return rotate_token(home / SERVICE_TOKEN_FILE)
    except TokenFileError as problem:
        raise StartError(str(problem)) from problem
