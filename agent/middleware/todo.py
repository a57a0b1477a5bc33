"""Plan mode: the agent's to-do list."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware import TodoListMiddleware as LangchainTodoList
from langchain_core.messages import ToolMessage
from langchain_core.tools import InjectedToolCallId, tool
from langgraph.types import Command
from pydantic import BeforeValidator
from typing_extensions import TypedDict

from agent.core.model_request import Handler, Request, Response
from agent.core.state import ThreadState, TodoItem
from agent.core.tool_order import ORDER, Order
from agent.middleware.model_response import open_calls, refuse_calls, with_system
from agent.middleware.todo_items import COMPLETED, ensure_one_in_progress, read_items

NAME = "write_todos"
PROMPT = """# To-do list
You keep a to-do list with the tool `write_todos`, which people see. Begin with it if a request takes more
than one step. Mark items as completed as soon as they are done, and remove those that are no longer needed.
Call it at most once per response, beside other calls if there are any. The list is not the answer: give that
in a message of its own."""
REPLACED = "Not stored: a later list of the same response replaces this one."
DESCRIPTION = """Write your to-do list; it replaces the previous one.

Each item has a content (the task) and a status: pending, in_progress or completed. Exactly one item must be
in_progress until all are completed. Mark an item as completed only when it is really done."""


class TodoArgument(TypedDict):
    """One item of the list."""

    content: str
    status: Literal["pending", "in_progress", "completed"]


@tool(NAME, description=DESCRIPTION)
async def write_todos(
    todos: Annotated[list[TodoArgument], BeforeValidator(read_items)],
    tool_call_id: Annotated[str, InjectedToolCallId],
) -> Command[Any]:
    """Store the list, with exactly one item in progress."""
    items, change = ensure_one_in_progress([TodoItem(**item) for item in todos])
    done = sum(item["status"] == COMPLETED for item in items)
    text = " ".join(filter(None, [f"Items in the list: {len(items)}, completed: {done}.", change]))
    return Command(
        update={"messages": [ToolMessage(text, tool_call_id=tool_call_id, name=NAME)], "todos": items}
    )


write_todos.metadata = {"idempotent": True, ORDER: Order.FREE}


class TodoListMiddleware(LangchainTodoList[Any, Any]):
    """langchain's to-do list with exactly one item in progress and one call per answer.

    An imprecise list is corrected (see `agent.middleware.todo_items`), and the result says what was changed.
    Of several calls in one answer only the last is made. Hook: `wrap_model_call` for the prompt and the
    answer; this replaces langchain's `after_model`, a separate step after each answer.
    """

    state_schema = ThreadState  # type: ignore[assignment]
    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model

    def __init__(self, *, system_prompt: str = PROMPT) -> None:
        super().__init__(system_prompt=system_prompt)
        self.tools = [write_todos]

    async def awrap_model_call(self, request: Request, handler: Handler) -> Response:
        response = await handler(with_system(request, self.system_prompt))
        lists = [call for call in open_calls(response) if call["name"] == NAME]
        return refuse_calls(response, lists[:-1], REPLACED) if len(lists) > 1 else response
