"""The tables of the bot, one schema for SQLite and PostgreSQL.

Times are seconds since the epoch, flags are 0 or 1, JSON is text, "" stands for "none" in keys.
"""

from __future__ import annotations

from functools import partial
from typing import Any

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
    TextClause,
    UniqueConstraint,
    text,
)

metadata = MetaData()

# SQLite assigns row ids automatically only to INTEGER keys.
Id = BigInteger().with_variant(Integer, "sqlite")

# A message is stored before it has a turn, and enters the index when it gets one.
HAS_TURN = text("turn_id > 0")
OPEN = text("state IN ('accepted', 'running', 'waiting', 'delivering')")
STOPPED = text("stopped > 0")
UNTOLD = text("turn_id = 0")
UNDECIDED = text("question <> '' AND decisions <> ''")
SPENT = text("total_tokens > 0")
FAILED = text("state = 'failed'")
ACTIVE = text("state = 'active'")
UNJUDGED = text("judged = 0 AND turn_id > 0")
AGAIN = text("retry_at > 0")
TOKENS = ("input_tokens", "output_tokens", "total_tokens", "cached_tokens")


def _text(name: str) -> Column[str]:
    return Column(name, String, nullable=False, server_default="")


def _partial_index(name: str, *columns: str, where: TextClause) -> Index:
    return Index(name, *columns, sqlite_where=where, postgresql_where=where)


def _zero(kind: type[Float[float] | Integer], name: str) -> Column[Any]:
    return Column(name, kind, nullable=False, server_default=text("0"))


_time = _amount = partial(_zero, Float)
_int, _number = partial(_zero, Integer), partial(_zero, BigInteger)

accounts = Table("accounts", metadata, Column("account", String, primary_key=True), _text("cursor"))

# Conversations. At the start, the agent received exchanges of `quoted_people` (`platform:id`).
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
    _text("owner"),
    _text("model"),
    _text("title"),
    _text("question"),
    Column("asked_by", Id, nullable=False, server_default=text("0")),
    *map(_text, ("askers", "decisions", "remembered", "covers")),
    _time("asked_at"),
    _int("plan"),
    *map(_text, ("agent", "busy", "quoted_people")),
    _time("created_at"),
    _time("active_at"),
    UniqueConstraint("account", "chat", "topic", "member"),
    Index("conversations_recent", "account", "chat", "active_at"),
    Index("conversations_owned", "owner", "id"),
    _partial_index("approvals_open", "asked_at", where=UNDECIDED),
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
    _int("last_attempt"),
    _text("last_run_id"),
    _text("checkpoint"),
    _text("model"),
    _text("used_model"),
    Column("repeats", Id, nullable=False, server_default=text("0")),
    _int("replaced"),
    _int("renewed"),
    _int("stopped"),
    _text("stopper"),
    _text("stopper_name"),
    Column("stop_told", Id, nullable=False, server_default=text("0")),
    _int("size"),
    _text("answers"),
    _int("plan"),
    _text("agent"),
    _int("private_topic"),
    _text("error"),
    _time("ready_at"),
    _time("created_at"),
    _time("finished_at"),
    _text("person"),
    *map(_number, TOKENS),
    _amount("cost"),
    _text("currency"),
    _text("steps"),
    Column("trace", Text, nullable=False, server_default=""),
    _partial_index("turns_open", "conversation_id", "id", where=OPEN),
    Index("turns_of_conversation", "conversation_id", "id"),
    _partial_index("turns_failed", "finished_at", where=FAILED),
    _partial_index("turns_stopped", "conversation_id", "stop_told", where=STOPPED),
    _partial_index("turns_of_person", "person", "created_at", where=SPENT),
    # Covers all columns of the query, so that a month's total usage is summed from the index alone.
    _partial_index("turns_spent", "created_at", "person", *TOKENS, "cost", "currency", where=SPENT),
)

# Token usage of a turn by model, including its subagents; missing if the runtime doesn't report model calls.
model_usage = Table(
    "model_usage",
    metadata,
    Column("turn_id", Id, ForeignKey("turns.id"), primary_key=True, autoincrement=False),
    Column("model", String, primary_key=True),
    *map(_number, TOKENS),
    _amount("cost"),
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
    Column("quotations", Text, nullable=False, server_default=""),
    Column("mentions", Text, nullable=False, server_default=""),
    _text("group_key"),
    _time("sent_at"),
    _time("accepted_at"),
    _int("deleted"),
    _time("changed_at"),
    UniqueConstraint("account", "event_id"),
    _partial_index("inbound_of_turn", "turn_id", where=HAS_TURN),
    _partial_index("inbound_of_message", "account", "message_id", where=HAS_TURN),
)

