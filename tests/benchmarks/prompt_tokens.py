"""What requests to the model cost: `python -m tests.benchmarks.prompt_tokens`.

Everything is counted in the requests that arrive at the provider of a real service: the system prompt, each
tool, skills, a subagent, plan mode, a long chat, and the table of the review's second scenario.
`--save FILE` stores the figures, `--against FILE` prints them beside those of another version. Tokens are
those of cl100k if tiktoken has its ranks on this machine (TIKTOKEN_CACHE_DIR), else estimates.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from langchain_core.utils.function_calling import convert_to_openai_tool

from agent.core.import_string import import_object
from agent.models.capabilities import estimate_tokens
from agent.tools.default_web import DEFAULT_ENTRIES
from agent.tools.service import SERVICE_TOOLS
from tests.harness.credentials import give_token
from tests.harness.strict_providers import Reply
from tests.played.recording import RecordedModel, call
from tests.played.requests import ModelRequest, Purpose, text_of
from tests.played.rooms import File
from tests.played.scenarios import SCENARIOS
from tests.played.stage import Stage, open_stage

Figures = dict[str, float]
SHARE_LIMIT = 0.2
PROMPT_LIMIT = 1_500
"""Tokens of the system prompt without skills."""
ESTIMATED = """Estimated, about 1.4 times what cl100k counts, because tiktoken's ranks are missing.
Name a folder that has them in TIKTOKEN_CACHE_DIR; the wheel of litellm contains one."""
QUIET = "memory: {enabled: false}\ntitle: {enabled: false}"
MEMORY_SOON = "memory: {debounce_seconds: 1}"
LONG_TURNS, LONG_LINES = 24, 1_500
"""Of the long chat: the messages that are kept are larger than what triggers a summary."""
LONG_CHAT = """summarization:
  trigger: [{type: tokens, value: 16000}]
  keep: {type: messages, value: 20}
memory: {enabled: false}
title: {enabled: false}"""
CLEAN = "mkdir -p /mnt/user-data/outputs && cd /mnt/user-data/outputs && "
TABLE_TASK = (
    call("bash", command="head -5 /mnt/user-data/uploads/sales.csv", description="Look at the table"),
    call("read_file", path="/mnt/skills/public/data-analysis/SKILL.md"),
    call("bash", command="wc -l /mnt/user-data/uploads/sales.csv", description="Count the rows"),
    call("bash", command=f"{CLEAN}cp /mnt/user-data/uploads/sales.csv clean.csv", description="Clean it"),
    call("bash", command=f"{CLEAN}cut -d';' -f2 clean.csv | sort | uniq -c", description="List the regions"),
    call("bash", command=f"{CLEAN}echo '<svg/>' > chart.svg", description="Draw the chart"),
    call("present_files", paths=["/mnt/user-data/outputs/chart.svg", "/mnt/user-data/outputs/clean.csv"]),
    Reply("Revenue rose in every region; the chart shows it. 1,600 rows, two date formats."),
)


def choose_counter() -> tuple[str, Callable[[str], int]]:
    """Return a tokenizer and its name."""
    try:
        import tiktoken

        encoding = tiktoken.get_encoding("cl100k_base")
    except Exception:  # noqa: BLE001 - supervisor: without ranks and network it raises what its client raises
        return "estimated", estimate_tokens
    return "cl100k", lambda text: len(encoding.encode(text, disallowed_special=()))


COUNTER, count = choose_counter()


def count_request(request: ModelRequest) -> int:
    """Return the tokens of a request: system prompt, tools, messages and calls."""
    messages = sum(count(text_of(one)) + _count_calls(one) for one in request.messages)
    return count(request.system) + count_tools(request) + messages


def count_tools(request: ModelRequest) -> int:
    """Return the tokens of the tools."""
    return sum(count(json.dumps(tool)) for tool in request.tools)


def _count_calls(message: dict[str, object]) -> int:
    made = message.get("tool_calls")
    return count(json.dumps(made)) if made else 0


async def measure_empty_turn() -> Figures:
    """Measure a greeting, and the same with plan mode and without skills."""
    model = RecordedModel(Reply("Hello."))
    plan = RecordedModel(Reply("Hello."))
    bare = RecordedModel(Reply("Hello."))
    await hold(model, ["Hi!"], QUIET)
    await hold(plan, ["/plan on", "Hi!"], QUIET)
    with tempfile.TemporaryDirectory() as skills:
        await hold(bare, ["Hi!"], f"{QUIET}\nskills: {{path: {skills}}}")
    [empty], [planned], [unskilled] = model.lead, plan.lead, bare.lead
    tools = {f"tool {tool['name']}": count(json.dumps(tool)) for tool in empty.tools}
    return {
        "empty turn": count_request(empty),
        "system prompt": count(empty.system),
        "system prompt without skills": count(unskilled.system),
        "tools": count_tools(empty),
        **dict(sorted(tools.items(), key=lambda found: -found[1])),
        "plan mode adds": count_request(planned) - count_request(empty),
    }


async def measure_other_tools() -> Figures:
    """Measure the tools that a private chat without internet lacks."""
    tools = {name: import_object(entry.use)() for name, entry in DEFAULT_ENTRIES.items()} | SERVICE_TOOLS
    return {
        f"tool {name}": count(json.dumps({**convert_to_openai_tool(tool)["function"], "name": name}))
        for name, tool in tools.items()
    }


async def measure_subagent() -> Figures:
    """Measure the first request of a subagent."""
    task = call("task", description="Count", prompt="Count to 3.", subagent_type="general-purpose")
    model = RecordedModel(task, Reply("Three."), subagent=[Reply("1, 2, 3")])
    await hold(model, ["Count to 3 with a subagent."], QUIET)
    first, *_ = model.of(Purpose.SUBAGENT)
    return {"subagent, empty": count_request(first)}


async def measure_skills() -> Figures:
    """Measure what reading each bundled skill brings."""
    names = sorted(path.parent.name for path in Path("skills/public").glob("*/SKILL.md"))
    reads = [call("read_file", path=f"/mnt/skills/public/{name}/SKILL.md") for name in names]
    model = RecordedModel(*reads, Reply("Read."))
    await hold(model, ["Read all of your skills."], QUIET)
    results = [one for one in model.lead[-1].messages if one["role"] == "tool"]
    return {f"skill {name}": count(text_of(one)) for name, one in zip(names, results, strict=True)}


async def measure_long_chat() -> Figures:
    """Measure a chat that is summarized as it grows."""
    answers: list[Reply] = []
    for number in range(LONG_TURNS):
        answers += [
            call("bash", command=f"seq {number} {number + LONG_LINES}"),
            Reply(f"Part {number}. " * 40),
        ]
    model = RecordedModel(*answers)
    texts = [f"Question {at}: what follows from the numbers of part {at}? " * 12 for at in range(LONG_TURNS)]
    await hold(model, texts, LONG_CHAT)
    return _totals("long chat", model)


async def measure_table_task() -> Figures:
    """Measure the review's second scenario: eight calls of the agent."""
    scenario = SCENARIOS[2]()
    model = RecordedModel(*TABLE_TASK)
    await hold(model, [step.text for step in scenario.steps], MEMORY_SOON, scenario.steps[0].files)
    background = {
        f"one {purpose}": sum(map(count_request, found)) / len(found)
        for purpose in (Purpose.TITLE, Purpose.MEMORY)
        if (found := model.of(purpose))
    }
    return {**_totals("table task", model), **background}


