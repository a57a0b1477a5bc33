"""Names of people and chats, from what is stored of their messages, roles and access requests."""

from __future__ import annotations

from collections.abc import Iterable

import orjson

from bot.store.chats import load_chat_titles
from bot.store.connection import Accounts, Connection, decode_sender, on_accounts, sql
from bot.store.conversations import CONVERSATION_VIEW, ConversationView, decode_conversation
from bot.turn import INCIDENT_TOPIC, SCHEDULED_TOPIC

MOST_PEOPLE = 1000
"""Number of people, and of conversations, that are searched for a name."""
_OWN = """((t.platform = :of_platform AND i.sender LIKE :plain ESCAPE '!')
OR i.sender LIKE :linked ESCAPE '!')"""
# Read the sender of a person's newest message that cost tokens, or of the newest in their own conversations.
NEWEST_SENDER = sql(
    f"""SELECT COALESCE((SELECT i.sender FROM turns t JOIN inbound i ON i.turn_id = t.id AND i.turn_id > 0
    WHERE t.person = :person AND t.total_tokens > 0 AND {_OWN} ORDER BY t.created_at DESC, i.id DESC LIMIT 1),
    (SELECT i.sender FROM conversations c JOIN turns t ON t.conversation_id = c.id
    JOIN inbound i ON i.turn_id = t.id AND i.turn_id > 0 WHERE c.owner = :person AND {_OWN}
    ORDER BY i.id DESC LIMIT 1))"""
)
# Read the name of a person with a role, on their platform or on one of its accounts.
NAME_WITH_ROLE = sql(
    """SELECT r.name FROM roles r WHERE r.name <> '' AND (r.entry = :person OR r.entry IN (SELECT c.account
    || CAST(:on_account AS TEXT) FROM conversations c WHERE c.platform = :platform))
    ORDER BY r.given_at DESC LIMIT 1"""
)
# List people with a private conversation or token usage on some accounts or on all.
LIST_PEOPLE = sql(
    """SELECT person, MIN(account) AS account FROM (SELECT c.owner AS person, c.account FROM conversations c
    WHERE c.owner <> '' UNION SELECT t.person || '', c.account FROM turns t JOIN conversations c
    ON c.id = t.conversation_id WHERE t.total_tokens > 0 AND t.person <> '') known
    WHERE :all = 1 OR account IN :accounts GROUP BY person ORDER BY person LIMIT :limit""",
    "accounts",
)
# List the recently active conversations of people, or of accounts, without those of single schedules.
LIST_PLACES = sql(
    f"""SELECT {CONVERSATION_VIEW} FROM conversations WHERE (:all = 1 OR account IN :accounts)
    AND (:anyone = 1 OR owner IN :owners) AND topic NOT LIKE '{SCHEDULED_TOPIC}%'
    AND topic NOT LIKE '{INCIDENT_TOPIC}%' ORDER BY active_at DESC LIMIT :limit""",
    "accounts",
    "owners",
)


def load_person_names(connection: Connection, people: Iterable[str]) -> dict[str, str]:
    """Return the known names of people (`platform:id`)."""
    found = {person: _load_name(connection, person) for person in dict.fromkeys(people) if person}
    return {person: name for person, name in found.items() if name}


def load_names(
    connection: Connection, people: Iterable[str]
) -> tuple[dict[str, str], dict[tuple[str, str], str]]:
    """Return the known names of people, and those of all chats by account and chat."""
    return load_person_names(connection, people), load_chat_titles(connection)


def _load_name(connection: Connection, person: str) -> str:
    platform, _, id_ = person.partition(":")
    given = {"person": person, **sender_patterns(person)}
    sender = connection.execute(NEWEST_SENDER, given).scalar_one_or_none()
    if sender and (name := decode_sender(sender).name):
        return name
    where = {"person": person, "platform": platform, "on_account": f":{id_}"}
    return str(connection.execute(NAME_WITH_ROLE, where).scalar_one_or_none() or "")


def sender_patterns(person: str) -> dict[str, str]:
    """Return the patterns of a person's stored senders: `plain` on `of_platform`, `linked` in the console."""
    platform, _, id_ = person.partition(":")
    plain, linked = (f"{escape_like(orjson.dumps([key]).decode()[:-1])},%" for key in (id_, person))
    return {"of_platform": platform, "plain": plain, "linked": linked}


def escape_like(text: str) -> str:
    """Return a text for LIKE with the escape character `!`."""
    return "".join(f"!{sign}" if sign in "!%_" else sign for sign in text)


def list_known_people(connection: Connection, accounts: Accounts) -> dict[str, str]:
    """Return people (`platform:id`) who used the bot on these accounts, with one of their accounts."""
    found = connection.execute(LIST_PEOPLE, {"limit": MOST_PEOPLE, **on_accounts(accounts)}).all()
    return {row.person: row.account for row in found}


def list_places(
    connection: Connection, accounts: Accounts, owners: Iterable[str] = ()
) -> list[ConversationView]:
    """Return recently active conversations: of `owners` if there are any, else on the accounts."""
    whose = {"owners": sorted(owners) or [""], "anyone": int(not owners)}
    given = {"limit": MOST_PEOPLE, **whose, **on_accounts(None if owners else accounts)}
    return [decode_conversation(row) for row in connection.execute(LIST_PLACES, given).all()]
