"""Every statement of the bot's store, by name. SQLite and PostgreSQL read them alike."""

from bot.domain import Stopped
from bot.store.connection import Statement

OPEN = "('accepted', 'running', 'waiting', 'delivering')"
# What only shows that a question was left is no work.
AT_WORK = f"stopped <> {Stopped.LEFT.value}"
TURN_COLUMNS = (
    "id, conversation_id, kind, state, address, platform, thread_id, attempt, run_id, checkpoint, model,"
    " plan, agent, repeats, stopped, answers, size, ready_at, created_at, error,"
    " (SELECT c.busy FROM conversations c WHERE c.id = conversation_id) AS busy"
)


def _sql(statement: str, *lists: str) -> Statement:
    return Statement(" ".join(statement.split()), lists)


# Accounts

SAVE_CURSOR = _sql(
    "INSERT INTO accounts (account, cursor) VALUES (:account, :cursor)"
    " ON CONFLICT (account) DO UPDATE SET cursor = excluded.cursor"
)
GET_CURSOR = _sql("SELECT cursor FROM accounts WHERE account = :account")
COUNT_UP = _sql(
    "INSERT INTO counters (account, name, value) VALUES (:account, :name, 1)"
    " ON CONFLICT (account, name) DO UPDATE SET value = counters.value + 1"
)
COUNTERS = _sql("SELECT account, name, value FROM counters ORDER BY account, name")

# Accepting

ADD_INBOUND = _sql(
    """INSERT INTO inbound (account, event_id, message_id, sender, text, attachments, group_key, sent_at,
    accepted_at) VALUES (:account, :event_id, :message_id, :sender, :text, :attachments, :group_key, :sent_at,
    :now) ON CONFLICT (account, event_id) DO NOTHING RETURNING id"""
)
KNOWN_EVENT = _sql("SELECT id FROM inbound WHERE account = :account AND event_id = :event_id")
SET_INBOUND_TURN = _sql("UPDATE inbound SET turn_id = :turn WHERE id = :id")
TAKE_CONVERSATION = _sql(
    """INSERT INTO conversations (account, chat, topic, member, platform, chat_kind, thread_id, owner, title,
    created_at, active_at) VALUES (:account, :chat, :topic, :member, :platform, :chat_kind, :thread_id,
    :owner, :title, :now, :now) ON CONFLICT (account, chat, topic, member) DO UPDATE SET active_at =
    excluded.active_at, owner = CASE WHEN conversations.owner = '' THEN excluded.owner ELSE
    conversations.owner END, title = CASE WHEN conversations.title = '' THEN excluded.title ELSE
    conversations.title END RETURNING id, thread_id, topic, member, question, asked_by, askers,
    decisions, remembered, busy"""
)
ROTATE_THREAD = _sql("UPDATE conversations SET thread_id = :thread_id, question = '' WHERE id = :id")
# Clicks that come at the same moment come before or after.
HOLD_AT = _sql(
    """UPDATE conversations SET active_at = active_at WHERE account = :account AND chat = :chat
    AND topic = :topic AND member = :member RETURNING id, question, asked_by, askers, decisions, remembered"""
)
FIND_KNOWN = _sql(
    """SELECT c.id, c.topic, c.member FROM known_messages k JOIN conversations c ON c.id = k.conversation_id
    WHERE k.account = :account AND k.chat = :chat AND k.message_id = :message_id"""
)
ASKED_BY_MESSAGE = _sql(
    """SELECT c.topic, c.member FROM conversations c JOIN parts p ON p.turn_id = c.asked_by
    WHERE c.account = :account AND c.chat = :chat AND c.question <> '' AND p.choices <> ''
    AND p.platform_id = :message_id"""
)
LATEST_IN_CHAT = _sql(
    """SELECT id, topic, member FROM conversations WHERE account = :account AND chat = :chat
    ORDER BY active_at DESC LIMIT 1"""
)
REMEMBER = _sql(
    """INSERT INTO known_messages (account, chat, message_id, conversation_id, seen_at)
    VALUES (:account, :chat, :message_id, :conversation, :now)
    ON CONFLICT (account, chat, message_id) DO NOTHING"""
)
JOIN_TURN = _sql(
    """UPDATE turns SET size = size + 1,
    ready_at = CASE WHEN :ready_at > ready_at THEN :ready_at ELSE ready_at END, address = :address
    WHERE id = (SELECT MAX(w.id) FROM turns w WHERE w.conversation_id = :conversation AND w.kind = 'chat'
    AND w.state = 'accepted' AND w.answers = '') AND state = 'accepted' AND repeats = 0
    AND thread_id = :thread_id AND size < :limit RETURNING id"""
)
QUEUED = _sql(
    """SELECT COALESCE(SUM(size), 0) FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state = 'accepted'"""
)
ADD_TURN = _sql(
    """INSERT INTO turns (conversation_id, kind, state, address, platform, thread_id, model, repeats,
    checkpoint, size, ready_at, created_at) VALUES (:conversation, :kind, :state, :address, :platform,
    :thread_id, :model, :repeats, :checkpoint, :size, :ready_at, :now) RETURNING id"""
)
TELL_ONCE = _sql(
    """INSERT INTO notices (account, person, kind, told_at) VALUES (:account, :person, :kind, :now)
    ON CONFLICT (account, person, kind) DO UPDATE SET told_at = excluded.told_at
    WHERE notices.told_at <= :before RETURNING told_at"""
)
FORGET_KNOWN = [
    _sql("DELETE FROM known_messages WHERE seen_at < :before"),
    _sql("DELETE FROM changes WHERE changed_at < :before"),
]
SET_ADDRESS = _sql("UPDATE turns SET address = :address WHERE id = :id")

