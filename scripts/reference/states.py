"""States, steps and categories, from the closed sets of the code."""

from __future__ import annotations

from enum import Enum

from agent.models.errors import Category, make_failure
from bot import errors as bot_errors
from bot.domain import OPEN_STATES, Live, PartState, TurnState
from bot.faults import VARIABLE, Step
from scripts.reference.markdown import code, page, table

TURN = {
    TurnState.ACCEPTED: "stored, not begun",
    TurnState.RUNNING: "the agent works on it",
    TurnState.WAITING: "it waits for a person's answer",
    TurnState.DELIVERING: "the answer is known and on its way",
    TurnState.DONE: "the whole answer stands in the chat",
    TurnState.FAILED: "it failed and the chat says so, or a part could not be delivered",
    TurnState.CANCELLED: "somebody stopped it",
    TurnState.EXPIRED: "it lay too long while the service was away, and was told so",
}
PART = {
    PartState.PLANNED: "to be posted",
    PartState.INTENDED: "about to be posted; after a crash: of unknown outcome",
    PartState.POSTED: "stands in the chat, may still change",
    PartState.FINAL: "stands in the chat as it stays",
    PartState.UNDELIVERED: "could not be delivered; the category says why",
}
LIVE = {
    Live.CONNECTING: "not there yet",
    Live.LIVE: "receives and sends",
    Live.DEAF: "connected, but nothing can be received",
    Live.LIMITED: "the platform asked to wait",
    Live.FAILED: "not running; the reason says why",
    Live.STOPPED: "not running because it was told so",
}
STEPS = {
    Step.RECEIVED: "the adapter has the event",
    Step.STORED: "the accept transaction is committed",
    Step.ACKNOWLEDGED: "the platform has been told",
    Step.RUN_CREATED: "the runtime has the run",
    Step.OFFERED: "a message that came meanwhile is in the inbox of the run",
    Step.JOINED: "the run has told that it took such a message in",
    Step.POST_INTENDED: "it is written down that a message is about to be posted",
    Step.POSTED: "the platform has it, the id is not written down yet",
    Step.MID_STREAM: "a frame of the growing answer was shown",
    Step.FINAL_COMPOSED: "the final is written down",
    Step.PART_SENT: "a part of the final was sent, not yet written down",
    Step.RECORDED: "the turn is closed",
}
DELIVERY = {
    bot_errors.DeliveryCategory.TRANSIENT: "passing trouble; tried again",
    bot_errors.DeliveryCategory.RATE_LIMIT: "too many calls; sent when the platform allows it",
    bot_errors.DeliveryCategory.AUTH: "the token was refused; tried again",
    bot_errors.DeliveryCategory.PERMISSION: "the bot may not write there",
    bot_errors.DeliveryCategory.NOT_FOUND: "the chat or message is gone",
    bot_errors.DeliveryCategory.INVALID_PAYLOAD: "the platform refuses the content",
    bot_errors.DeliveryCategory.CONFLICT: "it clashes with what stands",
    bot_errors.DeliveryCategory.CANCELLED: "broken off",
    bot_errors.DeliveryCategory.UNKNOWN: "none of these; tried again",
}


def states() -> str:
    """The page. Raises KeyError where a set has a member that is not described here."""
    opened = ", ".join(code(state.value) for state in OPEN_STATES)
    return page(
        "States, steps and errors",
        f"## Turns\n\nOpen ones, taken up again after a restart: {opened}.",
        _table(TurnState, TURN),
        "## Parts of a reply",
        _table(PartState, PART),
        "## Accounts",
        _table(Live, LIVE),
        f"## Steps of a turn\n\nThe order in which a turn passes them. For tests: `{VARIABLE}=STEP[:COUNT]`"
        " in the environment ends the service by SIGKILL when a step is reached (for the COUNT-th time).",
        _table(Step, STEPS),
        "## Failures of delivery",
        _table(bot_errors.DeliveryCategory, DELIVERY),
        "## Failures of a model\n\nWhat the chat says. `/retry` asks again in any case.",
        _failures(),
        "## Errors in the code",
        f"```text\n{_tree()}\n```",
    )


def _table(kind: type[Enum], meanings: object) -> str:
    assert isinstance(meanings, dict)
    return table(["name", "meaning"], [[code(member.value), meanings[member]] for member in kind])


def _failures() -> str:
    found = [(category, make_failure(category, model="NAME")) for category in Category]
    rows = [[code(category.value), one.message, "yes" if one.retryable else "no"] for category, one in found]
    return table(["name", "the chat says", "may pass by itself"], rows)


def _tree() -> str:
    return (bot_errors.__doc__ or "").partition("\n\n")[2].strip()
