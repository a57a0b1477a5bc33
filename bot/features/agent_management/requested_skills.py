"""Skills that messages request by name (`/SKILL TEXT`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import structlog

from agent.shared.run_identity import REQUESTED_SKILL
from agent.shared.schemas import SkillInfo
from bot.commands.ask import ASK
from bot.commands.registry import split_command
from bot.dispatch.pacing import Backoff
from bot.dispatch.run.hooks import MessageDraft, RunHooks, RunScope
from bot.errors import RuntimeProblem, RuntimeUnreachable
from bot.features.agent_management.skills import find_skill
from bot.runtime.interface import StoredUpload
from bot.turn import TurnMessage

log = structlog.get_logger(__name__)


class RequestedSkills(RunHooks):
    """Adds a note about the skill that a message requests; the list of skills is loaded at most once."""

    def __init__(self, scope: RunScope) -> None:
        super().__init__(scope)
        self._offered: Sequence[SkillInfo] | None = None

    async def complete_message(
        self, draft: MessageDraft, stored: TurnMessage, uploads: Mapping[int, StoredUpload]
    ) -> MessageDraft:
        """Return the message without the skill's name, which a note contains instead. Roebot's runtime adds
        the skill itself; other runtimes only have the note.
        """
        parts = split_command(stored.text)
        if stored.sender.is_bot or parts is None or parts[0].lower() == ASK:
            return draft
        name, rest = parts
        found = find_skill(name, await self._load_skills())
        if found is None or not found.enabled or not self.scope.profile.allows_skill(found.name):
            return draft
        note = self.scope.texts("note_skill", name=found.name, path=found.path)
        return replace(
            draft,
            message=replace(draft.message, text=rest),
            notes=(note, *draft.notes),
            details={**draft.details, REQUESTED_SKILL: found.path},
        )

    async def _load_skills(self) -> Sequence[SkillInfo]:
        core = self.scope.core
        tries = Backoff(core.clock)
        while self._offered is None:
            try:
                self._offered = (await core.runtime.management.list_skills()).skills
            except RuntimeUnreachable as problem:
                await tries.pause(problem)
            except RuntimeProblem as problem:
                log.warning("skills_unknown", problem=str(problem))
                self._offered = ()
        return self._offered