# Changes by people

FIND_CHANGED = _sql(
    """SELECT i.id, i.turn_id, i.text, i.changed_at, t.kind, t.state, t.run_id, t.thread_id, t.conversation_id
    FROM inbound i JOIN turns t ON t.id = i.turn_id JOIN conversations c ON c.id = t.conversation_id
    WHERE i.account = :account AND i.message_id = :message_id AND i.turn_id > 0 AND i.deleted = 0
    AND c.chat = :chat ORDER BY i.id DESC LIMIT 1"""
)
ADD_CHANGE = _sql(
    """INSERT INTO changes (account, event_id, inbound_id, conversation_id, thread_id, old_text, new_text,
    deleted, changed_at) VALUES (:account, :event_id, :inbound, :conversation, :thread_id, :old_text,
    :new_text, :deleted, :at) ON CONFLICT (account, event_id) DO NOTHING RETURNING id"""
)
SETTLE_CHANGE = _sql("UPDATE changes SET turn_id = -1 WHERE id = :id")
HOLD_TURN = _sql(
    """UPDATE turns SET size = size - :gone WHERE id = :id AND state = 'accepted' AND repeats = 0
    RETURNING size, address"""
)
CHANGE_INBOUND = _sql("UPDATE inbound SET text = :text, changed_at = :at WHERE id = :id")
EMPTY_INBOUND = _sql(
    "UPDATE inbound SET text = '', attachments = '', deleted = 1, changed_at = :at WHERE id = :id"
)
EMPTY_CHANGES = _sql("UPDATE changes SET old_text = '', new_text = '' WHERE inbound_id = :inbound")
LAST_MESSAGE = _sql(
    """SELECT message_id FROM inbound WHERE turn_id = :turn AND turn_id > 0 AND deleted = 0
    ORDER BY id DESC LIMIT 1"""
)
TELL_CHANGES = _sql(
    """UPDATE changes SET turn_id = :turn WHERE conversation_id = :conversation AND turn_id = 0
    RETURNING id"""
)
CHANGES_OF_TURN = _sql(
    """SELECT h.inbound_id, h.old_text, h.new_text, h.deleted, i.sender, i.turn_id AS source
    FROM changes h JOIN inbound i ON i.id = h.inbound_id WHERE h.turn_id = :turn AND h.turn_id > 0
    AND h.thread_id = :thread_id ORDER BY h.id"""
)

