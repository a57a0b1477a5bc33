"""A chat model that remembers verbatim: every message of a person becomes a fact."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from roebot_testing.agent.model import ScriptedChatModel


def parse_memory_request(messages: list[BaseMessage]) -> Mapping[str, Any] | None:
    """Return the memory's request, `{memory, conversation}`; None for any other call."""
    try:
        found = json.loads(messages[-1].text)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.keys() == {"memory", "conversation"} else None


class RememberingModel(ScriptedChatModel):
    """Answers memory requests by remembering every message; otherwise behaves as `ScriptedChatModel`.

    "Forget FACT" removes the fact instead. `asked` records the memory requests.
    """

    asked: list[Mapping[str, Any]] = []  # noqa: RUF012 - a field of pydantic, copied for each instance

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        found = parse_memory_request(messages)
        if found is None:
            return await super()._agenerate(messages, stop, run_manager, **kwargs)
        self.asked.append(found)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(json.dumps(build_patch(found))))])


def build_patch(found: Mapping[str, Any]) -> dict[str, Any]:
    """Build the patch that remembers every message of a person."""
    said = [one["text"] for one in found["conversation"] if one["who"] == "person"]
    gone = {text.removeprefix("Forget ") for text in said if text.startswith("Forget ")}
    return {
        "add": [
            {"content": text, "category": "knowledge", "confidence": 0.9}
            for text in said
            if not text.startswith("Forget ")
        ],
        "remove": [fact["id"] for fact in found["memory"]["facts"] if fact["content"] in gone],
    }
