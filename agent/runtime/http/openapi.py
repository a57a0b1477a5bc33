"""The OpenAPI document of a server's routes: what each takes and answers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from agent.runtime.domain import Json
from agent.runtime.http import assistants, bodies, runs, store, threads
from agent.runtime.http.responses import JSON, answer

EVENTS: Final = "text/event-stream"
FORM: Final = "multipart/form-data"
BYTES: Final = "application/octet-stream"
REFERENCE: Final = "#/components/schemas/{model}"
ERROR: Final[Json] = {
    "description": "It failed, and why.",
    "content": {
        JSON: {
            "schema": {
                "type": "object",
                "properties": {"detail": {"type": "string"}},
                "required": ["detail"],
            }
        }
    },
}
_FILES: Final[Json] = {
    "type": "object",
    "properties": {"files": {"type": "array", "items": {"type": "string", "format": "binary"}}},
}
_NAME = re.compile(r"\{(\w+)(?::\w+)?\}")
_TOLD: Final = "__roebot_told__"
Schemas = Mapping[Any, Json]
"""By model and mode."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a route does; `answer` None is JSON of any shape, `form`: it takes files, too."""

    what: str
    body: type[BaseModel] | None = None
    answer: type[BaseModel] | None = None
    status: int = 200
    media: str = JSON
    form: bool = False
    query: Sequence[str] = ()


BODIES: Final[Mapping[Callable[..., Any], type[BaseModel]]] = {
    assistants.create: bodies.AssistantBody,
    assistants.patch: bodies.AssistantPatch,
    assistants.search: bodies.AssistantSearch,
    assistants.count: bodies.AssistantSearch,
    threads.create: bodies.ThreadBody,
    threads.patch: bodies.ThreadPatch,
    threads.search: bodies.ThreadSearch,
    threads.count: bodies.ThreadSearch,
    threads.prune: bodies.ThreadPrune,
    threads.update_state: bodies.StateUpdate,
    threads.post_state_at: bodies.StateAt,
    threads.history: bodies.History,
    runs.stream: bodies.RunBody,
    runs.wait: bodies.RunBody,
    runs.create: bodies.RunBody,
    runs.cancel_many: bodies.CancelMany,
    store.put: bodies.Item,
    store.delete: bodies.ItemKey,
    store.search: bodies.ItemSearch,
    store.namespaces: bodies.Namespaces,
}
STREAMS: Final = frozenset({runs.stream, runs.join_stream})


def tell(endpoint: Callable[..., Any], told: Told) -> None:
    """Say what a route takes and answers."""
    setattr(endpoint, _TOLD, told)


def told_of(endpoint: Callable[..., Any]) -> Told:
    """What is known of a route."""
    found: Told | None = getattr(endpoint, _TOLD, None)
    if found is not None:
        return found
    what = (endpoint.__doc__ or "").strip().partition("\n")[0]
    return Told(what, BODIES.get(endpoint), media=EVENTS if endpoint in STREAMS else JSON)


def document_route(routes: Sequence[BaseRoute], *, title: str, version: str) -> Route:
    """The route that hands out the document of these routes; it is made when it is first asked for."""
    made = cache(lambda: document(routes, title=title, version=version))

    async def openapi(_request: Request) -> Response:
        """This server's routes as an OpenAPI document."""
        return answer(await asyncio.to_thread(made))

    return Route("/openapi.json", openapi, methods=["GET"])


def document(routes: Iterable[BaseRoute], *, title: str, version: str) -> Json:
    """The document of these routes."""
    found = list(_each(routes))
    models = dict.fromkeys(model for _, _, told in found for model in _models(told))
    schemas, definitions = models_json_schema(list(models), ref_template=REFERENCE)
    paths: dict[str, Json] = {}
    for path, method, told in found:
        paths.setdefault(_NAME.sub(r"{\1}", path), {})[method] = _operation(path, method, told, schemas)
    return {
        "openapi": "3.1.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": {"schemas": definitions.get("$defs", {})},
    }


def _each(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str, Told]]:
    """Path, method and what is told of it."""
    for route in routes:
        if isinstance(route, Route):
            for method in sorted((route.methods or set()) - {"HEAD"}):
                yield route.path, method.lower(), told_of(route.endpoint)


def _models(told: Told) -> Iterator[tuple[type[BaseModel], Literal["validation", "serialization"]]]:
    if told.body is not None:
        yield told.body, "validation"
    if told.answer is not None:
        yield told.answer, "serialization"


def _operation(path: str, method: str, told: Told, schemas: Schemas) -> Json:
    schema = schemas[told.answer, "serialization"] if told.answer is not None else {}
    good = {"description": "Done.", "content": {told.media: {"schema": schema}}}
    made: Json = {
        "summary": told.what,
        "parameters": [
            *(_parameter(name, "path") for name in _NAME.findall(path)),
            *(_parameter(name, "query") for name in told.query),
        ],
        "responses": {str(told.status): good, "default": ERROR},
    }
    content: Json = {FORM: {"schema": _FILES}} if told.form else {}
    if told.body is not None:
        content[JSON] = {"schema": schemas[told.body, "validation"]}
    if content and method != "get":
        made["requestBody"] = {"content": content}
    return made


def _parameter(name: str, place: str) -> Json:
    return {"name": name, "in": place, "required": place == "path", "schema": {"type": "string"}}
