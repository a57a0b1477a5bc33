"""A model call's request and response, and changes to the request."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, HumanMessage

from agent.shared.run_identity import NOTE_SOURCE

Request = ModelRequest[Any]
Response = ModelResponse[Any]
AnyResponse = Response | ExtendedModelResponse[Any]
"""A response, which may bring an update of the state."""
Handler = Callable[[Request], Awaitable[Response]]


def change_request(request: Request, **changes: Any) -> Request:
    """Return a copy of the request in which these fields differ.

    `ModelRequest.override` does the same, but suppresses a warning for each field of the copy. That takes
    longer than the copy, and makes Python show warnings again that it has already shown.
    """
    copy: Request = object.__new__(type(request))
    vars(copy).update(vars(request), **changes)
    return copy


def with_note(request: Request, text: str, source: str) -> Request:
    """Return the request with a note at its end, which is not stored; `source` names the middleware."""
    note = HumanMessage(text, additional_kwargs={NOTE_SOURCE: source})
    return change_request(request, messages=[*request.messages, note])


def is_from_person(message: BaseMessage) -> bool:
    """Return whether a person wrote the message, rather than a middleware."""
    return isinstance(message, HumanMessage) and NOTE_SOURCE not in message.additional_kwargs
