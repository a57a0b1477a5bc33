"""What a failed turn offers, by the failure that is stored with it."""

from __future__ import annotations

import pytest

from agent.errors import ModelCallFailed
from agent.models.failure_texts import Category
from agent.runtime.failures import describe_exception
from bot.domain import Part, PartKind, PartState
from bot.runtime.events import translate_event
from bot.runtime.interface import RunFailed
from bot.server.api.presenters import find_remedy
from bot.store.read_models import TurnView
from bot.turn import TurnKind, TurnState


def ended(error: str, state: TurnState = TurnState.FAILED, part: PartState = PartState.FINAL) -> TurnView:
    parts = (Part(0, PartKind.TEXT, "x", part),)
    return TurnView(1, 1, TurnKind.CHAT, state, "t", "r", 0, False, False, error, 0.0, 1.0, parts=parts)


@pytest.mark.parametrize(
    ("category", "kind"),
    [
        (Category.AUTH, "model"),
        (Category.QUOTA, "model"),
        (Category.NOT_FOUND, "model"),
        (Category.CONTEXT, "new"),
        (Category.OVERLOADED, "retry"),
        (Category.RATE_LIMIT, "retry"),
        (Category.CONTENT_FILTER, "none"),
    ],
)
def test_a_failed_model_call_keeps_its_category(category: Category, kind: str) -> None:
    error = ModelCallFailed("refused", category=category, retryable=False)
    [failure] = translate_event("error", describe_exception(error))
    assert failure == RunFailed(f"ModelCallFailed:{category}", "refused")
    remedy = find_remedy(ended(failure.kind))
    assert remedy is not None
    assert (remedy.kind, remedy.reason) == (kind, str(category))


@pytest.mark.parametrize(
    ("error", "state", "kind"),
    [
        ("runtime", TurnState.FAILED, "retry"),
        ("ProfileUnknown", TurnState.FAILED, "agent"),
        ("expired", TurnState.EXPIRED, "none"),
    ],
)
def test_other_failures(error: str, state: TurnState, kind: str) -> None:
    remedy = find_remedy(ended(error, state))
    assert remedy is not None
    assert (remedy.kind, remedy.reason) == (kind, error)


def test_what_was_answered_needs_no_remedy_unless_it_was_not_delivered() -> None:
    assert find_remedy(ended("", TurnState.DONE)) is None
    lost = find_remedy(ended("", TurnState.DONE, PartState.UNDELIVERED))
    assert lost is not None
    assert lost.kind == "account"
