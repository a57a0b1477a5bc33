"""The accounts of the web console and the terminal in `channels`."""

from __future__ import annotations

from typing import Literal

from bot.config.accounts import AccountConfig


class WebAccount(AccountConfig):
    """The web console."""

    name: Literal["web"] = "web"
    platform: Literal["web"] = "web"


class TerminalAccount(AccountConfig):
    """`roebot chat`."""

    name: Literal["terminal"] = "terminal"
    platform: Literal["terminal"] = "terminal"
