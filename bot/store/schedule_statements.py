"""The statements of schedules and of what is set for a chat, by name."""

from bot.store.statements import OPEN, _sql

COLUMNS = (
    "id, kind, state, text, spoken, rule, zone, account, platform, chat, chat_kind, topic, conversation_id,"
    " made_in, maker, person, made_at, next_at, failures, alerted,"
    " digested_at"
)

ADD = _sql(
    """INSERT INTO schedules (kind, state, text, spoken, rule, zone, account, platform, chat, chat_kind,
    topic, conversation_id, made_in, maker, person, made_at, next_at) VALUES (:kind, :state, :text, :spoken,
    :rule, :zone, :account, :platform, :chat, :chat_kind, :topic, :conversation, :made_in, :maker, :person,
    :now, :next_at) RETURNING id"""
)
GET = _sql(f"SELECT {COLUMNS} FROM schedules WHERE id = :id")
LISTED = _sql(
    f"SELECT {COLUMNS} FROM schedules WHERE id < :before AND state <> 'draft' ORDER BY id DESC LIMIT :limit"
)
LISTED_OF = _sql(
    f"""SELECT {COLUMNS} FROM schedules WHERE person = :person AND id < :before AND state <> 'draft'
    ORDER BY id DESC LIMIT :limit"""
)
OF_CHAT = _sql(
    f"""SELECT {COLUMNS} FROM schedules WHERE account = :account AND chat = :chat AND state <> 'draft'
    ORDER BY id"""
)
COUNT_IN_CHAT = _sql(
    """SELECT COUNT(*) FROM schedules WHERE account = :account AND chat = :chat
    AND state IN ('active', 'paused')"""
)
CHANGE = _sql(
    """UPDATE schedules SET state = :state, text = :text, spoken = :spoken, rule = :rule, zone = :zone,
    next_at = :next_at, failures = 0, alerted = 0 WHERE id = :id AND state = :before RETURNING id"""
)
DELETE_FIRINGS = _sql("DELETE FROM firings WHERE schedule_id = :id")
DELETE = _sql("DELETE FROM schedules WHERE id = :id RETURNING id")
FORGET_DRAFTS = _sql("DELETE FROM schedules WHERE state = 'draft' AND made_at < :before")
FORGET_FIRINGS = _sql("DELETE FROM firings WHERE at < :before AND judged = 1 AND retry_at = 0")

