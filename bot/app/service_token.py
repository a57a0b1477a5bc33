"""The service's token: from the configuration, the environment, or a file in the data directory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
USED = ("bot.db", "agent.db", "instance-id")
"""Files of a data directory that a service has used."""
GENERATED_NOTICE = (
    "this data directory had no token, so one is generated. Sign in to the web console with the link below; "
    "programs that use the API have to send the token, which `roebot token` prints."
)


def configured_token(server: ServerConfig, env: Mapping[str, str]) -> str:
    """Return the token that `server.token` or ROEBOT_TOKEN sets, or "" if neither does."""
    if server.token is not None:
        return server.token.get_secret_value()
    return env.get(TOKEN_VARIABLE, "").strip()


def token_source(server: ServerConfig) -> str:
    """Return the name of the setting or variable that sets the token, or "" if none does."""
    return TOKEN_VARIABLE if server.token is None else "server.token"


@contextmanager
def token_file_errors() -> Iterator[None]:
    """Raise StartError for an unusable token file."""
    try:
        yield
    except TokenFileError as problem:
        raise StartError(str(problem)) from problem


def lacks_token(server: ServerConfig, env: Mapping[str, str], home: Path) -> bool:
    """Return whether an existing data directory has no token, because it is from an earlier version or
    restored. Blocking.
    """
    is_set = bool(configured_token(server, env)) or (home / SERVICE_TOKEN_FILE).exists()
    return not is_set and any((home / name).exists() for name in USED)


def load_service_token(server: ServerConfig, env: Mapping[str, str], home: Path) -> LiveToken:
    """Return the token that the service accepts, generating it at the first start. Blocking.

    Raises StartError if the file is unusable, or the token is too weak for the address.
    """
    from agent.shared.live_token import LiveToken

    token = configured_token(server, env)
    if not token:
        return LiveToken(ensure_service_token(home), home / SERVICE_TOKEN_FILE)
    if not server.is_loopback and (weakness := find_weakness(token)):
        raise StartError(
            f"other machines can reach {server.host}, and {token_source(server)} must not be used there: "
            f"{weakness}. Remove it to have a token generated, or use the output of `openssl rand -hex 32`."
        )
    return LiveToken(token)


def find_service_token(server: ServerConfig, env: Mapping[str, str], home: Path) -> str | None:
    """Return the token for clients on this machine, or None if none has been generated yet. Blocking.

    Raises StartError.
    """
    if token := configured_token(server, env):
        return token
    with token_file_errors():
        return read_token(home / SERVICE_TOKEN_FILE)


def ensure_service_token(home: Path) -> str:
    """Return the token in the data directory, generating it if necessary. Blocking. Raises StartError."""
    with token_file_errors():
        return ensure_token(home / SERVICE_TOKEN_FILE)


def replace_service_token(home: Path) -> str:
    """Generate a new token in the data directory and return it. Blocking. Raises StartError."""
    with token_file_errors():
        return rotate_token(home / SERVICE_TOKEN_FILE)
