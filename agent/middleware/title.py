"""Generate the title of a thread."""

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

from agent.core.state import ThreadState, sum_usage
from agent.errors import redact_line
from agent.middleware.model_response import Handler, Request, Response, get_answer, with_update
from agent.models.calls import internal_config
from agent.shared.envelope import readable_text

log = structlog.get_logger(__name__)
PROMPT = """Give this conversation a title of at most {max_words} words, in the person's language.
Answer with nothing but the title, without quotes or a final period.

Person: {user}
Assistant: {assistant}"""
MAX_WORDS = 6
MAX_CHARS = 60
EXCERPT_CHARS = 500
SECONDS = 10.0
HOLD = 1.5
_THOUGHT = re.compile(r"<think>.*?(</think>|$)", re.DOTALL)


class TitleMiddleware(AgentMiddleware[Any, Any]):
    """Titles a thread after its first full exchange, with the first answer without tool calls.

    It asks `model` (default: the agent's) and delays the answer by at most `hold` seconds; without a title by
    then, the person's first words are used. In that case the model is asked once more, parallel to the first
    call of the second exchange, for at most `seconds` and no longer than `hold` after that call. It never
    fails a run, and its tokens reach no stream. `prompt_template` may use {user}, {assistant} and
    {max_words}. Hook: `wrap_model_call`; the title is stored with the answer.
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
        hold: float = HOLD,
    ) -> None:
        """Raises ValueError for a limit below 1 or a template with an unknown field."""
        super().__init__()
        if max_words < 1 or max_chars < 1:
            raise ValueError("The limits must allow at least one word and one character.")
        try:
            prompt_template.format(user="", assistant="", max_words=0)
        except (KeyError, IndexError, ValueError) as error:
            raise ValueError(f"The title template has an unknown field: {error}.") from error
        self._model, self._template, self._seconds = model, prompt_template, seconds
        self._max_words, self._max_chars, self._hold = max_words, max_chars, hold

    async def awrap_model_call(
        self, request: Request, handler: Handler
    ) -> Response | ExtendedModelResponse[Any]:
        """Call the model and title the thread after its answer."""
        messages, title = request.state["messages"], request.state.get("title")
        if not title:
            return await self._title_first_exchange(request, await handler(request))
        first = final_answers(messages)
        if (
            len(first) != 1
            or not _starts_exchange(messages)
            or title != self._fallback_title(messages, first[0])
        ):
            return await handler(request)
        return await self._title_second_exchange(request, handler, first[0])

    async def _title_first_exchange(
        self, request: Request, response: Response
    ) -> Response | ExtendedModelResponse[Any]:
        """Title the thread if this response ends the first exchange."""
        answer = get_answer(response)
        if answer is None or answer.tool_calls:
            return response
        messages = request.state["messages"]
        said = await self._ask_title(request.model, messages, answer, min(self._hold, self._seconds))
        return self._with_title(response, said, self._fallback_title(messages, answer))

    async def _title_second_exchange(
        self, request: Request, handler: Handler, first: AIMessage
    ) -> Response | ExtendedModelResponse[Any]:
        """Request a missing title while the model answers the second time."""
        asked = self._ask_title(request.model, request.state["messages"], first, self._seconds)
        naming = asyncio.create_task(asked, name="title")
        try:
            response = await handler(request)
            await asyncio.wait({naming}, timeout=self._hold)
            return self._with_title(response, naming.result() if naming.done() else None)
        finally:
            naming.cancel()
            await asyncio.wait({naming})

    def _with_title(
        self, response: Response, said: BaseMessage | None, otherwise: str = ""
    ) -> Response | ExtendedModelResponse[Any]:
        """Return the response with the generated title and its usage."""
        usage = sum_usage([said]) if said is not None else None
        title = (self._shorten_title(said.text) if said is not None else "") or otherwise
        update = {**({"title": title} if title else {}), **({"usage": usage} if usage else {})}
        return with_update(response, **update) if update else response

    async def _ask_title(
        self, own: BaseChatModel, messages: Sequence[AnyMessage], answer: AIMessage, seconds: float
    ) -> BaseMessage | None:
        user, said = first_user_text(messages)[:EXCERPT_CHARS], answer.text[:EXCERPT_CHARS]
        prompt = self._template.format(user=user, assistant=said, max_words=self._max_words)
        try:
            async with asyncio.timeout(seconds):
                return await (self._model or own).ainvoke([HumanMessage(prompt)], internal_config("title"))
        except Exception as error:  # noqa: BLE001 - supervisor: a title is no reason to lose an answer
            log.warning("title_failed", error=type(error).__name__, detail=redact_line(str(error)))
            return None

    def _fallback_title(self, messages: Sequence[AnyMessage], answer: AIMessage) -> str:
        """Return the title to use without a model."""
        return self._shorten_title(first_user_text(messages)) or self._shorten_title(answer.text)

    def _shorten_title(self, text: str) -> str:
        """Return the first line of a text as a title, cut between words if possible."""
        lines = [line.strip() for line in _THOUGHT.sub("", text).splitlines()]
        line = next(filter(None, lines), "").strip("\"'`*#“”‘’«»「」 ").removesuffix(".")
        words = " ".join(line.split()[: self._max_words])
        if len(words) <= self._max_chars:
            return words
        cut = words[: self._max_chars]
        return (cut.rpartition(" ")[0] or cut).rstrip()


def final_answers(messages: Sequence[AnyMessage]) -> list[AIMessage]:
    """Return the answers that ended an exchange."""
    said = (message for message in messages if isinstance(message, AIMessage))
    return [message for message in said if not message.tool_calls and message.text.strip()]


def _starts_exchange(messages: Sequence[AnyMessage]) -> bool:
    """Return whether an exchange starts: the newest message is a person's."""
    newest = messages[-1]
    return isinstance(newest, HumanMessage) and "lc_source" not in newest.additional_kwargs


def first_user_text(messages: Sequence[AnyMessage]) -> str:
    """Return the text of a person's first message without its envelope, ignoring messages of middleware."""
    people = (m for m in messages if isinstance(m, HumanMessage) and "lc_source" not in m.additional_kwargs)
    texts = (readable_text(message.text) for message in people)
    return next((text for text in texts if text.strip()), "")
