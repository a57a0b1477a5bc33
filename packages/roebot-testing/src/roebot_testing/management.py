"""Management operations in memory, for tests of the commands."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from agent.shared.management import Management
from agent.shared.memory_document import Fact, MemoryDocument
from agent.shared.schemas import (
    AgentInfo,
    AgentList,
    ConfigProblem,
    ConfigReport,
    DeletionResult,
    McpServerList,
    McpServerState,
    ModelInfo,
    ModelList,
    OperationResult,
    RecordingTranscript,
    ServerState,
    SkillCheck,
    SkillInfo,
    SkillInRepository,
    SkillInstalled,
    SkillList,
    SkillVersionInfo,
    SkillVersionList,
)
from bot.errors import RuntimeRefused, RuntimeUnreachable

T = TypeVar("T")
DONE = OperationResult(success=True, message="")


def make_model(name: str, *, default: bool = False) -> ModelInfo:
    """Create a model as a runtime lists it."""
    return ModelInfo(name=name, display_name=name.title(), model=name, source="config", default=default)


def make_installed(name: str) -> SkillInstalled:
    """Return the result of an installation."""
    return SkillInstalled(success=True, skill_name=name, message="", executables=[])


@dataclass(slots=True, kw_only=True)
class ScriptedManagement(Management):
    """A part that is None is missing in the runtime.

    `repositories` are the skills that can be installed, `skill_versions` those of installed or removed ones,
    and `skill_changes` what was changed. `transcripts` are those of uploads by file name; without one, the
    note is that of an agent without a transcriber.
    """

    offered: Sequence[ModelInfo] | None = (
        make_model("small", default=True),
        make_model("big"),
    )
    own: Sequence[AgentInfo] | None = ()
    taught: SkillList | None = field(default_factory=lambda: SkillList(skills=[], problems=[]))
    repositories: dict[str, SkillCheck] = field(default_factory=dict)
    skill_versions: dict[str, list[SkillVersionInfo]] = field(default_factory=dict)
    skill_changes: list[tuple[str, ...]] = field(default_factory=list)
    restore_gate: asyncio.Event | None = None
    served: Sequence[McpServerState] | None = ()
    remembered: dict[str, dict[str, str]] | None = field(default_factory=dict)
    transcripts: dict[str, RecordingTranscript] | None = field(default_factory=dict)
    transcribed: list[str] = field(default_factory=list)
    transcript_gate: asyncio.Event | None = None
    config_problems: Sequence[ConfigProblem] = ()
    down: bool = False

    async def list_models(self) -> ModelList:
        models = self._require(self.offered)
        return ModelList(models=list(models), default=None, reason="")

    async def list_config_problems(self) -> ConfigReport:
        self._require(())
        return ConfigReport(problems=list(self.config_problems))

    async def list_agents(self) -> AgentList:
        return AgentList(agents=list(self._require(self.own)))

    async def list_mcp_servers(self) -> McpServerList:
        return McpServerList(servers=list(self._require(self.served)))

    async def switch_mcp_server(
        self, name: str, enabled: bool | None = None, tools: list[str] | None = None
    ) -> McpServerState:
        known = {one.name: one for one in self._require(self.served)}
        if name not in known:
            raise RuntimeRefused(404, "There is no such server.")
        state = known[name].state if enabled is None else ServerState.IDLE if enabled else ServerState.OFF
        shown = known[name].tools
        if tools is not None:
            shown = [one.model_copy(update={"enabled": one.name in tools}) for one in shown]
        known[name] = known[name].model_copy(update={"state": state, "tools": shown})
        self.served = list(known.values())
        return known[name]

    async def list_skills(self) -> SkillList:
        return self._require(self.taught)

    async def switch_skill(self, name: str, enabled: bool) -> SkillInfo:
        listed = self._require(self.taught)
        known = {one.name: one for one in listed.skills}
        if name not in known:
            raise RuntimeRefused(404, "There is no such skill.")
        known[name] = known[name].model_copy(update={"enabled": enabled})
        self.taught = listed.model_copy(update={"skills": list(known.values())})
        return known[name]

    async def check_skill(self, body: SkillInRepository) -> SkillCheck:
        self._require(self.taught)
        if body.repository not in self.repositories:
            raise RuntimeRefused(502, "The repository can't be read: not found.")
        return self.repositories[body.repository]

    async def install_skill(self, body: SkillInRepository, replace: bool = False) -> SkillInstalled:
        one = await self.check_skill(body)
        self.skill_changes.append(("install", body.repository, body.path, body.commit, str(replace)))
        return make_installed(one.name)

    async def upgrade_skill(self, name: str, commit: str = "") -> SkillInstalled:
        self._require_versions(name)
        self.skill_changes.append(("upgrade", name, commit))
        return make_installed(name)

    async def remove_skill(self, name: str) -> OperationResult:
        self._require_versions(name)
        self.skill_changes.append(("remove", name))
        return DONE

    async def list_versions(self, name: str) -> SkillVersionList:
        return SkillVersionList(versions=self._require_versions(name))

    async def restore_skill(self, name: str, version: int | None = None) -> SkillVersionList:
        versions = self._require_versions(name)
        self.skill_changes.append(("restore", name, str(version)))
        if self.restore_gate is not None:
            await self.restore_gate.wait()
        return SkillVersionList(versions=versions)

    async def get_memory(self, scope: str | None = None) -> MemoryDocument:
        facts = self._require(self.remembered).get(scope or "", {})
        return MemoryDocument(facts=tuple(_make_fact(one, content) for one, content in facts.items()))

    async def delete_memory(self, scope: str | None = None) -> OperationResult:
        self._require(self.remembered).pop(scope or "", None)
        return DONE

    async def delete_fact(self, fact: str, scope: str | None = None) -> OperationResult:
        facts = self._require(self.remembered).get(scope or "", {})
        if facts.pop(fact, None) is None:
            raise RuntimeRefused(404, "Fact not found.")
        return DONE

    async def transcribe_upload(self, thread_id: str, filename: str) -> RecordingTranscript:
        known: Mapping[str, RecordingTranscript] = self._require(self.transcripts)
        self.transcribed.append(filename)
        if self.transcript_gate is not None:
            await self.transcript_gate.wait()
        return known.get(filename) or RecordingTranscript(text=None, note="no transcriber is configured")

    async def delete_thread_data(self, thread_id: str) -> DeletionResult:
        self._require(())
        return DeletionResult(success=True)

    def _require(self, part: T | None) -> T:
        """Return a part of the runtime. Raises RuntimeUnreachable, or RuntimeRefused without it."""
        if self.down:
            raise RuntimeUnreachable("down")
        if part is None:
            raise RuntimeRefused(404, "not here")
        return part

    def _require_versions(self, name: str) -> list[SkillVersionInfo]:
        self._require(self.taught)
        if name not in self.skill_versions:
            raise RuntimeRefused(404, f"There is no skill named {name}.")
        return self.skill_versions[name]


def _make_fact(number: str, content: str) -> Fact:
    return Fact(id=number, content=content, confidence=1.0, created_at="", source="manual")
