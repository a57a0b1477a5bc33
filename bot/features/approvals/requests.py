"""Ask people about a tool call that waits for their approval."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agent.shared.approval_words import APPROVE, REJECT, default_question
from bot.commands.escaping import quoted
from bot.dispatch.questions import APPROVAL, APPROVAL_LASTS, Question, read_choices, read_text
from bot.dispatch.run.hooks import RunHooks
from bot.dispatch.tool_arguments import (
    MAX_LINE,
    Mask,
    RenderedArguments,
    fingerprint_call,
    one_line,
    render_arguments,
    render_complete,
    render_tool_name,
)
from bot.store.tool_grants import GrantOffer
from bot.texts import Texts

COMMAND, ARGUMENT, PURPOSE = "bash", "command", "description"
"""The tool that runs commands, its argument, and the one that says what a command does."""


class ApprovalRequests(RunHooks):
    """Reads the requests for approval of a run."""

    def read_question(self, value: Any) -> Question | None:
        """Return a request with the number by which a command decides it."""
        if not isinstance(value, Mapping) or value.get("type") != APPROVAL:
            return None
        scope = self.scope
        question = read_request(value, scope.texts, scope.core.mask_secrets)
        line = scope.texts("approval_code", number=scope.turn.id, hours=APPROVAL_LASTS // 3600)
        return replace(question, text=f"{question.text}\n\n{line}")


def read_request(value: Mapping[str, Any], texts: Texts, mask: Mask) -> Question:
    """Return the question in the value of an interrupt for an approval; `mask` hides secrets.

    The value has `question` (or `message`), `options`, `tool` and `args`, `subagent` (its task) if a subagent
    asks, and `remember` if the approval may cover later calls.
    """
    purpose = one_line(mask(_read_purpose(value)), MAX_LINE)
    tool = read_text(value.get("tool"))
    args = _without_purpose(value.get("args"), purpose)
    # A command that is all there is needs no label.
    is_command = tool == COMMAND and isinstance(args, Mapping) and list(args) == [ARGUMENT]
    shown = render_arguments(args[ARGUMENT] if is_command else args, mask)
    asked = mask(read_text(value.get("question")) or read_text(value.get("message")))
    # The title says it already, in the language of the chat.
    asked = "" if asked == default_question(tool) else asked
    labels = {APPROVE: texts("approve_once"), REJECT: texts("reject_once")}
    choices = tuple(labels.get(one, one) for one in read_choices(value.get("options")))
    remembered = None
    if value.get("remember") is True and len(choices) == 2 and tool:
        remembered = GrantOffer(tool, texts("approve_here"), texts("approve_always"))
        choices = (choices[0], remembered.here, remembered.always, choices[1])
    text = "\n\n".join(filter(None, [*_tool_lines(value, purpose, shown, texts, mask), asked]))
    complete = render_complete(value.get("tool"), value.get("args"), mask) if shown.omitted else ""
    return Question(text, choices, True, remembered, read_text(value.get("covers")), complete)


def _tool_lines(
    value: Mapping[str, Any], purpose: str, shown: RenderedArguments, texts: Texts, mask: Mask
) -> list[str]:
    """Return the tool that waits for approval, with its arguments.

    They may come from anybody whose text the agent has read, so they are shown literally and never as markup.
    """
    directory = one_line(mask(read_text(value.get("directory"))), MAX_LINE)
    fingerprint = fingerprint_call(value.get("tool"), value.get("args"))
    task = one_line(mask(read_text(value.get("subagent"))), MAX_LINE)
    return [
        texts("approval_title", tool=render_tool_name(value.get("tool"))),
        texts("approval_subagent", task=quoted(task, MAX_LINE)) if task else "",
        texts("approval_purpose", purpose=quoted(purpose, MAX_LINE)) if purpose else "",
        shown.block or texts("approval_bare"),
        texts("approval_directory", path=quoted(directory, MAX_LINE)) if directory else "",
        texts("approval_cut", count=shown.omitted) if shown.omitted else "",
        texts("approval_hidden", count=shown.hidden, hash=fingerprint) if shown.hidden else "",
    ]


def _read_purpose(value: Mapping[str, Any]) -> str:
    """Return what the model says that a command does. It is a claim, so the command stays visible below."""
    args = value.get("args")
    return read_text(args.get(PURPOSE)) if value.get("tool") == COMMAND and isinstance(args, Mapping) else ""


def _without_purpose(args: Any, purpose: str) -> Any:
    """Return the arguments without the description if its line shows all of it."""
    if not purpose or read_text(args[PURPOSE]) != purpose:
        return args
    return {name: value for name, value in args.items() if name != PURPOSE}