# Questions of the agent

ASK = _sql(
    """UPDATE conversations SET question = :question, asked_by = :turn, askers = :askers,
    decisions = :decisions, remembered = :remembered, asked_at = :now
    WHERE id = :conversation AND thread_id = :thread_id RETURNING id"""
)
ASKED_ELSEWHERE = _sql(
    f"""UPDATE conversations SET asked_by = :turn WHERE id = :conversation AND question = '' AND NOT EXISTS
    (SELECT 1 FROM turns t WHERE t.conversation_id = :conversation AND t.answers = :question
    AND t.stopped = {Stopped.LEFT.value}) RETURNING id"""
)
ASKERS = _sql("SELECT askers, asked_by, question FROM conversations WHERE id = :id")
# The id of a message that was only just posted may not be recorded when somebody presses its button; an
# older question has its id.
ASKED_WITH = _sql(
    """SELECT 1 FROM parts WHERE turn_id = :turn AND choices <> '' AND (platform_id = :message_id
    OR (platform_id = '' AND NOT EXISTS (SELECT 1 FROM parts o JOIN turns t ON t.id = o.turn_id
    WHERE t.conversation_id = (SELECT a.conversation_id FROM turns a WHERE a.id = :turn)
    AND o.platform_id = :message_id)))"""
)
APPROVALS_WITH = _sql(
    """SELECT c.question, c.askers, c.decisions, c.remembered FROM conversations c
    JOIN parts p ON p.turn_id = c.asked_by
    WHERE c.account = :account AND c.chat = :chat AND c.question <> '' AND c.decisions <> ''
    AND p.choices <> '' AND (p.platform_id = :message_id OR p.platform_id = '')"""
)
CLOSE_QUESTION = _sql("UPDATE conversations SET question = '' WHERE id = :id")
QUESTION_OF = _sql(
    """SELECT id, thread_id, platform, question, asked_by, decisions FROM conversations
    WHERE id = :id AND question <> '' AND EXISTS (SELECT 1 FROM turns t WHERE t.id = asked_by)"""
)
APPROVALS_IN = _sql(
    """SELECT id, thread_id, question, asked_by, askers, decisions, remembered FROM conversations
    WHERE account = :account AND chat = :chat AND question <> '' AND decisions <> ''"""
)
APPROVAL_OF = _sql(
    """SELECT id, thread_id, platform, question, asked_by FROM conversations
    WHERE id = :id AND question <> '' AND decisions <> ''"""
)
APPROVALS_BEFORE = _sql(
    """SELECT id, thread_id, platform, question, asked_by FROM conversations
    WHERE question <> '' AND decisions <> '' AND asked_at < :before"""
)
ADDRESS_OF = _sql("SELECT address FROM turns WHERE id = :id")
MAKE_DECISION = _sql(
    """UPDATE turns SET kind = 'chat', conversation_id = :conversation, thread_id = :thread_id,
    address = :address, answers = :answers WHERE id = :id AND kind = 'command' AND state = 'accepted'"""
)
SET_ANSWERS = _sql("UPDATE turns SET answers = :answers WHERE id = :id")
COPY_ANSWERS = _sql(
    "UPDATE turns SET answers = (SELECT answers FROM turns WHERE id = :source) WHERE id = :id"
)

# Turns

