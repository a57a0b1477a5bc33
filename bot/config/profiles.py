"""The section `profiles`: settings for a platform, an account, a chat, a topic or a person."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agent.config.types import ManyIds, OneId, Section, Text
from bot.profiles import CHOICES, LEVELS, PlacedSettings, TurnPlace

MAX_INSTRUCTIONS = 2_000
"""Maximum length of a profile's instructions (characters)."""


class ProfileRule(Section):
    """Settings that apply wherever all specified places match."""

    platform: Text | None = Field(None, description="Name of the platform.")
    account: Text | None = Field(None, description="Name of the account.")
    chat: OneId | None = Field(None, description="Id of a chat on its platform; requires `account`.")
    topic: OneId | None = Field(None, description="Topic in the chat; requires `chat`.")
    person: Text | None = Field(None, description="Person, as platform:id.")
    agent: OneId | None = Field(None, description="Custom agent that answers.")
    model: OneId | None = Field(None, description="Name of the model.")
    busy: Literal["queue", "interrupt", "steer", "reject"] | None = Field(
        None, description="Handling of messages that arrive during a run."
    )
    instructions: Text | None = Field(
        None,
        max_length=MAX_INSTRUCTIONS,
        description="Instructions for the agent, in addition to those of other profiles.",
    )
    denied_tools: Annotated[tuple[Text, ...], ManyIds] = Field(
        (),
        description="Tools that the agent can't use, with * for any text, in addition to those of other"
        " profiles.",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> ProfileRule:
        if self.chat and not self.account:
            raise ValueError("chat: the id of a chat requires account")
        if self.topic and not self.chat:
            raise ValueError("topic: a topic requires chat")
        if not any((self.platform, self.account, self.person)):
            raise ValueError("a profile requires platform, account or person")
        return self

    def place_settings(self, origin: str) -> PlacedSettings:
        """Return the settings with the places where they apply."""
        place = TurnPlace(**{level: getattr(self, level) or "" for level in LEVELS})
        choices = {name: getattr(self, name) or "" for name in CHOICES}
        return PlacedSettings(origin, place, choices, self.instructions or "", self.denied_tools)
