"""The section `channels`, with an entry for each account that is checked by its platform's schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import (
    AfterValidator,
    BeforeValidator,
    GetJsonSchemaHandler,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails, PydanticCustomError
from pydantic_core.core_schema import typed_dict_field, typed_dict_schema

from agent.config.errors import KeyPath
from agent.config.reader import choice_message, describe_error, locate_error
from bot.config.accounts import ACCOUNT_NAME, AccountConfig, RefusedName
from bot.config.platforms import find_schema, known_platforms
from bot.domain import DIRECT_PLATFORMS, LOCAL_PLATFORMS


def _check_name(name: str) -> str:
    if not ACCOUNT_NAME.fullmatch(name):
        raise ValueError("expected a name of lowercase letters, digits, - and _, starting with a letter")
    if name in DIRECT_PLATFORMS:
        raise ValueError("this name is reserved for callers of the web console and the API; rename it")
    return name


def _complete_entries(entries: object) -> object:
    """Add the local accounts, each entry's name, and the platform of entries named after a platform."""
    if not isinstance(entries, Mapping):
        raise ValueError("expected a mapping with an entry for each account")
    whole = {**dict.fromkeys(LOCAL_PLATFORMS), **entries}
    return {name: _complete_entry(name, {} if entry is None else entry) for name, entry in whole.items()}


def _complete_entry(name: str, entry: object) -> object:
    if not isinstance(entry, dict):
        return entry
    named = {"platform": name} if entry.get("platform") is None and find_schema(name) else {}
    return {**entry, **named, "name": RefusedName(name) if "name" in entry else name}


def _validate_entry(entry: object, _whole: ValidatorFunctionWrapHandler) -> object:
    if isinstance(entry, AccountConfig):
        return entry
    if not isinstance(entry, dict):
        raise ValueError("expected a mapping with the account's keys")
    if "platform" not in entry:
        raise ValueError(choice_message("platform", known_platforms()))
    name, platform = entry["name"], entry["platform"]
    schema = find_schema(platform) if isinstance(platform, str) else None
    if schema is None:
        raise _entry_errors((("platform",), choice_message("platform", known_platforms())))
    if name != platform and (find_schema(name) or platform in LOCAL_PLATFORMS):
        raise ValueError(f"the entry {name} cannot be an account on {platform}; rename it")
    return _validate_account(schema, entry)


def _validate_account(schema: type[AccountConfig], entry: Mapping[str, object]) -> AccountConfig:
    try:
        account = schema.model_validate(entry)
        account.needs()
    except ValidationError as error:
        raise _describe_errors(schema, error) from None
    except Exception as error:
        # A plug-in's own checks may raise anything; the reason must name its entry and show no value.
        reason = f"the platform's plug-in failed to check it ({type(error).__name__})"
        raise ValueError(reason) from error
    return account


def _describe_errors(schema: type[AccountConfig], error: ValidationError) -> ValidationError:
    """Describe an entry's errors by the keys in the file, since users don't know the schema."""
    located = ((locate_error(schema, detail), detail) for detail in error.errors(include_url=False))
    return _entry_errors(*((path, describe_error(detail, keys)) for (path, keys), detail in located))


def _entry_errors(*messages: tuple[KeyPath, str]) -> ValidationError:
    return ValidationError.from_exception_data(
        "account",
        [
            InitErrorDetails(
                type=PydanticCustomError("account", "{message}", {"message": message}), loc=path, input=None
            )
            for path, message in messages
        ],
    )


class _ChannelsSchema:
    """JSON schema of `channels`. An entry's key may name its platform, so `platform` is optional."""

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schemas = {
            platform: account.__pydantic_core_schema__ for platform, account in known_platforms().items()
        }
        fields = {platform: typed_dict_field(schema) for platform, schema in schemas.items()}
        accounts = handler(typed_dict_schema(fields))["properties"]
        named = {platform: {"anyOf": [account, {"type": "null"}]} for platform, account in accounts.items()}
        others = [
            {"allOf": [account], "properties": {"platform": {"const": platform}}, "required": ["platform"]}
            for platform, account in accounts.items()
            if platform not in LOCAL_PLATFORMS
        ]
        return {
            "type": "object",
            "propertyNames": {"pattern": f"^{ACCOUNT_NAME.pattern}$"},
            "properties": named,
            "additionalProperties": {"anyOf": others},
        }


_Name = Annotated[str, AfterValidator(_check_name)]
_Entry = Annotated[AccountConfig, WrapValidator(_validate_entry)]
Channels = Annotated[Mapping[_Name, _Entry], BeforeValidator(_complete_entries), _ChannelsSchema]
"""Accounts by name, always including the local ones."""
