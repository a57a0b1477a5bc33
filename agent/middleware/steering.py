"""Messages that people write while the agent works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage
from langgraph.runtime import Runtime
from langgraph.store.base import BaseStore, Item

from agent.core.run_context import RunContext
from agent.core.state import Steered, ThreadState
from agent.shared.run_identity import JOINED, STEERING

MAX_ITEMS = 100


class SteeringMiddleware(AgentMiddleware[Any, Any]):
    """Moves messages from the run's inbox into the thread.

    The inbox is the namespace `("steer", thread)` of the graph's store. An item is meant for the run of its
    `turn_id`: `{"turn", "number", "message"}`, keyed by the message id; `number` is the order. `steered`
    records the messages that the turn has taken, and they are marked as joined: what follows answers the
    earlier messages too. Those, and items of other turns, are deleted. Without a
    store, a thread or a turn there is no inbox. Hook: `before_model`, a separate step, since message and
    record must be in one checkpoint, whatever happens to the model call, and before anything reads them.
    """

    state_schema = ThreadState

    async def abefore_model(self, state: ThreadState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        context, store = RunContext.of(runtime), runtime.store
        if store is None or context.thread_id is None or context.turn_id is None:
            return None
        found = await store.asearch((STEERING, context.thread_id), limit=MAX_ITEMS)
        taken = _steered_ids(state, context.turn_id)
        fresh = [item for item in found if _is_for(item, context.turn_id) and item.key not in taken]
        await _delete_items(store, [item for item in found if item not in fresh])
        if not fresh:
            return None
        fresh.sort(key=lambda item: item.value["number"])
        ids = [*taken, *(item.key for item in fresh)]
        return {
            "messages": [_to_message(item) for item in fresh],
            "steered": Steered(turn=context.turn_id, ids=ids),
        }


def _steered_ids(state: ThreadState, turn: str) -> Sequence[str]:
    known = state.get("steered")
    return known["ids"] if known is not None and known["turn"] == turn else ()


def _is_for(item: Item, turn: str) -> bool:
    """Return whether an item is a well-formed message for this turn."""
    message, number = item.value.get("message"), item.value.get("number")
    fits = isinstance(message, Mapping) and isinstance(message.get("content"), str)
    return fits and isinstance(number, int) and item.value.get("turn") == turn


async def _delete_items(store: BaseStore, items: Sequence[Item]) -> None:
    for item in items:
        await store.adelete(item.namespace, item.key)


def _to_message(item: Item) -> HumanMessage:
    message = item.value["message"]
    told = {**(message.get("additional_kwargs") or {}), JOINED: True}
    return HumanMessage(content=message["content"], id=item.key, additional_kwargs=told)
