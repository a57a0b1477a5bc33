"""Find and mask the secrets of a configuration, in logs and in output."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from bot.config.models import Config

MASK = "***"
MIN_LENGTH = 6
"""Shorter secrets are not masked: they would tear holes into ordinary words."""


def secrets_of(config: Config) -> frozenset[str]:
    """Return every secret in the configuration, including passwords in URLs."""
    found: set[str] = set()
    for secret in _secrets(config):
        found.add(secret)
        found |= _password(secret)
    return frozenset(secret for secret in found if len(secret) >= MIN_LENGTH)


def masked(text: str, secrets: frozenset[str]) -> str:
    """Replace each secret with `***`; longer ones first, since one may contain another."""
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
    """Return the password of a URL, as written and decoded."""
    try:
        password = urlsplit(text).password
    except ValueError:
        return set()
    return {password, unquote(password)} if password else set()
