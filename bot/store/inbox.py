"""The accept transaction: it drops duplicates, finds the conversation and reply address, joins messages and
album parts to a waiting turn, and stores events.

A platform must not get its acknowledgement before this transaction has committed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot.domain import ChatKind, InboundChange, InboundEvent, InboundMessage
from bot.profiles import REQUESTER
from bot.store.admission_types import (
    Accepted,
    AddressedEdit,
    Admission,
    AppLimited,
    InboxItem,
    Notice,
    RecordOnly,
    Refusal,
    Verdict,
)
from bot.store.app_budget import (
    count_app_turn,
    is_app_budget_left,
    log_exhausted,
    restart_app_budget,
)
from bot.store.approval_rules import is_question
from bot.store.audit import AuditEvent, actor_of, record_event
from bot.store.chat_record import NO_RECORD, ChatRecord
from bot.store.click_checks import reject_click
from bot.store.command_buttons import close_buttons
from bot.store.connection import (
    Connection,
    encode_address,
    encode_attachments,
    encode_mentions,
    encode_quotations,
    encode_sender,
    sql,
)
from bot.store.interrupts import (
    CLOSE_INTERRUPT,
    SET_ANSWERS,
    is_group_itself,
    is_readable,
)
from bot.store.message_edits import apply_edit, edited_event_id, was_accepted
from bot.store.new_turn import ADD_INBOUND, FIND_EVENT, SET_INBOUND_TURN, open_notice, open_turn
from bot.store.people import PairingOutcome, request_pairing, set_pairing_address
from bot.store.routing import ConversationRoute, adopt_topic_command, route_message
from bot.store.stopped_answers import mark_stopped
from bot.store.tool_grants import record_tool_grant
from bot.store.turns import COUNT_QUEUED, IS_RUNNING
from bot.turn import Busy, Stopped, TurnKind

ONCE_A_DAY = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class _Opened:
    """The turn of an accepted message: a notice (`refused`), one that interrupts a run, or one that may join
    it. `waits` is the text key for the reason it must wait ("" if none).
    """

    turn: int
    refused: bool = False
    waits: str = ""
    interrupts: bool = False
    steers: bool = False


SAVE_CURSOR = sql(
    "INSERT INTO accounts (account, cursor) VALUES (:account, :cursor)"
    " ON CONFLICT (account) DO UPDATE SET cursor = excluded.cursor"
)
GET_CURSOR = sql("SELECT cursor FROM accounts WHERE account = :account")
# Add a message to the newest turn that still waits on this thread, if the queue limit allows. Senders who
# can't answer on people's behalf have separate turns: apps, whose role people don't have, and the group
# itself. All messages of the turn must be by `:within`, and none by `:apart`.
JOIN_TURN = sql(
    """UPDATE turns SET size = size + 1,
    ready_at = CASE WHEN :ready_at > ready_at THEN :ready_at ELSE ready_at END, address = :address,
    private_topic = CASE WHEN :private_topic > 0 THEN 1 ELSE private_topic END
    WHERE id = (SELECT MAX(w.id) FROM turns w WHERE w.conversation_id = :conversation AND w.kind = 'chat'
    AND w.state = 'accepted' AND w.answers = '') AND state = 'accepted' AND repeats = 0
    AND thread_id = :thread_id AND size < :limit AND NOT EXISTS (SELECT 1 FROM inbound i
    WHERE i.turn_id = turns.id AND i.turn_id > 0 AND (i.sender LIKE '["app:%' OR i.sender LIKE :apart
    OR i.sender NOT LIKE :within)) RETURNING id"""
)
# Record a once-a-day notice; returns no row if one was sent after `before`.
CLAIM_NOTICE = sql(
    """INSERT INTO notices (account, person, kind, told_at) VALUES (:account, :person, :kind, :now)
    ON CONFLICT (account, person, kind) DO UPDATE SET told_at = excluded.told_at
    WHERE notices.told_at <= :before RETURNING told_at"""
)

# Read the text in which an approval was requested.
TEXT_OF_REQUEST = sql(
    "SELECT content FROM parts WHERE turn_id = :turn AND kind = 'text' AND content <> '' ORDER BY position"
)


def accept_batch(
    connection: Connection,
    account: str,
    admitted: Sequence[InboxItem],
    cursor: str,
    now: float,
    queue_limit: int,
    record: ChatRecord = NO_RECORD,
) -> list[Accepted | Refusal | AppLimited]:
    """Store a batch in order, dropping duplicates, and update the receive cursor ("" leaves it unchanged)."""
    taken: list[Accepted | Refusal | AppLimited] = []
    for one in admitted:
        if isinstance(one, RecordOnly):
            _record(connection, one.event, now, record)
        elif isinstance(one, InboundChange):
            apply_edit(connection, one, now)
            record.apply_change(connection, one)
        elif isinstance(one, AddressedEdit):
            taken += _accept_edit(connection, one, now, queue_limit, record)
        elif one.is_by_app:
            taken += _accept_app(connection, one, now, queue_limit, record)
        elif (refusal := reject_click(connection, one, queue_limit)) is not None:
            taken.append(refusal)
        else:
            taken += _accept_one(connection, one, now, queue_limit, record)
    if cursor:
        connection.execute(SAVE_CURSOR, {"account": account, "cursor": cursor})
    return taken


def _accept_edit(
    connection: Connection, edit: AddressedEdit, now: float, queue_limit: int, record: ChatRecord
) -> list[Accepted]:
    """Open a turn for a message that addresses the bot since an edit; if it was already accepted, apply the
    edit.
    """
    record.apply_change(connection, edit.change)
    if was_accepted(connection, edit.change):
        apply_edit(connection, edit.change, now)
        return []
    return _accept_one(connection, edit.admission, now, queue_limit, record)


def _accept_one(
    connection: Connection, admission: Admission, now: float, queue_limit: int, record: ChatRecord
) -> list[Accepted]:
    origin = admission.message.origin
    overtaken = {"account": origin.account, "event_id": edited_event_id(origin)}
    if not admission.message.clicked and connection.execute(FIND_EVENT, overtaken).first():
        return []  # an edit was answered, which came first or in the place of this message
    told = _check_notice(connection, adopt_topic_command(connection, admission), now)
    inbound = None if told is None else _store(connection, told.message, now)
    if told is None or inbound is None:
        return []
    if told.app_budget is not None and told.verdict is not Verdict.NOTICE:
        restart_app_budget(connection, told.message)
    place = route_message(connection, told, now)
    if told.message.pressed is not None and told.verdict is Verdict.COMMAND:
        close_buttons(connection, told.message.pressed)
    opened = _open(connection, told, place, now, queue_limit)
    turn, refused = opened.turn, opened.refused
    connection.execute(SET_INBOUND_TURN, {"turn": turn, "id": inbound})
    if told.recorded and told.verdict is Verdict.CHAT:
        record.record_message(connection, told.message, now)
    if told.pairing:
        set_pairing_address(connection, told.pairing.code, place.conversation, place.address)
    kind = TurnKind.NOTICE if refused else TurnKind(told.verdict.value)
    here = (place.conversation, kind, place.address)
    written = "" if told.message.clicked else origin.message_id
    taken = [Accepted(turn, *here, refused, opened.interrupts, opened.steers, written)]
    return [*taken, *_notify_waiting(connection, told, place, opened.waits, now)] if opened.waits else taken


def _accept_app(
    connection: Connection, admission: Admission, now: float, queue_limit: int, record: ChatRecord
) -> list[Accepted | AppLimited]:
    """Open a turn for an app's message, which never interrupts a run, joins one or answers a question. Beyond
    a limit the message is only recorded, because a notice could continue a loop between bots. Its event is
    stored, so a redelivery starts no turn.
    """
    message, budget = admission.message, admission.app_budget
    event = {"account": message.origin.account, "event_id": message.event_id}
    if budget is None or connection.execute(FIND_EVENT, event).first():
        return []
    if admission.recorded:
        record.record_message(connection, message, now)
    if not is_app_budget_left(connection, budget, message, now):
        dropped = _drop_app(connection, message, "turns", now)
        return dropped if log_exhausted(connection, budget, message, now) else []
    if admission.budgets.find_refusal(connection, now):
        return _drop_app(connection, message, "usage", now)
    place = route_message(connection, admission, now)
    queued = connection.execute(COUNT_QUEUED, {"conversation": place.conversation}).scalar_one()
    if queued >= queue_limit or (not queued and _is_crowded_out(connection, admission, place)):
        return _drop_app(connection, message, "queue", now)
    inbound = _store(connection, message, now)
    if inbound is None:
        return []
    turn = _add_turn(connection, admission, place, TurnKind.CHAT, now)
    connection.execute(SET_INBOUND_TURN, {"turn": turn, "id": inbound})
    admission.budgets.count_message(connection, now)
    count_app_turn(connection, message, now)
    written = message.origin.message_id
    return [Accepted(turn, place.conversation, TurnKind.CHAT, place.address, message_id=written)]


def _drop_app(
    connection: Connection, message: InboundMessage, limit: str, now: float
) -> list[Accepted | AppLimited]:
    """Store an app's event without its content, so that it starts no turn."""
    empty = replace(message, text="", attachments=(), quotations=(), mentions=())
    _store(connection, empty, now)
    by = actor_of(message.origin, "")
    return [AppLimited(by.chat, by.person, by.name, limit)]


