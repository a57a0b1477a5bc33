"""The further keys of web tools in `config.yaml`, checked when the tool is made."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

FETCHED_CHARACTERS = 4_096
Kind = TypeVar("Kind", bound="WebSettings")


class WebSettings(BaseModel):
    """What every web tool takes."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_seconds: float = Field(20.0, gt=0, le=300)

    @classmethod
    def of(cls: type[Kind], keys: Mapping[str, Any]) -> Kind:
        """The settings that the keys mean. Raises ValueError, of one line and without a value."""
        try:
            return cls.model_validate(keys)
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            raise ValueError(f"{place}: {first['msg']}") from None


class FetchSettings(WebSettings):
    """What a tool takes that reads pages: `max_characters` of a page are given to the model."""

    max_characters: int = Field(FETCHED_CHARACTERS, ge=200, le=200_000)


class SearchSettings(WebSettings):
    """What a tool takes that searches."""

    max_results: int = Field(5, ge=1, le=20)


class ServiceSettings(WebSettings):
    """What a tool takes that asks a service; `base_url` is the root of its API."""

    api_key: SecretStr | None = None
    base_url: str

    @field_validator("base_url")
    @classmethod
    def _is_an_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("expected the root of an API, such as https://host")
        return value.rstrip("/")

    @property
    def key(self) -> str:
        """The key in the clear, "" for none."""
        return self.api_key.get_secret_value() if self.api_key else ""
