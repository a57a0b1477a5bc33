"""A scripted agent that is asked for a chart: it reads, writes a script, runs it, looks, and shows.

What it does rests on what it was told: where the Markdown is stands in the message, the columns stand in the
Markdown, and the figure in its answer is what its script printed.
"""

from __future__ import annotations

import re
from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage

from roebot_testing.agent import Script, ScriptedChatModel, ToolUse

SCRIPT = """import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas

table = pandas.read_excel("{path}")
sums = table.groupby("{group}")["{value}"].sum().sort_values(ascending=False)
sums.plot.bar(title="{value} by {group}", rot=0)
plt.tight_layout()
plt.savefig("{chart}")
print(f"{{sums.index[0]}} {{sums.iloc[0]:.1f}}")
"""
CHART = "/mnt/user-data/outputs/chart.png"
PROGRAM = "/mnt/user-data/workspace/chart.py"
_MARKDOWN = re.compile(r"As Markdown: (\S+) \(")
_DOCUMENT = re.compile(r"^- (.+\.xlsx) \(", re.MULTILINE)


class ChartingModel(ScriptedChatModel):
    """See the module."""

    def _prepare_answer(self, messages: list[Any], kwargs: Any, manager: Any) -> Any:
        asked = max(index for index, one in enumerate(messages) if _is_of_a_person(one))
        results = [one.text for one in messages[asked:] if isinstance(one, ToolMessage)]
        self.steps = (step(messages[asked].text, results, sees=_has_image(messages[-1])),)
        unmarked = [one for one in messages if not isinstance(one, HumanMessage)]
        return super()._prepare_answer([*unmarked, HumanMessage("go")], kwargs, manager)


def step(asked: str, results: list[str], *, sees: bool) -> Script:
    """What comes next, by what the message says, the tools gave so far, and whether an image is in view."""
    markdown, document = _MARKDOWN.search(asked), _DOCUMENT.search(asked)
    if markdown is None or document is None:
        return Script(reply="I see no table.")
    match results:
        case []:
            return _calls("read_file", path=markdown[1])
        case [table]:
            return _calls("write_file", path=PROGRAM, content=program(table, document[1]))
        case [_, _]:
            return _calls("bash", command=f"python3 {PROGRAM}")
        case [_, _, _]:
            return _calls("view_image", path=CHART)
        case [_, _, _, _]:
            return _calls("present_files", paths=[CHART]) if sees else Script(reply="I see no chart.")
    # matplotlib may say before that it looks for fonts.
    best, _, most = results[2].strip().splitlines()[-1].rpartition(" ")
    return Script(reply=f"{best} sold most: {most}.")


def program(markdown: str, document: str) -> str:
    """The script for the columns that the Markdown has."""
    head = next(line for line in markdown.splitlines() if line.startswith("| "))
    columns = [name.strip() for name in head.strip("|").split("|")]
    return SCRIPT.format(path=document, group=columns[1], value=columns[2], chart=CHART)


def _is_of_a_person(message: Any) -> bool:
    return isinstance(message, HumanMessage) and "lc_source" not in message.additional_kwargs


def _has_image(message: Any) -> bool:
    content = message.content if isinstance(message.content, list) else []
    return any(isinstance(block, dict) and block.get("type") == "image" for block in content)


def _calls(name: str, **args: Any) -> Script:
    return Script(tools=(ToolUse(name, args),))
