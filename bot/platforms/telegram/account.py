"""An account's entry in `channels`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator

from agent.config.types import Secret, Switch, Url
from bot.config.accounts import LINK_PREVIEWS, REACTION, AccountConfig, Webhook

TELEGRAM_REACTIONS = frozenset(
    re.findall(
        r"\S+",
        "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤️‍🔥 🌚 🌭 💯 🤣 "
        "⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 "
        "🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂️ 🤷 🤷‍♀️ 😡 ",
    )
)
"""Emoji that a bot may react with (core.telegram.org/bots/api#reactiontypeemoji)."""


def _check_reaction(value: str) -> str:
    if value and value not in TELEGRAM_REACTIONS:
        raise ValueError("expected an emoji that Telegram allows as a reaction, such as 👀")
    return value


Reaction = Annotated[str, AfterValidator(_check_reaction)]


class TelegramAccount(AccountConfig):
    """A bot on Telegram."""

    # Telegram counts people up from 1 and groups down from -1, in 52 bits (core.telegram.org/bots/api#chat).
    person_pattern: ClassVar[str] = r"[1-9][0-9]{0,15}"
    group_pattern: ClassVar[str] = r"-[1-9][0-9]{0,15}"
    group_words: ClassVar[str] = "a group's numeric id (it starts with a minus sign)"
    identity: ClassVar[str] = "bot_token"
    webhook: ClassVar[Webhook] = Webhook("secret token in a header", "webhook_secret", "webhook_url")

    platform: Literal["telegram"] = "telegram"
    bot_token: Secret | None = Field(None, description="The token from @BotFather.")
    link_previews: Switch = Field(False, description=LINK_PREVIEWS)
    streaming: Literal["edit", "draft", "off"] = Field(
        "edit",
        description="edit: keep editing one message; draft: show a draft, then send a new message; off: send "
        "complete answers only.",
    )
    reaction: Reaction = Field("", description=f"{REACTION}One of Telegram's, such as 👀.")
    mode: Literal["polling", "webhook"] = Field(
        "polling", description="polling: the service fetches updates; webhook: Telegram calls the service."
    )
    webhook_url: Url | None = Field(None, description="Webhook mode: public HTTPS root URL of the service.")
    webhook_secret: Secret | None = Field(
        None,
        description="Webhook mode: secret that Telegram sends; 1 to 256 of the characters A-Z a-z 0-9 _ -.",
    )

    def needs(self) -> Mapping[str, str]:
        token = {"bot_token": "add the token from @BotFather"}
        if self.mode == "polling":
            return token
        advice = "add it (required in webhook mode)"
        return {**token, "webhook_url": advice, "webhook_secret": advice}

    @field_validator("bot_token")
    @classmethod
    def _fits_into_an_address(cls, value: SecretStr | None) -> SecretStr | None:
        if value and not re.fullmatch(r"[A-Za-z0-9:_-]+", value.get_secret_value()):
            raise ValueError(
                "expected the token exactly as @BotFather sent it: digits, a colon, then letters and digits"
            )
        return value

    @field_validator("webhook_secret")
    @classmethod
    def _fits_into_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        # Bot API, setWebhook: secret_token.
        if value and not re.fullmatch(r"[A-Za-z0-9_-]{1,256}", value.get_secret_value()):
            raise ValueError("expected 1 to 256 letters, digits, _ or -")
        return value
