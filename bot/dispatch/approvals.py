"""Turn an agent's interrupt into a question for people, and mark the question as answered.

The arguments of a tool call are rendered readable and bounded, and nothing is omitted silently. They may
quote anybody, so nothing in them can pass for markup, for another argument or for the bot's words: invisible
characters and those that change the text direction are escaped.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import structlog

from agent.shared.approval_words import REJECT, is_yes
from bot.commands.escaping import quoted
from bot.dispatch.clarifications import decides_approval, imitates_request, strip_request_symbols
from bot.dispatch.pacing import Backoff
from bot.dispatch.reply.diff import EditPart
from bot.dispatch.reply.sender import ReplySender
from bot.dispatch.run.upload import TRANSIENT
from bot.domain import Part, PartKind
from bot.errors import DeliveryError, RateLimited
from bot.platforms.base import TooLong
from bot.platforms.manifest import Operation
from bot.render.partial_markdown import close_fence
from bot.render.renderer import Renderer
from bot.store.tool_grants import GrantOffer
from bot.texts import Texts
from bot.turn import Stopped, Turn

# Limits: characters of all values together, lines of one value, characters of a name, number of arguments,
# nesting levels.
MAX_CHARACTERS, MAX_LINES, MAX_NAME, MAX_ARGUMENTS, MAX_DEPTH = 2400, 30, 80, 20, 20
# Characters of arguments rendered on one line: of all together, and of each value.
MAX_LINE, MAX_LINE_VALUE = 200, 80
HIDDEN = "***"
DEEPER = "[… nested values …]"
_SECRET = re.compile(
    r"(?:^|[_\-\s])(?:pass(?:word|wd|phrase)?|secret|token|cookie|credentials?|authorization"
    r"|(?:api|private|access)[_-]?key)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Unicode categories of invisible characters: control and format characters (which include text direction),
# and line separators that Markdown does not treat as line ends.
_INVISIBLE = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_UNNAMED = re.compile(r"[^\w.:/@-]")
_FENCE = "```"
_IN_A_RUN = re.compile(r"`(?=`)")
Mask = Callable[[str], str]


APPROVAL = "approval"
COMMAND, PURPOSE = "bash", "description"
"""The tool that runs commands, and its argument that says what a command does."""
# Kinds of a clarification that need an introduction, because the question alone does not show them.
_LEADS = {"risk_confirmation": "ask_risk", "suggestion": "ask_suggestion"}
log = structlog.get_logger(__name__)
RETRY_SECONDS = 30.0
"""Seconds after which a failing edit of a question is given up; its turn stays open until then."""


@dataclass(frozen=True, slots=True)
class RenderedArguments:
    """Arguments as Markdown: `block` is a fenced code block ("" without arguments); `omitted` is the number
    of characters that it does not show.
    """

    block: str
    omitted: int


def render_tool_name(name: Any) -> str:
    """Return a tool's name as inline code."""
    return f"`{plain_tool_name(name)}`"


def plain_tool_name(name: Any) -> str:
    """Return a tool's name without anything that could be markup."""
    plain = _UNNAMED.sub("?", name)[:MAX_NAME] if isinstance(name, str) else ""
    return plain or "?"


def render_argument_line(args: Any, mask: Mask) -> str:
    """Return the arguments on one line, each shortened. Secrets are hidden."""
    if not args:
        return ""
    given: Iterable[tuple[Any, Any]] = args.items() if isinstance(args, Mapping) else [("", args)]
    said = [_render_argument(str(name), value, mask) for name, value in islice(given, MAX_ARGUMENTS)]
    return one_line(", ".join(said), MAX_LINE)


def one_line(text: str, limit: int) -> str:
    """Return the beginning of a text on one line, without invisible characters."""
    begins = text[: 4 * limit]
    line = " ".join(begins.split())
    cut = line[:limit]
    return _escape_invisible(cut, allowed="") + ("…" if cut != line or begins != text else "")


