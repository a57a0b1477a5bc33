"""Reactions that an account may put on messages, as each platform names them."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

TELEGRAM_REACTIONS = frozenset(
    re.findall(
        r"\S+",
        "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 ❤️‍🔥 🌚 🌭 💯 🤣 "
        "⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 "
        "🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂️ 🤷 🤷‍♀️ 😡 ",
    )
)
"""Emoji that a bot may react with (core.telegram.org/bots/api#reactiontypeemoji)."""
REACTION = "Reaction on a message while it is being answered; empty: none. "
_SLACK = re.compile(r"[\w+'-]{1,100}(::skin-tone-[2-6])?")
_DISCORD = re.compile(r"\w{2,32}:[1-9][0-9]{14,19}|[^\x00-\x7f][^\s:]{0,15}")
_FEISHU = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}")


def _check_telegram(value: str) -> str:
    if value and value not in TELEGRAM_REACTIONS:
        raise ValueError("expected an emoji that Telegram allows as a reaction, such as 👀")
    return value


def _check_slack(value: str) -> str:
    if value and not _SLACK.fullmatch(value):
        raise ValueError("expected the name of an emoji without colons, such as eyes")
    return value


def _check_discord(value: str) -> str:
    if value and not _DISCORD.fullmatch(value):
        raise ValueError("expected an emoji, such as 👀, or the name:id of one of the server's")
    return value


def _check_feishu(value: str) -> str:
    if value and not _FEISHU.fullmatch(value):
        raise ValueError("expected the emoji_type of a reaction, such as OnIt")
    return value


TelegramReaction = Annotated[str, AfterValidator(_check_telegram)]
SlackReaction = Annotated[str, AfterValidator(_check_slack)]
DiscordReaction = Annotated[str, AfterValidator(_check_discord)]
FeishuReaction = Annotated[str, AfterValidator(_check_feishu)]
