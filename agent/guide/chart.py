"""Steps that draw a chart with the skill `data-analysis`: read it, write or read the table, draw, present."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agent.core.interfaces import SandboxUnavailable
from agent.guide.replies import GuideReply
from agent.guide.wording import detect_language, pattern, say
from agent.shared.approval_words import IS_REJECTED
from agent.shared.install_hints import SETUP_SANDBOX
from agent.tools.sandbox import try_command

SKILL = "/mnt/skills/public/data-analysis"
SAMPLE = "/mnt/user-data/workspace/tickets.csv"
NUMBERS = "/mnt/user-data/workspace/numbers.csv"
OUTPUTS = "/mnt/user-data/outputs"
TOOLS = frozenset({"read_file", "write_file", "bash", "present_files"})
CHECK = (
    "python3 -c 'from importlib.util import find_spec; "
    'raise SystemExit(not all(map(find_spec, ("matplotlib", "pandas"))))\''
)
"""Command that succeeds if the sandbox has what the skill's script imports."""
CHECK_HAN = (
    f'python3 -c \'import sys; sys.path.insert(0, "{SKILL}/scripts"); import chart; '
    "raise SystemExit(not chart.has_han_font())'"
)
ROWS = 50
"""Lines of a table that are read to find its columns."""
MORE = 10
"""Maximum number of further columns that are named."""
SHOWN = 1500
"""Maximum number of characters of a tool's result that are quoted."""
_FIGURES = re.compile(r"^wrote .+\n\n", re.M)
_NUMBER = re.compile(r"-?[\d.,]*\d%?")
_ONE = r"-?\d+(?:\.\d+)?"
_NUMBERS = re.compile(rf"{_ONE}(?:\s*(?:[,;、，；]|[,，]?\s*\band\b|和)\s*{_ONE})+(?![\d.]*[-/:年月])")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_DATE = re.compile(r"\d{4}-\d\d(?:-\d\d)?")


def begin_chart(language: str, tables: Sequence[str], tools: frozenset[str], question: str) -> GuideReply:
    """Return the first step. `tables` are the paths of the tables that people sent, the newest last.

    The sample is drawn only for a question that names it.
    """
    if not tools >= TOOLS:
        return GuideReply(say(language, "no_files"))
    skill = ("read_file", {"path": f"{SKILL}/SKILL.md"})
    if numbers := _NUMBERS.search(_THOUSANDS.sub("", question)):
        values = re.findall(_ONE, numbers[0])
        lines = [f"#{at:0{len(str(len(values)))}},{value}" for at, value in enumerate(values, 1)]
        table = "\n".join([say(language, "numbers_columns"), *lines, ""])
        return GuideReply(
            say(language, "drawing"), [skill, ("write_file", {"path": NUMBERS, "content": table})]
        )
    if pattern("sample").search(question):
        sample = ("write_file", {"path": SAMPLE, "content": say(language, "sample")})
        return GuideReply(f"{say(language, 'sample_first')} {say(language, 'drawing')}", [skill, sample])
    if not tables:
        return GuideReply(
            say(language, "no_table"), (), [say(language, "suggest_chart")], say(language, "choose")
        )
    return GuideReply(say(language, "drawing"), [skill, ("read_file", {"path": tables[-1], "limit": ROWS})])


async def prepare_chart(reply: GuideReply, language: str) -> GuideReply:
    """Return a reply without charts that the sandbox can't draw, and with labels for which it has a font."""
    button = say(language, "suggest_chart")
    begins = any(str(arguments.get("path", "")).startswith(SKILL) for _, arguments in reply.calls)
    if not begins and button not in reply.options:
        return reply
    if problem := await _find_problem(language):
        if begins:
            return GuideReply(problem)
        options = [one for one in reply.options if one != button]
        return replace(reply, text=f"{reply.text}\n\n{problem}", options=options)
    written = next((arguments for name, arguments in reply.calls if name == "write_file"), None)
    if written is None or detect_language(str(written["content"])) != "zh":
        return reply
    tried = await try_command(CHECK_HAN)
    if tried is None or tried.exit_code == 0:
        return reply
    content = say("en", "sample")
    if written["path"] == NUMBERS:
        content = str(written["content"]).replace(say("zh", "numbers_columns"), say("en", "numbers_columns"))
    return replace(reply, calls=[reply.calls[0], ("write_file", {**written, "content": content})])


async def _find_problem(language: str) -> str:
    """Return why the sandbox can't draw charts, with the remedy; "" if it can."""
    try:
        tried = await try_command(CHECK)
    except SandboxUnavailable as error:
        return f"{say(language, 'no_sandbox')}\n\n{quote_result(str(error))}"
    if tried is None or tried.exit_code in {0, None}:
        return ""
    return say(language, "no_packages", command=SETUP_SANDBOX)


