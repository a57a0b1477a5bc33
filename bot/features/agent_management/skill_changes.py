"""`/skill install`, and `/skill NAME update|remove|history|restore`: change the installed skills.

A skill is installed in two steps: the first message shows what the skill contains, the second one names the
commit that was shown, so that nobody installs something else.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from agent.shared.management import Management
from agent.shared.schemas import (
    SkillCheck,
    SkillFindingInfo,
    SkillInRepository,
    SkillInstalled,
    SkillVersionInfo,
)
from bot.access import Permission
from bot.commands.escaping import quoted
from bot.commands.registry import COLONS, SWITCH, Invocation, Result, number_in
from bot.errors import RuntimeProblem, RuntimeRefused
from bot.store.audit import AuditEvent, author_of, begin_once
from bot.texts import Texts

INSTALL, YES, REPLACE = "install", "yes", "replace"
UPDATE, REMOVE, HISTORY, RESTORE = "update", "remove", "history", "restore"
MOST_WORDS = 5
FINDINGS_SHOWN, NOTES_SHOWN, VERSIONS_SHOWN = 15, 5, 10
LONGEST_DESCRIPTION, LONGEST_REASON = 300, 1_000
COMMIT_SHOWN = 12
_COMMIT = re.compile(r"[0-9a-f]{40}")
_MARKS = {"danger": "🛑", "warning": "⚠️"}


def is_skill_argument(rest: str) -> bool:
    """Return whether the text after the command name is an argument of it."""
    words = rest.lower().split()
    if rest.startswith(COLONS):
        return False
    if len(words) < 2:
        return True
    if words[0] == INSTALL:
        return "://" in words[1] and len(words) <= MOST_WORDS
    return (words[1] in SWITCH and len(words) == 2) or (words[1] in _CHANGES and len(words) <= 3)


def is_change(words: tuple[str, ...]) -> bool:
    """Return whether the arguments of `/skill` concern installation, versions or removal."""
    lowered = [word.lower() for word in words]
    if len(lowered) < 2:
        return False
    return lowered[0] == INSTALL or lowered[1] in _CHANGES


def _has_effect(words: tuple[str, ...]) -> bool:
    """Return whether the arguments change something, rather than preview a change."""
    lowered = [word.lower() for word in words]
    if lowered[0] == INSTALL:
        return lowered[-1] in {YES, REPLACE}
    return lowered[1] in {REMOVE, RESTORE} or (lowered[1] == UPDATE and len(lowered) > 2)


async def change_skill(call: Invocation, name: str) -> Result:
    """Perform a change. `name` is the skill's name in the runtime.

    A change that was begun before the service restarted is not made again: a second `restore` would go back
    by one more version.
    """
    texts, words = call.texts, call.words
    if words[1].lower() != HISTORY and not call.may(Permission.PROGRAMS):
        return Result(texts("skill_owners_only"), refused=True)
    try:
        changes = call.core.runtime.management
        if _has_effect(words) and not await _begin(call):
            return Result(texts("skill_change_interrupted"))
        if words[0].lower() == INSTALL:
            return Result(await _install(texts, changes, words[1:]))
        return Result(await _CHANGES[words[1].lower()](texts, changes, name, words[2:]))
    except RuntimeRefused as refused:
        # The reason may quote the repository, such as the names of its folders.
        reason = quoted(refused.detail, LONGEST_REASON) if refused.detail.strip() else ""
        return Result(texts("skill_refused", reason=reason or texts("skill_no_reason")))
    except RuntimeProblem:
        return Result(texts("skill_change_lost"))


async def _begin(call: Invocation) -> bool:
    """Record the command in the audit log before it changes anything. Return False if it was recorded."""
    event = AuditEvent("command", f"/{call.name}", " ".join(call.words))
    return await call.core.db.transact(begin_once, author_of(call.turn), event, call.core.clock.now())


async def _install(texts: Texts, changes: Management, words: tuple[str, ...]) -> str:
    """Preview a skill, or install the commit that was previewed: `ADDRESS [PATH] [COMMIT] [yes|replace]`."""
    address, *more = (word.strip("<>") for word in words)
    confirmed = more.pop().lower() if more and more[-1].lower() in {YES, REPLACE} else ""
    commit = more.pop().lower() if more and _COMMIT.fullmatch(more[-1].lower()) else ""
    if len(more) > 1 or (confirmed and not commit):
        return texts("skill_install_usage")
    place = SkillInRepository(repository=address, commit=commit, path=more[0] if more else "")
    if confirmed:
        return _describe_installed(texts, await changes.install_skill(place, replace=confirmed == REPLACE))
    found = await changes.check_skill(place)
    parts = [INSTALL, address, *more, found.commit, REPLACE if found.replaces == "custom" else YES]
    return _describe_check(texts, found, f"skill {' '.join(parts)}")


async def _update(texts: Texts, changes: Management, name: str, words: tuple[str, ...]) -> str:
    """Preview the newest version of a skill, or install the commit that was previewed."""
    if words and not _COMMIT.fullmatch(words[0].lower()):
        return texts("skill_usage")
    if words:
        return _describe_installed(texts, await changes.upgrade_skill(name, words[0].lower()))
    versions = (await changes.list_versions(name)).versions
    current = next((one for one in versions if one.current), None)
    if current is None or current.kind != "git":
        return texts("skill_no_repository", name=name)
    found = await changes.check_skill(
        SkillInRepository(repository=current.location, reference=current.reference, path=current.path)
    )
    if found.commit == current.commit:
        return texts("skill_up_to_date", name=name)
    return _describe_check(texts, found, f"skill {name} {UPDATE} {found.commit}")


async def _remove(texts: Texts, changes: Management, name: str, words: tuple[str, ...]) -> str:
    if words:
        return texts("skill_usage")
    await changes.remove_skill(name)
    return texts("skill_removed", name=name, command=texts.command(f"skill {name} {RESTORE}"))


async def _list_history(texts: Texts, changes: Management, name: str, words: tuple[str, ...]) -> str:
    if words:
        return texts("skill_usage")
    versions = (await changes.list_versions(name)).versions
    if not versions:
        return texts("skill_no_versions", name=name)
    lines = [_describe_version(texts, one) for one in versions[:VERSIONS_SHOWN]]
    hint = texts("skill_history_hint", name=name)
    return "\n".join([texts("skill_history", name=name), "", *lines, "", hint])


async def _restore(texts: Texts, changes: Management, name: str, words: tuple[str, ...]) -> str:
    number = number_in(words)
    if words and not number:
        return texts("skill_usage")
    versions = (await changes.restore_skill(name, number or None)).versions
    current = next((one.number for one in versions if one.current), number)
    return texts("skill_restored", name=name, number=current)


_Change = Callable[[Texts, Management, str, tuple[str, ...]], Awaitable[str]]
_CHANGES: dict[str, _Change] = {
    UPDATE: _update,
    REMOVE: _remove,
    HISTORY: _list_history,
    RESTORE: _restore,
}


def _describe_check(texts: Texts, found: SkillCheck, usage: str) -> str:
    """Format a preview, and the command that installs it."""
    lines = [
        texts("skill_check", name=found.name, commit=found.commit[:COMMIT_SHOWN]),
        quoted(found.description, LONGEST_DESCRIPTION),
        *([texts(f"skill_replaces_{found.replaces}")] if found.replaces in {"public", "custom"} else []),
    ]
    shown = [_describe_finding(one) for one in found.findings[:FINDINGS_SHOWN]]
    if len(found.findings) > len(shown):
        shown.append(texts("skill_more_findings", count=len(found.findings) - len(shown)))
    lines.append("\n".join([texts("skill_findings"), "", *shown]) if shown else texts("skill_no_findings"))
    if found.notes:
        notes = [f"- {quoted(note, LONGEST_DESCRIPTION)}" for note in found.notes[:NOTES_SHOWN]]
        lines.append("\n".join([texts("skill_notes"), "", *notes]))
    lines.append(texts("skill_confirm", command=texts.command(usage)))
    return "\n\n".join(lines)


def _describe_finding(one: SkillFindingInfo) -> str:
    place = f"{one.file}:{one.line}" if one.line else one.file
    return f"- {_MARKS.get(one.severity, '•')} {quoted(place)}: {one.detail}"


def _describe_installed(texts: Texts, done: SkillInstalled) -> str:
    return texts("skill_installed", name=done.skill_name, command=done.skill_name.lower().replace("-", "_"))


def _describe_version(texts: Texts, one: SkillVersionInfo) -> str:
    at = datetime.fromtimestamp(one.installed_at, UTC).strftime("%Y-%m-%d %H:%M")
    source = " ".join(filter(None, [one.location, one.path, one.commit[:COMMIT_SHOWN]])) or one.kind
    state = "current" if one.current else "kept" if one.kept else "gone"
    return texts(
        f"skill_version_{state}", number=one.number, at=at, source=quoted(source, LONGEST_DESCRIPTION)
    )
