"""Entries of `channels`, one for each account that the bot has on a platform."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import (
    AfterValidator,
    Field,
    GetJsonSchemaHandler,
    SecretStr,
    field_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agent.config.types import Count, Days, Number, OneId, Secret, Section, Switch, Text, Url
from bot.config.access import AccessOverrides, AppRule
from bot.config.reactions import REACTION, DiscordReaction, FeishuReaction, SlackReaction, TelegramReaction
from bot.domain import EVERYBODY

ACCOUNT_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
"""Pattern of account names, which appear in URLs, stored rows and access entries."""


BUILT_IN = ("web", "terminal")
"""Platforms whose single account always exists, unless it has `enabled: false`."""

LINK_PREVIEWS = (
    "true: the platform may fetch links in messages to show previews, which tells the linked server what the "
    "link contains, without a click."
)


_GROUP_NAME = re.compile(r"[^\W_](?:[\w .-]{0,78}[^\W_])?")
MAX_GROUPS = 50
"""Maximum number of roles or user groups that the answers of an account may mention."""


def _check_group_name(name: str) -> str:
    if not _GROUP_NAME.fullmatch(name):
        raise ValueError(
            "expected 1 to 80 letters, digits, spaces or any of . - _, without the @, such as oncall"
        )
    if name.casefold() in EVERYBODY:
        raise ValueError("this name addresses everybody; expected another one")
    return name


GroupName = Annotated[str, AfterValidator(_check_group_name)]
"""Name of people who can be mentioned together."""


def _check_user_group(value: str) -> str:
    if not re.fullmatch(r"S[A-Z0-9]{2,30}", value):
        raise ValueError("expected the id of a user group (S…)")
    return value


def _check_role(value: str) -> str:
    if not re.fullmatch(r"[1-9][0-9]{14,19}", value):
        raise ValueError("expected the numeric id of a role, in quotes")
    return value


UserGroupId = Annotated[str, AfterValidator(_check_user_group)]
RoleId = Annotated[str, AfterValidator(_check_role)]


class RefusedName(str):
    """Name of an account whose entry contains the key `name`, which is not allowed."""

    __slots__ = ()


class AccountConfig(Section):
    """Keys that accounts have on every platform."""

    person_pattern: ClassVar[str] = r".+"
    """Pattern of a person's id on the platform."""
    group_pattern: ClassVar[str] = r".+"
    """Pattern of a group's id on the platform."""
    app_pattern: ClassVar[str] = r"(?!)"
    """Pattern of an app's id on the platform, if it is not like a person's."""
    person_words: ClassVar[str] = "a person's numeric id"
    group_words: ClassVar[str] = "a group's numeric id"
    kind_patterns: ClassVar[Mapping[str, str]] = {}
    """Patterns of the other ids that an access entry can contain (`platform:kind:id`), by kind."""
    asked_too: ClassVar[Mapping[str, str]] = {}
    """Keys that `roebot init` asks for although they have a default, each with its question."""
    identity: ClassVar[str] = ""
    """The key whose value must be unique among enabled accounts of the platform; "" for none."""

    name: Text = Field(description="The key of the entry.")
    platform: Text = Field(description="Platform; default: the entry's key.")
    enabled: Switch = Field(True, description="false: do not start the account.")
    base_url: Url | None = Field(None, description="Root URL of the API; null: the platform's public API.")
    assistant_id: OneId | None = Field(
        None, description="Assistant for this account; null: runtime.assistant_id."
    )
    agent: OneId | None = Field(
        None, description="Custom agent (agents/<name> in the data directory) that answers; null: none."
    )
    model: OneId | None = Field(None, description="Name of the model; null: the assistant's model.")
    busy: Literal["queue", "interrupt", "steer", "reject"] = Field(
        "queue",
        description="Handling of messages that arrive during a run. queue: keep them waiting; interrupt: "
        "stop the run; steer: add them to the run; reject: decline them.",
    )
    isolation: Literal["chat", "topic", "member"] = Field(
        "topic", description="Scope of a conversation: a chat, a topic in a chat, or a member."
    )
    locale: Literal["en", "zh"] = Field(
        "en", description="Language of the service's own messages, unless changed with `/language`."
    )
    access: AccessOverrides = Field(
        default_factory=AccessOverrides,
        description="Access settings that override `access` for this account.",
    )
    apps: tuple[AppRule, ...] = Field(
        (), description="Third-party apps, bots and webhooks whose messages may start turns."
    )
    app_turns: Count = Field(
        5,
        le=1000,
        description="Maximum number of turns that apps start in a chat within `app_minutes`. The count "
        "restarts when a person writes to the bot.",
    )
    app_minutes: Count = Field(10, le=60, description="Period of `app_turns`, in minutes.")
    retention_days: Days | None = Field(
        None, description="Days to keep this account's messages; 0: forever; null: retention.days."
    )
    rate_scale: Number = Field(
        1.0,
        gt=0,
        le=1000,
        description="Multiplier for the time windows of the platform's published rate limits.",
    )

    def needs(self) -> Mapping[str, str]:
        """Return the keys that the account requires, each with a hint."""
        return {}

    @property
    def private_isolation(self) -> str:
        """Return `isolation` in private chats."""
        return self.isolation

    @field_validator("name", mode="before")
    @classmethod
    def _is_the_key_of_the_entry(cls, value: object) -> object:
        if isinstance(value, RefusedName):
            raise ValueError("unknown key; an account is named by the key of its entry")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe an entry of `channels`. Its key is the account's name, so it has no key `name`."""
        shape = handler(core)
        section = handler.resolve_ref_schema(shape)
        section["properties"].pop("name", None)
        section["properties"]["platform"]["description"] = AccountConfig.model_fields["platform"].description
        section["required"] = [key for key in section.get("required", ()) if key != "name"]
        return shape

    @classmethod
    def secrets(cls) -> frozenset[str]:
        """Return the keys that hold a secret."""
        return frozenset(
            name for name, field in cls.model_fields.items() if "SecretStr" in str(field.annotation)
        )


