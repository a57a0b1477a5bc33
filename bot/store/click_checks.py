"""Checks of button clicks: the button must still be open, and the person must be allowed to answer."""

from __future__ import annotations

from typing import Any

from bot.domain import PressedButton
from bot.store.admission_types import Admission, Refusal, Verdict
from bot.store.approval_rules import refusal_of
from bot.store.command_buttons import has_buttons
from bot.store.connection import Connection
from bot.store.interrupts import decode_approval, find_refusal, is_button_of
from bot.store.new_turn import FIND_EVENT
from bot.store.routing import hold_conversation
from bot.store.turns import COUNT_QUEUED


def reject_click(connection: Connection, admission: Admission, queue_limit: int) -> Refusal | None:
    """Return why a click is rejected, or None for a valid or already known one."""
    message = admission.message
    if message.pressed is not None and admission.verdict is Verdict.COMMAND:
        return _reject_press(connection, admission, message.pressed)
    if not message.clicked or admission.verdict is not Verdict.CHAT:
        return None
    row = hold_conversation(connection, admission)
    event = {"account": message.origin.account, "event_id": message.event_id}
    if connection.execute(FIND_EVENT, event).first():
        return None
    reason = _rejection(connection, admission, row, queue_limit)
    return None if reason is None else Refusal(message.event_id, reason)


def _reject_press(connection: Connection, admission: Admission, button: PressedButton) -> Refusal | None:
    """Return why a command button's click is rejected, or None if it is valid."""
    message = admission.message
    event = {"account": message.origin.account, "event_id": message.event_id}
    if connection.execute(FIND_EVENT, event).first():
        return None
    if not has_buttons(connection, button):
        return Refusal(message.event_id, admission.texts("question_closed"))
    if button.person in ("", message.origin.sender.key):
        return None
    return Refusal(message.event_id, admission.texts("button_foreign"))


def _rejection(connection: Connection, admission: Admission, row: Any, queue_limit: int) -> str | None:
    """Return why a click cannot answer this conversation, or None if it can."""
    message = admission.message
    is_admin, rules = admission.is_admin, admission.approvals
    if refusal := find_refusal(connection, message, is_admin=is_admin, rules=rules):
        return admission.texts(refusal)
    if row is None or not row.question or not is_button_of(connection, row.asked_by, message):
        return admission.texts("question_closed")
    approval = decode_approval(row, connection)
    if approval is not None:
        decides = approval.decided_by(message, is_admin=is_admin, rules=rules)
        return None if decides else admission.texts(refusal_of(approval.approvers(rules)))
    queued = connection.execute(COUNT_QUEUED, {"conversation": row.id}).scalar_one()
    return admission.texts("queue_full", limit=queue_limit) if queued >= queue_limit else None