# What was begun is ended first; then an answer goes before what waits for it.
NEXT_TURN = _sql(
    f"""SELECT {TURN_COLUMNS} FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN {OPEN} ORDER BY CASE WHEN state <> 'accepted' THEN 0 WHEN answers <> '' THEN 1 ELSE 2 END,
    id LIMIT 1"""
)
# A question can be read as soon as its post is on its way; the receipt may come later than an answer.
QUESTION_STANDS = _sql(
    f"""SELECT 1 FROM turns t WHERE t.id = :id AND (t.state NOT IN {OPEN} OR (t.state = 'delivering' AND
    (SELECT p.state FROM parts p WHERE p.turn_id = t.id AND p.kind = 'text' AND p.content <> ''
    ORDER BY p.position DESC LIMIT 1) IN ('intended', 'final')))"""
)
START_TURN = _sql(
    """UPDATE turns SET state = 'running', model = :model, plan = :plan, agent = :agent,
    answers = :answers WHERE id = :id AND state = 'accepted' RETURNING size"""
)
CONVERSATION_NOW = _sql(
    "SELECT model, plan, agent, question, askers, decisions, remembered, thread_id FROM conversations"
    " WHERE id = :id"
)
GET_TURN = _sql(f"SELECT {TURN_COLUMNS} FROM turns WHERE id = :id")
TURN_MESSAGES = _sql(
    """SELECT id, event_id, message_id, sender, text, attachments, sent_at, deleted FROM inbound
    WHERE turn_id = :turn AND turn_id > 0 ORDER BY id"""
)
TURN_PARTS = _sql(
    """SELECT position, kind, state, content, filename, platform_id, repeated, choices FROM parts
    WHERE turn_id = :turn ORDER BY position"""
)
OPEN_LANES = _sql(
    f"SELECT DISTINCT conversation_id FROM turns WHERE kind = 'chat' AND state IN {OPEN} ORDER BY 1"
)
OPEN_CONTROL = _sql(
    f"SELECT id FROM turns WHERE kind <> 'chat' AND state IN {OPEN} ORDER BY conversation_id, id"
)
SET_RUN = _sql("UPDATE turns SET run_id = :run_id, attempt = :attempt WHERE id = :id")
SET_STATE = _sql("UPDATE turns SET state = :state, error = :error, finished_at = :finished_at WHERE id = :id")
SAVE_PART = _sql(
    """INSERT INTO parts (turn_id, position, kind, state, content, filename, platform_id, repeated, category,
    choices, updated_at) VALUES (:turn, :position, :kind, :state, :content, :filename, :platform_id,
    :repeated, :category, :choices, :now) ON CONFLICT (turn_id, position) DO UPDATE SET
    kind = excluded.kind, state = excluded.state, content = excluded.content, filename = excluded.filename,
    platform_id = excluded.platform_id, repeated = excluded.repeated, category = excluded.category, choices =
    excluded.choices, updated_at = excluded.updated_at"""
)
DROP_PARTS = _sql("DELETE FROM parts WHERE turn_id = :turn AND (position >= :count OR content = '')")
MAKE_CHAT_TURN = _sql(
    "UPDATE turns SET kind = 'chat' WHERE id = :id AND kind = 'command' AND state = 'accepted'"
)
STOP_RUNNING = _sql(
    f"""UPDATE turns SET stopped = :why WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN ('running', 'waiting') AND {AT_WORK} RETURNING id"""
)
STOP_TURN = _sql("UPDATE turns SET stopped = :why WHERE id = :id")
IS_RUNNING = _sql(
    f"""SELECT id FROM turns WHERE conversation_id = :conversation AND kind = 'chat'
    AND state IN ('running', 'waiting') AND {AT_WORK}"""
)
ANY_OPEN = _sql(
    f"SELECT 1 FROM turns WHERE conversation_id = :conversation AND kind = 'chat' AND state IN {OPEN} LIMIT 1"
)
SET_MODEL = _sql("UPDATE conversations SET model = :model WHERE id = :id")
SET_BUSY = _sql("UPDATE conversations SET busy = :busy WHERE id = :id")
SET_PLAN = _sql("UPDATE conversations SET plan = :plan WHERE id = :id")
SET_AGENT = _sql("UPDATE conversations SET agent = :agent WHERE id = :id")
SET_TITLE = _sql("UPDATE conversations SET title = :title WHERE id = :id")
LAST_ANSWERED = _sql(
    """SELECT id, thread_id, run_id, repeats, size FROM turns WHERE conversation_id = :conversation
    AND kind = 'chat' AND state IN ('done', 'failed', 'cancelled')
    AND thread_id = (SELECT thread_id FROM conversations WHERE id = :conversation) AND EXISTS (SELECT 1
    FROM inbound i WHERE i.turn_id = CASE WHEN repeats > 0 THEN repeats ELSE turns.id END AND i.turn_id > 0
    AND i.deleted = 0) ORDER BY id DESC LIMIT 1"""
)
SET_STEPS = _sql("UPDATE turns SET steps = :steps WHERE id = :id")
SET_SPENT = _sql(
    """UPDATE turns SET person = :person, input_tokens = :input, output_tokens = :output,
    total_tokens = :total WHERE id = :id"""
)
RETRY_WAITS = _sql(
    """SELECT 1 FROM turns WHERE conversation_id = :conversation AND kind = 'chat' AND state = 'accepted'
    AND repeats < 0 LIMIT 1"""
)
BEGIN_RETRY = _sql(
    """UPDATE turns SET repeats = :repeats, thread_id = :thread_id, checkpoint = :checkpoint WHERE id = :id
    AND state = 'accepted' AND repeats < 0 AND thread_id = (SELECT c.thread_id FROM conversations c
    WHERE c.id = turns.conversation_id) RETURNING conversation_id"""
)
MARK_REPLACED = _sql("UPDATE turns SET replaced = 1 WHERE id = :id")
# A firing that somebody has had answered again is not tried again by itself.
SETTLE_FIRING = _sql(
    """UPDATE firings SET judged = 1, retry_at = 0 WHERE turn_id = :turn AND turn_id > 0 AND EXISTS (SELECT 1
    FROM turns t WHERE t.id = :turn AND t.state = 'failed')"""
)
# Messages that are accepted there at the same moment come before or after.
HOLD_CONVERSATION = _sql("UPDATE conversations SET active_at = active_at WHERE id = :conversation")

