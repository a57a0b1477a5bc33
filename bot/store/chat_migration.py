"""A chat gets another id (a Telegram group that becomes a supergroup): all that names it follows.

What has happened stays as it was told: the audit log, and the addresses of turns that are closed.
"""

from __future__ import annotations

from dataclasses import replace

from bot.store import chat_migration_statements as sql
from bot.store.budgets import scope_of_chat
from bot.store.connection import Connection
from bot.store.rows import address_in, address_out
from bot.store.statements import SET_ADDRESS


def migrate_chat(connection: Connection, account: str, old: str, new: str) -> None:
    """Give everything of a chat its new id: conversations and open turns, the record, settings, schedules,
    roles, budgets, and what was permitted there.
    """
    here = {"account": account, "old": old, "new": new}
    platform = connection.execute(sql.PLATFORM, {"account": account}).scalar_one_or_none()
    for row in connection.execute(sql.OPEN_ADDRESSES, {"account": account, "chat": old}).all():
        address = replace(address_in(row.address), chat=new, reply_to="")
        connection.execute(SET_ADDRESS, {"address": address_out(address), "id": row.id})
    for statement in (*sql.MOVE_CHAT, *sql.MOVE_SETTINGS):
        connection.execute(statement, here)
    for twin in connection.execute(sql.TWINS, here).all():
        for statement in sql.MOVE_TWIN:
            connection.execute(statement, {"old": twin.old_id, "new": twin.new_id})
    for scope in dict.fromkeys(filter(None, (account, platform))):
        for statement in sql.MOVE_ENTRY:
            connection.execute(statement, {"old": f"{scope}:{old}", "new": f"{scope}:{new}"})
    meters = {"old": scope_of_chat(account, old), "new": scope_of_chat(account, new)}
    for statement in sql.MOVE_METERS:
        connection.execute(statement, meters)
