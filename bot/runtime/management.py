"""HTTP client of an agent runtime's management operations, derived from their signatures."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, cast, get_type_hints
from urllib.parse import quote

import httpx
from pydantic import BaseModel

from agent.shared.management import Management, ManagementOperation, list_operations
from agent.shared.schemas import ResultModel
from bot.errors import RuntimeRefused
from bot.runtime.responses import read_error_detail, translated_errors

_PLACE: Final = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class _Call:
    """An operation with its parameters and its result's model."""

    operation: ManagementOperation
    signature: inspect.Signature
    result: type[BaseModel]

    @classmethod
    def of(cls, function: Callable[..., Any], operation: ManagementOperation) -> _Call:
        return cls(operation, inspect.signature(function), get_type_hints(function)["return"])

    def make_request(self, *arguments: Any, **options: Any) -> dict[str, Any]:
        """Return the options of `httpx.AsyncClient.request` for these arguments."""
        values = dict(self.signature.bind(None, *arguments, **options).arguments)
        del values["self"]
        path = _PLACE.sub(lambda place: quote(values.pop(place[1]), safe=""), self.operation.path)
        in_body = self.operation.body.model_fields if self.operation.body else ()
        body: dict[str, Any] = {}
        for name in list(values):
            if isinstance(values[name], BaseModel):
                body |= values.pop(name).model_dump()
            elif name in in_body:
                body[name] = values.pop(name)
        request: dict[str, Any] = {"method": self.operation.method, "url": path}
        request["params"] = {name: value for name, value in values.items() if value is not None}
        if body or self.operation.body:
            request["json"] = body
        if self.operation.seconds:
            request["timeout"] = httpx.Timeout(self.operation.seconds, connect=5.0)
        return request

    def read_result(self, found: Any) -> BaseModel:
        """Parse a response body as the operation's result."""
        if issubclass(self.result, ResultModel):
            return self.result.read(found)
        return self.result.model_validate(found)


_CALLS: Final[Mapping[str, _Call]] = {
    name: _Call.of(getattr(kind, name), operation)
    for kind in Management.__mro__
    for name, operation in list_operations(kind)
}


class _ManagementClient:
    """A client whose methods are the operations."""

    def __init__(self, http: httpx.AsyncClient | None) -> None:
        self._http = http

    def __getattr__(self, name: str) -> Callable[..., Awaitable[BaseModel]]:
        if name not in _CALLS:
            raise AttributeError(name)
        return partial(self._call, _CALLS[name])

    async def _call(self, call: _Call, *arguments: Any, **options: Any) -> BaseModel:
        if self._http is None:
            raise RuntimeRefused(404, "this agent runtime has no management routes")
        with translated_errors():
            response = await self._http.request(**call.make_request(*arguments, **options))
        if response.is_error:  # 502 means that a repository can't be reached, not that the runtime failed
            raise RuntimeRefused(response.status_code, read_error_detail(response))
        return call.read_result(response.json())


def open_management(http: httpx.AsyncClient | None) -> Management:
    """Return a runtime's management operations; without a client there are none.

    They raise RuntimeRefused or RuntimeUnreachable.
    """
    return cast(Management, _ManagementClient(http))
