"""An account's entry in `channels`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, SecretStr, field_validator

from agent.config.types import Secret, Section, Switch
from bot.config.accounts import LINK_PREVIEWS, MAX_GROUPS, REACTION, AccountConfig, GroupName, Webhook

_REACTION = re.compile(r"[\w+'-]{1,100}(::skin-tone-[2-6])?")


def _check_reaction(value: str) -> str:
    if value and not _REACTION.fullmatch(value):
        raise ValueError("expected the name of an emoji without colons, such as eyes")
    return value


def _check_user_group(value: str) -> str:
    if not re.fullmatch(r"S[A-Z0-9]{2,30}", value):
        raise ValueError("expected the id of a user group (S…)")
    return value


Reaction = Annotated[str, AfterValidator(_check_reaction)]
UserGroupId = Annotated[str, AfterValidator(_check_user_group)]


class SuggestedPrompt(Section):
    """A prompt that Slack suggests."""

    title: str = Field(min_length=1, max_length=60, description="What the person sees.")
    message: str = Field(min_length=1, max_length=1000, description="The message that is sent.")


class SlackAccount(AccountConfig):
    """An app in one Slack workspace."""

    # Slack's ids: a letter for the kind, then capitals and digits (docs.slack.dev/reference/objects).
    person_pattern: ClassVar[str] = r"[UW][A-Z0-9]{2,30}"
    group_pattern: ClassVar[str] = r"[CG][A-Z0-9]{2,30}"
    app_pattern: ClassVar[str] = r"[AB][A-Z0-9]{2,30}"
    person_words: ClassVar[str] = "a person's member id (U…)"
    group_words: ClassVar[str] = "a channel id (C…)"
    kind_patterns: ClassVar[Mapping[str, str]] = {
        "team": r"[TE][A-Z0-9]{2,30}",
        "usergroup": r"S[A-Z0-9]{2,30}",
    }
    identity: ClassVar[str] = "bot_token"
    webhook: ClassVar[Webhook] = Webhook("signature with the signing secret, at most 5 min old")

    platform: Literal["slack"] = "slack"
    bot_token: Secret | None = Field(None, description="The app's bot token (xoxb-…).")
    app_token: Secret | None = Field(None, description="The app-level token for Socket Mode (xapp-…).")
    signing_secret: Secret | None = Field(None, description="HTTP mode: the secret that signs requests.")
    mode: Literal["socket", "http"] = Field(
        "socket", description="socket: the service opens a connection; http: Slack calls the service."
    )
    link_previews: Switch = Field(False, description=LINK_PREVIEWS)
    reaction: Reaction = Field("", description=f"{REACTION}The name of an emoji, such as eyes.")
    mention_groups: dict[GroupName, UserGroupId] = Field(
        {},
        max_length=MAX_GROUPS,
        description="User groups that answers may mention: names, each with the group's id (S…).",
    )
    threads_in_dm: Switch = Field(
        False, description="true: each thread in a direct message is a separate conversation."
    )
    feedback_buttons: Switch = Field(
        True, description="Feedback buttons below answers; ratings are recorded in the audit log."
    )
    loading_messages: list[Annotated[str, Field(min_length=1, max_length=50)]] = Field(
        [],
        max_length=10,
        description="Texts that the status line below a thread rotates through, if Slack shows that line "
        "instead of an agent session; at most 10.",
    )
    suggested_prompts: list[SuggestedPrompt] | None = Field(
        None,
        max_length=4,
        description="Prompts that Slack suggests to a person who opens the app, at most 4; []: none.",
    )

    @field_validator("bot_token")
    @classmethod
    def _of_the_bot(cls, value: SecretStr | None) -> SecretStr | None:
        if value and value.get_secret_value().startswith("xapp-"):
            raise ValueError("expected the bot token (xoxb-…); this is the app-level token (xapp-…)")
        return value

    @field_validator("app_token")
    @classmethod
    def _of_the_app(cls, value: SecretStr | None) -> SecretStr | None:
        if value and value.get_secret_value().startswith(("xoxb-", "xoxp-")):
            raise ValueError("expected the app-level token (xapp-…); this is a bot or user token")
        return value

    @property
    def private_isolation(self) -> str:
        """Treat a direct message chat as one conversation, even though each answer in it opens a thread."""
        return self.isolation if self.threads_in_dm else "chat"

    def needs(self) -> Mapping[str, str]:
        token = {"bot_token": "add the app's bot token (xoxb-…)"}
        if self.mode == "socket":
            return {**token, "app_token": "add the app-level token (xapp-…), set `mode: http`"}
        return {**token, "signing_secret": "add it (required in HTTP mode)"}
