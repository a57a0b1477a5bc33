"""OpenAI's responses, as strict as its published types.

Schema: openai/types/responses/*_param.py of the openai package 3.54.0. Rules between items, as the API
answers: every call has its output and every output its call; a reasoning item is one that the API gave, and
the item that followed it follows it; an item that followed reasoning comes with it; ids of items are
distinct. Schemas of tools: see `tool_rules`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from tests.harness.strict_providers.chat import FunctionName
from tests.harness.strict_providers.server import Body, RejectedRequest, Reply, Strict, StrictProvider
from tests.harness.strict_providers.tool_rules import check_schemas

Status = Literal["in_progress", "completed", "incomplete"]


class InputText(Strict):
    type: Literal["input_text"]
    text: str


class InputImage(Strict):
    type: Literal["input_image"]
    image_url: Annotated[str, Field(pattern=r"^(https?://|data:image/(png|jpeg|gif|webp);base64,)")]
    detail: Literal["low", "high", "auto", "original"] = "auto"


class OutputText(Strict):
    type: Literal["output_text"]
    text: str
    annotations: list[Any]
    logprobs: list[Any] | None = None


class Refusal(Strict):
    type: Literal["refusal"]
    refusal: str


class Asked(Strict):
    type: Literal["message"] = "message"
    role: Literal["user", "system", "developer"]
    content: str | list[Annotated[InputText | InputImage, Field(discriminator="type")]]


class Said(Strict):
    type: Literal["message"] = "message"
    id: Annotated[str, Field(pattern=r"^msg_")] | None = None
    role: Literal["assistant"]
    status: Status | None = None
    phase: Literal["commentary", "final_answer"] | None = None
    content: str | list[Annotated[OutputText | Refusal, Field(discriminator="type")]]


class Summary(Strict):
    type: Literal["summary_text"]
    text: str


class Reasoning(Strict):
    type: Literal["reasoning"]
    id: Annotated[str, Field(pattern=r"^rs_")]
    summary: list[Summary]
    content: list[Any] | None = None
    encrypted_content: str | None = None
    status: Status | None = None


class Call(Strict):
    type: Literal["function_call"]
    id: Annotated[str, Field(pattern=r"^fc_")] | None = None
    call_id: Annotated[str, Field(min_length=1, max_length=64)]
    name: FunctionName
    arguments: str
    status: Status | None = None


class Output(Strict):
    type: Literal["function_call_output"]
    call_id: Annotated[str, Field(min_length=1, max_length=64)]
    output: str | list[Annotated[InputText | InputImage, Field(discriminator="type")]]


class Tool(Strict):
    type: Literal["function"]
    name: FunctionName
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class Choice(Strict):
    type: Literal["function"]
    name: FunctionName


def _kind(item: Any) -> str:
    """Return the kind of an item, by which it is checked."""
    kind = item.get("type", "message")
    return "said" if kind == "message" and item.get("role") == "assistant" else str(kind)


Item = Annotated[
    Annotated[Asked, Tag("message")]
    | Annotated[Said, Tag("said")]
    | Annotated[Reasoning, Tag("reasoning")]
    | Annotated[Call, Tag("function_call")]
    | Annotated[Output, Tag("function_call_output")],
    Discriminator(_kind),
]


class Request(Strict):
    model: str
    input: str | list[Item]
    include: list[str] | None = None
    instructions: str | None = None
    max_output_tokens: Annotated[int, Field(ge=16)] | None = None
    max_tool_calls: int | None = None
    metadata: dict[str, str] | None = None
    parallel_tool_calls: bool | None = None
    previous_response_id: str | None = None
    prompt_cache_key: str | None = None
    reasoning: dict[str, str] | None = None
    safety_identifier: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    stream: bool = False
    temperature: float | None = None
    text: dict[str, Any] | None = None
    tool_choice: Literal["none", "auto", "required"] | Choice | None = None
    tools: list[Tool] | None = None
    top_p: float | None = None
    truncation: Literal["auto", "disabled"] | None = None
    user: str | None = None


class StrictResponses(StrictProvider):
    """Reasons before its calls."""

    name: ClassVar[str] = "responses"
    route: ClassVar[str] = "/responses"
    schema: ClassVar[type[BaseModel]] = Request
    ends_with_done: ClassVar[bool] = False

    def __init__(self) -> None:
        super().__init__()
        self.follows: dict[str, str] = {}

    def forget(self) -> None:
        """Forget the items, as after their time."""
        self.follows.clear()

    def describe(self, place: list[int | str], problem: str, body: Body) -> str:
        if problem.startswith("Extra"):
            return f"Unknown parameter: '{'.'.join(map(str, place))}'."
        return f"Invalid value: {super().describe(place, problem, body)}"

    def check_rules(self, body: Body) -> None:
        items = body["input"] if isinstance(body["input"], list) else []
        check_schemas(body.get("tools") or ())
        if body.get("tool_choice") is not None and not body.get("tools"):
            raise RejectedRequest("Tool choice requires tools.")
        open_calls: list[str] = []
        for at, item in enumerate(items):
            kind = item.get("type", "message")
            if kind == "reasoning":
                self._check_reasoning(item["id"], items[at + 1] if at + 1 < len(items) else {})
            elif kind == "function_call":
                open_calls.append(item["call_id"])
            elif kind == "function_call_output":
                if item["call_id"] not in open_calls:
                    raise RejectedRequest(
                        f"No tool call found for function call output with call_id {item['call_id']}."
                    )
                open_calls.remove(item["call_id"])
        if open_calls:
            raise RejectedRequest(f"No tool output found for function call {open_calls[0]}.")
        self._check_ids([item["id"] for item in items if item.get("id")], items)

    def _check_reasoning(self, one: str, following: Body) -> None:
        if one not in self.follows:
            raise RejectedRequest(f"Item with id '{one}' not found.")
        if following.get("id") != self.follows[one]:
            raise RejectedRequest(
                f"Item '{one}' of type 'reasoning' was provided without its required following item."
            )

    def _check_ids(self, ids: list[str], items: list[Body]) -> None:
        if repeated := [one for at, one in enumerate(ids) if one in ids[:at]]:
            raise RejectedRequest(f"Duplicate item found with id {repeated[0]}.")
        for thought, one in self.follows.items():
            found = [item for item in items if item.get("id") == one]
            if found and thought not in ids:
                raise RejectedRequest(
                    f"Item '{one}' of type '{found[0].get('type', 'message')}' was provided without its "
                    f"required 'reasoning' item: '{thought}'."
                )

    def render_error(self, text: str) -> tuple[int, Any]:
        return 400, {
            "error": {"message": text, "type": "invalid_request_error", "param": "input", "code": None}
        }

    def render_event(self, event: Body) -> bytes:
        return f"event: {event['type']}\n".encode() + super().render_event(event)

    def _make_items(self, reply: Reply) -> list[Body]:
        items: list[Body] = []
        if reply.text:
            part = {"type": "output_text", "text": reply.text, "annotations": []}
            one = f"msg_{self.number():048d}"
            items.append(
                {"type": "message", "id": one, "role": "assistant", "status": "completed", "content": [part]}
            )
        for name, arguments in reply.calls:
            number = self.number()
            call = {"type": "function_call", "id": f"fc_{number:048d}", "call_id": f"call_r{number:023d}"}
            items.append({**call, "name": name, "arguments": json.dumps(arguments), "status": "completed"})
        if items:
            one = f"rs_{self.number():048d}"
            self.follows[one] = items[0]["id"]
            items.insert(0, {"type": "reasoning", "id": one, "summary": []})
        return items

    def _response(self, body: Body, status: str, output: list[Body]) -> Body:
        details = {"reason": "max_output_tokens"} if status == "incomplete" else None
        given, read = (7, 0) if self.use is None else (self.use.total, self.use.read)
        counts = {"input_tokens": given, "output_tokens": 5, "total_tokens": given + 5}
        cached, thought = {"cached_tokens": read}, {"reasoning_tokens": 0}
        return {
            "id": f"resp_{len(self.requests)}",
            "object": "response",
            "created_at": 1,
            "model": body["model"],
            "status": status,
            "error": None,
            "incomplete_details": details,
            "output": output,
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "usage": {**counts, "input_tokens_details": cached, "output_tokens_details": thought},
        }

    def whole(self, reply: Reply, body: Body) -> Body:
        status = "incomplete" if reply.finish == "length" else "completed"
        return self._response(body, status, self._make_items(reply))

    def stream(self, reply: Reply, body: Body) -> Iterator[Body]:
        for number, event in enumerate(self._events(reply, body)):
            yield {**event, "sequence_number": number}

    def _events(self, reply: Reply, body: Body) -> Iterator[Body]:
        items = self._make_items(reply)
        yield {"type": "response.created", "response": self._response(body, "in_progress", [])}
        for index, item in enumerate(items):
            place = {"output_index": index, "item_id": item["id"]}
            empty = {**item, "status": "in_progress"} if "status" in item else item
            if item["type"] == "message":
                empty["content"] = []
            elif item["type"] == "function_call":
                empty["arguments"] = ""
            yield {"type": "response.output_item.added", "output_index": index, "item": empty}
            yield from _item_events(item, place)
            if reply.endless and item["type"] == "message":
                return
            yield {"type": "response.output_item.done", "output_index": index, "item": item}
        status = "incomplete" if reply.finish == "length" else "completed"
        yield {"type": f"response.{status}", "response": self._response(body, status, items)}


def _item_events(item: Body, place: Body) -> Iterator[Body]:
    if item["type"] == "message":
        part = item["content"][0]
        inside = {**place, "content_index": 0}
        yield {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}}
        words = part["text"].split(" ")
        for piece in [word + " " for word in words[:-1]] + words[-1:]:
            yield {"type": "response.output_text.delta", **inside, "delta": piece, "logprobs": []}
        yield {"type": "response.output_text.done", **inside, "text": part["text"], "logprobs": []}
        yield {"type": "response.content_part.done", **inside, "part": part}
    elif item["type"] == "function_call":
        half = len(item["arguments"]) // 2
        for piece in (item["arguments"][:half], item["arguments"][half:]):
            yield {"type": "response.function_call_arguments.delta", **place, "delta": piece}
        done = {"name": item["name"], "arguments": item["arguments"]}
        yield {"type": "response.function_call_arguments.done", **place, **done}
