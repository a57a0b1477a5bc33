"""What the API shows of a server: no secret, and what it shows may be sent back.

A value that is hidden is shown as `***`; sent back unchanged it stands for what is there. `$NAME` is none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from agent.config.env import VARIABLE

MASK = "***"
_SECRET = re.compile(
    r"(?:api|access|auth)?[-_]?(?:key|token|secret|password|passwd|pwd|credentials?|authorization|bearer)$",
    re.IGNORECASE,
)
_HIDDEN_KEYS = ("client_secret", "refresh_token")


def mask_secrets(server: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a server as the file has it, with its secrets hidden."""
    result = dict(server)
    for key in ("env", "headers"):
        if isinstance(result.get(key), Mapping):
            result[key] = {name: _mask_value(value) for name, value in result[key].items()}
    if isinstance(result.get("oauth"), Mapping):
        oauth = result["oauth"]
        result["oauth"] = {
            name: _mask_value(value) if name in _HIDDEN_KEYS else value for name, value in oauth.items()
        }
    if isinstance(result.get("args"), Sequence) and not isinstance(result["args"], str):
        result["args"] = _mask_arguments(result["args"])
    if isinstance(result.get("url"), str):
        result["url"] = _mask_url(result["url"])
    return result


def restore_secrets(new: Any, stored: Any, masked: Any) -> Any:
    """`new` with what is as it was shown (`seen`) put back as it is stored."""
    if new == masked:
        return stored
    if isinstance(new, Mapping) and isinstance(stored, Mapping) and isinstance(masked, Mapping):
        return {
            key: restore_secrets(value, stored[key], masked[key])
            if key in stored and key in masked
            else value
            for key, value in new.items()
        }
    if isinstance(new, list) and isinstance(stored, list) and isinstance(masked, list):
        same = min(len(stored), len(masked))
        return [
            restore_secrets(value, stored[at], masked[at]) if at < same else value
            for at, value in enumerate(new)
        ]
    return new


def find_masked(value: Any, path: str) -> str | None:
    """Where a `***` still stands that stands for nothing; None if nowhere."""
    if isinstance(value, Mapping):
        places = (find_masked(item, f"{path}.{key}") for key, item in value.items())
        return next((place for place in places if place), None)
    if isinstance(value, list):
        places = (find_masked(item, f"{path}[{at}]") for at, item in enumerate(value))
        return next((place for place in places if place), None)
    return path if isinstance(value, str) and MASK in value else None


def _mask_value(value: Any) -> Any:
    return value if isinstance(value, str) and (VARIABLE.fullmatch(value) or not value) else MASK


def _mask_arguments(arguments: Sequence[Any]) -> list[Any]:
    """Arguments with the values of options that name a secret hidden: `--token x`, `--token=x`, `TOKEN=x`."""
    result: list[Any] = []
    follows = False
    for argument in arguments:
        text = argument if isinstance(argument, str) else ""
        name, equals, value = text.partition("=")
        if follows and not text.startswith("-"):
            result.append(_mask_value(argument))
        elif equals and _SECRET.search(name):
            result.append(f"{name}={_mask_value(value)}")
        else:
            result.append(argument)
        follows = text.startswith("-") and not equals and bool(_SECRET.search(text))
    return result


def _mask_url(url: str) -> str:
    """The address with a password and the values of its query hidden."""
    try:
        parts = urlsplit(url)
        query = urlencode(
            [(name, MASK) for name, _ in parse_qsl(parts.query, keep_blank_values=True)], safe="*"
        )
        user, at, host = parts.netloc.rpartition("@")
    except ValueError:
        return url
    return urlunsplit(parts._replace(netloc=f"{MASK}@{host}" if at and user else parts.netloc, query=query))