def _render_argument(name: str, value: Any, mask: Mask) -> str:
    opened = _hide_secrets(name, value)
    text = mask(opened if isinstance(opened, str) else json.dumps(opened, ensure_ascii=False, default=str))
    short = one_line(text, MAX_LINE_VALUE)
    return f"{one_line(name, MAX_NAME)}: {short}" if name else short


def render_arguments(args: Any, mask: Mask) -> RenderedArguments:
    """Render the arguments one below the other. Long values show their beginning and their end; `mask` hides
    secrets, and arguments named like a secret are hidden too.
    """
    if not args:
        return RenderedArguments("", 0)
    given: Iterable[tuple[Any, Any]] = args.items() if isinstance(args, Mapping) else [("", args)]
    values = [(str(name), _render_value(_hide_secrets(str(name), value), mask)) for name, value in given]
    room = MAX_CHARACTERS // min(len(values), MAX_ARGUMENTS)
    left_out = sum(len(name) + len(value) for name, value in values[MAX_ARGUMENTS:])
    lines: list[str] = []
    for name, value in values[:MAX_ARGUMENTS]:
        cut, gone = _shorten(value, room)
        left_out += gone
        named = _escape_invisible(name, allowed="").strip()[:MAX_NAME] or '""'
        lines += _argument_lines(named if isinstance(args, Mapping) else "", cut)
    return RenderedArguments(_fence_lines(lines), left_out)


def render_complete(tool: Any, args: Any, mask: Mask) -> str:
    """Return the whole call as plain text, with secrets hidden and invisible characters escaped."""
    given = args if isinstance(args, Mapping) else {"": args}
    lines = [plain_tool_name(tool)]
    for name, value in given.items():
        rendered = _render_value(_hide_secrets(str(name), value), mask)
        lines += ["", *_argument_lines(_escape_invisible(str(name), allowed=""), rendered)]
    return "\n".join(lines) + "\n"


def _hide_secrets(name: str, value: Any, depth: int = 0) -> Any:
    """Return a value in which everything named like a secret is replaced."""
    if value not in (None, "") and _SECRET.search(_CAMEL.sub("_", name)):
        return HIDDEN
    if not isinstance(value, Mapping | list):
        return value
    if depth == MAX_DEPTH:
        return DEEPER
    if isinstance(value, list):
        return [_hide_secrets("", one, depth + 1) for one in value]
    return {str(inner): _hide_secrets(str(inner), one, depth + 1) for inner, one in value.items()}


def _render_value(value: Any, mask: Mask) -> str:
    """Return the value as text without invisible characters; text with surrounding blanks is quoted."""
    if isinstance(value, str) and value and value == value.strip():
        return _escape_invisible(mask(value))
    return _escape_invisible(mask(json.dumps(value, ensure_ascii=False, default=str)))


def _escape_invisible(text: str, allowed: str = "\n\t") -> str:
    signs = text.replace("\r\n", "\n")
    return "".join(
        sign if sign in allowed or not _is_invisible(sign) else _unicode_escape(sign) for sign in signs
    )


def _is_invisible(sign: str) -> bool:
    return unicodedata.category(sign) in _INVISIBLE


def _unicode_escape(sign: str) -> str:
    code = ord(sign)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _shorten(text: str, room: int) -> tuple[str, int]:
    """Shorten a long text in its middle. Return it with the number of omitted characters."""
    text, gone = _cut_middle(text, room)
    lines = text.split("\n")
    if len(lines) <= MAX_LINES:
        return text, gone
    half = MAX_LINES // 2
    lacking = sum(len(line) + 1 for line in lines[half:-half])
    return "\n".join([*lines[:half], f"[… {lacking:,} …]", *lines[-half:]]), gone + lacking


def _cut_middle(text: str, room: int) -> tuple[str, int]:
    if len(text) <= room:
        return text, 0
    gone, end = len(text) - room, room // 3
    return f"{text[: room - end]} [… {gone:,} …] {text[-end:]}", gone


