"""The statements of forgetting, by name."""

from bot.store.statements import OPEN, _sql

# Texts that are too old

MARK = _sql("SELECT turn_id FROM forgotten WHERE account = :account")
SET_MARK = _sql(
    """INSERT INTO forgotten (account, turn_id) VALUES (:account, :turn)
    ON CONFLICT (account) DO UPDATE SET turn_id = excluded.turn_id"""
)
NEWEST_TURN = _sql("SELECT COALESCE(MAX(id), 0) FROM turns")
TURNS_AFTER = _sql(
    """SELECT t.id, t.state, t.created_at, t.conversation_id FROM turns t
    JOIN conversations c ON c.id = t.conversation_id
    WHERE t.id > :after AND t.id <= :upto AND c.account = :account ORDER BY t.id"""
)
DELETE_TEXTS = [
    _sql("DELETE FROM parts WHERE turn_id IN :turns", "turns"),
    _sql("DELETE FROM firings WHERE turn_id > 0 AND turn_id IN :turns", "turns"),
    _sql(
        """DELETE FROM changes WHERE inbound_id IN (SELECT id FROM inbound WHERE turn_id > 0
        AND turn_id IN :turns)""",
        "turns",
    ),
    _sql("DELETE FROM inbound WHERE turn_id > 0 AND turn_id IN :turns", "turns"),
    _sql("UPDATE turns SET steps = '' WHERE id IN :turns AND steps <> ''", "turns"),
]
THREADS_BEFORE = _sql(
    f"""SELECT thread_id FROM turns WHERE conversation_id = :conversation AND thread_id <> ''
    GROUP BY thread_id HAVING MAX(created_at) < :before
    AND MAX(CASE WHEN state IN {OPEN} THEN 1 ELSE 0 END) = 0"""
)

# Threads that leave

LEAVE = _sql(
    """INSERT INTO leaving_threads (thread_id, conversation_id, since) VALUES (:thread, :conversation, :now)
    ON CONFLICT (thread_id) DO NOTHING"""
)
UNNAME = _sql(
    f"""UPDATE turns SET thread_id = '' WHERE conversation_id = :conversation AND thread_id = :thread
    AND state NOT IN {OPEN}"""
)
ROTATE = _sql(
    """UPDATE conversations SET thread_id = :new, title = '', question = '', asked_by = 0, askers = '',
    decisions = '' WHERE id = :conversation AND thread_id = :thread"""
)
LEAVING = _sql(
    f"""SELECT thread_id FROM leaving_threads l WHERE NOT EXISTS (SELECT 1 FROM turns t
    WHERE t.conversation_id = l.conversation_id AND t.thread_id = l.thread_id AND t.kind = 'chat'
    AND t.state IN {OPEN}) ORDER BY since LIMIT :limit"""
)
ANY_LEAVING = _sql("SELECT 1 FROM leaving_threads LIMIT 1")
LEFT = _sql("DELETE FROM leaving_threads WHERE thread_id = :thread")

# What is kept about a person: `:prefix` is how the column of their messages begins, `:linked` of those that
# they wrote at the page

ACCOUNTS = "(SELECT account FROM conversations WHERE platform = :platform)"
PAGES = "(SELECT account FROM conversations WHERE platform = 'web')"
THEIRS = (
    f"(i.account IN {ACCOUNTS} AND substr(i.sender, 1, :length) = :prefix"
    f" OR i.account IN {PAGES} AND substr(i.sender, 1, :linked_length) = :linked)"
)
NEWEST_MESSAGE = _sql("SELECT COALESCE(MAX(id), 0) FROM inbound")
MESSAGES = _sql(
    f"""SELECT i.id, i.turn_id, i.text, i.attachments, i.sender, i.sent_at, t.kind, t.state,
    t.steps, t.conversation_id, t.thread_id, c.account, c.chat, c.chat_kind, c.title FROM inbound i
    JOIN turns t ON t.id = i.turn_id
    JOIN conversations c ON c.id = t.conversation_id WHERE i.id > :after AND i.id <= :upto AND i.turn_id > 0
    AND i.deleted = 0 AND {THEIRS} ORDER BY i.id"""
)
OPEN_MESSAGES = _sql(
    f"""SELECT COUNT(*) FROM turns t JOIN inbound i ON i.turn_id = t.id WHERE t.kind = 'chat'
    AND t.state IN {OPEN} AND i.turn_id > 0 AND i.deleted = 0 AND {THEIRS}"""
)
EMPTY = _sql(
    """UPDATE inbound SET text = '', attachments = '', sender = :nobody, message_id = '', deleted = 1
    WHERE id = :id"""
)
OTHERS_IN_TURN = _sql("SELECT 1 FROM inbound WHERE turn_id = :turn AND turn_id > 0 AND deleted = 0 LIMIT 1")
# Turns that answered the same again have no messages of their own.
DELETE_ANSWER = [
    _sql(
        """DELETE FROM parts WHERE turn_id = :turn OR turn_id IN (SELECT id FROM turns
        WHERE conversation_id = :conversation AND repeats = :turn)"""
    ),
    _sql(
        """UPDATE turns SET steps = '' WHERE id = :turn
        OR (conversation_id = :conversation AND repeats = :turn)"""
    ),
]
LEFT_IN_THREAD = _sql(
    """SELECT 1 FROM turns t JOIN inbound i ON i.turn_id = t.id WHERE t.conversation_id = :conversation
    AND t.thread_id = :thread AND t.kind = 'chat' AND i.turn_id > 0 AND i.deleted = 0 LIMIT 1"""
)
RECORDED = _sql(
    f"""SELECT i.id, i.account, i.chat, i.text, i.sent_at, i.link FROM record i WHERE {THEIRS}
    ORDER BY i.id"""
)
DELETE_RECORDED = _sql(f"DELETE FROM record WHERE id IN (SELECT i.id FROM record i WHERE {THEIRS})")
DELETE_PAIRING = _sql("DELETE FROM pairings WHERE person = :person")
DELETE_NOTICES = _sql(f"DELETE FROM notices WHERE person = :id AND account IN {ACCOUNTS}")
DELETE_SPENT = _sql(
    "UPDATE turns SET person = '' WHERE person = :person AND total_tokens > 0 AND created_at < :before"
)
ROLE_OF = _sql(
    """SELECT entry, role, name, given_by, given_at FROM roles WHERE entry = :person
    OR entry IN (SELECT account || CAST(:on_account AS TEXT) FROM conversations WHERE platform = :platform)
    ORDER BY entry"""
)
SCHEDULES_OF = _sql(
    """SELECT id, kind, state, text, spoken, zone, account, chat, made_at FROM schedules
    WHERE person = :person AND state <> 'draft' ORDER BY id"""
)
