"""Thread titles.

A model's title costs some 140 tokens, and in the chat lists people recognize their own first words. A title
from the whole first exchange would come when nobody looks for it any more, and a task that outlives the run
would need an owner and write to a thread without a run.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import structlog
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.internal_call_transformer import InternalCallTransformer
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage, HumanMessage

from agent.core.model_request import AnyResponse, Handler, Request, Response, is_from_person
from agent.core.state import ThreadState, sum_usage
from agent.errors import redact_line
from agent.middleware.model_response import get_answer, with_update
from agent.models.calls import internal_config
from agent.shared.envelope import readable_text
from agent.shared.reasoning_text import strip_reasoning

log = structlog.get_logger(__name__)
PROMPT = """Give the conversation that begins with this message a title of at most {max_words} words, in the
person's language. Answer with nothing but the title, without quotes or a final period.

Person: {user}"""
MAX_WORDS = 6
MAX_CHARS = 60
EXCERPT_CHARS = 500


class TitleMiddleware(AgentMiddleware[Any, Any]):
    """Titles a thread with the person's first words, or by `model`.

    The `model` is asked once, while the agent's model answers for the first time, and only if its title is
    there by then is it used: no answer waits for a title. It never fails a run, and its tokens reach no
    stream. `prompt_template` may use {user} and {max_words}. Hook: `wrap_model_call`; the title is stored
    with the answer.
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
    ) -> None:
        """Raises ValueError for a limit below 1 or a template with an unknown field."""
        super().__init__()
        if max_words < 1 or max_chars < 1:
            raise ValueError("The limits must allow at least one word and one character.")
        try:
            prompt_template.format(user="", assistant="", max_words=0)
        except (KeyError, IndexError, ValueError, AttributeError) as error:
            raise ValueError(f"The title template has an unknown field: {error}.") from error
        self._model, self._template = model, prompt_template
        self._max_words, self._max_chars = max_words, max_chars

    async def awrap_model_call(self, request: Request, handler: Handler) -> AnyResponse:
        if request.state.get("title"):
            return await handler(request)
        first = first_user_text(request.state["messages"])
        if self._model is None or not first.strip():
            return self._with_title(await handler(request), None, first)
        naming = asyncio.create_task(self._ask_title(self._model, first), name="title")
        try:
            response = await handler(request)
            return self._with_title(response, naming.result() if naming.done() else None, first)
        finally:
            naming.cancel()
            await asyncio.wait({naming})

    def _with_title(self, response: Response, said: BaseMessage | None, first: str) -> AnyResponse:
        """Return the response with the title and its usage. Without a person's message, the answer is the
        title's source.
        """
        usage = sum_usage([said]) if said is not None else None
        title = (self._shorten_title(said.text) if said is not None else "") or self._shorten_title(first)
        if not title and (answer := get_answer(response)) is not None and not answer.tool_calls:
            title = self._shorten_title(answer.text)
        update = {**({"title": title} if title else {}), **({"usage": usage} if usage else {})}
        return with_update(response, **update) if update else response

    async def _ask_title(self, model: BaseChatModel, first: str) -> BaseMessage | None:
        user = first[:EXCERPT_CHARS]
        # Templates of earlier versions quote the answer too, which is not awaited.
        prompt = self._template.format(user=user, assistant="", max_words=self._max_words)
        try:
            return await model.ainvoke([HumanMessage(prompt)], internal_config("title"))
        except Exception as error:  # noqa: BLE001 - supervisor: a title is no reason to lose an answer
            log.warning("title_failed", error=type(error).__name__, detail=redact_line(str(error)))
            return None

    def _shorten_title(self, text: str) -> str:
        """Return the first line of a text as a title, cut between words if possible."""
        lines = [line.strip() for line in strip_reasoning(text).splitlines()]
        line = next(filter(None, lines), "").strip("\"'`*#“”‘’«»「」 ").removesuffix(".")
        words = " ".join(line.split()[: self._max_words])
        if len(words) <= self._max_chars:
            return words
        cut = words[: self._max_chars]
        return (cut.rpartition(" ")[0] or cut).rstrip()


def first_user_text(messages: Sequence[AnyMessage]) -> str:
    """Return the text of a person's first message without its envelope, ignoring middleware messages."""
    texts = (readable_text(message.text) for message in messages if is_from_person(message))
    return next((text for text in texts if text.strip()), "")