# Edits and deletions of accepted messages. `turn_id` is the turn that reports the edit to the agent: 0 while
# pending, -1 if there is nothing to report.
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
    _partial_index("changes_untold", "conversation_id", where=UNTOLD),
    _partial_index("changes_of_turn", "turn_id", where=HAS_TURN),
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

# Maps messages of groups to conversations, so that replies to them are routed.
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

# Granted roles, by access entry (`account:id` or `platform:id` for a person).
roles = Table(
    "roles",
    metadata,
    Column("entry", String, primary_key=True),
    Column("role", String, nullable=False),
    _text("name"),
    _text("given_by"),
    _time("given_at"),
)

# Pairing codes of people without access, and the address for notifying them of the decision.
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

# Audit log. `key` is unique, so that each event is recorded once. `position` (0: not sealed yet), `seal` and
# `commitments` belong to the hash chain (bot.features.privacy.audit_chain).
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
    _number("position"),
    _text("seal"),
    Column("commitments", Text, nullable=False, server_default=""),
    Index("audit_of_person", "person", "action", "at"),
    Index("audit_in_order", "position", "id"),
)

# Start of the chain, one row: the last audit event that was deleted because of its age, with a MAC.
audit_anchor = Table(
    "audit_anchor",
    metadata,
    Column("id", Integer, primary_key=True),
    _number("position"),
    _text("seal"),
    _text("mac"),
)

# Tools that need no approval in a conversation (0: on the whole account).
tool_grants = Table(
    "tool_grants",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("account", String, nullable=False),
    Column("conversation_id", BigInteger, nullable=False, server_default=text("0")),
    Column("tool", String, nullable=False),
    _text("person"),
    _text("name"),
    _time("given_at"),
    _time("expires_at"),
    UniqueConstraint("account", "conversation_id", "tool", "person"),
)

# Languages that people chose; `entry` is `platform:id` of a person or `account:chat` of a chat.
languages = Table(
    "languages",
    metadata,
    Column("entry", String, primary_key=True),
    Column("language", String, nullable=False),
)

# Schedules. `conversation_id` is the conversation that runs continue (0: the schedule's own).
schedules = Table(
    "schedules",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("kind", String, nullable=False),
    Column("state", String, nullable=False),
    Column("text", Text, nullable=False, server_default=""),
    _text("spoken"),
    _text("rule"),
    _text("zone"),
    Column("account", String, nullable=False),
    Column("platform", String, nullable=False),
    Column("chat", String, nullable=False),
    Column("chat_kind", String, nullable=False),
    _text("topic"),
    Column("conversation_id", Id, nullable=False, server_default=text("0")),
    Column("made_in", Id, nullable=False, server_default=text("0")),
    _text("maker"),
    _text("person"),
    _time("made_at"),
    _time("next_at"),
    _int("failures"),
    _int("alerted"),
    _time("digested_at"),
    _partial_index("schedules_due", "next_at", where=ACTIVE),
    Index("schedules_of_chat", "account", "chat"),
)

# Schedules that the agent proposed in a turn, by the interrupt of its call. `draft` is the schedule that
# waits for confirmation, `target` the schedule to change or delete (0: none). `decision` is "" until a person
# decides; `told_in` is the turn whose run was informed of it.
schedule_proposals = Table(
    "schedule_proposals",
    metadata,
    Column("turn_id", Id, primary_key=True, autoincrement=False),
    Column("interrupt", String, primary_key=True),
    Column("conversation_id", Id, nullable=False),
    Column("draft", Id, nullable=False),
    Column("action", String, nullable=False),
    Column("target", Id, nullable=False, server_default=text("0")),
    _text("decision"),
    Column("told_in", Id, nullable=False, server_default=text("0")),
    _time("made_at"),
    Index("schedule_proposals_of_draft", "draft"),
    Index("schedule_proposals_of_conversation", "conversation_id"),
)