# Views

CONVERSATION_VIEW = (
    "id, account, chat, topic, member, platform, chat_kind, thread_id, owner, model, plan, agent, busy,"
    " title, created_at, active_at"
)
CONVERSATION = _sql(f"SELECT {CONVERSATION_VIEW} FROM conversations WHERE id = :id")
LANE_STATE = _sql(
    f"""SELECT id, state, run_id, size, created_at FROM turns WHERE conversation_id = :conversation
    AND kind = 'chat' AND state IN {OPEN} AND {AT_WORK} AND id < :before ORDER BY id"""
)
CONVERSATIONS_OF = _sql(
    f"""SELECT {CONVERSATION_VIEW} FROM conversations WHERE account = :account AND id < :before
    ORDER BY id DESC LIMIT :limit"""
)
CONVERSATIONS_OWNED = _sql(
    f"""SELECT {CONVERSATION_VIEW} FROM conversations WHERE owner IN :owners AND account = :account
    AND id < :before ORDER BY id DESC LIMIT :limit""",
    "owners",
)
TURN_VIEW = (
    "id, conversation_id, kind, state, thread_id, run_id, repeats, replaced, stopped, error, created_at,"
    " finished_at, person, input_tokens, output_tokens, total_tokens, steps,"
    " EXISTS (SELECT 1 FROM conversations c WHERE c.id = conversation_id AND c.asked_by = turns.id"
    " AND c.question <> '') AS asks"
)
TURNS_OF = _sql(
    f"""SELECT {TURN_VIEW} FROM turns WHERE conversation_id = :conversation AND id < :before
    ORDER BY id DESC LIMIT :limit"""
)
TURNS_OWNED = _sql(
    f"""SELECT {TURN_VIEW} FROM turns WHERE conversation_id IN (SELECT id FROM conversations
    WHERE owner = :owner AND (account = :account OR platform = 'web')) AND id < :before
    ORDER BY id DESC LIMIT :limit"""
)
TURNS = _sql(f"SELECT {TURN_VIEW} FROM turns WHERE id < :before ORDER BY id DESC LIMIT :limit")
MESSAGES_OF_TURNS = _sql(
    """SELECT turn_id, id, event_id, message_id, sender, text, attachments, sent_at, deleted FROM inbound
    WHERE turn_id IN :turns AND turn_id > 0 ORDER BY id""",
    "turns",
)
PARTS_OF_TURNS = _sql(
    """SELECT turn_id, position, kind, state, content, filename, platform_id, repeated, choices FROM parts
    WHERE turn_id IN :turns ORDER BY turn_id, position""",
    "turns",
)
OPEN_COUNTS = _sql(f"SELECT kind, state, COUNT(*) FROM turns WHERE state IN {OPEN} GROUP BY kind, state")