def _record(connection: Connection, event: InboundEvent, now: float, record: ChatRecord) -> None:
    if isinstance(event, InboundMessage):
        record.record_message(connection, event, now)
    else:
        record.apply_change(connection, event)


def _check_notice(connection: Connection, admission: Admission, now: float) -> Admission | None:
    """Return the admission with its pending notice, or None if the person has already been notified."""
    if admission.notice_kind:
        return admission if _claim_notice(connection, admission, admission.notice_kind, now) else None
    if admission.pairing is None:
        return admission
    origin = admission.message.origin
    event = {"account": origin.account, "event_id": admission.message.event_id}
    if connection.execute(FIND_EVENT, event).first():
        return None
    knocked = request_pairing(connection, admission.pairing, origin, now)
    if knocked is PairingOutcome.NEW:
        return admission
    if knocked is PairingOutcome.KNOWN or not _claim_notice(connection, admission, "crowded", now):
        return None
    return replace(admission, pairing=None, notice=Notice("pair_crowded"))


def _open(
    connection: Connection, admission: Admission, place: ConversationRoute, now: float, queue_limit: int
) -> _Opened:
    if admission.verdict is Verdict.COMMAND:
        return _Opened(_add_turn(connection, admission, place, TurnKind.COMMAND, now))
    if admission.verdict is Verdict.NOTICE:
        return _Opened(_notice(connection, admission, place, _worded(admission), now), refused=True)
    if admission.message.clicked:
        return _Opened(*_click(connection, admission, place, now, queue_limit))
    if (answered := _answer_request(connection, admission, place, now)) is not None:
        return answered
    busy = Busy(place.busy) if place.busy else admission.busy
    if refusal := _refusal(connection, admission, place, busy, now):
        return _Opened(_notice(connection, admission, place, refusal, now), refused=True)
    turn, refused = _queue(connection, admission, place, now, queue_limit)
    ended = 0
    if not refused:
        admission.budgets.count_message(connection, now)
    if busy is Busy.INTERRUPT and not refused:
        ended = mark_stopped(connection, place.conversation, Stopped.INTERRUPTED)
    waits = "" if refused else place.find_waiting_reason(admission.message)
    steers = busy is Busy.STEER and not refused
    return _Opened(turn, refused, waits, interrupts=ended > 0, steers=steers)


