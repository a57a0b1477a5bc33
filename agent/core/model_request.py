"""Changes to a model call's request."""

from __future__ import annotations

from typing import Any

from langchain.agents.middleware import ModelRequest


def change_request(request: ModelRequest[Any], **changes: Any) -> ModelRequest[Any]:
    """Return a copy of the request in which these fields differ.

    `ModelRequest.override` does the same, but suppresses a warning for each field of the copy. That takes
    longer than the copy, and makes Python show warnings again that it has already shown.
    """
    copy: ModelRequest[Any] = object.__new__(type(request))
    vars(copy).update(vars(request), **changes)
    return copy
