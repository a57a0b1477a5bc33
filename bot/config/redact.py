"""The secrets of a configuration, so that nothing that is logged or shown holds one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from bot.config.models import Config

MASK = "***"
MIN_LENGTH = 6
"""Shorter secrets are not masked: they would tear holes into ordinary words."""


def secrets_of(config: Config) -> frozenset[str]:
    """Every secret text of the configuration, and the passwords within addresses."""
    found: set[str] = set()
    for secret in _secrets(config):
        found.add(secret)
        found |= _password(secret)
    return frozenset(secret for secret in found if len(secret) >= MIN_LENGTH)


def masked(text: str, secrets: frozenset[str]) -> str:
    """The text with each secret replaced by `***`; longer ones first, as one may hold another."""
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def _secrets(value: object) -> Iterator[str]:
    if isinstance(value, SecretStr):
        yield value.get_secret_value()
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from _secrets(getattr(value, name))
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _secrets(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _secrets(item)


def _password(text: str) -> set[str]:
    """The password of an address, as written and decoded."""
    try:
        password = urlsplit(text).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()
