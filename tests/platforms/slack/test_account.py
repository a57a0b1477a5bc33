"""The account's entry in the configuration."""

from __future__ import annotations

import pytest

from bot.platforms.slack.account import SlackAccount


@pytest.mark.parametrize(("mode", "key"), [("socket", "app_token"), ("http", "signing_secret")])
def test_an_account_needs_the_secret_of_its_mode(mode: str, key: str) -> None:
    account = SlackAccount.model_validate({"name": "slack", "bot_token": "x", "mode": mode})
    assert list(account.needs()) == ["bot_token", key]
