"""The section `profiles`: settings for a platform, an account, a chat, a topic or a person."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from agent.config.types import Int, ManyIds, OneId, Section, Switch, Text
from bot.profiles import LEVELS, MAX_INSTRUCTIONS, OFF, ON, SETTINGS, Combination, PlacedSettings, TurnPlace

Limit = Annotated[Int, Field(ge=0, le=999_999_999)]
Words = Annotated[tuple[Text, ...], ManyIds]


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
    mention: Switch | None = Field(
        None,
        description="false: messages in groups start a turn without mentioning the bot or replying to it.",
    )
    steer: Words | None = Field(
        None,
        description="People who can add messages to a running answer to somebody else if `busy` is steer:"
        " requester (nobody else), admins, members, or people and groups as in `access`.",
    )
    approvers: Words | None = Field(
        None,
        description="People who decide on tool calls: requester, admins, others (an admin other than the"
        " person who asked), members, or people and groups as in `access`.",
    )
    messages_per_hour: Limit | None = Field(
        None, description="Maximum number of answered messages per hour; 0: no limit."
    )
    tokens_per_day: Limit | None = Field(
        None, description="Maximum number of tokens per day (UTC); 0: no limit."
    )
    skills: Annotated[Words, Field(min_length=1)] | None = Field(
        None, description="Skills that the agent can use, with * for any text; none: no skill."
    )
    instructions: Text | None = Field(
        None,
        max_length=MAX_INSTRUCTIONS,
        description="Instructions for the agent, in addition to those of other profiles.",
    )
    denied_tools: Words = Field(
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
        for name, values in self.place_settings("").values.items():
            setting = SETTINGS[name]
            if self.topic and setting.combination is Combination.PER_SCOPE:
                raise ValueError(f"{name}: a limit applies to all topics of the chat; remove topic")
            try:
                setting.check(values)
            except ValueError as error:
                options = ", ".join(setting.options)
                raise ValueError(f'{name}: unknown value "{error}"; expected one of {options}') from None
        return self

    def place_settings(self, origin: str) -> PlacedSettings:
        """Return the settings with the places where they apply."""
        place = TurnPlace(**{level: getattr(self, level) or "" for level in LEVELS})
        given = {name: getattr(self, name, None) for name in SETTINGS}
        return PlacedSettings(
            origin,
            place,
            {name: _as_words(value) for name, value in given.items() if value not in (None, ())},
        )


def _as_words(value: object) -> tuple[str, ...]:
    if isinstance(value, tuple):
        return value
    return (((OFF, ON)[value] if isinstance(value, bool) else str(value)),)
