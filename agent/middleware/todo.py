"""Plan mode: the agent's to-do list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from langchain.agents.middleware import AgentMiddleware, ModelResponse
from langchain.agents.middleware import TodoListMiddleware as LangchainTodoList
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command
from typing_extensions import TypedDict

from agent.core.state import ThreadState
from agent.middleware.model_response import Handler, Request, get_answer, with_answer, without_calls

NAME = "write_todos"
PROMPT = """You keep a list of what is to be done with the tool `write_todos`.
Use it when a request takes three steps or more; do a smaller one without it. Write the whole list each time:
exactly one item is in_progress while work remains, finished ones are completed as soon as they are, and what
turns out to be needless goes. Call it at most once in an answer. When all is done, give your answer in a
message of its own: the list is not the answer."""
DESCRIPTION = """Write your list of what is to be done; it replaces the one before.

Each item has a content (what is to be done) and a status: pending, in_progress or completed. Exactly one item
is in_progress as long as any is not completed. Mark an item completed only when it really is."""
TOO_MANY = "Not written: {count} items are in_progress, only one may be. Mark the one you work on now."
NONE_IN_PROGRESS = (
    "Not written: items are left, so one of them has to be in_progress. Mark the one you work on now."
)


class TodoArgument(TypedDict):
    """One item of the list."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@tool(NAME, description=DESCRIPTION)
async def write_todos(
    todos: list[TodoArgument], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command[Any] | str:
    """Validate and store the list."""
    problem = check_todos(todos)
    status: Literal["success", "error"] = "error" if problem else "success"
    text = (
        problem or f"The list has {len(todos)} items, {_count_status(todos, 'completed')} of them completed."
    )
    message = ToolMessage(text, tool_call_id=tool_call_id, name=NAME, status=status)
    return Command(update={"messages": [message], **({} if problem else {"todos": list(todos)})})


write_todos.metadata = {"idempotent": True}


class TodoListMiddleware(LangchainTodoList[Any, Any]):
    """langchain's to-do list with exactly one item in progress and one call per answer.

    An invalid list is refused with the reason. Of several calls in one answer only the last counts. Hook:
    `wrap_model_call` for the prompt and the answer; this replaces langchain's `after_model`, a separate step
    after each answer.
    """

    state_schema = ThreadState  # type: ignore[assignment]
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model

    def __init__(self, *, system_prompt: str = PROMPT) -> None:
        super().__init__(system_prompt=system_prompt)
        self.tools = [write_todos]

    async def awrap_model_call(self, request: Request, handler: Handler) -> ModelResponse[Any] | AIMessage:
        """Call the model with the rules and keep one list of its answer."""

        async def single(inner: Request) -> ModelResponse[Any]:
            response = await handler(inner)
            answer = get_answer(response)
            lists = [call["id"] for call in answer.tool_calls if call["name"] == NAME] if answer else []
            if answer is None or len(lists) < 2:
                return response
            return with_answer(response, without_calls(answer, lists[:-1]))

        return await super().awrap_model_call(request, single)


def check_todos(todos: Sequence[Mapping[str, Any]]) -> str | None:
    """Explain to the model how the list breaks the rules; None if it does not."""
    doing = _count_status(todos, "in_progress")
    if doing > 1:
        return TOO_MANY.format(count=doing)
    if not doing and _count_status(todos, "completed") < len(todos):
        return NONE_IN_PROGRESS
    return None


def _count_status(todos: Sequence[Mapping[str, Any]], status: str) -> int:
    return sum(item["status"] == status for item in todos)