DUE = _sql(
    f"""SELECT {COLUMNS} FROM schedules WHERE state = 'active' AND next_at <= :now
    ORDER BY next_at, id LIMIT :limit"""
)
NEXT_DUE = _sql("SELECT MIN(next_at) FROM schedules WHERE state = 'active'")
ADVANCE = _sql(
    """UPDATE schedules SET next_at = :following, state = :state WHERE id = :id AND state = 'active'
    AND next_at = :next_at RETURNING id"""
)
ADD_FIRING = _sql(
    """INSERT INTO firings (schedule_id, due_at, at, attempt, missed) VALUES (:schedule, :due, :now, 1,
    :missed) ON CONFLICT (schedule_id, due_at) DO NOTHING RETURNING id"""
)
SKIP_FIRING = _sql("UPDATE firings SET skipped = :reason, judged = 1, turn_id = :turn WHERE id = :id")
SET_FIRING_TURN = _sql("UPDATE firings SET turn_id = :turn WHERE id = :id")
STILL_OPEN = _sql(
    f"""SELECT 1 FROM firings f JOIN turns t ON t.id = f.turn_id WHERE f.schedule_id = :schedule
    AND f.judged = 0 AND t.state IN {OPEN}"""
)
DELIVERED = (
    "(SELECT COUNT(*) FROM parts p WHERE p.turn_id = t.id AND p.state = 'final' AND p.platform_id <> '')"
)
LOST = (
    "(SELECT COUNT(*) FROM parts p WHERE p.turn_id = t.id AND p.state = 'undelivered' AND p.category <> '')"
)
# What has been sent, or may have been: a post of unknown outcome is repeated once before it is given up.
SENT = (
    "(SELECT COUNT(*) FROM parts p WHERE p.turn_id = t.id AND (p.platform_id <> '' OR p.repeated = 1"
    " OR p.state = 'final'))"
)
WHY = "(SELECT MIN(p.category) FROM parts p WHERE p.turn_id = t.id AND p.category <> '')"
CLOSED = _sql(
    f"""SELECT f.id, f.schedule_id, f.attempt, t.state, t.error, {DELIVERED} AS delivered, {LOST} AS lost,
    {SENT} AS sent, {WHY} AS category FROM firings f JOIN turns t ON t.id = f.turn_id
    WHERE f.judged = 0 AND f.turn_id > 0 AND t.state NOT IN {OPEN} ORDER BY f.id LIMIT :limit"""
)
ANY_OPEN = _sql("SELECT 1 FROM firings WHERE judged = 0 AND turn_id > 0 LIMIT 1")
JUDGE = _sql(
    """UPDATE firings SET judged = 1, retry_at = :retry_at WHERE id = :id AND judged = 0
    AND attempt = :attempt RETURNING id"""
)
SUCCEEDED = _sql("UPDATE schedules SET failures = 0, alerted = 0 WHERE id = :id")
# Firings and their turns may be forgotten before the next digest asks how far the last one came. One that was
# tried again has read what was said until then.
DIGESTED = _sql(
    """UPDATE schedules SET digested_at = (
    SELECT CASE WHEN t.id IS NULL THEN f.at ELSE t.created_at END FROM firings f
    LEFT JOIN turns t ON t.id = f.turn_id AND f.turn_id > 0 WHERE f.id = :firing)
    WHERE kind = 'digest' AND id = (SELECT f.schedule_id FROM firings f WHERE f.id = :firing)"""
)
FAILED = _sql("UPDATE schedules SET failures = failures + 1 WHERE id = :id RETURNING failures, alerted")
ALERTED = _sql("UPDATE schedules SET alerted = 1 WHERE id = :id")
RETRIES_DUE = _sql(
    """SELECT id, schedule_id, due_at, attempt, retry_at FROM firings WHERE retry_at > 0 AND retry_at <= :now
    ORDER BY retry_at LIMIT :limit"""
)
NEXT_RETRY = _sql("SELECT MIN(retry_at) FROM firings WHERE retry_at > 0")
TAKE_RETRY = _sql(
    """UPDATE firings SET retry_at = 0, judged = 0, attempt = attempt + 1 WHERE id = :id
    AND retry_at = :retry_at RETURNING attempt"""
)
DROP_RETRY = _sql("UPDATE firings SET retry_at = 0 WHERE id = :id AND retry_at = :retry_at RETURNING id")
FIRING_COLUMNS = (
    "f.id, f.schedule_id, f.due_at, f.at, f.attempt, f.missed, f.skipped, f.retry_at, f.turn_id, t.state,"
    f" t.error, {DELIVERED} AS delivered, {LOST} AS lost, {WHY} AS category"
)
FIRINGS = _sql(
    f"""SELECT {FIRING_COLUMNS} FROM firings f LEFT JOIN turns t ON t.id = f.turn_id AND f.turn_id > 0
    WHERE f.schedule_id = :schedule AND f.id < :before ORDER BY f.id DESC LIMIT :limit"""
)
FIRINGS_BETWEEN = _sql(
    f"""SELECT {FIRING_COLUMNS} FROM firings f LEFT JOIN turns t ON t.id = f.turn_id AND f.turn_id > 0
    WHERE f.due_at >= :begin AND f.due_at < :end ORDER BY f.due_at, f.id LIMIT :limit"""
)
FIRINGS_BETWEEN_OF = _sql(
    f"""SELECT {FIRING_COLUMNS} FROM firings f LEFT JOIN turns t ON t.id = f.turn_id AND f.turn_id > 0
    WHERE f.due_at >= :begin AND f.due_at < :end AND f.schedule_id IN (SELECT id FROM schedules
    WHERE person = :person) ORDER BY f.due_at, f.id LIMIT :limit"""
)
PRIVATE_CHAT_OF = _sql(
    """SELECT c.id, c.platform, c.account, c.chat, c.chat_kind FROM turns t
    JOIN conversations c ON c.id = t.conversation_id WHERE t.person = :person AND t.total_tokens > 0
    AND c.account = :account AND c.chat_kind = 'private' ORDER BY t.created_at DESC LIMIT 1"""
)
# Whatever comes next answers an open question, and a scheduled turn must not.
QUIET_THREAD = _sql(
    f"""SELECT thread_id FROM conversations WHERE id = :id AND question = '' AND NOT EXISTS (SELECT 1
    FROM turns t WHERE t.conversation_id = conversations.id AND t.kind = 'chat' AND t.state IN {OPEN})"""
)
# In a conversation of its own nobody answers a question that has been open for long.
IDLE_THREAD = _sql(
    f"""SELECT thread_id FROM conversations WHERE id = :id AND (question = '' OR asked_at < :before)
    AND NOT EXISTS (SELECT 1 FROM turns t WHERE t.conversation_id = conversations.id AND t.kind = 'chat'
    AND t.state IN {OPEN})"""
)
LAST_ADDRESS = _sql("SELECT address FROM turns WHERE conversation_id = :id ORDER BY id DESC LIMIT 1")

CHAT = _sql("SELECT zone FROM chats WHERE account = :account AND chat = :chat")
SET_ZONE = _sql(
    """INSERT INTO chats (account, chat, zone) VALUES (:account, :chat, :zone)
    ON CONFLICT (account, chat) DO UPDATE SET zone = excluded.zone"""
)
CHAT_KIND = _sql("SELECT chat_kind FROM conversations WHERE account = :account AND chat = :chat LIMIT 1")
