"""The statements of budgets, by name."""

from bot.store.statements import _sql

METER = _sql("SELECT value FROM meters WHERE scope = :scope AND start = :start")
COUNT = _sql(
    """INSERT INTO meters (scope, start, value) VALUES (:scope, :start, 1)
    ON CONFLICT (scope, start) DO UPDATE SET value = meters.value + 1"""
)
FORGET = _sql("DELETE FROM meters WHERE start < :before")
SPENT = "SELECT COALESCE(SUM(t.total_tokens), 0) FROM turns t"
COUNTED = "t.total_tokens > 0 AND t.created_at >= :since"
TOKENS_OF_PERSON = _sql(f"{SPENT} WHERE t.person = :person AND {COUNTED}")
TOKENS_OF_CHAT = _sql(
    f"""{SPENT} JOIN conversations c ON c.id = t.conversation_id WHERE {COUNTED} AND c.account = :account
    AND c.chat = :chat"""
)
TOKENS_OF_ACCOUNT = _sql(
    f"{SPENT} JOIN conversations c ON c.id = t.conversation_id WHERE {COUNTED} AND c.account = :account"
)
BUDGETS = _sql("SELECT entry, messages, tokens, given_by, given_at FROM budgets ORDER BY entry")
GIVE = _sql(
    """INSERT INTO budgets (entry, messages, tokens, given_by, given_at) VALUES (:entry, :messages, :tokens,
    :by, :now) ON CONFLICT (entry) DO UPDATE SET messages = excluded.messages, tokens = excluded.tokens,
    given_by = excluded.given_by, given_at = excluded.given_at"""
)
TAKE = _sql("DELETE FROM budgets WHERE entry = :entry")
