"""Sees to it that no tool is called with half of its arguments.

langchain completes arguments that break off in a stream, be it at the provider's limit of tokens or because
the model wrote no JSON: what is left looks whole. Only the pieces themselves tell.
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
    """What came of a call so far. Without an index each piece is a call of its own."""

    run_id: UUID
    index: int | str | None
    call_id: str
    args: str

    def continues_with(self, new: _Piece) -> bool:
        """Whether the new piece belongs to the same call."""
        is_same = self.index is not None and (self.run_id, self.index) == (new.run_id, new.index)
        return is_same and (not new.call_id or not self.call_id or new.call_id == self.call_id)


class StreamedArguments(AsyncCallbackHandler):
    """Collects the arguments of tool calls as they were streamed."""

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
        """A piece of an answer."""
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
        """The answer, with the calls among `invalid_tool_calls` whose arguments are no whole JSON."""
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
    """Whether it can be read; nothing at all are no arguments."""
    try:
        return not args.strip() or isinstance(json.loads(args, strict=False), dict)
    except ValueError:
        return False
