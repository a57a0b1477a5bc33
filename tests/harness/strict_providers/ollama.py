"""Ollama's chat completions, as strict as the server's own types.

Schema: ChatCompletionRequest, Message and FromChatRequest in openai/openai.go of github.com/ollama/ollama
(2026-08-21). The server ignores a field that it does not have; here it is rejected, since a limit that is
ignored is no limit. A content part is a text or an image as a data URL, arguments of calls are JSON, and
content may be missing only next to calls. Schemas of tools are read into Tool of api/types.go, where each
property is an object with a type or types, and `required` and `enum` are lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from aiohttp import web
from pydantic import BaseModel, ConfigDict, Field

from tests.harness.strict_providers.chat import (
    CalledFunction,
    ChatProvider,
    FunctionName,
    StreamOptions,
    TextPart,
    check_arguments,
)
from tests.harness.strict_providers.server import Body, RejectedRequest, Strict


class DataUrl(Strict):
    url: Annotated[str, Field(pattern=r"^data:image/(jpeg|jpg|png|webp);base64,")]


class DataImagePart(Strict):
    type: Literal["image_url"]
    image_url: DataUrl | Annotated[str, Field(pattern=r"^data:image/(jpeg|jpg|png|webp);base64,")]


class Call(Strict):
    id: str
    index: int = 0
    type: Literal["function"]
    function: CalledFunction


class Message(Strict):
    role: Literal["system", "user", "assistant", "tool"]
    content: str | list[Annotated[TextPart | DataImagePart, Field(discriminator="type")]] | None = None
    reasoning: str | None = None
    tool_calls: list[Call] | None = None
    name: str | None = None
    tool_call_id: str | None = None


class Property(BaseModel):
    """Further keywords of a schema are ignored."""

    model_config = ConfigDict(strict=True)

    type: str | list[str] | None = None
    description: str | None = None
    enum: list[Any] | None = None
    required: list[str] | None = None
    any_of: list[Property] | None = Field(None, alias="anyOf")
    properties: dict[str, Property] | None = None


class Parameters(BaseModel):
    model_config = ConfigDict(strict=True)

    type: str
    required: list[str] | None = None
    properties: dict[str, Property]


class Function(Strict):
    name: FunctionName
    description: str | None = None
    parameters: Parameters


class Tool(Strict):
    type: Literal["function"]
    function: Function


class Request(Strict):
    model: str
    messages: Annotated[list[Message], Field(min_length=1)]
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: str | list[str] | None = None
    temperature: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    top_p: float | None = None
    response_format: dict[str, Any] | None = None
    tools: list[Tool] | None = None
    reasoning: dict[str, str] | None = None
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "ultra", "max"] | None = (
        None
    )
    logprobs: bool | None = None
    top_logprobs: int | None = None


class StrictOllama(ChatProvider):
    """Sends each call whole."""

    name: ClassVar[str] = "ollama"
    schema: ClassVar[type[BaseModel]] = Request

    def add_routes(self, app: web.Application) -> None:
        super().add_routes(app)
        app.router.add_get("/api/tags", self.list_models)

    async def list_models(self, _: web.Request) -> web.Response:
        """Serve the list of models, by which a running Ollama is found."""
        return web.json_response({"models": [{"name": "qwen3:4b", "modified_at": "2026-01-01"}]})

    def make_id(self) -> str:
        return f"call_{self.number():08d}"

    def call_deltas(self, calls: list[Body]) -> Iterator[Body]:
        yield from (
            {"role": "assistant", "content": "", "tool_calls": [{**call, "index": at}]}
            for at, call in enumerate(calls)
        )

    def check_rules(self, body: Body) -> None:
        messages = body["messages"]
        check_arguments(messages)
        known: set[str] = set()
        for message in messages:
            if message.get("content") is None and not message.get("tool_calls"):
                raise RejectedRequest("invalid message content type: <nil>")
            known.update(call["id"] for call in message.get("tool_calls") or ())
            if message["role"] == "tool" and message.get("tool_call_id") not in known:
                raise RejectedRequest("a tool message names no call")

    def render_error(self, text: str) -> tuple[int, Any]:
        return 400, {"error": {"message": text, "type": "invalid_request_error", "param": None, "code": None}}
