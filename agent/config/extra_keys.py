"""Keys of the file that belong to somebody else's class: kept as they are, secrets wrapped until used."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, Field, SecretStr, model_validator

from agent.config.types import Section, Text

_SECRET_KEY = re.compile(
    r"(api_?key|access_?key|token|secret|password|passwd|credentials?|authorization|cookie)$", re.IGNORECASE
)
_IMPORT = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


def wrap_secrets(value: Any, *, secret: bool = False) -> Any:
    """The value with every text below a key that names a secret wrapped, so that no repr shows it."""
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
    """The value with its secrets in the clear."""
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
"""Keys that belong to somebody else's class; texts below secret-looking keys are wrapped in SecretStr."""
ImportString = Annotated[Text, AfterValidator(_check_import_string)]
"""What to import, as package.module:name."""


class OpenSection(Section):
    """A section whose unnamed keys are kept in `extra`, for the class of its `use`."""

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

    def extra_arguments(self) -> dict[str, Any]:
        """The unnamed keys, secrets in the clear."""
        revealed: dict[str, Any] = unwrap_secrets(self.extra)
        return revealed
