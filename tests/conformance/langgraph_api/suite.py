"""Run the families on both servers side by side, and compare step by step."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from langgraph_sdk.client import LangGraphClient

from tests.conformance.langgraph_api.explained import Case, find_case
from tests.conformance.langgraph_api.javascript import connect_javascript
from tests.conformance.langgraph_api.recorder import NotInThisClient, Recorder, Scene, Step, describe_error
from tests.conformance.langgraph_api.servers import TOKEN, reference, runtime
from tests.conformance.langgraph_api.shapes import Difference, compare_outcomes
from tests.conformance.langgraph_api.steps import ALONE, FAMILIES, Scenario

SCENARIOS_AT_ONCE = 8
"""Number on each server. The reference takes up to a second to start a run; others use that time."""
INTERNAL_ERROR = 500
ABSENT = Step("", {"absent": "the step was not reached"})


@dataclass(frozen=True, slots=True)
class Result:
    """A step on both servers; the case of a difference is None if nothing explains it."""

    language: str
    family: str
    name: str
    ours: Step
    reference: Step
    differences: tuple[tuple[Difference, Case | None], ...]

    @property
    def verdict(self) -> str:
        """Return same, explained or different."""
        if not self.differences:
            return "same"
        return "explained" if all(case for _, case in self.differences) else "different"


async def run_families(
    wanted: Mapping[str, Sequence[str]],
    folder: Path,
    progress: Callable[[str], None],
    *,
    twice: bool = False,
) -> list[Result]:
    """Run these families of each language. With `twice`, the reference takes the runtime's place."""
    other = reference if twice else runtime
    for name in ("ours", "reference"):
        await asyncio.to_thread((folder / name).mkdir)
    results: list[Result] = []
    async with other(folder / "ours") as (our_url, ours), reference(folder / "reference") as (url, client):
        progress(f"both servers are ready: {our_url}, {url}")
        for language, families in wanted.items():
            async with (
                _open_client(language, our_url, ours) as mine,
                _open_client(language, url, client) as theirs,
            ):
                sides = await asyncio.gather(
                    _run_side(language, families, mine, our_url, lambda _: None),
                    _run_side(language, families, theirs, url, progress),
                )
            results += [result for family in families for result in _compare_family(language, family, *sides)]
    return results


@asynccontextmanager
async def _open_client(language: str, url: str, client: LangGraphClient) -> AsyncIterator[LangGraphClient]:
    if language == "python":
        yield client
        return
    async with connect_javascript(url, TOKEN, client) as found:
        yield cast("LangGraphClient", found)


Steps = dict[str, list[Step]]


async def _run_side(
    language: str,
    families: Sequence[str],
    client: LangGraphClient,
    url: str,
    progress: Callable[[str], None],
) -> Steps:
    slots = asyncio.Semaphore(SCENARIOS_AT_ONCE)

    async def run(family: str, scenario: Scenario) -> list[Step]:
        recorder = Recorder(f"{family}.{scenario.__name__}")
        async with slots:
            try:
                await scenario(Scene(client, recorder, url))
            except NotInThisClient:
                pass
            except Exception as error:  # noqa: BLE001 - the steps before it count
                recorder.steps.append(
                    Step(f"{recorder.scenario}: end", {"error": describe_error(error)}, str(error))
                )
        progress(f"{language} {recorder.scenario}: {len(recorder.steps)} steps")
        return recorder.steps

    jobs = [(family, scenario) for family in families for scenario in FAMILIES[language][family]]
    jobs.sort(key=lambda job: job[1] in ALONE)
    together = [job for job in jobs if job[1] not in ALONE]
    recordings = await asyncio.gather(*(run(*job) for job in together))
    recordings.extend([await run(*job) for job in jobs[len(together) :]])
    sides: Steps = {family: [] for family in families}
    for (family, _), steps in zip(jobs, recordings, strict=True):
        sides[family].extend(steps)
    return sides


def _compare_family(language: str, family: str, ours: Steps, reference: Steps) -> list[Result]:
    mine = {step.name: step for step in ours[family]}
    theirs = {step.name: step for step in reference[family]}
    return [
        _compare_step(language, family, name, mine.get(name, ABSENT), theirs.get(name, ABSENT))
        for name in mine | theirs
    ]


def _compare_step(language: str, family: str, name: str, ours: Step, reference: Step) -> Result:
    # An internal error of the runtime is never accepted.
    is_broken = ours.outcome.get("error", {}).get("status", 0) >= INTERNAL_ERROR
    differences = tuple(
        (item, None if is_broken else find_case(name, item))
        for item in compare_outcomes(ours.outcome, reference.outcome)
    )
    return Result(language, family, name, ours, reference, differences)
