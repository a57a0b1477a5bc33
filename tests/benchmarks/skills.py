"""What skills cost: `python -m tests.benchmarks.skills`.

500 skills in a folder. Found for the first time, against reading the same files; looked for again when
nothing changed, against asking the file system for the same files; and the part of the prompt that lists
them, against formatting the same lines once. Each pair takes turns, and what is printed are ratios of the
same round.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from agent.catalog.source import ModelSource
from agent.config.extensions_file import ExtensionsSource
from agent.core.run_context import RunOptions
from agent.harness.lead_prompt import PromptParts, render_prompt
from agent.lead import LeadAgent
from agent.skills.discovery import SkillDiscovery
from agent.skills.skill import SkillRoots, render_skills_section
from tests.benchmarks.figures import Figure, table

COUNT = 500
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "15"))
ABOUT = "Does the work of kind {n} for a team. Use it when somebody asks for work of kind {n} or its numbers."
TEXT = """---
name: skill-{n:03}
description: {about}
license: Apache-2.0
allowed-tools: read_file bash
---
# Kind {n}

{body}
"""


def made(folder: Path) -> SkillRoots:
    """The folder with its skills. Blocking."""
    for number in range(COUNT):
        place = folder / "public" / f"group-{number % 10}" / f"skill-{number:03}"
        place.mkdir(parents=True)
        text = TEXT.format(n=number, about=ABOUT.format(n=number), body="Do this, then that.\n" * 60)
        (place / "SKILL.md").write_text(text)
    return SkillRoots(folder / "public", folder / "custom")


def seconds(work: Callable[[], object]) -> float:
    """How long it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def files(roots: SkillRoots) -> list[Path]:
    """All SKILL.md files."""
    return list(roots.public.glob("*/*/SKILL.md"))


def ratio(name: str, work: Callable[[], object], peer: Callable[[], object], limit: float) -> Figure:
    """The work against its peer, taking turns."""
    pairs = [(seconds(work), seconds(peer)) for _ in range(ROUNDS)]
    value = statistics.median(one / other for one, other in pairs)
    mine, floor = (statistics.median(times) * 1000 for times in zip(*pairs, strict=True))
    return Figure(name, value, limit, detail=f"{mine:.2f} ms against {floor:.2f} ms")


async def asked_again(folder: Path) -> Figure:
    """A run's way to its graph when nothing changed, with all skills on, against the same without skills."""
    model = {"name": "m", "use": "roebot_testing.agent:ScriptedChatModel"}
    agents = []
    for path in (folder, folder / "none"):
        source = ModelSource(overrides={"models": [model], "skills": {"path": str(path)}}, read_file=False)
        agents.append(LeadAgent(source, folder / "home", extensions=ExtensionsSource(read_file=False)))
        await agents[-1].get_graph(RunOptions())
    rounds = []
    for _ in range(ROUNDS):
        pair = []
        for agent in agents:
            began = time.perf_counter()
            for _ in range(100):
                await agent.get_graph(RunOptions())
            pair.append((time.perf_counter() - began) / 100)
        rounds.append(pair)
    value = statistics.median(one / other for one, other in rounds)
    detail = f"{statistics.median(one for one, _ in rounds) * 1e6:.0f} µs"
    return Figure("a run that finds its graph", value, 2.0, detail=detail)


def main() -> int:
    """Measure and print; 1 where something costs more than it may."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        roots = made(folder)
        paths = files(roots)
        known = SkillDiscovery(roots)
        skills = known.find_skills().skills
        if len(skills) != COUNT:
            print(f"{len(skills)} of {COUNT} skills were found")
            return 1
        section = render_skills_section(skills, ["read_file"])
        figures = [
            ratio(
                f"{COUNT} skills found first",
                lambda: SkillDiscovery(roots).find_skills(),
                lambda: [path.read_text() for path in paths],
                150,
            ),
            ratio(
                f"{COUNT} skills looked for again",
                known.find_skills,
                lambda: [path.stat() for path in paths],
                25,
            ),
            ratio(
                f"the list of {COUNT} in the prompt",
                lambda: render_skills_section(skills, ["read_file"]),
                lambda: "\n".join(f"- {one.name}: {one.description} ({one.path})" for one in skills),
                15,
            ),
            ratio(
                f"a prompt with {COUNT} skills",
                lambda: render_prompt(PromptParts(["read_file"], skills=section)),
                lambda: render_prompt(PromptParts(["read_file"])),
                20,
            ),
            asyncio.run(asked_again(folder)),
        ]
    print(f"the list has {len(section):,} characters")
    print(table(figures))
    return int(not all(figure.holds for figure in figures))


if __name__ == "__main__":
    sys.exit(main())
