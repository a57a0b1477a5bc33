"""The section `profiles`: settings for a platform, an account, a chat, a topic or a person."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agent.config.types import Int, ManyIds, OneId, Section, Switch, Text
from bot.profiles import LEVELS, MAX_INSTRUCTIONS, OFF, ON, SETTINGS, PlacedSettings, TurnPlace

Limit = Annotated[Int, Field(ge=0, le=999_999_999)]
Words = Annotated[tuple[Text, ...], Field(min_length=1), ManyIds]


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
    mention: Switch | None = Field(None, description="false: messages in groups need no mention of the bot.")
    steer: Words | None = Field(
        None, description="People who can add messages to an answer to somebody else."
    )
    approvers: Words | None = Field(None, description="People who decide on tool calls.")
    messages_per_hour: Limit | None = Field(None, description="Maximum messages per hour; 0: no limit.")
    tokens_per_day: Limit | None = Field(None, description="Maximum tokens per day (UTC); 0: no limit.")
    skills: Words | None = Field(None, description="Skills that the agent can use, with * for any text.")
    instructions: Text | None = Field(
        None, max_length=MAX_INSTRUCTIONS, description="Instructions, in addition to those of other profiles."
    )
    denied_tools: Words | None = Field(
        None, description="Tools that the agent can't use, with * for any text; other profiles can add more."
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> ProfileRule:
        if self.chat and not self.account:
            raise ValueError("chat: the id of a chat requires account")
        if self.topic and not self.chat:
            raise ValueError("topic: a topic requires chat")
        if not any((self.platform, self.account, self.person)):
            raise ValueError("a profile requires platform, account or person")
        for name, values in self.place_settings("").values.items():
            if self.topic and SETTINGS[name].combine == "scope":
                raise ValueError(f"{name}: a limit applies to all topics of the chat; remove topic")
            try:
                SETTINGS[name].check(values)
            except ValueError as error:
                raise ValueError(f'{name}: invalid value "{error}"') from None
        return self

    def place_settings(self, origin: str) -> PlacedSettings:
        """Return the settings with the places where they apply."""
        place = TurnPlace(**{level: getattr(self, level) or "" for level in LEVELS})
        given = {name: getattr(self, name) for name in SETTINGS}
        values = {name: _as_words(value) for name, value in given.items() if value is not None}
        return PlacedSettings(origin, place, values)


def _as_words(value: tuple[str, ...] | bool | int | str) -> tuple[str, ...]:
    text = (OFF, ON)[value] if isinstance(value, bool) else str(value)
    return value if isinstance(value, tuple) else (text,)