def _refusal(
    connection: Connection, admission: Admission, place: ConversationRoute, busy: Busy, now: float
) -> str:
    """Return why a message can't be accepted now, or "" if it can."""
    here = {"conversation": place.conversation}
    if busy is Busy.REJECT and connection.execute(IS_RUNNING, here).first():
        return admission.texts("busy_rejects")
    return admission.budgets.find_refusal(connection, now)


def _store(connection: Connection, message: InboundMessage, now: float) -> int | None:
    stored: int | None = connection.execute(
        ADD_INBOUND,
        {
            "account": message.origin.account,
            "event_id": message.event_id,
            # A click refers to the bot's own message, so its edits and deletion do not affect the answer.
            "message_id": "" if message.clicked else message.origin.message_id,
            "sender": encode_sender(message.origin.sender),
            "text": message.text,
            "attachments": encode_attachments(message.attachments),
            "quotations": encode_quotations(message.quotations),
            "mentions": encode_mentions(message.mentions),
            "group_key": message.group_key,
            "sent_at": message.sent_at,
            "now": now,
        },
    ).scalar_one_or_none()
    return stored


def _claim_notice(connection: Connection, admission: Admission, kind: str, now: float) -> bool:
    """Claim a once-a-day notice of this kind. Return whether it may be sent."""
    origin = admission.message.origin
    told = connection.execute(
        CLAIM_NOTICE,
        {
            "account": origin.account,
            "person": origin.sender.id,
            "kind": kind,
            "now": now,
            "before": now - ONCE_A_DAY,
        },
    )
    return told.first() is not None