# Tokens: sums over turns that cost some, by when they were accepted

SPENDING = (
    "COUNT(*) AS turns, COALESCE(SUM(input_tokens), 0) AS input, COALESCE(SUM(output_tokens), 0) AS output,"
    " COALESCE(SUM(total_tokens), 0) AS total"
)
SPENT = "total_tokens > 0 AND created_at >= :since"
SPENT_BY_ALL = _sql(f"SELECT {SPENDING} FROM turns WHERE {SPENT}")
SPENT_BY_PERSON = _sql(f"SELECT {SPENDING} FROM turns WHERE person = :person AND {SPENT}")
SPENT_IN_CONVERSATION = _sql(
    f"SELECT {SPENDING} FROM turns WHERE conversation_id = :conversation AND {SPENT}"
)
# Whole seconds are divided, which both databases do alike.
DAYS = _sql(
    f"""SELECT CAST(created_at + :ahead AS BIGINT) / 86400 AS day, {SPENDING} FROM turns WHERE {SPENT}
    GROUP BY 1 ORDER BY 1"""
)
DAYS_OF_PERSON = _sql(
    f"""SELECT CAST(created_at + :ahead AS BIGINT) / 86400 AS day, {SPENDING} FROM turns
    WHERE person = :person AND {SPENT} GROUP BY 1 ORDER BY 1"""
)
# People as an expression: SQLite would go through the history of all of them in their order, not by the time.
SPENDERS = _sql(
    f"""SELECT person || '' AS who, {SPENDING} FROM turns WHERE {SPENT} AND person || '' > :after GROUP BY 1
    ORDER BY 1 LIMIT :limit"""
)
TOP_SPENDERS = _sql(
    f"""SELECT person || '' AS who, {SPENDING} FROM turns WHERE {SPENT} AND person <> '' GROUP BY 1
    ORDER BY total DESC, 1 LIMIT :limit"""
)
LAST_SPENT = _sql(
    """SELECT person, input_tokens, output_tokens, total_tokens FROM turns
    WHERE conversation_id = :conversation AND total_tokens > 0 ORDER BY id DESC LIMIT 1"""
)
# Somebody's name as it was with the newest message of theirs that cost tokens.
SPENDER_NAME = _sql(
    """SELECT i.sender FROM turns t JOIN inbound i ON i.turn_id = t.id WHERE i.turn_id > 0
    AND t.person = :person AND t.total_tokens > 0 ORDER BY t.created_at DESC, i.id DESC LIMIT 1"""
)

# Threads

