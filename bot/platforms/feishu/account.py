"""An account's entry in `channels`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from agent.config.types import Secret, Text
from bot.config.accounts import REACTION, AccountConfig, Webhook

_REACTION = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")


def _check_reaction(value: str) -> str:
    if value and not _REACTION.fullmatch(value):
        raise ValueError("expected the emoji_type of a reaction, such as OnIt")
    return value


Reaction = Annotated[str, AfterValidator(_check_reaction)]


class FeishuAccount(AccountConfig):
    """A custom app on Feishu or Lark."""

    # Open ids of people and of chats (open.feishu.cn, "How to get open_id" and "Chat ID description").
    person_pattern: ClassVar[str] = r"ou_[0-9a-z]{8,64}"
    group_pattern: ClassVar[str] = r"oc_[0-9a-z]{8,64}"
    app_pattern: ClassVar[str] = r"cli_[0-9a-z]{8,64}"
    person_words: ClassVar[str] = "a person's open id (ou_…)"
    group_words: ClassVar[str] = "a chat id (oc_…)"
    kind_patterns: ClassVar[Mapping[str, str]] = {
        "team": r"[0-9a-z]{4,64}",
        "department": r"od-[0-9a-z]{8,64}",
    }
    asked_too: ClassVar[Mapping[str, str]] = {
        "domain": "Platform of the app: feishu (feishu.cn) or lark (larksuite.com)"
    }
    identity: ClassVar[str] = "app_id"
    webhook: ClassVar[Webhook] = Webhook(
        "signature with the encrypt key, at most 5 min old",
        "encrypt_key",
        advice={"verification_token": "Copy the verification token from the Feishu console."},
    )

    platform: Literal["feishu"] = "feishu"
    app_id: Text | None = Field(None, description="The app's id (cli_…).")
    app_secret: Secret | None = Field(None, description="The app's secret.")
    encrypt_key: Secret | None = Field(
        None, description="Webhook mode: the key that encrypts and signs callbacks."
    )
    verification_token: Secret | None = Field(
        None, description="Webhook mode: the token that callbacks must contain."
    )
    reaction: Reaction = Field("", description=f"{REACTION}An `emoji_type`, such as OnIt.")
    domain: Literal["feishu", "lark"] = Field(
        "feishu", description="feishu (feishu.cn) or lark (larksuite.com)."
    )
    mode: Literal["socket", "webhook"] = Field(
        "socket", description="socket: the service opens a connection; webhook: Feishu calls it."
    )

    def needs(self) -> Mapping[str, str]:
        app = {"app_id": "add the app's id (cli_…)", "app_secret": "add the app's secret"}
        if self.mode == "socket":
            return app
        return {**app, "encrypt_key": "add it (required in webhook mode to verify requests)"}