def _click(
    connection: Connection, admission: Admission, place: ConversationRoute, now: float, queue_limit: int
) -> tuple[int, bool]:
    """Answer the open interrupt by a click. Invalid clicks have already been rejected by `reject_click`."""
    if place.approval is not None:
        return _decide(connection, admission, place, now), False
    turn, refused = _queue(connection, admission, place, now, queue_limit)
    if not refused:
        connection.execute(SET_ANSWERS, {"answers": place.question, "id": turn})
        connection.execute(CLOSE_INTERRUPT, {"id": place.conversation})
    return turn, refused


def _decides(connection: Connection, admission: Admission, place: ConversationRoute) -> bool:
    """Check whether a message decides the open approval. Until the interrupt is readable only an offered
    answer counts, since other text may refer to something else. Forwarded messages never count, nor do voice
    messages, whose transcripts may be wrong.
    """
    approval = place.approval
    message, is_admin, rules = admission.message, admission.is_admin, admission.approvals
    if approval is None or not message.text.strip():
        return False
    if not approval.decided_by(message, is_admin=is_admin, rules=rules):
        return False
    return approval.offers(admission.message.text) or is_readable(connection, place.asked_by)


def _answer_request(
    connection: Connection, admission: Admission, place: ConversationRoute, now: float
) -> _Opened | None:
    """Handle a message as a decision or question about the open approval, or return None if it is neither."""
    if _decides(connection, admission, place):
        return _Opened(_decide(connection, admission, place, now))
    if _asks_back(connection, admission, place):
        return _Opened(_explain_request(connection, admission, place, now), refused=True)
    return None


def _asks_back(connection: Connection, admission: Admission, place: ConversationRoute) -> bool:
    """Check whether a message is a question about the open approval, by a requester or by an admin who may
    decide. All other questions wait for the decision.
    """
    approval, message = place.approval, admission.message
    if approval is None or message.is_quotation_only or not is_question(message.text):
        return False
    rules, is_admin = admission.approvals, admission.is_admin
    others = not any(REQUESTER in one for one in approval.approvers(rules))
    may = others and approval.may_decide(message, is_admin=is_admin, rules=rules)
    return (may or approval.is_requested_by(message)) and is_readable(connection, place.asked_by)


def _explain_request(
    connection: Connection, admission: Admission, place: ConversationRoute, now: float
) -> int:
    """Answer a question about the open approval by repeating the request, which stays open."""
    rows = connection.execute(TEXT_OF_REQUEST, {"turn": place.asked_by}).all()
    shown = [str(row.content) for row in rows]
    text = admission.texts("approval_explained", request="\n\n".join(shown))
    return _notice(connection, admission, place, text, now)


