"""An account's entry in `channels`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field

from agent.config.types import Secret, Switch
from bot.config.accounts import LINK_PREVIEWS, MAX_GROUPS, REACTION, AccountConfig, GroupName

_REACTION = re.compile(r"\w{2,32}:[1-9][0-9]{14,19}|[^\x00-\x7f][^\s:]{0,15}")


def _check_reaction(value: str) -> str:
    if value and not _REACTION.fullmatch(value):
        raise ValueError("expected an emoji, such as 👀, or the name:id of a server emoji")
    return value


def _check_role(value: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{14,19}", value):
        raise ValueError("expected the numeric id of a role, in quotes")
    return value


Reaction = Annotated[str, AfterValidator(_check_reaction)]
RoleId = Annotated[str, AfterValidator(_check_role)]


class DiscordAccount(AccountConfig):
    """A bot on Discord."""

    # Snowflakes (docs.discord.com/developers/reference#snowflakes).
    person_pattern: ClassVar[str] = r"[1-9][0-9]{14,19}"
    group_pattern: ClassVar[str] = r"[1-9][0-9]{14,19}"
    group_words: ClassVar[str] = "a channel's numeric id"
    kind_patterns: ClassVar[Mapping[str, str]] = {"role": r"[1-9][0-9]{14,19}"}
    identity: ClassVar[str] = "bot_token"

    platform: Literal["discord"] = "discord"
    bot_token: Secret | None = Field(None, description="The bot's token from the developer portal.")
    link_previews: Switch = Field(False, description=LINK_PREVIEWS)
    reaction: Reaction = Field(
        "", description=f"{REACTION}An emoji, such as 👀, or the `name:id` of one of the server's."
    )
    mention_roles: dict[GroupName, RoleId] = Field(
        {},
        max_length=MAX_GROUPS,
        description="Roles that answers may mention: names, each with the role's id in quotes.",
    )

    def needs(self) -> Mapping[str, str]:
        return {"bot_token": "add the bot's token from the developer portal"}
