"""Routes to export and erase a person's data, and to delete a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import PurePath
from typing import Annotated

from fastapi import APIRouter, HTTPException, Path, Request, Response

from bot.access import Role
from bot.features.privacy.data_export import export_person
from bot.features.privacy.deletion_job import DeletionJob
from bot.features.privacy.erasures import find_last_erasure
from bot.features.privacy.schemas import ErasureResult, ErasureState
from bot.server.api import local_chats, presenters
from bot.server.api.auth import By, Principal, audit_actor, open_to
from bot.server.api.dependencies import Services
from bot.server.api.people_in_reach import parse_person
from bot.server.api.sse import Subscriptions

router = APIRouter(prefix="/api/people", tags=["people"])
conversations = APIRouter(prefix="/api/conversations", tags=["conversations"])
STOP_POLLS, STOP_EVERY = 50, 0.1
"""Number of looks at a run that has to stop, and seconds between them."""
Id = Annotated[int, Path(ge=1, lt=2**53)]
Whom = Annotated[str, Path(alias="person", max_length=256, description="`platform:id`.")]


@router.get("/{person}/data", response_class=Response, responses={200: {"content": {"application/json": {}}}})
@open_to(Role.MEMBER)
async def export_data(target: Whom, services: Services, by: By) -> Response:
    """Export a person's stored data as one JSON document. Members can export their own data, admins of all
    accounts on the person's platform also the data of people who are not admins, and owners anyone's data.
    """
    person = parse_person(services, by, target)
    found = await export_person(services.core, person, audit_actor(services, by))
    return Response(found, media_type="application/json")


@router.delete("/{person}/data")
@open_to(Role.MEMBER)
async def erase_data(target: Whom, services: Services, by: By) -> ErasureResult:
    """Erase a person's stored data, as `/data erase` does. The same access rules apply as for the export.
    Roles and the audit log are kept. What can't be erased now is erased later, also after a restart.
    """
    person = parse_person(services, by, target)
    done = await services.core.part(DeletionJob).erase_person(person, audit_actor(services, by))
    return ErasureResult(
        messages=done.counts.get("messages", 0),
        threads=done.counts.get("deleted_threads", 0),
        shared_threads=done.counts.get("shared_threads", 0),
        open_messages=done.open_messages,
        remembers=bool(done.problem),
        done=done.done,
        erased=dict(done.counts),
        unsupported=list(done.unsupported),
        backups=_named(by, done.copies),
    )


@router.get("/{person}/erasure")
@open_to(Role.MEMBER)
async def get_erasure(target: Whom, services: Services, by: By) -> ErasureState:
    """Return a person's last erasure (`requested_at` is 0 if there was none), and the existing backups."""
    person = parse_person(services, by, target)
    last = await services.db.transact(find_last_erasure, person)
    backups = _named(by, await services.core.part(DeletionJob).list_copies())
    if last is None:
        return ErasureState(requested_at=0, finished_at=None, erased={}, backups=backups)
    return ErasureState(
        requested_at=last.requested_at,
        finished_at=last.finished_at or None,
        erased=last.counts,
        backups=backups,
    )


@conversations.delete("/{conversation}", status_code=204)
@open_to(Role.MEMBER)
async def delete_conversation(conversation: Id, request: Request, services: Services, by: By) -> None:
    """Delete a conversation of the web console or the terminal with its messages, answers, files, agent
    threads and schedules. A run is stopped first. Usage figures are kept (409: the conversation is on
    another platform, or the run does not stop).
    """
    of = await local_chats.changeable_conversation(services, by, conversation)
    if presenters.local_adapter(services, of.key.account) is None:
        raise HTTPException(409, f"This conversation is on {of.platform}. Delete it there.")
    actor = replace(audit_actor(services, by), account=of.key.account, chat=of.key.chat)
    for _ in range(STOP_POLLS):
        if await services.core.part(DeletionJob).delete_conversation(of, actor):
            break
        await services.dispatcher.stop(of.id, actor)
        await services.clock.sleep(STOP_EVERY)
    else:
        raise HTTPException(409, "An answer is still in progress. Try again.")
    feeds: Subscriptions = request.app.state.feeds
    feeds.changed(of.id)


def _named(by: Principal, copies: Sequence[tuple[str, float]]) -> list[str]:
    """Return the backups as the caller may see them: admins with their folders."""
    return [path if by.role >= Role.ADMIN else PurePath(path).name for path, _ in copies]
