"""The base of configuration sections and their value types, including keys passed on to other classes.

A value has the type that YAML gives it: a number is not text, and text is not a number. Only a value from the
environment, which is always text, may stand for a number or a switch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    SecretStr,
    Strict,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from agent.config.document import SwitchWord
from agent.config.env import EnvText, parse_switch


class Section(BaseModel):
    """A section of the file: frozen, without unknown keys. A null value stands for the key's default."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)

    @model_validator(mode="before")
    @classmethod
    def _null_is_unset(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        return {key: value for key, value in data.items() if value is not None or key not in cls.model_fields}


def _parse_int(value: object) -> object:
    if isinstance(value, EnvText) and re.fullmatch(r"\s*[-+]?[0-9]{1,18}\s*", value):
        return int(value)
    return value


def _parse_float(value: object) -> object:
    if not isinstance(value, EnvText):
        return value
    try:
        return float(value)
    except ValueError:
        return value


def _parse_switch(value: object) -> object:
    return parse_switch(value) if isinstance(value, EnvText | SwitchWord) else value


def _unwrap_list(value: object) -> object:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def _wrap_in_list(value: object) -> object:
    if isinstance(value, str | int | float) and not isinstance(value, bool):
        return (value,)
    return value


def _check_not_empty(value: str) -> str:
    if not value.strip():
        raise ValueError("expected text, got an empty string")
    return value


def _check_timezone(value: str) -> str:
    try:
        ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ValueError("expected the name of a time zone, such as Europe/Berlin or UTC") from None
    return value


def _check_url(value: str) -> str:
    if not re.fullmatch(r"https?://[^\s/?#@]+(?:/[^\s?#]*)?", value):
        raise ValueError("expected an address such as https://host or http://host:port/path")
    return value.rstrip("/")


def _check_secret(value: SecretStr) -> SecretStr:
    text = value.get_secret_value()
    if not text or any(sign.isspace() for sign in text):
        raise ValueError("expected text without spaces or line ends; copy the value again")
    return value


Int = Annotated[int, Strict(), BeforeValidator(_parse_int)]
"""A whole number."""
Count = Annotated[int, Strict(), Field(ge=1), BeforeValidator(_parse_int)]
"""A whole number from 1 up."""
Days = Annotated[int, Strict(), Field(ge=0, le=36_500), BeforeValidator(_parse_int)]
"""A number of days, at most a hundred years."""
Number = Annotated[float, Strict(), BeforeValidator(_parse_float), Field(allow_inf_nan=False)]
"""A number."""
Switch = Annotated[bool, Strict(), BeforeValidator(_parse_switch)]
"""true or false."""
Text = Annotated[str, AfterValidator(_check_not_empty)]
"""Text that is not empty."""
Timezone = Annotated[Text, AfterValidator(_check_timezone)]
"""The IANA name of a time zone that this machine has."""
OneId = Annotated[Text, BeforeValidator(_unwrap_list)]
"""A name. A list with one name is accepted."""
Url = Annotated[str, AfterValidator(_check_url)]
"""An http or https address without a trailing slash."""
Secret = Annotated[SecretStr, AfterValidator(_check_secret)]
"""A key or token that never appears in a repr or an error."""
ManyIds = BeforeValidator(_wrap_in_list)
"""Marks a tuple that also accepts a single value. Text is never split."""


_SECRET_KEY = re.compile(
    r"(api_?key|access_?key|token|secret|password|passwd|credentials?|authorization|cookie)$", re.IGNORECASE
)
_IMPORT = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def wrap_secrets(value: Any, *, secret: bool = False) -> Any:
    """Wrap every text below a key with a secret-like name, so that no repr shows it."""
    if isinstance(value, Mapping):
        return {
            str(key): wrap_secrets(
                item, secret=secret or bool(_SECRET_KEY.search(str(key).replace("-", "_")))
            )
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [wrap_secrets(item, secret=secret) for item in value]
    if isinstance(value, str):
        return SecretStr(str(value)) if secret else str(value)
    return value


def unwrap_secrets(value: Any) -> Any:
    """Return the value with plain secrets."""
    if isinstance(value, Mapping):
        return {key: unwrap_secrets(item) for key, item in value.items()}
    if isinstance(value, list):
        return [unwrap_secrets(item) for item in value]
    return value.get_secret_value() if isinstance(value, SecretStr) else value


def _wrap_mapping(value: Mapping[str, Any]) -> Mapping[str, Any]:
    concealed: dict[str, Any] = wrap_secrets(value)
    return concealed


def _check_import_string(value: str) -> str:
    if not _IMPORT.fullmatch(value):
        raise ValueError("expected package.module:name, such as langchain_openai:ChatOpenAI")
    return value


ExtraKeys = Annotated[Mapping[str, Any], AfterValidator(_wrap_mapping)]
"""Keys for another class. Texts below secret-looking keys are wrapped in SecretStr."""
ImportString = Annotated[Text, AfterValidator(_check_import_string)]
"""An import target, as package.module:name."""


class OpenSection(Section):
    """A section that stores other keys in `extra`, for the class in its `use`."""

    extra: ExtraKeys = Field(default_factory=dict, description="Every other key, passed on to the class.")

    @model_validator(mode="before")
    @classmethod
    def _gather_extra(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        known = {key: value for key, value in data.items() if key in cls.model_fields}
        others = {key: value for key, value in data.items() if key not in cls.model_fields}
        given = known.get("extra")
        if given is None or isinstance(given, Mapping):
            known["extra"] = {**(given or {}), **others}
        return known

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Describe the section as written in the file, with any other key in place of `extra`."""
        shape = handler(core)
        section = handler.resolve_ref_schema(shape)
        section["properties"].pop("extra", None)
        section["additionalProperties"] = True
        return shape

    def extra_arguments(self) -> dict[str, Any]:
        """Return the other keys with plain secrets."""
        revealed: dict[str, Any] = unwrap_secrets(self.extra)
        return revealed