def _totals(name: str, model: RecordedModel) -> Figures:
    by = Counter(one.purpose for one in model.played)
    return {
        f"{name}: all requests": sum(map(count_request, model.played)),
        f"{name}: calls of the agent": by[Purpose.LEAD],
        f"{name}: summaries": by[Purpose.SUMMARY],
        f"{name}: share of background calls, %": round(100 * model.background_share),
    }


async def hold(model: RecordedModel, texts: Sequence[str], settings: str, files: Sequence[File] = ()) -> None:
    """Hold a conversation at the page, and wait for what follows in the background."""
    with tempfile.TemporaryDirectory() as folder:
        give_token(Path(folder))
        async with open_stage(Path(folder), "page", model, settings=settings) as stage:
            for text in texts:
                await stage.say(text, files=files)
                await stage.wait(120.0)
            if MEMORY_SOON in settings:
                await _wait_for_memory(stage, model)
    if model.rejections or model.unused:
        raise RuntimeError(f"{model.rejections} {model.unused} answers left")


async def _wait_for_memory(stage: Stage, model: RecordedModel) -> None:
    async with asyncio.timeout(30):
        while not model.of(Purpose.MEMORY):
            await asyncio.sleep(0.1)
    await asyncio.sleep(3.0)


MEASURES = (
    measure_empty_turn,
    measure_other_tools,
    measure_subagent,
    measure_skills,
    measure_long_chat,
    measure_table_task,
)


def render(figures: Figures, before: Figures) -> str:
    """Return the figures as a Markdown table."""
    names = [*figures, *(name for name in before if name not in figures)]
    head = ["| | before | now |", "|---|---:|---:|"] if before else [f"| | {COUNTER} |", "|---|---:|"]
    rows = []
    for name in names:
        cells = [f"{found[name]:,.0f}" if name in found else "–" for found in (before, figures)]
        rows.append(f"| {name} | {' | '.join(cells if before else cells[1:])} |")
    return "\n".join([*head, *rows])


async def main() -> int:
    """Measure and print; 1 if a limit is missed: background calls of the table task, the prompt's tokens."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.prompt_tokens")
    parser.add_argument("--save", type=Path)
    parser.add_argument("--against", type=Path)
    given = parser.parse_args()
    os.environ["ROEBOT_OFFLINE"] = "1"
    figures: Figures = {}
    for measure in MEASURES:
        figures |= await measure()
    if given.save:
        given.save.write_text(json.dumps(figures, indent=1))
    print(render(figures, json.loads(given.against.read_text()) if given.against else {}))
    if COUNTER != "cl100k":
        print(f"\n{ESTIMATED}")
    return int(_misses_a_limit(figures))


def _misses_a_limit(figures: Figures) -> bool:
    is_long = COUNTER == "cl100k" and figures["system prompt without skills"] > PROMPT_LIMIT
    return is_long or figures["table task: share of background calls, %"] > 100 * SHARE_LIMIT


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