# Scheduled runs, one row per due instant; `missed` counts earlier instants that were too late to run.
# `judged` is set once the run's turn has ended and its result is stored.
firings = Table(
    "firings",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("schedule_id", Id, nullable=False),
    _time("due_at"),
    _time("at"),
    _int("attempt"),
    _int("missed"),
    _text("skipped"),
    _time("retry_at"),
    Column("turn_id", Id, nullable=False, server_default=text("0")),
    _int("judged"),
    UniqueConstraint("schedule_id", "due_at"),
    _partial_index("firings_open", "turn_id", where=UNJUDGED),
    _partial_index("firings_again", "retry_at", where=AGAIN),
)

# Settings of chats, and the name of each group as it was last seen.
chats = Table(
    "chats",
    metadata,
    Column("account", String, primary_key=True),
    Column("chat", String, primary_key=True),
    _text("zone"),
    _int("record_days"),
    _time("recorded_since"),
    _text("title"),
)

# Recorded messages of chats. `private_topic` is 1 if not all chat members can read the topic: in private
# threads within a chat, on platforms that have them.
record = Table(
    "record",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("account", String, nullable=False),
    Column("chat", String, nullable=False),
    _text("topic"),
    _int("private_topic"),
    Column("message_id", String, nullable=False),
    _text("sender"),
    Column("text", Text, nullable=False, server_default=""),
    Column("quotations", Text, nullable=False, server_default=""),
    Column("mentions", Text, nullable=False, server_default=""),
    _time("sent_at"),
    _text("link"),
    _time("accepted_at"),
    UniqueConstraint("account", "chat", "message_id"),
    Index("record_in_time", "account", "chat", "sent_at"),
)

# Budgets set by admins: messages per hour and tokens per day (-1: as configured).
budgets = Table(
    "budgets",
    metadata,
    Column("entry", String, primary_key=True),
    Column("messages", BigInteger, nullable=False, server_default=text("-1")),
    Column("tokens", BigInteger, nullable=False, server_default=text("-1")),
    _text("given_by"),
    _time("given_at"),
)

# Sign-in codes and sessions of the web console, and API tokens; only hashes of the secrets are stored.
page_codes = Table(
    "page_codes",
    metadata,
    Column("person", String, primary_key=True),
    Column("account", String, primary_key=True),
    Column("hash", String, nullable=False, unique=True),
    _text("sender"),
    _text("chat"),
    _time("expires_at"),
)
page_sessions = Table(
    "page_sessions",
    metadata,
    Column("hash", String, primary_key=True),
    Column("person", String, nullable=False),
    _text("sender"),
    _time("expires_at"),
    Index("page_sessions_of_person", "person"),
)
api_tokens = Table(
    "api_tokens",
    metadata,
    Column("name", String, primary_key=True),
    Column("hash", String, nullable=False, unique=True),
    Column("scope", String, nullable=False),
    _text("given_by"),
    *map(_time, ("given_at", "expires_at", "used_at")),
)

# Messages per hour and owner of a budget.
_meter_key = (Column("scope", String, primary_key=True), Column("start", Float, primary_key=True))
meters = Table("meters", metadata, *_meter_key, _number("value"))

# Threads that no conversation uses; a row is removed once the runtime has deleted its thread.
leaving_threads = Table(
    "leaving_threads",
    metadata,
    Column("thread_id", String, primary_key=True),
    Column("conversation_id", BigInteger, nullable=False),
    _text("successor"),
    _time("since"),
)

# Requests to erase a person's data; one with `finished_at` 0 is continued until everything is erased.
erasures = Table(
    "erasures",
    metadata,
    Column("id", Id, primary_key=True, autoincrement=True),
    Column("person", String, nullable=False),
    _time("requested_at"),
    _number("upto"),
    _text("scopes"),
    _text("names"),  # of earlier versions, which may still run
    _text("chats"),
    _int("collected"),
    _text("counts"),
    _time("finished_at"),
    Index("erasures_of_person", "person", "id"),
)

# The last turn of each account with deleted texts.
forgotten = Table("forgotten", metadata, Column("account", String, primary_key=True), _number("turn_id"))

# The leases of `bot.store.leases`, and the row that a probe of the store writes.
_lease = (_text("holder"), _text("place"), _time("renewed_at"), _text("fence"), _text("about"))
leases = Table("leases", metadata, Column("name", String, primary_key=True), *_lease)
