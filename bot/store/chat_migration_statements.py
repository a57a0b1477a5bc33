"""The statements by which everything that names a chat follows it to its new id, by name."""

from bot.store.statements import OPEN, _sql

PLATFORM = _sql("SELECT platform FROM conversations WHERE account = :account AND platform <> '' LIMIT 1")
OPEN_ADDRESSES = _sql(
    f"""SELECT t.id, t.address FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE c.account = :account AND c.chat = :chat
    AND (t.state IN {OPEN} OR (c.question <> '' AND t.id = c.asked_by))"""
)
# Messages are counted anew in the new chat: what was named after one of the old must not be taken for one of
# the new. A chat that moves has no topics but reply chains.
MOVE_CHAT = [
    _sql(
        """UPDATE inbound SET message_id = '' WHERE turn_id > 0 AND turn_id IN (SELECT t.id FROM turns t
        JOIN conversations c ON c.id = t.conversation_id WHERE c.account = :account AND c.chat = :old)"""
    ),
    _sql(
        """UPDATE conversations SET chat = :new,
        topic = CASE WHEN topic = '' THEN '' ELSE :old || ':' || topic END
        WHERE account = :account AND chat = :old AND NOT EXISTS (
        SELECT 1 FROM conversations n WHERE n.account = :account AND n.chat = :new AND n.topic = ''
        AND conversations.topic = '' AND n.member = conversations.member)"""
    ),
    _sql("DELETE FROM known_messages WHERE account = :account AND chat = :old"),
    _sql("UPDATE schedules SET chat = :new WHERE account = :account AND chat = :old"),
    _sql(
        "UPDATE record SET chat = :new, message_id = :old || ':' || message_id WHERE account = :account"
        " AND chat = :old"
    ),
]

# What was set for the chat: where the new one has settings of its own they count

_OLD = "FROM chats o WHERE o.account = :account AND o.chat = :old"
MOVE_SETTINGS = [
    _sql(
        """UPDATE chats SET chat = :new WHERE account = :account AND chat = :old AND NOT EXISTS (
        SELECT 1 FROM chats n WHERE n.account = :account AND n.chat = :new)"""
    ),
    _sql(
        f"""UPDATE chats SET zone = CASE WHEN zone = '' THEN (SELECT o.zone {_OLD}) ELSE zone END,
        recorded_since = CASE WHEN record_days = 0 THEN (SELECT o.recorded_since {_OLD})
        ELSE recorded_since END,
        record_days = CASE WHEN record_days = 0 THEN (SELECT o.record_days {_OLD}) ELSE record_days END
        WHERE account = :account AND chat = :new AND EXISTS (SELECT 1 {_OLD})"""
    ),
    _sql("DELETE FROM chats WHERE account = :account AND chat = :old"),
]

# A conversation of the old chat stays where the new chat has had one before; what hangs on it goes along

TWINS = _sql(
    """SELECT o.id AS old_id, n.id AS new_id FROM conversations o JOIN conversations n
    ON n.account = o.account AND n.chat = :new AND n.topic = '' AND n.member = o.member
    WHERE o.account = :account AND o.chat = :old AND o.topic = ''"""
)
MOVE_TWIN = [
    _sql("UPDATE schedules SET conversation_id = :new WHERE conversation_id = :old"),
    _sql("UPDATE schedules SET made_in = :new WHERE made_in = :old"),
    _sql(
        """UPDATE permissions SET conversation_id = :new WHERE conversation_id = :old AND NOT EXISTS (
        SELECT 1 FROM permissions p WHERE p.account = permissions.account AND p.conversation_id = :new
        AND p.tool = permissions.tool)"""
    ),
]

# What people gave by an access entry (`account:chat` or `platform:chat`); who is shut out stays so

MOVE_ENTRY = [
    _sql(
        """UPDATE roles SET role = 'blocked' WHERE entry = :new AND EXISTS (
        SELECT 1 FROM roles o WHERE o.entry = :old AND o.role = 'blocked')"""
    ),
    _sql(
        """UPDATE roles SET entry = :new WHERE entry = :old AND NOT EXISTS (
        SELECT 1 FROM roles n WHERE n.entry = :new)"""
    ),
    _sql("DELETE FROM roles WHERE entry = :old"),
    _sql(
        """UPDATE budgets SET entry = :new WHERE entry = :old AND NOT EXISTS (
        SELECT 1 FROM budgets n WHERE n.entry = :new)"""
    ),
    _sql("DELETE FROM budgets WHERE entry = :old"),
]
MOVE_METERS = [
    _sql(
        """INSERT INTO meters (scope, start, value) SELECT CAST(:new AS TEXT), start, value FROM meters
        WHERE scope = :old ON CONFLICT (scope, start) DO UPDATE SET value = meters.value + excluded.value"""
    ),
    _sql("DELETE FROM meters WHERE scope = :old"),
]
