"""The route for the overview: problems, open approvals, work in progress, and what features add."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal
from urllib.parse import quote

from fastapi import APIRouter
from pydantic import AliasPath, Field

from agent.shared.schemas import ModelInfo
from agent.shared.text import shorten, to_one_line
from bot.access import Permission, Role, Target
from bot.account_state import Live
from bot.domain import ChatKind, ProgressState, person_of
from bot.errors import RuntimeProblem
from bot.server.api import local_chats
from bot.server.api.approvals import may_decide, present_approval
from bot.server.api.auth import By, Principal, accounts_with, may, open_to, record_read
from bot.server.api.dependencies import Ahead, ApiServices, Services, day_start
from bot.server.api.display_names import explain_state, name_chat, name_person, name_place, texts_of
from bot.server.api.health import check_readiness
from bot.server.api.schemas import ApiModel, ApprovalRequest, PendingPairing, UsageTotals
from bot.store.connection import Connection
from bot.store.conversations import ConversationView
from bot.store.open_work import OpenApproval, Reach, count_failed, list_open_approvals
from bot.store.people import PairingRequest, list_pairing_requests
from bot.store.read_models import TurnGroup, TurnView, list_turns
from bot.turn import TurnKind
from bot.wiring import AddsToOverview

router = APIRouter(prefix="/api/overview", tags=["turns"])
DAY = 24 * 3600.0
MOST_RUNNING = 100
MAX_TEXT, MAX_EXCERPT = 2000, 200
"""Characters."""
NO_USAGE = UsageTotals(
    turns=0, input_tokens=0, output_tokens=0, total_tokens=0, cached_tokens=0, cost=0.0, currency=""
)


class ProblemRemedy(ApiModel):
    """A remedy, and the address of the page for it."""

    text: str
    link: str


class ServiceProblem(ApiModel):
    """Something that does not work."""

    id: str
    severity: Literal["bad", "warn"]
    text: str
    remedy: ProblemRemedy


class ApprovalInfo(ApprovalRequest):
    """An open approval, decided by `POST /api/turns/{turn}/parts/{part}/choice` with one of the `choices`."""

    conversation: int
    turn: int
    part: int
    title: str
    place: str
    asker: str
    choices: list[str]
    at: float


class RunningInfo(ApiModel):
    """A turn that waits or runs; `step` is what it does now."""

    conversation: int
    turn: int
    place: str
    asker: str
    excerpt: str
    since: float
    state: str
    step: str


class IncidentBrief(ApiModel):
    """An incident that is not resolved."""

    id: int
    title: str
    status: str
    severity: str | None
    account: str = Field(validation_alias=AliasPath("address", "account"))
    conversation: int
    at: float = Field(validation_alias="opened_at")


class NextRun(ApiModel):
    """The next run of a schedule, for the chat named `place`; `name` is its creator."""

    id: int
    at: float = Field(validation_alias="next_at")
    text: str
    account: str
    platform: str
    kind: str = Field(validation_alias="chat_kind")
    name: str = Field(validation_alias=AliasPath("maker", "name"))
    place: str = Field(validation_alias="chat_title")


class OverviewCounts(ApiModel):
    """Numbers for the navigation; `failed` are turns of the last 24 h, `approvals` are for the caller."""

    problems: int
    approvals: int
    running: int
    failed: int
    requests: int
    incidents: int


class Overview(ApiModel):
    """What the caller should look at: members see their own work, admins that of their accounts."""

    problems: list[ServiceProblem]
    approvals: list[ApprovalInfo]
    running: list[RunningInfo]
    requests: list[PendingPairing]
    incidents: list[IncidentBrief]
    schedules: list[NextRun]
    spend: UsageTotals
    counts: OverviewCounts


@dataclass(frozen=True, slots=True)
class _Work:
    """What the caller sees; `known` are the conversations of what runs, `added` is what features add."""

    problems: list[ServiceProblem]
    asked: list[OpenApproval]
    running: list[TurnView]
    known: Mapping[int, ConversationView]
    requests: list[PairingRequest]
    failed: int
    added: Mapping[str, Any]

    def count(self, approvals: int) -> OverviewCounts:
        return OverviewCounts(
            problems=len(self.problems),
            approvals=approvals,
            running=len(self.running),
            failed=self.failed,
            requests=len(self.requests),
            incidents=len(self.added.get("incidents", [])),
        )


@router.get("")
@open_to(Role.MEMBER)
async def get_overview(services: Services, by: By, ahead: Ahead = 0) -> Overview:
    """Return what needs the caller's attention, and the usage since midnight."""
    work = await _find_work(services, by, ahead)
    shown = [*(one.of for one in work.asked), *(work.known[one.conversation] for one in work.running)]
    if not all(map(by.owns_conversation, shown)):
        reached = accounts_with(services, by, Permission.READ)
        await record_read(services, by, "overview", " ".join(sorted(reached or ())))
    approvals = [await _present_approval(services, by, one) for one in work.asked]
    runs = [NextRun.model_validate(one) for one in work.added.get("schedules", [])]
    return Overview(
        problems=work.problems,
        approvals=approvals,
        running=[_present_work(services, by, work.known[one.conversation], one) for one in work.running],
        requests=work.requests,
        incidents=work.added.get("incidents", []),
        schedules=[_present_run(services, by, one) for one in runs],
        spend=work.added.get("spend", NO_USAGE),
        counts=work.count(sum(one.may_decide for one in approvals)),
    )


@router.get("/counts")
@open_to(Role.MEMBER)
async def count_work(services: Services, by: By) -> OverviewCounts:
    """Return the numbers of the overview alone."""
    work = await _find_work(services, by)
    return work.count(sum(may_decide(services, by, one) for one in work.asked))


