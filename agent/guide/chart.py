"""Steps that draw a chart with the skill `data-analysis`: read it, write or read the table, draw, present."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

from agent.guide.replies import GuideReply
from agent.guide.wording import load_wording, pattern, say
from agent.shared.approval_words import IS_DENIED, IS_REJECTED

SKILL = "/mnt/skills/public/data-analysis"
SAMPLE = "/mnt/user-data/workspace/tickets.csv"
NUMBERS = "/mnt/user-data/workspace/numbers.csv"
OUTPUTS = "/mnt/user-data/outputs"
TOOLS = frozenset({"read_file", "write_file", "bash", "present_files"})
ROWS = 50
"""Lines of a table that are read to find its columns."""
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
        table = "\n".join(["number,value", *lines, ""])
        return GuideReply(
            say(language, "drawing"), [skill, ("write_file", {"path": NUMBERS, "content": table})]
        )
    if pattern("sample").search(question):
        sample = ("write_file", {"path": SAMPLE, "content": load_wording()["sample"]})
        return GuideReply(f"{say(language, 'sample_first')} {say(language, 'drawing')}", [skill, sample])
    if not tables:
        return GuideReply(
            say(language, "no_table"), (), [say(language, "suggest_chart")], say(language, "choose")
        )
    return GuideReply(say(language, "drawing"), [skill, ("read_file", {"path": tables[-1], "limit": ROWS})])


def continue_chart(
    language: str, asked: AIMessage, results: Sequence[ToolMessage], *, earlier: int = 0
) -> GuideReply:
    """Return the step after these results. `earlier` charts keep their files."""
    failed = next((one for one in results if one.status == "error" or _is_failed(one)), None)
    if failed is not None:
        if failed.additional_kwargs.get(IS_REJECTED):
            return GuideReply(say(language, "rejected"))
        advice = "" if failed.additional_kwargs.get(IS_DENIED) else f"\n\n{say(language, 'prepare')}"
        return GuideReply(f"{say(language, 'failed')}\n\n{quote_result(failed.text)}{advice}")
    names = [call["name"] for call in asked.tool_calls]
    if "bash" in names:
        words = shlex.split(str(asked.tool_calls[-1]["args"]["command"]))
        return GuideReply("", [("present_files", {"paths": [words[words.index("--out") + 1]]})])
    if names == ["present_files"]:
        return GuideReply("")
    if "write_file" in names:
        path = str(asked.tool_calls[-1]["args"]["path"])
        options: Mapping[str, str] | None = {"kind": "bar", "x": "team", "y": "tickets"}
        title = say(language, "sample_title")
        if path == NUMBERS:
            options, title = {"kind": "line", "x": "number", "y": "value"}, say(language, "numbers_title")
    else:
        path = str(asked.tool_calls[-1]["args"]["path"])
        options = choose_columns(results[-1].text)
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
    return GuideReply(f"{told}\n\n{quote_result(figures)}")


def count_charts(messages: Sequence[BaseMessage]) -> int:
    """Return how many charts were drawn."""
    return sum(isinstance(one, ToolMessage) and one.name == "bash" for one in messages)


def _is_failed(result: ToolMessage) -> bool:
    return result.name == "bash" and "wrote " not in result.text


def quote_result(text: str) -> str:
    """Return a tool's result as a code block, which nothing in it can leave."""
    longest = max((len(ticks) for ticks in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{text.strip()[:SHOWN]}\n{fence}"


def choose_columns(text: str) -> dict[str, str] | None:
    """Return the options of the chart for a table's first lines; None if no column has numbers."""
    first = text.partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    # A row with the delimiter in quotes has another length, and is left out.
    rows = [[cell.strip(' "') for cell in line.split(delimiter)] for line in text.splitlines() if line]
    if len(rows) < 2:
        return None
    names, body = rows[0], [row for row in rows[1:] if len(row) == len(rows[0])]
    columns = {name: [row[at].strip() for row in body] for at, name in enumerate(names) if name.strip()}
    numeric = [
        name for name, cells in columns.items() if cells and all(map(_NUMBER.fullmatch, filter(None, cells)))
    ]
    labels = [name for name in columns if name not in numeric]
    if not numeric or not labels:
        return None
    x, y = labels[0], numeric[-1]
    dated = next((name for name in labels if all(map(_DATE.fullmatch, columns[name]))), None)
    return {"kind": "line", "x": dated, "y": y} if dated else {"kind": "bar", "x": x, "y": y}
