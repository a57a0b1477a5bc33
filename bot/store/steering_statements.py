"""The statements of messages that join a run, by name."""

from bot.store.statements import _sql

WAITING_MESSAGES = _sql(
    """SELECT i.id, i.event_id, i.message_id, i.sender, i.text, i.attachments, i.sent_at, i.deleted,
    t.thread_id, t.answers, t.ready_at FROM inbound i JOIN turns t ON t.id = i.turn_id
    WHERE t.conversation_id = :conversation AND t.kind = 'chat' AND t.state = 'accepted' AND i.turn_id > 0
    ORDER BY i.id"""
)
# A message that was deleted meanwhile may have been the only one of its turn.
JOINING = _sql(
    """SELECT i.turn_id, i.message_id, i.deleted FROM inbound i JOIN turns t ON t.id = i.turn_id
    WHERE i.id = :id AND i.turn_id > 0 AND i.turn_id <> :turn AND t.kind = 'chat'
    AND t.conversation_id = (SELECT r.conversation_id FROM turns r WHERE r.id = :turn)
    AND (t.state = 'accepted' OR (t.state = 'cancelled' AND t.run_id = ''))"""
)
REOPEN_CHANGES = _sql("UPDATE changes SET turn_id = 0 WHERE inbound_id = :inbound AND turn_id = -1")
