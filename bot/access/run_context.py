"""The context of the agent's work on a turn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agent.shared.run_identity import CHAT_FACTS
from bot.domain import LOCAL_PLATFORMS
from bot.profiles import Profile
from bot.turn import Turn, turn_author


def build_run_context(
    turn: Turn, profile: Profile, locale: str, roles: Sequence[str], facts: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return a run's `configurable`: its people, place, model, custom agent, skills and denied tools. `facts`
    describe the chat to the model.
    """
    context: dict[str, Any] = {
        "user_id": turn_author(turn),
        "account": _home_account(turn),
        "platform": turn.platform,
        "chat": turn.address.chat,
        "chat_kind": turn.address.chat_kind.value,
        "turn_id": str(turn.id),
        "roles": list(roles),
        "locale": locale,
    }
    if facts:
        context[CHAT_FACTS] = dict(facts)
        if instructions := profile.joined("instructions"):
            context[CHAT_FACTS]["instructions"] = "\n".join(instructions)
    if denied := profile.joined("denied_tools"):
        context["denied_tools"] = denied
    if skills := profile.lists("skills"):
        context["allowed_skills"] = skills
    if turn.model:
        context["model_name"] = turn.model
    if turn.approved:
        context["approved"] = list(turn.approved)
    if turn.plan:
        context["is_plan_mode"] = True
    if agent := turn.agent or profile.get("agent"):
        context["agent_name"] = agent
    return context


def _home_account(turn: Turn) -> str:
    """Return the account on which a turn's author is known. For a person who signed in by a link it is the
    link's account, so that the agent has a single memory of each person.
    """
    known = turn.people[-1].account if turn.people and turn.platform in LOCAL_PLATFORMS else ""
    return known or turn.address.account