def _decide(connection: Connection, admission: Admission, place: ConversationRoute, now: float) -> int:
    """Open a turn for a decision, ahead of waiting messages, and close the interrupt."""
    origin = admission.message.origin
    turn = _add_turn(connection, admission, place, TurnKind.CHAT, now)
    connection.execute(SET_ANSWERS, {"answers": place.question, "id": turn})
    connection.execute(CLOSE_INTERRUPT, {"id": place.conversation})
    done = AuditEvent("approval", f"turn {place.asked_by}", admission.message.text)
    actor = actor_of(origin, f"turn:{turn}")
    record_event(connection, actor, done, now)
    if place.approval is not None:
        said = admission.message.text
        offered, rules = place.approval.remembered, admission.approvals
        own = rules.may_decide_own(origin.sender, place.approval.topic, is_admin=admission.is_admin)
        here = place.conversation
        record_tool_grant(connection, offered, said, here, actor, now, rules, may_decide_own=own)
    return turn


def _notify_waiting(
    connection: Connection, admission: Admission, place: ConversationRoute, reason: str, now: float
) -> list[Accepted]:
    """Notify the author, once a day per reason, that a message waits for a decision or an answer."""
    if not _claim_notice(connection, admission, reason.removesuffix("_waits"), now):
        return []
    turn = _notice(connection, admission, place, admission.texts(reason), now)
    return [Accepted(turn, place.conversation, TurnKind.NOTICE, place.address, refused=True)]


def _queue(
    connection: Connection, admission: Admission, place: ConversationRoute, now: float, queue_limit: int
) -> tuple[int, bool]:
    """Add a message to the waiting turn or open a new one; refuse it if the queue is full."""
    queued = connection.execute(COUNT_QUEUED, {"conversation": place.conversation}).scalar_one()
    if queued >= queue_limit:
        full = admission.texts("queue_full", limit=queue_limit)
        return _notice(connection, admission, place, full, now), True
    if not queued and _is_crowded_out(connection, admission, place):
        return _notice(connection, admission, place, admission.texts("service_busy"), now), True
    origin = admission.message.origin
    group = f'["{origin.chat}",%' if origin.chat_kind is ChatKind.GROUP else ""
    is_group = is_group_itself(origin.sender, origin.chat, origin.chat_kind)
    joined = connection.execute(
        JOIN_TURN,
        {
            "conversation": place.conversation,
            "thread_id": place.thread_id,
            "ready_at": now + admission.hold_seconds if admission.hold_seconds else 0.0,
            "address": encode_address(place.address),
            "private_topic": int(origin.private_topic),
            "limit": queue_limit,
            "apart": "" if is_group else group,
            "within": group if is_group else "%",
        },
    ).scalar_one_or_none()
    if joined is not None:
        return joined, False
    return _add_turn(connection, admission, place, TurnKind.CHAT, now), False


def _is_crowded_out(connection: Connection, admission: Admission, place: ConversationRoute) -> bool:
    """Return whether a turn would make one more conversation wait while too many do."""
    here = {"conversation": place.conversation}
    return admission.is_crowded_out and connection.execute(IS_RUNNING, here).first() is None


def _add_turn(
    connection: Connection, admission: Admission, place: ConversationRoute, kind: TurnKind, now: float
) -> int:
    return open_turn(
        connection,
        place.conversation,
        kind,
        place.address,
        admission.message.origin.platform,
        place.thread_id,
        now,
        model=place.model,
        private_topic=admission.message.origin.private_topic,
        ready_at=now + admission.hold_seconds if admission.hold_seconds else 0.0,
    )


def _notice(
    connection: Connection, admission: Admission, place: ConversationRoute, text: str, now: float
) -> int:
    platform = admission.message.origin.platform
    return open_notice(
        connection,
        place.conversation,
        place.address,
        platform,
        place.thread_id,
        text,
        now,
        model=place.model,
    )


def _worded(admission: Admission) -> str:
    notice = admission.notice
    return "" if notice is None else admission.texts(notice.key, **notice.fields)


def load_cursor(connection: Connection, account: str) -> str:
    """Return the receive cursor of an account ("" if there is none)."""
    return str(connection.execute(GET_CURSOR, {"account": account}).scalar_one_or_none() or "")