def continue_chart(
    language: str, asked: AIMessage, results: Sequence[ToolMessage], *, earlier: int = 0, question: str = ""
) -> GuideReply:
    """Return the step after these results. `earlier` charts keep their files.

    The question may name the columns.
    """
    failed = next((one for one in results if one.status == "error" or _is_failed(one)), None)
    if failed is not None:
        if failed.additional_kwargs.get(IS_REJECTED):
            return GuideReply(say(language, "rejected"))
        return GuideReply(f"{say(language, 'failed')}\n\n{quote_result(failed.text)}")
    names = [call["name"] for call in asked.tool_calls]
    if "bash" in names:
        words = shlex.split(str(asked.tool_calls[-1]["args"]["command"]))
        return GuideReply("", [("present_files", {"paths": [words[words.index("--out") + 1]]})])
    if names == ["present_files"]:
        return GuideReply("")
    if "write_file" in names:
        path = str(asked.tool_calls[-1]["args"]["path"])
        columns = str(asked.tool_calls[-1]["args"]["content"]).partition("\n")[0]
        x, *_, y = columns.split(",")
        kind, key = ("line", "numbers_title") if path == NUMBERS else ("bar", "sample_title")
        options: Mapping[str, str] | None = {"kind": kind, "x": x, "y": y}
        title = say(detect_language(columns), key)
    else:
        path = str(asked.tool_calls[-1]["args"]["path"])
        options = choose_columns(results[-1].text, question)
        title = f"{options['y']} / {options['x']}" if options else ""
    if options is None:
        return GuideReply(say(language, "csv_columns"))
    picture = f"{OUTPUTS}/chart{f'-{earlier + 1}' if earlier else ''}.png"
    script = ["python3", f"{SKILL}/scripts/chart.py", path, "--title", title, "--out", picture]
    script += [part for name, value in options.items() for part in (f"--{name}", value)]
    command = " ".join(map(shlex.quote, script))
    return GuideReply("", [("bash", {"command": command, "description": say(language, "draw")})])


def finish_chart(language: str, messages: Sequence[BaseMessage]) -> GuideReply:
    """Return the answer with the figures that the script printed."""
    printed = next(
        one.text for one in reversed(messages) if isinstance(one, ToolMessage) and one.name == "bash"
    )
    command = next(
        str(call["args"].get("command", ""))
        for one in reversed(messages)
        if isinstance(one, AIMessage)
        for call in one.tool_calls
        if call["name"] == "bash"
    )
    words = shlex.split(command)
    x, y = (words[words.index(option) + 1].replace("`", "'") for option in ("--x", "--y"))
    said = {SAMPLE: "drawn_sample", NUMBERS: "drawn"}.get(words[2])
    told = say(language, said) if said else say(language, "drawn_column", x=x, y=y)
    figures = _FIGURES.split(printed, maxsplit=1)[-1]
    parts = [told, quote_result(figures)]
    numeric = [] if said else _numeric_columns(_read_columns(_find_table(messages, words[2])))
    if others := [name.replace("`", "'") for name in numeric if name not in {x, y}]:
        shown = ", ".join(f"`{name}`" for name in others[:MORE])
        parts.append(say(language, "other_columns", others=shown, first=others[0]))
    return GuideReply("\n\n".join(parts))


def _find_table(messages: Sequence[BaseMessage], path: str) -> str:
    """Return the first lines of a table that were read last."""
    calls = [call for one in messages if isinstance(one, AIMessage) for call in one.tool_calls]
    ids = {call["id"] for call in calls if call["name"] == "read_file" and call["args"].get("path") == path}
    found = (
        one.text for one in reversed(messages) if isinstance(one, ToolMessage) and one.tool_call_id in ids
    )
    return next(found, "")


def count_charts(messages: Sequence[BaseMessage]) -> int:
    """Return how many charts were drawn."""
    return sum(isinstance(one, ToolMessage) and one.name == "bash" for one in messages)


def _is_failed(result: ToolMessage) -> bool:
    return result.name == "bash" and "wrote " not in result.text


def quote_result(text: str) -> str:
    """Return a tool's result as a code block, which nothing in it can leave."""
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    # Spaces at the beginning align the first line.
    shown = text.strip("\n").rstrip()[:SHOWN]
    return f"{fence}text\n{shown}\n{fence}"


def choose_columns(text: str, question: str = "") -> dict[str, str] | None:
    """Return the options of the chart for a table's first lines; None if no column has numbers.

    Columns that the question names are drawn.
    """
    columns = _read_columns(text)
    numeric = _numeric_columns(columns)
    value, by = _split_by(question)
    labels = [name for name in columns if name not in numeric]
    dated = next((name for name in labels if all(map(_DATE.fullmatch, columns[name]))), "")
    x = _named(columns, by) or _named(labels, value) or dated or next(iter(labels), "")
    values = [name for name in numeric if name != x]
    if not values or not x:
        return None
    y = _named(values, value) or _named(values, by) or values[-1]
    return {"kind": "line" if x == dated else "bar", "x": x, "y": y}


def _split_by(question: str) -> tuple[str, str]:
    """Return the words before and after "by"."""
    found = pattern("by").search(question)
    return (question[: found.start()], question[found.end() :]) if found else (question, "")


def _named(columns: Iterable[str], words: str) -> str:
    """Return the column that these words name first; of several there, the one with the longest name."""
    words = words.casefold()
    patterns = {one: rf"(?<![a-z0-9]){re.escape(one.casefold())}(?![a-z0-9])" for one in columns}
    found = [
        (place.start(), -len(one), one)
        for one, named in patterns.items()
        if (place := re.search(named, words))
    ]
    return min(found)[2] if found else ""


def _read_columns(text: str) -> dict[str, list[str]]:
    """Return the cells of each column in a table's first lines."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    # A row with the delimiter in quotes has another length, and is left out.
    rows = [[cell.strip(' "') for cell in line.split(delimiter)] for line in text.splitlines() if line]
    if len(rows) < 2:
        return {}
    names, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    return {name: [row[at].strip() for row in body] for at, name in enumerate(names) if name.strip()}


def _numeric_columns(columns: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        name for name, cells in columns.items() if cells and all(map(_NUMBER.fullmatch, filter(None, cells)))
    ]
