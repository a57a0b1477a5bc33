"""What must never be logged."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bot.config import Config, masked, secrets_of

if TYPE_CHECKING:
    from .conftest import Folder

TEXT = """\
config_version: 1
server: {token: server-token}
runtime: {api_key: runtime-key}
database: {url: 'postgresql://bot:pass%2Fword@db/roebot'}
channels:
  telegram: {bot_token: '123:telegram-token'}
  old: {platform: telegram, enabled: false, bot_token: '456:disabled-token'}
models:
  - name: m
    use: a:B
    api_key: model-key
    base_url: https://models.example
    max_tokens: 100
    default_headers: {X-Api-Key: header-key, X-Team: red-team}
    fallbacks: [{client_secret: fallback-secret}]
    when_thinking_enabled: {access_token: thinking-token}
  - {name: short, use: 'a:B', api_key: abc}
"""


def test_every_secret_is_found_and_nothing_else(folder: Folder) -> None:
    assert secrets_of(folder.load(TEXT).config) == {
        "server-token",
        "runtime-key",
        "postgresql://bot:pass%2Fword@db/roebot",
        "pass%2Fword",
        "pass/word",
        "123:telegram-token",
        "456:disabled-token",
        "model-key",
        "header-key",
        "fallback-secret",
        "thinking-token",
    }


def test_the_zero_configuration_has_none() -> None:
    assert secrets_of(Config()) == frozenset()


def test_an_address_that_cannot_be_taken_apart_is_masked_whole(folder: Folder) -> None:
    config = folder.load("config_version: 1\ndatabase: {url: 'postgresql://[broken/name'}\n").config
    assert secrets_of(config) == {"postgresql://[broken/name"}


def test_longer_secrets_are_masked_first() -> None:
    secrets = frozenset({"secret", "secret-and-more"})
    assert masked("a secret-and-more b secret c", secrets) == "a *** b *** c"
    assert masked("nothing", secrets) == "nothing"
