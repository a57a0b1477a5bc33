"""Rules about single fields of requests: which are required, their lengths, ranges and values.

Sources: the tables of parameters on the page of each method (open.feishu.cn, "Data validation rules"). Feishu
answers 99992402 with the fields at fault (baileyh8/hermes-feishu-streaming-card#237), uploads 234001.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from roebot_testing.emulators.feishu.call import FeishuCall
from roebot_testing.emulators.feishu.errors import FeishuApiError
from roebot_testing.emulators.fields import MISSING, find_values

BODY, QUERY, PATH = "body", "query", "path"
INVALID = (99992402, "field validation failed")
UPLOAD_INVALID = (234001, "Invalid request param.")


@dataclass(frozen=True, slots=True)
class FieldRule:
    """One field of a method. `field` is its name in body or query (`card.type` within an object), or the
    number of its part of the path. `longest` counts characters, `most` is the largest number.
    """

    method: str
    field: str
    place: str = BODY
    required: bool = False
    shortest: int = 0
    longest: int = 0
    least: int = 0
    most: int = 0
    options: tuple[str, ...] = ()
    error: tuple[int, str] = INVALID

    def read(self, call: FeishuCall) -> Any:
        """Return the value in a call, or None if it is missing."""
        if self.place == PATH:
            return call.args[int(self.field)]
        body = call.query if self.place == QUERY else call.body
        [value] = [found for _, found in find_values(body, self.field)] or [MISSING]
        return None if value is MISSING else value

    def fault(self, value: Any) -> str | None:
        """Return the problem with a value, or None if it is valid."""
        if value is None or (self.required and value == ""):
            return f"{self.field} is required" if self.required else None
        if self.options and value not in self.options:
            return f"{self.field} is optional, options: [{','.join(self.options)}]"
        if self.longest and not self.shortest <= len(str(value)) <= self.longest:
            return f"{self.field} has an invalid length"
        if self.most and not (str(value).lstrip("-").isdecimal() and self.least <= int(value) <= self.most):
            return f"{self.field} is out of range"
        return None

    def refusal(self, value: Any, description: str) -> FeishuApiError:
        """Build the answer, HTTP 400."""
        violation = {"field": self.field, "description": description}
        if value is not None:
            violation["value"] = str(value)[:100]
        code, msg = self.error
        details = {"field_violations": [violation]} if self.error == INVALID else {}
        return FeishuApiError(400, code, msg, details=details)


def _text(method: str, field: str, longest: int, place: str = BODY, *, required: bool = True) -> FieldRule:
    """Build the rule of a text of 1 to `longest` characters."""
    return FieldRule(method, field, place, required, 1 if required else 0, longest)


def _required(method: str, *fields: str) -> list[FieldRule]:
    return [FieldRule(method, field, required=True) for field in fields]


_IDS = ("open_id", "user_id", "union_id", "email", "chat_id")
_CARD_METHODS = ("card.update", "card.settings", "element.update", "element.content")
_ELEMENT_METHODS = ("element.update", "element.content")
_FILES = ("opus", "mp4", "pdf", "doc", "xls", "ppt", "stream")
FIELDS: tuple[FieldRule, ...] = (
    FieldRule("message.create", "receive_id_type", QUERY, required=True, options=_IDS),
    *_required("message.create", "receive_id", "msg_type", "content"),
    *_required("message.reply", "msg_type", "content"),
    *_required("message.update", "msg_type", "content"),
    *_required("message.patch", "content"),
    FieldRule("reaction.create", "reaction_type.emoji_type", required=True),
    *(_text(method, "uuid", 50, required=False) for method in ("message.create", "message.reply")),
    *(
        FieldRule("message.list", field, QUERY, required=True)
        for field in ("container_id_type", "container_id")
    ),
    FieldRule("message.list", "page_size", QUERY, least=1, most=50),
    FieldRule("resource.get", "type", QUERY, required=True, options=("image", "file"), error=UPLOAD_INVALID),
    FieldRule(
        "image.create", "image_type", required=True, options=("message", "avatar"), error=UPLOAD_INVALID
    ),
    FieldRule("file.create", "file_type", required=True, options=_FILES, error=UPLOAD_INVALID),
    FieldRule("file.create", "file_name", required=True, error=UPLOAD_INVALID),
    _text("card.create", "type", 50),
    _text("card.create", "data", 3_000_000),
    _text("card.id_convert", "message_id", 50),
    FieldRule("card.update", "card.type", required=True, options=("card_json",)),
    _text("card.update", "card.data", 1_000_000),
    _text("card.settings", "settings", 100_000),
    _text("element.update", "element", 1_000_000),
    _text("element.content", "content", 100_000),
    *_required("card.delayed_update", "token", "card"),
    *(_text(method, "0", 20, PATH) for method in _CARD_METHODS),
    *(_text(method, "1", 20, PATH) for method in _ELEMENT_METHODS),
    *(_text(method, "uuid", 64, required=False) for method in _CARD_METHODS),
    *(FieldRule(method, "sequence", required=True) for method in _CARD_METHODS),
)


def check_fields(method: str, call: FeishuCall) -> None:
    """Check the fields of a call. Raises FeishuApiError with the first one at fault."""
    for rule in FIELDS:
        if rule.method == method:
            value = rule.read(call)
            fault = rule.fault(value)
            if fault is not None:
                raise rule.refusal(value, fault)