THREADS_OF = _sql(
    """SELECT thread_id, MIN(id) AS begun, MAX(created_at) AS used_at FROM turns
    WHERE conversation_id = :conversation AND kind = 'chat' AND thread_id <> ''
    GROUP BY thread_id ORDER BY begun"""
)
THREAD_AT = _sql(
    """SELECT thread_id, MIN(id) AS begun FROM turns
    WHERE conversation_id = :conversation AND kind = 'chat' AND thread_id <> ''
    GROUP BY thread_id ORDER BY begun LIMIT 1 OFFSET :skipped"""
)
FIRST_TEXT = _sql("SELECT text FROM inbound WHERE turn_id = :turn AND turn_id > 0 ORDER BY id LIMIT 1")
SET_TITLE = _sql("UPDATE conversations SET title = :title WHERE id = :id")
AUDIENCES = _sql(
    """SELECT c.id, c.account, c.platform, c.chat, c.chat_kind, (SELECT i.sender FROM inbound i
    JOIN turns t ON t.id = i.turn_id WHERE t.conversation_id = c.id AND t.kind = 'chat' AND i.turn_id > 0
    ORDER BY i.id DESC LIMIT 1) AS sender
    FROM conversations c WHERE c.active_at > :since ORDER BY c.active_at DESC"""
)

# People

GIVEN = _sql("SELECT entry, role, name, given_by, given_at FROM roles ORDER BY entry")
GIVE = _sql(
    """INSERT INTO roles (entry, role, name, given_by, given_at) VALUES (:entry, :role, :name, :by, :now)
    ON CONFLICT (entry) DO UPDATE SET role = excluded.role, given_by = excluded.given_by,
    given_at = excluded.given_at,
    name = CASE WHEN excluded.name = '' THEN roles.name ELSE excluded.name END"""
)
TAKE = _sql("DELETE FROM roles WHERE entry = :entry RETURNING role")
EXPIRE_WAITING = _sql("DELETE FROM pairings WHERE expires_at <= :now")
ALL_WAITING = _sql("SELECT code, account, person FROM pairings")
FORGET_WAITING = _sql("DELETE FROM pairings WHERE code = :code")
WAITING_OF = _sql("SELECT code FROM pairings WHERE account = :account AND person = :person")
COUNT_WAITING = _sql("SELECT COUNT(*) FROM pairings WHERE account = :account")
ADD_WAITING = _sql(
    """INSERT INTO pairings (code, account, person, name, expires_at)
    VALUES (:code, :account, :person, :name, :expires_at)"""
)
ANSWER_WAITING = _sql(
    "UPDATE pairings SET conversation_id = :conversation, address = :address WHERE code = :code"
)
WAITING = _sql(
    "SELECT code, account, person, name, expires_at FROM pairings WHERE expires_at > :now ORDER BY expires_at"
)
END_WAITING = _sql(
    """DELETE FROM pairings WHERE code = :code AND expires_at > :now
    RETURNING account, person, name, conversation_id, address"""
)

# Audit

ADD_AUDIT = _sql(
    """INSERT INTO audit (key, at, person, name, account, chat, action, subject, detail)
    VALUES (:key, :at, :person, :name, :account, :chat, :action, :subject, :detail)
    ON CONFLICT (key) DO NOTHING"""
)
KNOWN_DEED = _sql("SELECT id FROM audit WHERE key = :key")
AUDIT = _sql("SELECT * FROM audit WHERE id < :before ORDER BY id DESC LIMIT :limit")
AUDIT_OF_PERSON = _sql(
    """SELECT * FROM audit WHERE id < :before AND (person = :person OR subject = :person
    OR subject IN (SELECT account || CAST(:on_account AS TEXT) FROM conversations WHERE platform = :platform))
    ORDER BY id DESC LIMIT :limit"""
)
COUNT_DEEDS = _sql("SELECT COUNT(*) FROM audit WHERE person = :person AND action = :action AND at > :since")
FORGET_AUDIT = _sql("DELETE FROM audit WHERE at < :before")
