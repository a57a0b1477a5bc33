"""The statements of people at the page, by name."""

from bot.store.statements import _sql

OFFER = _sql(
    """INSERT INTO page_codes (person, account, hash, sender, chat, expires_at) VALUES (:person, :account,
    :hash, :sender, :chat, :expires_at) ON CONFLICT (person, account) DO UPDATE SET hash = excluded.hash,
    sender = excluded.sender, chat = excluded.chat, expires_at = excluded.expires_at"""
)
TAKE_CODE = _sql(
    "DELETE FROM page_codes WHERE hash = :hash AND expires_at > :now RETURNING person, account, sender, chat"
)
EXPIRE_CODES = _sql("DELETE FROM page_codes WHERE expires_at <= :now")
OPEN_SESSION = _sql(
    """INSERT INTO page_sessions (hash, person, sender, expires_at)
    VALUES (:hash, :person, :sender, :expires_at)"""
)
SESSION = _sql("SELECT sender FROM page_sessions WHERE hash = :hash AND expires_at > :now")
END_SESSION = _sql("DELETE FROM page_sessions WHERE hash = :hash")
EXPIRE_SESSIONS = _sql("DELETE FROM page_sessions WHERE expires_at <= :now")
FORGET_PERSON = [
    _sql("DELETE FROM page_codes WHERE person = :person"),
    _sql("DELETE FROM page_sessions WHERE person = :person"),
]

# Whose a thread is: that of a conversation now, and those that it had

OWNED_NOW = _sql(
    "SELECT account, platform FROM conversations WHERE owner IN :owners AND thread_id = :thread", "owners"
)
OWNED_BEFORE = _sql(
    """SELECT c.account, c.platform FROM conversations c WHERE c.owner IN :owners AND EXISTS (SELECT 1
    FROM turns t WHERE t.conversation_id = c.id AND t.thread_id = :thread)""",
    "owners",
)
OWNER_OF_CHAT = _sql(
    """SELECT owner FROM conversations WHERE account = :account AND chat = :chat AND owner <> ''
    ORDER BY id LIMIT 1"""
)