def _argument_lines(name: str, value: str) -> list[str]:
    """Return an argument's lines; the lines of a multi-line value are indented."""
    if not name:
        return value.split("\n")
    if "\n" not in value:
        return [f"{name}: {value}"]
    return [f"{name}:", *(f"  {line}" for line in value.split("\n"))]


def _fence_lines(lines: list[str]) -> str:
    """Return a code block that its content can't close, even in parsers without longer fences."""
    text = _IN_A_RUN.sub("`\u200b", "\n".join(lines))
    return f"{_FENCE}\n{text}\n{_FENCE}"


@dataclass(frozen=True, slots=True)
class Question:
    """A question of the agent: `text` is Markdown, `choices` are the offered answers. `approval`: a tool
    waits for the answer, so not everybody may answer. `remembered` is the grant that it offers for later
    calls, `covers` the call that it is about, `complete` the whole call if `text` shows only a part of it.
    """

    text: str = ""
    choices: tuple[str, ...] = ()
    approval: bool = False
    remembered: GrantOffer | None = None
    covers: str = ""
    complete: str = ""


def read_question(value: Any, texts: Texts, mask: Callable[[str], str]) -> Question:
    """Return the question in an interrupt's value; `mask` hides secrets.

    The value is a mapping with `question` (or `message`) and `options`. If its `type` is "approval" it also
    has `tool` and `args`, `subagent` (its task) if a subagent asks, and `remember` if the approval may cover
    later calls; otherwise it may have `kind` and `context`. Any other value is the question itself.
    """
    if not isinstance(value, Mapping) or value.get("type") != APPROVAL:
        asked_alone = value if isinstance(value, Mapping) else {"question": str(value)}
        return _read_clarification(asked_alone, texts, mask)
    purpose = one_line(mask(_read_purpose(value)), MAX_LINE)
    shown = render_arguments(_without_purpose(value.get("args"), purpose), mask)
    asked = mask(_read_text(value.get("question")) or _read_text(value.get("message")))
    choices, remembered = _read_choices(value.get("options")), None
    if value.get("remember") is True and len(choices) == 2 and _read_text(value.get("tool")):
        remembered = GrantOffer(_read_text(value["tool"]), texts("approve_here"), texts("approve_always"))
        choices = (choices[0], remembered.here, remembered.always, choices[1])
    text = "\n\n".join(filter(None, [*_tool_lines(value, purpose, shown, texts, mask), asked]))
    complete = render_complete(value.get("tool"), value.get("args"), mask) if shown.omitted else ""
    return Question(text, choices, True, remembered, _read_text(value.get("covers")), complete)


def _read_clarification(value: Mapping[str, Any], texts: Texts, mask: Mask) -> Question:
    """Return a question of the agent, which can't be mistaken for an approval.

    The agent writes it, so it loses the symbols of the service's own requests, and choices that would decide
    an approval; a question that mentions them says what it is.
    """
    lead = _LEADS.get(_read_text(value.get("kind")))
    context = close_fence(mask(_read_text(value.get("context"))))
    asked = mask(_read_text(value.get("question")) or _read_text(value.get("message")))
    said = [strip_request_symbols(context), strip_request_symbols(asked)]
    offered = _read_choices(value.get("options"))
    choices = tuple(one for one in offered if not decides_approval(one, texts))
    doubtful = len(choices) < len(offered) or any(map(imitates_request, [context, asked]))
    above = [texts("ask_no_approval") if doubtful else "", texts(lead) if lead else ""]
    return Question("\n\n".join(filter(None, [*above, *said])), choices)


def _read_choices(options: Any) -> tuple[str, ...]:
    offered = [str(option).strip() for option in options] if isinstance(options, list) else []
    return tuple(dict.fromkeys(filter(None, offered)))


