"""Routes to show, preview, apply and restore settings. Each change is audited by key, never by value."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Literal

import structlog
from fastapi import APIRouter, Header, HTTPException, Response

from agent.config.errors import ConfigErrors
from bot.access import Permission
from bot.cli.model_setup import list_model_offers
from bot.config import LoadedConfig, Rejected
from bot.config.changes import Change, ConfigDraft, ConnectModel
from bot.config.models import MASK
from bot.config.versions import MOST_VERSIONS, ConfigChanged, ConfigFile
from bot.features.settings.permissions import find_refusal
from bot.features.settings.presenting import (
    hide_secrets,
    list_options,
    present_problems,
    present_settings,
    show_difference,
    translate_problems,
)
from bot.features.settings.schemas import (
    Applied,
    ChangeRequest,
    Options,
    Preview,
    Problem,
    RestoreRequest,
    Settings,
    VersionInfo,
    Versions,
)
from bot.server.api.auth import By, Principal, accounts_with, audit_actor, requires
from bot.server.api.dependencies import ApiServices, Services
from bot.server.api.display_names import name_entries, name_person, texts_of
from bot.server.api.errors import not_found
from bot.store.audit import MOST_TEXT, AuditEvent, list_actions, record_event

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/api/settings", tags=["settings"])
CHANGED, RESTORED = "settings changed", "settings restored"
BEGUN, NOT_SAVED = "settings save begun", "settings not saved"
STALE = "The configuration file has changed since it was read. Load it again, then repeat the change."
UNMATCHED = "Send the version of the file in If-Match, as GET /api/settings returns it."
UNWRITABLE = "The configuration file or its versions can't be written"
HIDDEN = "This version contains a secret that was not stored with it. Restore it in an editor."
MOST_SECONDS = 60.0
"""Most time between the storing of a version and its audit event."""
NEEDS_RESTART = frozenset({"server", "runtime", "database"})
IfMatch = Annotated[str | None, Header(alias="If-Match", description="Version of the file, in quotes.")]


@router.get("")
@requires(Permission.CONFIGURE)
async def get_settings(services: Services, response: Response) -> Settings:
    """Return the settings in the configuration file without secrets, with its version as `ETag`."""
    found = await asyncio.to_thread(lambda: present_settings(services, services.watcher.open_file()))
    response.headers["ETag"] = f'"{found.version}"'
    return found


@router.get("/options")
@requires(Permission.CONFIGURE)
async def get_options(locale: Literal["en", "zh"] = "en") -> Options:
    """Return the platforms, providers and keys that can be set up, with links and steps."""
    return await asyncio.to_thread(list_options, locale)


@router.post("/preview")
@requires(Permission.CONFIGURE)
async def preview_changes(body: ChangeRequest, services: Services, by: By) -> Preview:
    """Check changes and return the difference, without writing anything."""
    file = await asyncio.to_thread(services.watcher.open_file)
    draft, problems, _ = await asyncio.to_thread(try_changes, file, body.changes)
    locale = texts_of(services, by).locale
    return Preview(
        version=draft.version,
        difference=await asyncio.to_thread(_compare, services, draft),
        keys=list(dict.fromkeys(draft.keys)),
        problems=translate_problems(services, locale, body.changes, problems),
        refused=find_refusal(services, by, body.changes),
    )


def _compare(services: ApiServices, draft: ConfigDraft) -> str:
    before, after = (hide_secrets(services, text, draft.file) for text in (draft.before, draft.text))
    return show_difference(before, after, draft.file)


@router.post("/apply")
@requires(Permission.CONFIGURE)
async def apply_changes(body: ChangeRequest, services: Services, by: By, if_match: IfMatch = None) -> Applied:
    """Check, save and apply changes (403: the caller may not make one of them; 412: the file has changed
    since it was read; 422: the result would be invalid; 428: no `If-Match`).
    """
    if refusal := find_refusal(services, by, body.changes):
        raise HTTPException(403, refusal)
    expected = _expected(if_match)
    file = await asyncio.to_thread(services.watcher.open_file)
    draft, problems, _ = await asyncio.to_thread(try_changes, file, body.changes)
    if draft.version != expected:
        raise HTTPException(412, STALE)
    if problems:
        raise HTTPException(422, "; ".join(f"{one.key}: {one.text}".removeprefix(": ") for one in problems))
    return await _save(services, by, file, draft, expected, CHANGED)


@router.get("/versions")
@requires(Permission.CONFIGURE)
async def list_versions(services: Services, by: By) -> Versions:
    """List the last 50 versions of the file, newest first, each with its difference from the previous one."""
    found = await asyncio.to_thread(_present_versions, services)
    if accounts_with(services, by, Permission.AUDIT) is not None:
        return found
    events = await services.db.transact(list_actions, {CHANGED, RESTORED}, 2 * MOST_VERSIONS)
    names, texts = await name_entries(services, {one.person for one in events}), texts_of(services, by)

    def author(version: VersionInfo) -> str:
        subject = ", ".join(version.keys)[:MOST_TEXT]
        for one in events:
            if one.deed.subject == subject and 0 <= one.at - version.at < MOST_SECONDS:
                return name_person(services, texts, one.person, one.name or names[one.person])
        return ""

    shown = [one.model_copy(update={"by": author(one)}) for one in found.versions]
    return found.model_copy(update={"versions": shown})


def _present_versions(services: ApiServices) -> Versions:
    file = services.watcher.open_file()
    stored = file.list_versions()
    try:
        _, version = file.read()
    except ConfigErrors:
        version = "none"
    texts = [hide_secrets(services, one.text, file.path.name) for one in stored]
    return Versions(
        version=version,
        versions=[
            VersionInfo(
                number=one.number,
                at=one.at,
                current=one.fingerprint == version,
                keys=list(one.keys),
                difference=show_difference(before, text, file.path.name),
            )
            for one, text, before in zip(stored, texts, [*texts[1:], *texts[-1:]], strict=True)
        ],
    )


@router.post("/restore")
@requires(Permission.PROGRAMS)
async def restore_version(
    body: RestoreRequest, services: Services, by: By, if_match: IfMatch = None
) -> Applied:
    """Restore a version of the whole file (404: no such version; 412, 422 and 428 as for a change). Secrets
    that were in its text become variables in `secrets.env`.
    """
    expected = _expected(if_match)
    file = await asyncio.to_thread(services.watcher.open_file)
    found = next(
        (one for one in await asyncio.to_thread(file.list_versions) if one.number == body.number), None
    )
    if found is None:
        raise not_found("version")
    if f'"{MASK}"' in found.text:
        raise HTTPException(422, HIDDEN)
    draft = await asyncio.to_thread(file.make_draft)
    draft.text = found.text
    draft.keys.append(f"version {body.number}")
    try:
        await asyncio.to_thread(file.check, draft)
    except ConfigErrors as errors:
        raise HTTPException(422, "; ".join(one.text for one in present_problems(errors))) from None
    return await _save(services, by, file, draft, expected, RESTORED)


def _expected(if_match: str | None) -> str:
    if not if_match:
        raise HTTPException(428, UNMATCHED)
    return if_match.removeprefix("W/").strip('"')


def try_changes(
    file: ConfigFile, changes: Sequence[Change]
) -> tuple[ConfigDraft, list[Problem], LoadedConfig | None]:
    """Return a draft with the changes, its problems, and its configuration (None: problems). Blocking."""
    draft = ConfigDraft("", file.path.name)
    try:
        offered = list_model_offers() if any(isinstance(one, ConnectModel) for one in changes) else ()
        draft = file.make_draft({one["name"]: one["entry"] for one in offered})
        for change in changes:
            change.apply(draft)
        return draft, [], file.check(draft)
    except ConfigErrors as errors:
        return draft, present_problems(errors), None


async def _save(
    services: ApiServices, by: Principal, file: ConfigFile, draft: ConfigDraft, expected: str, action: str
) -> Applied:
    keys = list(dict.fromkeys(draft.keys))

    async def record(deed: str) -> None:
        event, at = AuditEvent(deed, ", ".join(keys)[:MOST_TEXT]), services.clock.now()
        await services.db.transact(record_event, audit_actor(services, by), event, at)

    # The file and the audit log can't change together. So one event comes before the save, which a crash
    # leaves alone as the trace of a possible change, and only the one after it says that there was a change.
    await record(BEGUN)
    try:
        version = await asyncio.to_thread(file.save, draft, expected, services.clock.now())
    except ConfigChanged:
        await record(NOT_SAVED)
        raise HTTPException(412, STALE) from None
    except (ConfigErrors, ValueError, OSError) as error:
        # The file is replaced before its version is stored, which may fail, too.
        await record(action if (await asyncio.to_thread(file.read))[0] == draft.text else NOT_SAVED)
        reason = f"{UNWRITABLE}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise HTTPException(422, "; ".join(reason.splitlines())) from None
    await record(action)
    outcome = await services.reload()
    if isinstance(outcome, Rejected):
        return Applied(
            version=version, keys=keys, live=[], after_restart=[], problems=present_problems(outcome.errors)
        )
    late = {one for one in outcome.sections if one.partition(".")[0] in NEEDS_RESTART}
    return Applied(
        version=version,
        keys=keys,
        live=sorted(outcome.sections - late),
        after_restart=sorted(late),
        problems=[],
    )
