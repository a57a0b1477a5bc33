"""Which token the service accepts, and which one the commands send."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.shared.tokens import SERVICE_TOKEN_FILE, read_token
from bot.app.service_token import (
    configured_token,
    ensure_service_token,
    find_service_token,
    lacks_token,
    load_service_token,
    replace_service_token,
)
from bot.config.models import ServerConfig
from bot.errors import StartError

STRONG = "Zq3-Tx8_Lm2Pw7Rk5Vn1Bc9Hj4Df6"
OTHER = "Hn6-Rt1_Vb8Xc3Kq9Lw5Gy2Jm7Sd4"


def test_the_first_start_generates_the_token_that_the_commands_read(tmp_path: Path) -> None:
    assert find_service_token(ServerConfig(), {}, tmp_path) is None
    token = load_service_token(ServerConfig(host="0.0.0.0"), {}, tmp_path)
    assert token.value == read_token(tmp_path / SERVICE_TOKEN_FILE)
    assert find_service_token(ServerConfig(), {}, tmp_path) == token.value
    assert load_service_token(ServerConfig(), {}, tmp_path).value == token.value


def test_a_data_directory_that_was_used_without_a_token_is_noticed_once(tmp_path: Path) -> None:
    """One of an earlier version or of a backup; not a new one, and not where the token is configured."""
    assert not lacks_token(ServerConfig(), {}, tmp_path)
    (tmp_path / "agent.db").touch()
    assert lacks_token(ServerConfig(), {}, tmp_path)
    assert not lacks_token(ServerConfig(token=STRONG), {}, tmp_path)
    assert not lacks_token(ServerConfig(), {"ROEBOT_TOKEN": STRONG}, tmp_path)
    ensure_service_token(tmp_path)
    assert not lacks_token(ServerConfig(), {}, tmp_path)


def test_the_configuration_and_the_environment_override_the_file(tmp_path: Path) -> None:
    ensure_service_token(tmp_path)
    env = {"ROEBOT_TOKEN": OTHER}
    for server, variables, expected in (
        (ServerConfig(token=STRONG), env, STRONG),
        (ServerConfig(token=STRONG), {}, STRONG),
        (ServerConfig(), env, OTHER),
    ):
        assert configured_token(server, variables) == expected
        assert load_service_token(server, variables, tmp_path).value == expected
        assert find_service_token(server, variables, tmp_path) == expected
    assert configured_token(ServerConfig(), {"ROEBOT_TOKEN": " "}) == ""


@pytest.mark.guard(
    "bot: refused where other machines reach it",
    "bot/app/service_token.py",
    "if not server.is_loopback and (weakness := find_weakness(token)):",
    'if not (weakness := ""):\n        return LiveToken(token)\n    if weakness:',
    against="weak tokens",
)
@pytest.mark.parametrize(
    "server",
    [
        {"host": "0.0.0.0"},
        {"host": "::"},
        {"host": "192.0.2.7"},
    ],
)
@pytest.mark.parametrize(("token", "why"), [("k7-b", "shorter than 24"), ("change-me" * 4, "example")])
def test_a_weak_token_does_not_start_where_others_reach_it(
    tmp_path: Path, server: dict[str, Any], token: str, why: str
) -> None:
    for config, env in (
        (ServerConfig(**server, token=token), {}),
        (ServerConfig(**server), {"ROEBOT_TOKEN": token}),
    ):
        name = "server.token" if config.token else "ROEBOT_TOKEN"
        with pytest.raises(StartError, match=f"{name} must not be used there: it is .*{why}") as caught:
            load_service_token(config, env, tmp_path)
        assert token not in str(caught.value)
    assert load_service_token(ServerConfig(token=token), {}, tmp_path).value == token


def test_an_unusable_file_is_one_clear_line(tmp_path: Path) -> None:
    ensure_service_token(tmp_path)
    (tmp_path / SERVICE_TOKEN_FILE).chmod(0o644)
    for use in (
        lambda: load_service_token(ServerConfig(), {}, tmp_path),
        lambda: find_service_token(ServerConfig(), {}, tmp_path),
        lambda: ensure_service_token(tmp_path),
    ):
        with pytest.raises(StartError, match="others can read it"):
            use()


def test_the_token_is_replaced(tmp_path: Path) -> None:
    former = ensure_service_token(tmp_path)
    assert replace_service_token(tmp_path) == ensure_service_token(tmp_path) != former
