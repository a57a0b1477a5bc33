"""Gives a thread its title."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware, ExtendedModelResponse
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage

from agent.middleware.answers import Handler, Request, Response, answer_of, updating
from agent.middleware.internal import internal_config
from agent.models.errors import scrubbed
from agent.state import ThreadState
from agent.usage import usage_of

log = structlog.get_logger(__name__)
PROMPT = """Give this conversation a title of at most {max_words} words, in the language of the person.
Answer with the title alone: no quotes, no full stop.

Person: {user}
Assistant: {assistant}"""
MAX_WORDS = 6
MAX_CHARS = 60
SHOWN = 500
SECONDS = 10.0
_THOUGHT = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)


class TitleMiddleware(AgentMiddleware[Any, Any]):
    """Titles a thread after its first full exchange, when the first answer without tool calls is there.

    Asks `model` (the agent's own without one) for at most `seconds`; when that fails, or gives nothing, the
    first words of the person are the title. It never fails a run, and its tokens reach no stream.
    `prompt_template` may name {user}, {assistant} and {max_words}. Hook: `wrap_model_call`; the title goes
    into the state with the answer.
    """

    state_schema = ThreadState
    transformers = (InternalCallTransformer,)

    def __init__(
        self,
        *,
        model: BaseChatModel | None = None,
        max_words: int = MAX_WORDS,
        max_chars: int = MAX_CHARS,
        prompt_template: str = PROMPT,
        seconds: float = SECONDS,
    ) -> None:
        """Raises ValueError for a limit below 1 or a template with another field."""
        super().__init__()
        if max_words < 1 or max_chars < 1:
            raise ValueError("A title needs room for one word and one character at least.")
        try:
            prompt_template.format(user="", assistant="", max_words=0)
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"The title's template has a field that is not known: {error}.") from error
        self._model, self._template, self._seconds = model, prompt_template, seconds
        self._max_words, self._max_chars = max_words, max_chars

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model, and title the thread when it has answered."""
        response = await handler(request)
        answer = answer_of(response)
        if request.state.get("title") or answer is None or answer.tool_calls:
            return response
        user = first_words_of(request.state["messages"])
        said = await self._asked(request.model, user, answer)
        usage = usage_of([said]) if said is not None else None
        title = self._fit(said.text) if said is not None else ""
        title = title or self._fit(user) or self._fit(answer.text)
        if not title:
            return response
        return updating(response, title=title, **({"usage": usage} if usage else {}))

    async def _asked(self, own: BaseChatModel, user: str, answer: AIMessage) -> BaseMessage | None:
        prompt = self._template.format(
            user=user[:SHOWN], assistant=answer.text[:SHOWN], max_words=self._max_words
        )
        try:
            async with asyncio.timeout(self._seconds):
                return await (self._model or own).ainvoke([HumanMessage(prompt)], internal_config("title"))
        except Exception as error:  # noqa: BLE001 - supervisor: a title is no reason to lose an answer
            log.warning("title_failed", error=type(error).__name__, detail=scrubbed(str(error)))
            return None

    def _fit(self, text: str) -> str:
        """The first line of a text as a title, cut at a word where that is possible."""
        lines = [line.strip() for line in _THOUGHT.sub("", text).splitlines()]
        line = next(filter(None, lines), "").strip("\"'`*#“”‘’«»「」 ").removesuffix(".")
        words = " ".join(line.split()[: self._max_words])
        if len(words) <= self._max_chars:
            return words
        cut = words[: self._max_chars]
        return (cut.rpartition(" ")[0] or cut).rstrip()


def first_words_of(messages: Sequence[AnyMessage]) -> str:
    """The text of the first message of a person, without what a middleware put there."""
    people = (m for m in messages if isinstance(m, HumanMessage) and "lc_source" not in m.additional_kwargs)
    return next((message.text for message in people if message.text.strip()), "")
