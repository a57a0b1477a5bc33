"""The section `channels`: an entry for each account, of a built-in platform or a plug-in's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError

from agent.config.reader import choice_message, unknown_key_message
from bot.config.accounts import (
    ACCOUNT_NAME,
    BUILT_IN,
    PLATFORMS,
    AccountConfig,
    DiscordAccount,
    FeishuAccount,
    RefusedName,
    SlackAccount,
    TelegramAccount,
    TerminalAccount,
    WebAccount,
)
from bot.config.plugins import UnusableAccount, find_schema, known_platforms


def _check_name(name: str) -> str:
    if not ACCOUNT_NAME.fullmatch(name):
        raise ValueError("expected a name of lowercase letters, digits, - and _, starting with a letter")
    return name


def _complete_entries(entries: object) -> object:
    """Add the built-in accounts, the name of each entry, and the platform of entries named after one."""
    if not isinstance(entries, Mapping):
        raise ValueError("expected a mapping with an entry for each account")
    whole = {**dict.fromkeys(BUILT_IN), **entries}
    return {name: _complete_entry(name, {} if entry is None else entry) for name, entry in whole.items()}


def _complete_entry(name: str, entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    named = {"platform": name} if entry.get("platform") is None and find_schema(name) else {}
    return {**entry, **named, "name": RefusedName(name) if "name" in entry else name}


def _validate_entry(entry: object, built_in: ValidatorFunctionWrapHandler) -> object:
    if isinstance(entry, AccountConfig):
        return entry
    if not isinstance(entry, dict):
        raise ValueError("expected a mapping with the account's keys")
    if "platform" not in entry:
        raise ValueError(choice_message("platform", known_platforms()))
    name, platform = entry["name"], entry["platform"]
    schema = find_schema(platform) if isinstance(platform, str) else None
    if schema is None:
        raise _entry_error("platform", choice_message("platform", known_platforms()))
    if name != platform and (find_schema(name) or platform in BUILT_IN):
        raise ValueError(f"the entry {name} cannot be an account on {platform}; rename it")
    return built_in(entry) if platform in PLATFORMS else _validate_plugin_entry(schema, entry)


def _validate_plugin_entry(schema: type[AccountConfig], entry: Mapping[str, object]) -> AccountConfig:
    for key in entry:
        if schema is not UnusableAccount and key not in schema.model_fields:
            raise _entry_error(key, unknown_key_message(key, sorted(schema.model_fields)))
    try:
        account = schema.model_validate(entry)
        account.needs()
    except ValidationError:
        raise
    except Exception as error:
        # A plug-in's own checks may raise anything; the reason must name its entry and show no value.
        reason = f"the platform's plug-in failed to check it ({type(error).__name__})"
        raise ValueError(reason) from error
    return account


def _entry_error(key: str, message: str) -> ValidationError:
    error = PydanticCustomError("account", "{message}", {"message": message})
    return ValidationError.from_exception_data(
        "account", [InitErrorDetails(type=error, loc=(key,), input=None)]
    )


class _ChannelsSchema:
    """JSON schema of `channels`. The key of an entry can name its platform, so `platform` is optional."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        accounts = dict(zip(PLATFORMS, handler(core)["additionalProperties"]["oneOf"], strict=True))
        for platform, account in known_platforms().items():
            if platform not in accounts:
                found = account.__get_pydantic_json_schema__(account.__pydantic_core_schema__, handler)
                accounts[platform] = found
        named = {platform: {"anyOf": [account, {"type": "null"}]} for platform, account in accounts.items()}
        others = [
            {"allOf": [account], "properties": {"platform": {"const": platform}}, "required": ["platform"]}
            for platform, account in accounts.items()
            if platform not in BUILT_IN
        ]
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^{ACCOUNT_NAME.pattern}$"},
            "properties": named,
            "additionalProperties": {"anyOf": others},
        }


_Name = Annotated[str, AfterValidator(_check_name)]
_Entry = Annotated[
    WebAccount | TerminalAccount | TelegramAccount | SlackAccount | FeishuAccount | DiscordAccount,
    Field(discriminator="platform"),
    WrapValidator(_validate_entry),
]
Channels = Annotated[Mapping[_Name, _Entry], BeforeValidator(_complete_entries), _ChannelsSchema]
"""Accounts by name, always including the built-in ones."""
