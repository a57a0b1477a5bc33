"""The outcome of a run, and the public part of its error."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.dispatch.questions import Question
from bot.dispatch.run.hooks import AnswerAddition
from bot.domain import ToolStep
from bot.runtime.interface import TokenUsage
from bot.turn import RunTrace, TurnState

MAX_ERROR_CHARACTERS = 500
"""Characters."""
# Paths of the machine are hidden from people; virtual paths in /mnt are the agent's own.
_PART = r"[^\s/'\":,;()<>\[\]]+"
_PATH = re.compile(rf"(?<![\w/:.…])/(?!mnt/)(?:{_PART}/)+({_PART})")


def public_message(message: str, mask: Callable[[str], str]) -> str:
    """Return an error message without secrets and directories, at most MAX_ERROR_CHARACTERS long."""
    return _PATH.sub(r"…/\1", mask(message))[:MAX_ERROR_CHARACTERS]


NO_ANSWER = "no_answer"
"""Error of a run that ended without an answer."""
ADVICE = {"ProfileUnknown": "failed_agent"}
"""Text that helps in a chat, by the class of a run's error."""


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """Outcome of a run: final text, artifacts (virtual paths), and the turn's closing state.

    `question` is the agent's question at its end; `interrupt` is the id by which the run is resumed with the
    answer ("" without a question). `used` is the token usage, None if it was not counted. `joined` are the
    waiting messages that joined the run, `steps` its tool calls, `trace` its times and model calls.
    `additions` belong below a finished answer.
    """

    text: str
    artifacts: tuple[str, ...] = ()
    state: TurnState = TurnState.DONE
    error: str = ""
    question: Question = field(default_factory=Question)
    interrupt: str = ""
    used: TokenUsage | None = None
    joined: tuple[int, ...] = ()
    steps: tuple[ToolStep, ...] = ()
    additions: tuple[AnswerAddition, ...] = ()
    trace: RunTrace | None = None
