"""Parameters of a Bot API call, however they came: query, form, multipart or JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from roebot_testing.emulators.http import Exchange, Upload
from roebot_testing.emulators.telegram.errors import bad_request


class Params:
    """Typed access to parameters; values of forms are strings, with objects as JSON."""

    def __init__(self, values: Mapping[str, Any], uploads: Mapping[str, Upload] | None = None) -> None:
        self.values = values
        self.uploads = uploads or {}

    def text(self, key: str) -> str:
        """Return a string, or "" if absent."""
        value = self.values.get(key, "")
        return value if isinstance(value, str) else str(value)

    def number(self, key: str, default: int = 0) -> int:
        """Return an integer. Raises ApiRefusal 400 for anything else."""
        value = self.values.get(key)
        if value is None or value == "":
            return default
        try:
            return int(value)
        except (TypeError, ValueError):
            raise bad_request(f"invalid {key} specified") from None

    def flag(self, key: str) -> bool:
        """Return a truth value."""
        return self.values.get(key) in (True, "true", "True", "1")

    def object(self, key: str) -> Any:
        """Return a JSON value, or None if absent. Raises ApiRefusal 400 if it cannot be read."""
        value = self.values.get(key)
        if not isinstance(value, str):
            return value
        if not value:
            return None
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            raise bad_request(f"can't parse {key} JSON object") from None

    def chat_id(self) -> int | str | None:
        """Return `chat_id`, as a number if it is one."""
        value = self.values.get("chat_id")
        if isinstance(value, str) and value.lstrip("-").isdigit():
            return int(value)
        return value

    def upload(self, key: str) -> Upload | None:
        """Return the file of a parameter: its own part, or the one that `attach://` names."""
        if key in self.uploads:
            return self.uploads[key]
        return self.attached(self.text(key))

    def attached(self, reference: str) -> Upload | None:
        """Return the part that an `attach://` reference names."""
        return self.uploads.get(reference.removeprefix("attach://"))


async def read_params(http: Exchange) -> Params:
    """Read the parameters of a call. Raises TelegramApiError 400 for unreadable JSON."""
    if http.content_type.startswith("multipart/"):
        fields, uploads = await http.read_multipart()
        return Params(fields, dict(uploads))
    values: dict[str, Any] = http.query
    if http.content_type.startswith("application/json"):
        try:
            loaded = await http.read_json()
        except orjson.JSONDecodeError:
            raise bad_request("can't parse JSON object") from None
        values.update(loaded if isinstance(loaded, dict) else {})
    else:
        values.update(await http.read_form("replace"))
    return Params(values)
