"""The local model as a chat model: starts its process on first use and calls it through ChatOpenAI."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.language_models.chat_models import agenerate_from_stream
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from pydantic import Field, PrivateAttr, SecretStr

from agent.errors import ModelUnavailable
from agent.models.http import use_per_loop_client
from agent.models.local.bundled import ANSWER_TOKENS
from agent.models.local.process import SHARED, Endpoint, LocalServer
from agent.shared.envelope import without_envelopes
from agent.shared.install_hints import install_command, own_extra

FIRST_TOKEN_SECONDS = 600.0


class LocalChatModel(BaseChatModel):
    """SmolLM2-135M on this machine. Raises ModelUnavailable with the missing requirement.

    `temperature` and `top_p` are the values recommended by the model's card.
    """

    model: str = "SmolLM2-135M-Instruct"
    temperature: float = 0.2
    top_p: float = 0.9
    max_tokens: int = ANSWER_TOKENS
    server: LocalServer = Field(default=SHARED, exclude=True)
    _client: tuple[Endpoint, BaseChatModel] | None = PrivateAttr(default=None)

    @property
    def _llm_type(self) -> str:
        return "roebot-local"

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        endpoint = await self.server.ensure_running()
        client = await self._get_client(endpoint)
        shown = [_without_envelope(message) for message in messages]
        async for chunk in client._astream(shown, stop=stop, run_manager=run_manager, **kwargs):
            yield chunk

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return await agenerate_from_stream(self._astream(messages, stop, run_manager, **kwargs))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        return asyncio.run(self._agenerate(messages, stop, None, **kwargs))

    async def _get_client(self, endpoint: Endpoint) -> BaseChatModel:
        if self._client is None or self._client[0] != endpoint:
            self._client = (endpoint, await asyncio.to_thread(self._make_client, endpoint))
        return self._client[1]

    def _make_client(self, endpoint: Endpoint) -> BaseChatModel:
        try:
            from langchain_openai import ChatOpenAI
        except ImportError as error:
            raise ModelUnavailable(
                f"The local model needs langchain-openai: {install_command(own_extra('openai'))}"
            ) from error
        made = ChatOpenAI(
            model=self.model,
            base_url=f"{endpoint.url}/v1",
            api_key=SecretStr(endpoint.key),
            temperature=self.temperature,
            top_p=self.top_p,
            max_completion_tokens=self.max_tokens,
            max_retries=0,
            timeout=FIRST_TOKEN_SECONDS,
            stream_chunk_timeout=FIRST_TOKEN_SECONDS,
            stream_usage=True,
            extra_body={"cache_prompt": True, "repeat_penalty": 1.1},
        )
        return use_per_loop_client(made)


def _without_envelope(message: BaseMessage) -> BaseMessage:
    """Return a message as people read it, since the model is too small for tags, and has no tools to
    misuse.
    """
    if not isinstance(message, HumanMessage) or not isinstance(message.content, str):
        return message
    return message.model_copy(update={"content": without_envelopes(message.content)})
