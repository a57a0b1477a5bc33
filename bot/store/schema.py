"""The tables of the bot, one schema for SQLite and PostgreSQL.

Times are seconds since the epoch, flags are 0 or 1, JSON is text, "" stands for "none" in keys.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)

metadata = MetaData()

# SQLite gives row ids of its own only to INTEGER keys.
Id = BigInteger().with_variant(Integer, "sqlite")

# A message is stored before it has a turn, and enters the index when it gets one.
HAS_TURN = text("turn_id > 0")
UNTOLD = text("turn_id = 0")
UNDECIDED = text("question <> '' AND decisions <> ''")
SPENT = text("total_tokens > 0")


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False, server_default="")


def _time(name: str) -> Column[float]:
    return Column(name, Float, nullable=False, server_default=text("0"))


def _int(name: str) -> Column[int]:
    return Column(name, Integer, nullable=False, server_default=text("0"))


def _number(name: str) -> Column[int]:
    return Column(name, BigInteger, nullable=False, server_default=text("0"))


accounts = Table("accounts", metadata, Column("account", String, primary_key=True), _text("cursor"))

conversations = Table(
    "conversations",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("account", String, nullable=False),
    Column("chat", String, nullable=False),
    _text("topic"),
    _text("member"),
    _text("platform"),
    _text("chat_kind"),
    _text("thread_id"),
    _text("model"),
    _text("title"),
    _text("question"),
    Column("asked_by", Id, nullable=False, server_default=text("0")),
    _text("askers"),
    _text("decisions"),
    _time("asked_at"),
    _int("plan"),
    _text("agent"),
    _text("busy"),
    _time("created_at"),
    _time("active_at"),
    UniqueConstraint("account", "chat", "topic", "member"),
    Index("conversations_recent", "account", "chat", "active_at"),
    Index("approvals_open", "asked_at", sqlite_where=UNDECIDED, postgresql_where=UNDECIDED),
)

turns = Table(
    "turns",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("conversation_id", Id, ForeignKey("conversations.id"), nullable=False),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False),
    Column("address", Text, nullable=False),
    _text("platform"),
    _text("thread_id"),
    Column("attempt", Integer, nullable=False, server_default=text("1")),
    _text("run_id"),
    _text("checkpoint"),
    _text("model"),
    Column("repeats", Id, nullable=False, server_default=text("0")),
    _int("replaced"),
    _int("stopped"),
    _int("size"),
    _text("answers"),
    _int("plan"),
    _text("agent"),
    _text("error"),
    _time("ready_at"),
    _time("created_at"),
    _time("finished_at"),
    _text("person"),
    _number("input_tokens"),
    _number("output_tokens"),
    _number("total_tokens"),
    Index(
        "turns_open",
        "conversation_id",
        "id",
        sqlite_where=text("state IN ('accepted', 'running', 'waiting', 'delivering')"),
        postgresql_where=text("state IN ('accepted', 'running', 'waiting', 'delivering')"),
    ),
    Index("turns_of_conversation", "conversation_id", "id"),
    Index("turns_of_person", "person", "created_at", sqlite_where=SPENT, postgresql_where=SPENT),
    # Whole, so that a month of everybody's is summed up from it alone.
    Index(
        "turns_spent",
        "created_at",
        "person",
        "input_tokens",
        "output_tokens",
        "total_tokens",
        sqlite_where=SPENT,
        postgresql_where=SPENT,
    ),
)

inbound = Table(
    "inbound",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("account", String, nullable=False),
    Column("event_id", String, nullable=False),
    Column("turn_id", Id, nullable=False, server_default=text("0")),
    _text("message_id"),
    _text("sender"),
    Column("text", Text, nullable=False, server_default=""),
    _text("attachments"),
    _text("group_key"),
    _time("sent_at"),
    _time("accepted_at"),
    _int("deleted"),
    _time("changed_at"),
    UniqueConstraint("account", "event_id"),
    Index("inbound_of_turn", "turn_id", sqlite_where=HAS_TURN, postgresql_where=HAS_TURN),
    Index("inbound_of_message", "account", "message_id", sqlite_where=HAS_TURN, postgresql_where=HAS_TURN),
)

# What people did to messages that were accepted. `turn_id` is the turn that the agent is told with: 0 until
# there is one, -1 where there is nothing to tell.
changes = Table(
    "changes",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("account", String, nullable=False),
    Column("event_id", String, nullable=False),
    Column("inbound_id", Id, nullable=False),
    Column("conversation_id", Id, nullable=False),
    _text("thread_id"),
    Column("old_text", Text, nullable=False, server_default=""),
    Column("new_text", Text, nullable=False, server_default=""),
    _int("deleted"),
    Column("turn_id", Id, nullable=False, server_default=text("0")),
    _time("changed_at"),
    UniqueConstraint("account", "event_id"),
    Index("changes_untold", "conversation_id", sqlite_where=UNTOLD, postgresql_where=UNTOLD),
    Index("changes_of_turn", "turn_id", sqlite_where=HAS_TURN, postgresql_where=HAS_TURN),
    Index("changes_of_message", "inbound_id"),
)

parts = Table(
    "parts",
    metadata,
    Column("turn_id", Id, ForeignKey("turns.id"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False),
    Column("content", Text, nullable=False, server_default=""),
    _text("filename"),
    _text("platform_id"),
    _int("repeated"),
    _text("category"),
    _text("choices"),
    _time("updated_at"),
)

# Which conversation a message of a group belongs to, so that replies to it find the way back.
known_messages = Table(
    "known_messages",
    metadata,
    Column("account", String, primary_key=True),
    Column("chat", String, primary_key=True),
    Column("message_id", String, primary_key=True),
    Column("conversation_id", Id, nullable=False),
    _time("seen_at"),
    sqlite_with_rowid=False,
)

notices = Table(
    "notices",
    metadata,
    Column("account", String, primary_key=True),
    Column("person", String, primary_key=True),
    Column("kind", String, primary_key=True),
    _time("told_at"),
)

counters = Table(
    "counters",
    metadata,
    Column("account", String, primary_key=True),
    Column("name", String, primary_key=True),
    Column("value", BigInteger, nullable=False, server_default=text("0")),
)

# Roles that people gave, by access entry (`platform:id` for a person).
roles = Table(
    "roles",
    metadata,
    Column("entry", String, primary_key=True),
    Column("role", String, nullable=False),
    _text("name"),
    _text("given_by"),
    _time("given_at"),
)

# Strangers who were told a code, and where they hear what came of it.
pairings = Table(
    "pairings",
    metadata,
    Column("code", String, primary_key=True),
    Column("account", String, nullable=False),
    Column("person", String, nullable=False),
    _text("name"),
    _time("expires_at"),
    Column("conversation_id", Id, nullable=False, server_default=text("0")),
    _text("address"),
    UniqueConstraint("account", "person"),
)

# Who did what. `key` names the deed, so that it stands here once.
audit = Table(
    "audit",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("key", String, nullable=False, unique=True),
    _time("at"),
    _text("person"),
    _text("name"),
    _text("account"),
    _text("chat"),
    _text("action"),
    Column("subject", Text, nullable=False, server_default=""),
    Column("detail", Text, nullable=False, server_default=""),
    Index("audit_of_person", "person", "action", "at"),
)
