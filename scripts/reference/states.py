"""Reference of states, steps and error categories, from the enums of the code."""

from __future__ import annotations

from enum import Enum

from agent.models.errors import make_failure
from agent.models.failure_texts import Category
from bot import errors as bot_errors
from bot.account_state import Live
from bot.domain import PartState
from bot.faults import VARIABLE, Step
from bot.turn import OPEN_STATES, TurnState
from scripts.reference.markdown import code, page, table

TURN = {
    TurnState.ACCEPTED: "stored, not started",
    TurnState.RUNNING: "the agent is working on it",
    TurnState.WAITING: "it is waiting for a person to answer",
    TurnState.DELIVERING: "the answer is complete and is being sent",
    TurnState.DONE: "the whole answer has been posted",
    TurnState.FAILED: "it failed and the chat shows the error, or part of the answer could not be delivered",
    TurnState.CANCELLED: "a person stopped it",
    TurnState.EXPIRED: "it waited too long while the service was down; its author was notified",
}
PART = {
    PartState.PLANNED: "not posted yet",
    PartState.INTENDED: "about to be posted; after a crash, the outcome is unknown",
    PartState.POSTED: "posted, but may still change",
    PartState.FINAL: "posted in its final form",
    PartState.UNDELIVERED: "could not be delivered; the category gives the reason",
}
LIVE = {
    Live.CONNECTING: "connecting",
    Live.LIVE: "connected; receives and sends messages",
    Live.DEAF: "connected, but can't receive messages",
    Live.LIMITED: "rate limited by the platform",
    Live.FAILED: "not running; the state includes the reason",
    Live.STOPPED: "stopped intentionally",
}
STEPS = {
    Step.RECEIVED: "the adapter has received the event",
    Step.STORED: "the accept transaction is committed",
    Step.ACKNOWLEDGED: "receipt has been confirmed to the platform",
    Step.TRANSCRIBED: "the agent has transcribed a recording; the bot has not stored the transcript yet",
    Step.RUN_CREATED: "the runtime has created the run",
    Step.OFFERED: "a new message is in the run's inbox",
    Step.JOINED: "the run has confirmed that it added the message",
    Step.SERVICE_ANSWERED: "the agent's call to the service is answered; the next run is not created yet",
    Step.POST_INTENDED: "the intention to post is stored",
    Step.POSTED: "the platform has the message, but its id is not stored yet",
    Step.MID_STREAM: "an update of the growing answer was sent",
    Step.FINAL_COMPOSED: "the final answer is stored",
    Step.PART_SENT: "a part of the final answer was sent, but this is not stored yet",
    Step.RECORDED: "the turn is closed",
}
DELIVERY = {
    bot_errors.DeliveryCategory.TRANSIENT: "temporary failure; retried",
    bot_errors.DeliveryCategory.RATE_LIMIT: "too many calls; sent when the platform allows it",
    bot_errors.DeliveryCategory.AUTH: "the token was rejected; retried",
    bot_errors.DeliveryCategory.PERMISSION: "the bot has no permission to write there",
    bot_errors.DeliveryCategory.NOT_FOUND: "the chat or message no longer exists",
    bot_errors.DeliveryCategory.INVALID_PAYLOAD: "the platform rejected the content",
    bot_errors.DeliveryCategory.CONFLICT: "conflicts with the current state of the message",
    bot_errors.DeliveryCategory.CANCELLED: "canceled",
    bot_errors.DeliveryCategory.UNKNOWN: "any other failure; retried",
}


def render_states_and_errors() -> str:
    """Return the page as Markdown. Raises KeyError if a member of a set has no description here."""
    opened = ", ".join(code(state.value) for state in OPEN_STATES)
    return page(
        "States and errors",
        f"## Turns\n\nTurns in these states are open and continue after a restart: {opened}.",
        _table(TurnState, TURN),
        "## Reply parts",
        _table(PartState, PART),
        "## Accounts",
        _table(Live, LIVE),
        f"## Turn steps\n\nA turn reaches these steps in order. For tests, `{VARIABLE}=STEP[:COUNT]`"
        " in the environment kills the service (SIGKILL) when the step is reached (for the COUNT-th time).",
        _table(Step, STEPS),
        "## Delivery failures",
        _table(bot_errors.DeliveryCategory, DELIVERY),
        "## Model failures\n\nThe chat shows these messages. `/retry` always sends the request again.",
        _failures(),
        "## Error classes",
        f"```text\n{_tree()}\n```",
    )


def _table(kind: type[Enum], meanings: object) -> str:
    assert isinstance(meanings, dict)
    return table(["name", "description"], [[code(member.value), meanings[member]] for member in kind])


def _failures() -> str:
    found = [(category, make_failure(category, model="NAME")) for category in Category]
    rows = [[code(category.value), one.message, "yes" if one.retryable else "no"] for category, one in found]
    return table(["name", "message", "temporary"], rows)


def _tree() -> str:
    return (bot_errors.__doc__ or "").partition("\n\n")[2].strip()