def _tool_lines(
    value: Mapping[str, Any], purpose: str, shown: RenderedArguments, texts: Texts, mask: Mask
) -> list[str]:
    """Return the tool that waits for approval, with its arguments.

    They may come from anybody whose text the agent has read, so they are shown literally and never as markup.
    """
    directory = one_line(mask(_read_text(value.get("directory"))), MAX_LINE)
    task = one_line(mask(_read_text(value.get("subagent"))), MAX_LINE)
    return [
        texts("approval_title", tool=render_tool_name(value.get("tool"))),
        texts("approval_subagent", task=quoted(task, MAX_LINE)) if task else "",
        texts("approval_purpose", purpose=quoted(purpose, MAX_LINE)) if purpose else "",
        shown.block or texts("approval_bare"),
        texts("approval_directory", path=quoted(directory, MAX_LINE)) if directory else "",
        texts("approval_cut", count=shown.omitted) if shown.omitted else "",
    ]


def _read_purpose(value: Mapping[str, Any]) -> str:
    """Return what the model says that a command does. It is a claim, so the command stays visible below."""
    args = value.get("args")
    return _read_text(args.get(PURPOSE)) if value.get("tool") == COMMAND and isinstance(args, Mapping) else ""


def _without_purpose(args: Any, purpose: str) -> Any:
    """Return the arguments without the description if its line shows all of it."""
    if not purpose or _read_text(args[PURPOSE]) != purpose:
        return args
    return {name: value for name, value in args.items() if name != PURPOSE}


def _read_text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


async def mark_resolved(answer: Turn, sender: ReplySender, texts: Texts) -> None:
    """Edit the question that `sender` posted; one that can't be edited stays as it is."""
    part = next((part for part in reversed(sender.reply.parts) if part.choices), None)
    if part is None or part.kind is not PartKind.TEXT or not sender.can_edit:
        return
    try:
        await _edit_question(sender, part, _resolution_line(answer, part, texts))
    except DeliveryError as problem:
        log.info("answer_not_shown", turn=sender.turn.id, problem=str(problem))
        return
    await sender.flush()


def _append_line(content: str, line: str, renderer: Renderer) -> str:
    """Append a line to a question within one message; the end of a long question is cut."""
    if len(renderer.split(whole := f"{content}\n\n{line}")) <= 1:
        return whole
    if len(renderer.split(_shorten_question(content, 0, line, renderer))) > 1:
        return content
    fits, too_long = 0, len(content)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        room = len(renderer.split(_shorten_question(content, middle, line, renderer))) <= 1
        fits, too_long = (middle, too_long) if room else (fits, middle)
    return _shorten_question(content, fits, line, renderer)


def _shorten_question(content: str, length: int, line: str, renderer: Renderer) -> str:
    return "\n\n".join(filter(None, [renderer.frame(content[:length]), "…", line]))


async def _edit_question(sender: ReplySender, part: Part, line: str) -> None:
    """Add a line to the question, with retries of transient failures. Raises DeliveryError."""
    governor, address = sender.channel.governor, sender.turn.address
    tries = Backoff(sender.clock, RETRY_SECONDS)
    while True:
        content = _append_line(part.content, line, sender.renderer)
        try:
            async with governor.required_call(address, Operation.FINAL):
                edit = EditPart(replace(part, content=content, choices=()))
                return await sender.edit_part(edit, final=True)
        except DeliveryError as problem:
            if isinstance(problem, TooLong) and sender.split_smaller(problem):
                continue
            if problem.category not in TRANSIENT:
                raise
            if isinstance(problem, RateLimited):
                governor.add_penalty(address, problem.retry_after, account_wide=problem.account_wide)
            await tries.pause(problem)


def _resolution_line(answer: Turn, part: Part, texts: Texts) -> str:
    if answer.stopped is Stopped.LEFT:
        return texts("answered_left")
    if not answer.messages:
        return texts("answered_stopped" if answer.stopped else "answered_never")
    message = answer.messages[-1]
    said = message.text.strip().casefold()
    chosen = next((choice for choice in part.choices if choice.casefold() == said), "")
    who = quoted(message.sender.name or message.sender.id)
    if chosen == REJECT or (answer.covers and not is_yes(message.text)):
        return texts("answered_rejected", who=who)
    return texts("answered_with", choice=quoted(chosen), who=who) if chosen else texts("answered", who=who)
