"""The statements of permissions, by name."""

from bot.store.statements import _sql

COLUMNS = "id, account, conversation_id, tool, person, name, given_at"
PERMIT = _sql(
    """INSERT INTO permissions (account, conversation_id, tool, person, name, given_at)
    VALUES (:account, :conversation, :tool, :person, :name, :now)
    ON CONFLICT (account, conversation_id, tool) DO NOTHING"""
)
PERMITTED = _sql(
    f"""SELECT {COLUMNS} FROM permissions WHERE account = :account AND conversation_id IN (0, :conversation)
    ORDER BY id"""
)
ALL = _sql(f"SELECT {COLUMNS} FROM permissions WHERE id < :before ORDER BY id DESC LIMIT :limit")
TAKE = _sql("DELETE FROM permissions WHERE id = :id RETURNING tool")
