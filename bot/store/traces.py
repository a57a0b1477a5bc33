"""Traces of turns: times of their messages, runs, model calls and deliveries, and usage by model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from bot.store.connection import Connection, sql
from bot.store.schema import TOKENS
from bot.turn import ModelCall, RunTrace

SET_TRACE = sql("UPDATE turns SET trace = :trace, used_model = :model WHERE id = :id")
SET_MODEL_USAGE = sql(
    """INSERT INTO model_usage (turn_id, model, input_tokens, output_tokens, total_tokens, cached_tokens,
    cost) VALUES (:turn, :model, :input_tokens, :output_tokens, :total_tokens, :cached_tokens, :cost)
    ON CONFLICT (turn_id, model)
    DO UPDATE SET input_tokens = excluded.input_tokens, output_tokens = excluded.output_tokens, total_tokens =
    excluded.total_tokens, cached_tokens = excluded.cached_tokens, cost = excluded.cost"""
)
GET_TRACE = sql("SELECT trace FROM turns WHERE id = :turn")
MESSAGE_TIMES = sql("SELECT id, accepted_at FROM inbound WHERE turn_id = :turn AND turn_id > 0")
PART_TIMES = sql("SELECT position, updated_at, category FROM parts WHERE turn_id = :turn")
# Find the turn that answers the question of an earlier one.
GET_ANSWER = sql(
    """SELECT id, created_at FROM turns WHERE conversation_id = :conversation AND id > :turn
    AND answers <> '' AND kind = 'chat' ORDER BY id LIMIT 1"""
)


@dataclass(frozen=True, slots=True)
class TurnTimes:
    """What a trace adds to a turn: its run (None: unknown), the acceptance of its messages by id, changes and
    problems of its parts by position, and when its question was answered (0.0: not yet).
    """

    run: RunTrace | None
    messages: dict[int, float]
    parts: dict[int, tuple[float, str]]
    answered_at: float


def save_trace(connection: Connection, turn: int, trace: RunTrace) -> None:
    """Store a turn's trace, the model that answered, and its usage by model if all model calls are known."""
    lead = [call for call in trace.calls if not call.task and not call.error]
    model = max(lead, key=lambda call: call.total_tokens).model if lead else ""
    connection.execute(SET_TRACE, {"id": turn, "trace": orjson.dumps(trace).decode(), "model": model})
    for name in {call.model for call in trace.calls if call.total_tokens} if trace.whole else ():
        calls = [call for call in trace.calls if call.model == name]
        counts = {name: sum(getattr(call, name) for call in calls) for name in (*TOKENS, "cost")}
        connection.execute(SET_MODEL_USAGE, {"turn": turn, "model": name, **counts})


def load_times(connection: Connection, conversation: int, turn: int) -> TurnTimes:
    """Return the times of a turn."""
    answer = connection.execute(GET_ANSWER, {"conversation": conversation, "turn": turn}).first()
    messages = connection.execute(MESSAGE_TIMES, {"turn": turn}).all()
    parts = connection.execute(PART_TIMES, {"turn": turn}).all()
    return TurnTimes(
        _decode_trace(connection.execute(GET_TRACE, {"turn": turn}).scalar_one()),
        {row.id: row.accepted_at for row in messages},
        {row.position: (row.updated_at, row.category) for row in parts},
        answer.created_at if answer is not None else 0.0,
    )


def _decode_trace(column: str) -> RunTrace | None:
    if not column:
        return None
    found: dict[str, Any] = orjson.loads(column)
    calls = tuple(ModelCall(**call) for call in found.pop("calls"))
    return RunTrace(**{**found, "calls": calls, "tools": tuple((key, at) for key, at in found["tools"])})