async def _find_work(services: ApiServices, by: Principal, ahead: int = 0) -> _Work:
    now, reach = services.clock.now(), Reach(accounts_with(services, by, Permission.READ), by.owner_ids)
    only = replace(local_chats.readable_turns(services, by), group=TurnGroup.RUNNING)
    parts = [part for part in services.core.parts if isinstance(part, AddsToOverview)]

    def collect(connection: Connection) -> tuple[Any, ...]:
        added: dict[str, Any] = {}
        for part in parts:
            added |= part.collect_overview(connection, reach, day_start(services, ahead))
        approvals = list_open_approvals(connection, reach)
        running = list_turns(connection, None, limit=MOST_RUNNING, only=only)
        failed = count_failed(connection, reach, now - DAY)
        return approvals, running, list_pairing_requests(connection, now), failed, added

    asked, works, requests, failed, added = await services.db.transact(collect)
    works = [one for one in works if one.kind is TurnKind.CHAT and not one.left]
    known = await local_chats.find_all_visible(services, by, {one.conversation for one in works})
    return _Work(
        problems=await _list_problems(services, by),
        asked=[one for one in asked if by.owns_conversation(one.of) or may_decide(services, by, one)],
        running=[one for one in works if one.conversation in known],
        known=known,
        requests=[one for one in requests if may(services, by, Permission.GRANT, Target(one.account))],
        failed=failed,
        added=added,
    )


async def _present_approval(services: ApiServices, by: Principal, one: OpenApproval) -> ApprovalInfo:
    shown, askers = await present_approval(services, by, one), one.approval.askers
    names = [
        name_person(services, texts_of(services, by), person_of(one.of.platform, asker), asker.shown_name)
        for asker in askers[:1]
    ]
    return ApprovalInfo(
        **{**dict(shown), "request": shown.request[:MAX_TEXT]},
        conversation=one.of.id,
        turn=one.turn,
        part=one.part,
        title=one.of.title,
        place=name_place(services, by, one.of),
        asker="".join(names),
        choices=[choice for choice in one.choices if may_decide(services, by, one, choice)],
        at=one.at,
    )


def _present_run(services: ApiServices, by: Principal, one: NextRun) -> NextRun:
    known = one.name if one.kind == ChatKind.PRIVATE else one.place
    place = name_chat(services, texts_of(services, by), one.account, one.platform, one.kind, known)
    return one.model_copy(update={"place": place})


def _present_work(services: ApiServices, by: Principal, of: ConversationView, one: TurnView) -> RunningInfo:
    turn, steps = services.dispatcher.find_live_steps(of.id)
    at_work = [step for step in steps if step.state is ProgressState.ACTIVE] if turn == one.id else []
    asker, text = next(((said.sender.name, said.text) for said in one.messages or one.original), ("", ""))
    return RunningInfo(
        conversation=of.id,
        turn=one.id,
        place=name_place(services, by, of),
        asker=asker,
        excerpt=shorten(to_one_line(services.core.mask_secrets(text)), MAX_EXCERPT),
        since=one.created_at,
        state=one.state,
        step=at_work[-1].title or at_work[-1].tool if at_work else "",
    )


async def _list_problems(services: ApiServices, by: Principal) -> list[ServiceProblem]:
    """Return what does not work, as far as the caller could help."""
    texts, core = texts_of(services, by), services.core

    def describe(
        key: str, name: str, page: str, *, remedy: str = "", bad: bool = True, **fields: str
    ) -> ServiceProblem:
        way = ProblemRemedy(text=texts(f"remedy_{remedy or page.partition('/')[0]}"), link=f"#/{page}")
        text = core.mask_secrets(texts(f"problem_{key}", **fields))
        return ServiceProblem(id=f"{key}:{name}", severity="bad" if bad else "warn", text=text, remedy=way)

    found = []
    if may(services, by, Permission.HEALTH):
        state, config = await asyncio.gather(check_readiness(services), _list_config_problems(services))
        checks = {"database": state.database, "runtime": state.runtime}
        found += [
            describe(name, "", "docs/troubleshooting", detail=one.detail)
            for name, one in checks.items()
            if not one.ok
        ]
        found += [
            describe("config", where, "settings", bad=serious, detail=line) for where, line, serious in config
        ]
    for account, (_, live) in sorted(core.accounts.states().items()):
        if live.live in (Live.FAILED, Live.DEAF) and may(services, by, Permission.ACCOUNTS, Target(account)):
            reason = explain_state(services, texts, account, live.reason) or live.live.value
            bad = live.live is Live.FAILED
            found.append(describe("account", account, "accounts", bad=bad, account=account, detail=reason))
    if may(services, by, Permission.CONFIGURE):
        for one in await _list_failing_models(services):
            page, remedy = (
                (f"models/key/{quote(one.name, safe='')}", "key")
                if one.failing == "key" and one.source == "config"
                else ("models", "")
            )
            bad = one.failing != "unavailable"
            key = f"model_{one.failing}"
            found.append(describe(key, one.name, page, remedy=remedy, bad=bad, model=one.display_name))
    return found


async def _list_failing_models(services: ApiServices) -> list[ModelInfo]:
    """Return the models whose last call failed for a reason that concerns all of their calls."""
    try:
        listed = await services.core.runtime.management.list_models()
    except RuntimeProblem:
        return []
    return [one for one in listed.models if one.failing]


async def _list_config_problems(services: ApiServices) -> list[tuple[str, str, bool]]:
    """Return the place, description and seriousness of each problem of the configuration."""
    rejected = services.core.config_problem
    found = [("", rejected, True)] if rejected else []
    try:
        listed = (await services.core.runtime.management.list_config_problems()).problems
    except RuntimeProblem:
        return found
    return found + [(one.where, one.line, one.serious) for one in listed]
