"""Previews of the schedules that the agent proposed in a turn, with their buttons."""

from __future__ import annotations

from collections.abc import Sequence

from bot.commands.escaping import quoted
from bot.commands.registry import Button
from bot.dispatch.run.hooks import AnswerAddition
from bot.dispatch.tool_arguments import one_line
from bot.features.schedules.previews import describe_draft, list_times, shorten_text
from bot.features.schedules.proposal_store import (
    Proposal,
    ProposalAction,
    ProposalDecision,
    list_drafts_above,
    list_proposals,
    take_decisions,
)
from bot.features.schedules.schedule_store import Schedule, load_schedule
from bot.features.schedules.service import SchedulePreview, ScheduleService
from bot.store import Database
from bot.texts import Texts
from bot.turn import Turn

RUNS_SHOWN = 3
MAX_PROPOSED = 1000
"""Maximum length in characters of a text that the agent may propose; all of it is shown."""
_ESCAPED = 10 * MAX_PROPOSED


async def render_proposals(
    db: Database, schedules: ScheduleService, turn: Turn, texts: Texts
) -> Sequence[AnswerAddition]:
    """Return previews of a turn's proposals with their buttons.

    If several drafts are unsaved, the last preview lists them with a button that saves them all: the turn's
    own and, if the turn answers a question, those above the question.
    """
    shown: list[AnswerAddition] = []
    drafts = {proposal.draft: draft for proposal, draft in await db.transact(list_drafts_above, turn)}
    for proposal, draft in await db.transact(list_proposals, turn.id):
        target = await db.transact(load_schedule, proposal.target) if proposal.target else None
        if proposal.target and target is None:
            continue
        text = await _render_proposal(schedules, proposal, draft, target, texts)
        shown.append(AnswerAddition(text, _buttons_of(proposal, texts)))
        drafts |= {} if proposal.action is ProposalAction.DELETE else {proposal.draft: draft}
    if shown and len(drafts) > 1:
        shown[-1] = _with_all_drafts(shown[-1], list(drafts.values()), texts)
    return shown


def _with_all_drafts(last: AnswerAddition, drafts: Sequence[Schedule], texts: Texts) -> AnswerAddition:
    numbers = " ".join(str(one.id) for one in drafts)
    lines = [
        texts(
            "proposals_line",
            number=one.id,
            spoken=quoted(one.spoken),
            text=f" {shorten_text(one)}" if one.text else "",
        )
        for one in drafts
    ]
    listed = [last.text, "", texts("proposals_open"), "", *lines, "", texts("proposals_all", numbers=numbers)]
    label = texts("button_save_both" if len(drafts) == 2 else "button_save_all")
    return AnswerAddition("\n".join(listed), (*last.buttons, Button(label, f"digest ok {numbers}")))


async def _render_proposal(
    schedules: ScheduleService, proposal: Proposal, draft: Schedule, target: Schedule | None, texts: Texts
) -> str:
    numbers = {"number": proposal.draft, "target": proposal.target}
    lines: list[str] = []
    if target is not None:
        before = quoted(target.spoken), f" {shorten_text(target)}" if target.text else ""
        lines += [texts(f"proposal_{proposal.action.value}", spoken=before[0], text=before[1], **numbers)]
    if proposal.action is not ProposalAction.DELETE:
        preview = await schedules.preview(draft)
        times = SchedulePreview(draft, preview.firings[:RUNS_SHOWN])
        # The agent wrote the text, so all of it is shown, with escapes for invisible characters.
        text = quoted(one_line(draft.text, _ESCAPED), _ESCAPED)
        lines += [
            *([""] if lines else []),
            describe_draft(texts, draft, text),
            "",
            *await list_times(texts, times),
        ]
        lines += ["", texts("proposal_in_thread" if draft.topic else "proposal_in_chat")]
    confirm = "digest_confirm" if target is None else f"proposal_confirm_{proposal.action.value}"
    return "\n".join([*lines, "", texts(confirm, **numbers)])


def _buttons_of(proposal: Proposal, texts: Texts) -> tuple[Button, ...]:
    words = ("button_delete", "button_keep")
    if proposal.action is not ProposalAction.DELETE:
        words = ("button_save", "button_discard")
    accept, decline = (texts(word) for word in words)
    return (Button(accept, f"digest ok {proposal.draft}"), Button(decline, f"digest drop {proposal.draft}"))


async def describe_decisions(turn: Turn, db: Database, texts: Texts) -> str:
    """Return people's decisions about the agent's earlier proposals, for its next run; "" if there are none.
    Answers to the agent's questions and scheduled runs omit them, because their text goes elsewhere.
    """
    if turn.answers or turn.is_scheduled:
        return ""
    return "\n".join(_describe_decision(one, texts) for one in await db.transact(take_decisions, turn))


def _describe_decision(proposal: Proposal, texts: Texts) -> str:
    key = "discarded" if proposal.decision is ProposalDecision.DISCARDED else proposal.action.value
    return texts(f"note_proposal_{key}", number=proposal.target or proposal.draft)