class WebAccount(AccountConfig):
    """The web console."""

    name: Literal["web"] = "web"
    platform: Literal["web"] = "web"


class TerminalAccount(AccountConfig):
    """`roebot chat`."""

    name: Literal["terminal"] = "terminal"
    platform: Literal["terminal"] = "terminal"


class TelegramAccount(AccountConfig):
    """A bot on Telegram."""

    # Telegram counts people up from 1 and groups down from -1, in 52 bits (core.telegram.org/bots/api#chat).
    person_pattern: ClassVar[str] = r"[1-9][0-9]{0,15}"
    group_pattern: ClassVar[str] = r"-[1-9][0-9]{0,15}"
    group_words: ClassVar[str] = "a group's numeric id (it starts with a minus sign)"
    identity: ClassVar[str] = "bot_token"

    platform: Literal["telegram"] = "telegram"
    bot_token: Secret | None = Field(None, description="The token from @BotFather.")
    link_previews: Switch = Field(False, description=LINK_PREVIEWS)
    streaming: Literal["edit", "draft", "off"] = Field(
        "edit",
        description="edit: keep editing one message; draft: show a draft, then send a new message; off: send "
        "complete answers only.",
    )
    reaction: TelegramReaction = Field("", description=f"{REACTION}One of Telegram's, such as 👀.")
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

    platform: Literal["slack"] = "slack"
    bot_token: Secret | None = Field(None, description="The app's bot token (xoxb-…).")
    app_token: Secret | None = Field(None, description="The app-level token for Socket Mode (xapp-…).")
    signing_secret: Secret | None = Field(None, description="HTTP mode: the secret that signs requests.")
    mode: Literal["socket", "http"] = Field(
        "socket", description="socket: the service opens a connection; http: Slack calls the service."
    )
    link_previews: Switch = Field(False, description=LINK_PREVIEWS)
    reaction: SlackReaction = Field("", description=f"{REACTION}The name of an emoji, such as eyes.")
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
        """Treat a direct message as one conversation, even though each answer in it opens a thread."""
        return self.isolation if self.threads_in_dm else "chat"

    def needs(self) -> Mapping[str, str]:
        token = {"bot_token": "add the app's bot token (xoxb-…)"}
        if self.mode == "socket":
            return {**token, "app_token": "add the app-level token (xapp-…), set `mode: http`"}
        return {**token, "signing_secret": "add it (required in HTTP mode)"}


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

    platform: Literal["feishu"] = "feishu"
    app_id: Text | None = Field(None, description="The app's id (cli_…).")
    app_secret: Secret | None = Field(None, description="The app's secret.")
    encrypt_key: Secret | None = Field(
        None, description="Webhook mode: the key that encrypts and signs callbacks."
    )
    verification_token: Secret | None = Field(
        None, description="Webhook mode: the token that callbacks must contain."
    )
    reaction: FeishuReaction = Field("", description=f"{REACTION}An `emoji_type`, such as OnIt.")
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
    reaction: DiscordReaction = Field(
        "", description=f"{REACTION}An emoji, such as 👀, or the `name:id` of one of the server's."
    )
    mention_roles: dict[GroupName, RoleId] = Field(
        {},
        max_length=MAX_GROUPS,
        description="Roles that answers may mention: names, each with the role's id in quotes.",
    )

    def needs(self) -> Mapping[str, str]:
        return {"bot_token": "add the bot's token from the developer portal"}


PLATFORMS: Mapping[str, type[AccountConfig]] = {
    "web": WebAccount,
    "terminal": TerminalAccount,
    "telegram": TelegramAccount,
    "slack": SlackAccount,
    "feishu": FeishuAccount,
    "discord": DiscordAccount,
}
"""The built-in platforms; `bot.config.plugins` finds those of other packages."""
