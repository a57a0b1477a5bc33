"""One call of the API: path, query, JSON or multipart body."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import orjson

from roebot_testing.emulators.api import ApiCall
from roebot_testing.emulators.feishu.errors import FeishuApiError, refused
from roebot_testing.emulators.http import Exchange

_UPLOADS = frozenset({"file", "image"})
"""Names of the parts of a form that hold a file."""


@dataclass(slots=True)
class FeishuCall(ApiCall):
    """`args` are the parts of the path, `body` the JSON object or the form's fields, `upload` (name, bytes),
    `size` the bytes of the body."""

    args: tuple[str, ...] = ()
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    upload: tuple[str, bytes] | None = None
    size: int = 0

    @property
    def target(self) -> str:
        return self.args[0] if self.args else ""

    @property
    def content(self) -> str:
        return str(self.body.get("content", ""))

    def text(self, key: str) -> str:
        """Return a string in the body. Raises FeishuApiError if it is missing or empty."""
        value = self.body.get(key)
        if not isinstance(value, str) or not value:
            raise refused(99992402, f"field validation failed: {key} is required")
        return value

    def number(self, key: str) -> int:
        """Return a whole number of the body. Raises FeishuApiError."""
        value = self.body.get(key)
        if not isinstance(value, int) or isinstance(value, bool):
            raise refused(99992402, f"field validation failed: {key} is required")
        return value

    def json_in(self, key: str, refusal: FeishuApiError) -> dict[str, Any]:
        """Return a JSON object that travels inside a string of the body. Raises `refusal`."""
        try:
            loaded = orjson.loads(self.text(key))
        except orjson.JSONDecodeError:
            raise refusal from None
        if not isinstance(loaded, dict):
            raise refusal
        return loaded

    async def read(self, http: Exchange) -> None:
        """Read token, query and body. Raises FeishuApiError for unreadable JSON."""
        self.token = http.bearer_token
        if http.content_type.startswith("multipart/"):
            self.query = http.query
            self.body, uploads = await http.read_multipart()
            for part, file in uploads:
                if part in _UPLOADS:
                    self.upload = (re.sub(r"[/\\]", "_", file.name), file.data)
            for key in self.body.keys() & _UPLOADS:
                # The SDK sends a file without a name where it was given an open one.
                self.upload = (key, self.body.pop(key).encode())
            return
        body = await http.body()
        try:
            loaded = orjson.loads(body) if body else {}
        except orjson.JSONDecodeError:
            raise refused(9499, "Bad Request: invalid JSON") from None
        self.query, self.body, self.size = http.query, loaded if isinstance(loaded, dict) else {}, len(body)
