"""Convert the store's views to API schemas, replies in progress with their current text."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from urllib.parse import quote

from bot.domain import Part, PartKind, PartState
from bot.platforms.local.adapter import LocalAdapter
from bot.platforms.local.hub import ReplyFrame
from bot.server.api import schemas
from bot.server.api.approvals import may_decide, present_approval
from bot.server.api.auth import Principal
from bot.server.api.dependencies import ApiServices
from bot.server.api.display_names import name_place
from bot.server.api.service_texts import split_failure, split_request
from bot.store.conversations import ConversationView
from bot.store.open_work import OpenApproval, list_open_approvals
from bot.store.read_models import TurnView
from bot.store.turn_marks import TurnMarks, load_marks
from bot.turn import TurnState

IMAGES = (".png", ".jpg", ".jpeg", ".gif", ".webp")
REPAIRED_BY_MODEL = frozenset(
    {"auth", "permission", "not_found", "quota", "unavailable", "invalid_request", "length"}
)
"""Categories of provider failures (`agent.models.failure_texts`) that another model or its setup avoids."""
OTHER_REMEDIES = (
    schemas.TurnRemedy(kind="new", reason="context"),
    schemas.TurnRemedy(kind="agent", reason="ProfileUnknown"),
    *(schemas.TurnRemedy(kind="none", reason=one) for one in ("content_filter", "deleted", "expired")),
)


def local_adapter(services: ApiServices, account: str) -> LocalAdapter | None:
    """Return the adapter of a local account (web console or terminal); None for any other account."""
    channel = services.channels.get(account)
    adapter = channel.adapter if channel is not None else None
    return adapter if isinstance(adapter, LocalAdapter) else None


def present_conversation(
    services: ApiServices, by: Principal, view: ConversationView
) -> schemas.ConversationInfo:
    """Return a conversation in the API format for the caller."""
    return schemas.ConversationInfo(
        id=view.id,
        account=view.key.account,
        platform=view.platform,
        chat=view.key.chat,
        topic=view.key.topic,
        chat_kind=view.chat_kind,
        title=view.title,
        model=view.model,
        agent=view.agent,
        thread_id=view.thread_id,
        owner=view.owner,
        created_at=view.created_at,
        active_at=view.active_at,
        own=by.owns_conversation(view),
        writable=by.owns_conversation(view) and local_adapter(services, view.key.account) is not None,
        place=name_place(services, by, view),
        owner_name=view.owner_name,
    )


def visible_turns(found: Iterable[TurnView]) -> list[TurnView]:
    """Return the turns displayed in a transcript. A dismissal is displayed in the question itself."""
    return [view for view in found if not view.left]


async def present_turns(
    services: ApiServices,
    by: Principal,
    known: Mapping[int, ConversationView],
    found: Iterable[TurnView],
) -> list[schemas.TurnInfo]:
    """Return the visible ones of these turns in the API format for the caller; `known` are their
    conversations.
    """
    views = [view for view in visible_turns(found) if view.conversation in known]
    own = {view.conversation for view in views if by.owns_conversation(known[view.conversation])}
    writable = [one for one in sorted(own) if local_adapter(services, known[one].key.account) is not None]
    marks = await services.db.transact(load_marks, by.person, [view.id for view in views], writable)
    asking = {view.id for view in views if view.asks and any(is_open(view, part) for part in view.parts)}
    opened = await services.db.transact(list_open_approvals, turns=asking) if asking else []
    asked = {one.turn: one for one in opened}
    return [
        await _present_turn(services, by, known[view.conversation], view, marks, asked.get(view.id))
        for view in views
    ]


async def present_turn(
    services: ApiServices, by: Principal, of: ConversationView, view: TurnView
) -> schemas.TurnInfo:
    """Return a turn in the API format, including the newest text of a reply in progress."""
    [shown] = await present_turns(services, by, {of.id: of}, [replace(view, left=False)])
    return shown


async def _present_turn(
    services: ApiServices,
    by: Principal,
    of: ConversationView,
    view: TurnView,
    marks: TurnMarks,
    asked: OpenApproval | None,
) -> schemas.TurnInfo:
    growing: Mapping[int, ReplyFrame] = {}
    adapter = local_adapter(services, of.key.account)
    if adapter is not None and is_growing(view):
        growing = adapter.hub.list_frames(of.key.chat, view.id)
    turn, live = services.dispatcher.find_live_steps(of.id)
    parts = {part.index: part for part in view.parts if part.content}
    for index, frame in growing.items():
        parts[index] = Part(index, PartKind.TEXT, frame.text, PartState.POSTED)
    last = max((index for index, part in parts.items() if part.kind is PartKind.TEXT), default=-1)
    failure = split_failure(parts[last].content) if view.error and last >= 0 else None
    own = {last: failure.own} if failure else {asked.part: split_request(asked.text).own} if asked else {}

    def may_choose(choice: str) -> bool:
        # Only who was asked may answer a question, or press a button of their command.
        return may_decide(services, by, asked, choice) if asked else by.owns_conversation(of)

    return schemas.TurnInfo(
        id=view.id,
        conversation=of.id,
        kind=view.kind,
        state=view.state,
        error=view.error,
        thread_id=view.thread_id,
        run_id=view.run_id,
        repeats=view.repeats,
        replaced=view.replaced,
        stopped=view.stopped,
        created_at=view.created_at,
        finished_at=view.finished_at,
        messages=view.messages,
        original=view.original,
        parts=[present_part(view, parts[index], may_choose, own.get(index)) for index in sorted(parts)],
        steps=view.steps or (live if turn == view.id else ()),
        usage=view.spent,
        model=view.model,
        asks=view.asks,
        approval=await present_approval(services, by, asked) if asked else None,
        failure=failure.said if failure else "",
        account=of.key.account,
        platform=of.platform,
        place=name_place(services, by, of),
        rating=marks.ratings.get(view.id, 0),
        remedy=find_remedy(view),
        editable=view.id in marks.editable,
    )


def find_remedy(view: TurnView) -> schemas.TurnRemedy | None:
    """Return what may help after a turn failed or could not be delivered, None for any other turn."""
    if any(part.state is PartState.UNDELIVERED for part in view.parts):
        return schemas.TurnRemedy(kind="account", reason="undelivered")
    if view.state not in (TurnState.FAILED, TurnState.EXPIRED):
        return None
    error, _, category = view.error.partition(":")
    reason = category or error
    if reason in REPAIRED_BY_MODEL:
        return schemas.TurnRemedy(kind="model", reason=reason)
    others: Mapping[str, schemas.TurnRemedy] = {one.reason: one for one in OTHER_REMEDIES}
    return others.get(reason) or schemas.TurnRemedy(kind="retry", reason=reason)


def is_growing(view: TurnView) -> bool:
    """Return whether the reply is still in progress. Once composed, the final text is completely in the
    store.
    """
    return view.state in (TurnState.RUNNING, TurnState.WAITING)


def present_part(
    view: TurnView, of: Part, may_choose: Callable[[str], bool], own: str | None = None
) -> schemas.PartInfo:
    """Return a turn's part in the API format, with the choices that the caller `may_choose`."""
    is_file, thread = of.kind is not PartKind.TEXT, quote(view.thread_id, safe="")
    url = f"/api/threads/{thread}/artifacts/{quote(of.content.lstrip('/'))}" if is_file else ""
    return schemas.PartInfo(
        index=of.index,
        kind=of.kind,
        state=of.state,
        text="" if is_file else of.content,
        own=own,
        filename=of.filename,
        url=f"/api/turns/{view.id}/documents/{of.index}" if of.kind is PartKind.DOCUMENT else url,
        image=is_file and of.filename.lower().endswith(IMAGES),
        repeated=of.repeated,
        choices=list(filter(may_choose, of.choices)) if is_open(view, of) else [],
    )


def is_open(view: TurnView, of: Part) -> bool:
    """Return whether a part's question is open, or the part is a command's answer with its buttons."""
    return (view.asks or bool(of.commands)) and of.state is PartState.FINAL
