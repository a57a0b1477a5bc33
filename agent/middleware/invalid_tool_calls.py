"""Detect tool calls with truncated arguments.

langchain completes arguments that break off in a stream, at the provider's token limit or because the model
wrote invalid JSON, so that they look complete. Only the streamed pieces show it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.outputs import ChatGenerationChunk, GenerationChunk


@dataclass(slots=True)
class _Piece:
    """The streamed part of a call. Without an index each piece is a separate call."""

    run_id: UUID
    index: int | str | None
    call_id: str
    args: str

    def continues_with(self, new: _Piece) -> bool:
        """Return whether the new piece belongs to the same call."""
        is_same = self.index is not None and (self.run_id, self.index) == (new.run_id, new.index)
        return is_same and (not new.call_id or not self.call_id or new.call_id == self.call_id)


class StreamedArguments(AsyncCallbackHandler):
    """Collects the arguments of tool calls as they are streamed."""

    run_inline = True

    def __init__(self) -> None:
        self._pieces: list[_Piece] = []

    async def on_llm_new_token(
        self,
        token: str | list[str | dict[str, Any]],
        *,
        chunk: GenerationChunk | ChatGenerationChunk | None = None,
        run_id: UUID,
        **_: Any,
    ) -> None:
        """Record a piece of an answer."""
        message = chunk.message if isinstance(chunk, ChatGenerationChunk) else None
        for piece in message.tool_call_chunks if isinstance(message, AIMessageChunk) else ():
            self._add_piece(_Piece(run_id, piece["index"], piece["id"] or "", piece["args"] or ""))

    def _add_piece(self, new: _Piece) -> None:
        for known in reversed(self._pieces):
            if known.continues_with(new):
                known.call_id = known.call_id or new.call_id
                known.args += new.args
                return
        self._pieces.append(new)

    def mark_broken_calls(self, answer: AIMessage) -> AIMessage:
        """Move calls without valid JSON arguments to `invalid_tool_calls`."""
        raw = {piece.call_id: piece.args for piece in self._pieces if piece.call_id}
        broken = [call for call in answer.tool_calls if not _is_json(raw.get(call["id"] or "", ""))]
        if not broken:
            return answer
        invalid = [
            invalid_tool_call(name=call["name"], args=raw[call["id"] or ""], id=call["id"], error="no JSON")
            for call in broken
        ]
        return answer.model_copy(
            update={
                "tool_calls": [call for call in answer.tool_calls if call not in broken],
                "invalid_tool_calls": [*answer.invalid_tool_calls, *invalid],
            }
        )


def _is_json(args: str) -> bool:
    """Return whether the arguments can be parsed; an empty text means no arguments."""
    try:
        return not args.strip() or isinstance(json.loads(args, strict=False), dict)
    except ValueError:
        return False
