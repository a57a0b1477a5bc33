"""Open approvals as the caller sees them: what is asked, and who may decide."""

from __future__ import annotations

from dataclasses import replace

from agent.shared.approval_words import is_plain_no
from bot.access import Permission, Target
from bot.dispatch.questions import APPROVAL_LASTS
from bot.domain import InboundMessage, Sender, person_of
from bot.profiles import ADMINS, MEMBERS, OTHERS, REQUESTER
from bot.server.api.auth import Principal, conversation_target, may
from bot.server.api.dependencies import ApiServices
from bot.server.api.display_names import name_entries, name_person, texts_of
from bot.server.api.schemas import ApprovalRequest
from bot.server.api.service_texts import split_request
from bot.store.conversations import ConversationView
from bot.store.open_work import OpenApproval


def click_sender(by: Principal, of: ConversationView) -> Sender:
    """Return the caller as a sender on that account.

    The name is never empty, because a message in a group carries its author's name.
    """
    known = by.sender
    name = known.name or known.id.rpartition(":")[2]
    if known.account == of.key.account:
        return replace(known, id=known.id.partition(":")[2], name=name, account="")
    return replace(by.sender_on(of.platform), name=name)


def may_decide(services: ApiServices, by: Principal, one: OpenApproval, choice: str = "") -> bool:
    """Return whether a click by the caller would decide an approval, with this choice ("": with any)."""
    of, account = one.of, services.core.account(one.of.key.account)
    if not by.owns_conversation(of) and not may(services, by, Permission.DECIDE, conversation_target(by, of)):
        return False
    if one.approval.is_for_good(choice) and not may(services, by, Permission.DECIDE, Target(of.key.account)):
        return False
    origin = of.origin(click_sender(by, of), one.approval.topic)
    click = InboundMessage("", origin, choice, 0.0, clicked=True)
    is_admin, rules = account.may(origin, Permission.DECIDE), account.approvals_for(origin)
    return one.approval.decided_by(click, is_admin=is_admin, rules=rules)


async def present_approval(services: ApiServices, by: Principal, one: OpenApproval) -> ApprovalRequest:
    """Return an open approval in the API format for the caller."""
    found, offer = split_request(one.text), one.approval.remembered
    return ApprovalRequest(
        tool=offer.tool if offer else found.tool,
        request=found.said,
        may_decide=may_decide(services, by, one),
        rejection=next(filter(is_plain_no, one.choices), ""),
        waits_for=await _name_approvers(services, by, one),
        expires_at=one.at + APPROVAL_LASTS,
    )


async def _name_approvers(services: ApiServices, by: Principal, one: OpenApproval) -> str:
    """Return a sentence that names who may decide an approval."""
    of, texts = one.of, texts_of(services, by)
    rules = services.core.account(of.key.account).approvals_for(of.origin(by.sender, one.approval.topic))
    lists = dict.fromkeys(map(tuple, one.approval.approvers(rules)))
    askers = {person_of(of.platform, asker): asker.shown_name for asker in one.approval.askers}
    who = texts("decider_or").join(
        texts("decider_you") if person in by.owner_ids else name_person(services, texts, person, name)
        for person, name in askers.items()
    )
    known = {word: texts(f"decider_{word}", who=who) for word in (ADMINS, OTHERS, MEMBERS)}
    known[REQUESTER] = who
    if listed := {word for words in lists for word in words} - known.keys():
        known |= await name_entries(services, listed)
    named = [dict.fromkeys(known.get(word) or texts("decider_listed") for word in words) for words in lists]
    return texts("waits_for", who=texts("decider_also").join(map(texts("decider_or").join, named)))
