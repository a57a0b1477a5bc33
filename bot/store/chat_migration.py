"""Chat migration to a new id, for groups that the platform converts.

History is not rewritten: the audit log and the addresses of closed turns keep the old id.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot.store.app_budget import scope_of_apps
from bot.store.connection import OPEN, Connection, decode_address, encode_address, sql
from bot.store.message_edits import SET_ADDRESS
from bot.store.meters import MOVE_METERS, scope_of_chat
from bot.store.person_data import PersonData

FIND_PLATFORM = sql("SELECT platform FROM conversations WHERE account = :account AND platform <> '' LIMIT 1")
# List the reply addresses of open turns and open interrupts in a chat.
OPEN_ADDRESSES = sql(
    f"""SELECT t.id, t.address FROM turns t JOIN conversations c ON c.id = t.conversation_id
    WHERE c.account = :account AND c.chat = :chat
    AND (t.state IN {OPEN} OR (c.question <> '' AND t.id = c.asked_by))"""
)
# Move messages, conversations, schedules and the record. Message ids start over in the new chat, so ids of
# the old chat must not match there. A chat that moves has reply chains but no topics.
MOVE_CHAT = [
    sql(
        """UPDATE inbound SET message_id = '' WHERE turn_id > 0 AND turn_id IN (SELECT t.id FROM turns t
        JOIN conversations c ON c.id = t.conversation_id WHERE c.account = :account AND c.chat = :old)"""
    ),
    sql(
        """UPDATE conversations SET chat = :new,
        topic = CASE WHEN topic = '' THEN '' ELSE :old || ':' || topic END
        WHERE account = :account AND chat = :old AND NOT EXISTS (
        SELECT 1 FROM conversations n WHERE n.account = :account AND n.chat = :new AND n.topic = ''
        AND conversations.topic = '' AND n.member = conversations.member)"""
    ),
    sql("DELETE FROM known_messages WHERE account = :account AND chat = :old"),
    sql("UPDATE schedules SET chat = :new WHERE account = :account AND chat = :old"),
    sql(
        "UPDATE record SET chat = :new, message_id = :old || ':' || message_id WHERE account = :account"
        " AND chat = :old"
    ),
]
_OLD = "FROM chats o WHERE o.account = :account AND o.chat = :old"
# Move the settings of the chat; settings of the new chat win.
MOVE_SETTINGS = [
    sql(
        """UPDATE chats SET chat = :new WHERE account = :account AND chat = :old AND NOT EXISTS (
        SELECT 1 FROM chats n WHERE n.account = :account AND n.chat = :new)"""
    ),
    sql(
        f"""UPDATE chats SET zone = CASE WHEN zone = '' THEN (SELECT o.zone {_OLD}) ELSE zone END,
        recorded_since = CASE WHEN record_days = 0 THEN (SELECT o.recorded_since {_OLD})
        ELSE recorded_since END,
        record_days = CASE WHEN record_days = 0 THEN (SELECT o.record_days {_OLD}) ELSE record_days END,
        title = CASE WHEN title = '' THEN (SELECT o.title {_OLD}) ELSE title END
        WHERE account = :account AND chat = :new AND EXISTS (SELECT 1 {_OLD})"""
    ),
    sql("DELETE FROM chats WHERE account = :account AND chat = :old"),
]
# List conversations of the old chat that already exist in the new one.
LIST_TWINS = sql(
    """SELECT o.id AS old_id, n.id AS new_id FROM conversations o JOIN conversations n
    ON n.account = o.account AND n.chat = :new AND n.topic = '' AND n.member = o.member
    WHERE o.account = :account AND o.chat = :old AND o.topic = ''"""
)
# Point schedules and tool grants at the conversation of the new chat; the old one stays.
MOVE_TWIN = [
    sql("UPDATE schedules SET conversation_id = :new WHERE conversation_id = :old"),
    sql("UPDATE schedules SET made_in = :new WHERE made_in = :old"),
    sql("UPDATE schedule_proposals SET conversation_id = :new WHERE conversation_id = :old"),
    sql(
        """UPDATE tool_grants SET conversation_id = :new WHERE conversation_id = :old AND NOT EXISTS (
        SELECT 1 FROM tool_grants g WHERE g.account = tool_grants.account AND g.conversation_id = :new
        AND g.tool = tool_grants.tool AND g.person = tool_grants.person)"""
    ),
]
# Move roles, budget and language of an access entry; a blocked entry stays blocked.
MOVE_ENTRY = [
    sql(
        """UPDATE roles SET role = 'blocked' WHERE entry = :new AND EXISTS (
        SELECT 1 FROM roles o WHERE o.entry = :old AND o.role = 'blocked')"""
    ),
    sql(
        """UPDATE roles SET entry = :new WHERE entry = :old AND NOT EXISTS (
        SELECT 1 FROM roles n WHERE n.entry = :new)"""
    ),
    sql("DELETE FROM roles WHERE entry = :old"),
    sql(
        """UPDATE budgets SET entry = :new WHERE entry = :old AND NOT EXISTS (
        SELECT 1 FROM budgets n WHERE n.entry = :new)"""
    ),
    sql("DELETE FROM budgets WHERE entry = :old"),
    sql(
        """UPDATE languages SET entry = :new WHERE entry = :old AND NOT EXISTS (
        SELECT 1 FROM languages n WHERE n.entry = :new)"""
    ),
    sql("DELETE FROM languages WHERE entry = :old"),
]


def migrate_chat(
    connection: Connection, account: str, old: str, new: str, data: Sequence[PersonData] = ()
) -> None:
    """Assign the new id to all data of a chat: conversations, open turns, record, settings, schedules, roles,
    budgets, languages, tool grants and the `data` of features.
    """
    for one in data:
        one.move_chat(connection, account, old, new)
    here = {"account": account, "old": old, "new": new}
    platform = connection.execute(FIND_PLATFORM, {"account": account}).scalar_one_or_none()
    for row in connection.execute(OPEN_ADDRESSES, {"account": account, "chat": old}).all():
        address = replace(decode_address(row.address), chat=new, reply_to="")
        connection.execute(SET_ADDRESS, {"address": encode_address(address), "id": row.id})
    for statement in (*MOVE_CHAT, *MOVE_SETTINGS):
        connection.execute(statement, here)
    for twin in connection.execute(LIST_TWINS, here).all():
        for statement in MOVE_TWIN:
            connection.execute(statement, {"old": twin.old_id, "new": twin.new_id})
    for scope in dict.fromkeys(filter(None, (account, platform))):
        for statement in MOVE_ENTRY:
            connection.execute(statement, {"old": f"{scope}:{old}", "new": f"{scope}:{new}"})
    for scope_of in (scope_of_chat, scope_of_apps):
        meters = {"old": scope_of(account, old), "new": scope_of(account, new)}
        for statement in MOVE_METERS:
            connection.execute(statement, meters)
