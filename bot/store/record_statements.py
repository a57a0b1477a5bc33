"""The statements of the chat record, by name."""

from bot.store.statements import _sql

KEEP = _sql(
    """INSERT INTO record (account, chat, topic, message_id, sender, text, sent_at, link) VALUES (:account,
    :chat, :topic, :message_id, :sender, :text, :sent_at, :link)
    ON CONFLICT (account, chat, message_id) DO NOTHING"""
)
CHANGE_MESSAGE = _sql(
    "UPDATE record SET text = :text WHERE account = :account AND chat = :chat AND message_id = :message_id"
)
FORGET_MESSAGE = _sql(
    "DELETE FROM record WHERE account = :account AND chat = :chat AND message_id = :message_id"
)
COLUMNS = "id, message_id, topic, sender, text, sent_at, link"
SAID = _sql(
    f"""SELECT {COLUMNS} FROM record WHERE account = :account AND chat = :chat AND sent_at > :since
    AND sent_at <= :until ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
SAID_IN_TOPIC = _sql(
    f"""SELECT {COLUMNS} FROM record WHERE account = :account AND chat = :chat AND topic = :topic
    AND sent_at > :since AND sent_at <= :until ORDER BY sent_at DESC, id DESC LIMIT :limit"""
)
TURN_BEFORE = _sql(
    """SELECT MAX(created_at) FROM turns WHERE conversation_id = :conversation AND id < :turn
    AND kind = 'chat' AND state <> 'cancelled'"""
)
COUNT = _sql("SELECT COUNT(*) FROM record WHERE account = :account AND chat = :chat AND sent_at > :since")
RECORDED_CHATS = _sql(
    """SELECT account, chat, record_days, recorded_since FROM chats WHERE record_days > 0
    ORDER BY account, chat"""
)
SWITCH = _sql(
    """INSERT INTO chats (account, chat, record_days, recorded_since) VALUES (:account, :chat, :days, :since)
    ON CONFLICT (account, chat) DO UPDATE SET record_days = excluded.record_days, recorded_since = CASE WHEN
    chats.record_days > 0 AND excluded.record_days > 0 THEN chats.recorded_since
    ELSE excluded.recorded_since END"""
)
FORGET_CHAT = _sql("DELETE FROM record WHERE account = :account AND chat = :chat")
FORGET_OLD = _sql("DELETE FROM record WHERE account = :account AND chat = :chat AND sent_at < :before")
