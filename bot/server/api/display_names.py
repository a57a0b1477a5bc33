"""Names of people and chats in the caller's language, and the route that finds them."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum
from typing import Annotated

from fastapi import APIRouter, Query

from bot.access import Permission, Role
from bot.domain import OWNER, ChatKind
from bot.platforms.setup import translate_problem
from bot.server.api import schemas
from bot.server.api.auth import LOCAL, By, Principal, accounts_with, open_to
from bot.server.api.dependencies import DEFAULT, ApiServices, Limit, Services
from bot.store.connection import Connection
from bot.store.conversations import ConversationView
from bot.store.names import list_known_people, list_places, load_names, load_person_names
from bot.texts import Texts

router = APIRouter(prefix="/api/names", tags=["access"])


class NameKind(StrEnum):
    """Kind of a name."""

    PERSON = "person"
    CHAT = "chat"


def texts_of(services: ApiServices, by: Principal) -> Texts:
    """Return the texts in the language that the caller chose, else that of their browser or account."""
    texts = services.core.account(by.account).texts
    return texts.in_language(services.core.languages.find(by.person, "", by.locale))


def platform_title(services: ApiServices, texts: Texts, account: str, platform: str) -> str:
    """Return the name of an account's platform."""
    if platform in LOCAL:
        return texts.label("platform", platform)
    running = services.core.accounts.get(account)
    if running is not None:
        return running.manifest.title_in(texts.locale)
    offered = platform_titles(services, texts)
    return offered.get(platform, platform.capitalize())


def platform_titles(services: ApiServices, texts: Texts) -> dict[str, str]:
    """Return the names of all platforms."""
    local = {name: texts.label("platform", name) for name in LOCAL}
    offers = services.core.accounts.offers()
    return local | {one.name: one.manifest.title_in(texts.locale) for one in offers}


def explain_state(services: ApiServices, texts: Texts, account: str, reason: str) -> str:
    """Return the reason for an account's state in the language of the texts."""
    running = services.core.accounts.get(account)
    guides = [running.manifest.guide(texts.locale)] if running is not None else []
    return translate_problem(reason, texts.locale, *guides)


def name_chat(
    services: ApiServices, texts: Texts, account: str, platform: str, kind: str, name: str = ""
) -> str:
    """Return the name of a chat: `name`, or else its platform and kind."""
    if name:
        return name
    title = platform_title(services, texts, account, platform)
    return title if platform in LOCAL else texts(f"place_{ChatKind(kind).value}", app=title)


def name_place(services: ApiServices, by: Principal, of: ConversationView) -> str:
    """Return the name of a conversation's chat. A private chat is named after its person."""
    name = of.owner_name if of.chat_kind == ChatKind.PRIVATE else of.chat_title
    return name_chat(services, texts_of(services, by), of.key.account, of.platform, of.chat_kind, name)


def name_person(services: ApiServices, texts: Texts, person: str, name: str = "") -> str:
    """Return the name of a person (`platform:id`): `name`, or else a description without the id."""
    platform, _, id_ = person.partition(":")
    if name or not person:
        return name
    if platform in LOCAL and id_ == OWNER:
        return texts("person_here")
    return texts("person_unknown", app=platform_title(services, texts, "", platform))


async def name_entries(services: ApiServices, entries: Collection[str]) -> dict[str, str]:
    """Return the known names of the people and groups in access entries."""
    accounts = {name: platform for name, (platform, _) in services.core.accounts.states().items()}
    people: dict[str, str] = {}
    for entry in entries:
        scope, _, id_ = entry.partition(":")
        people[entry] = f"{accounts.get(scope, scope)}:{id_}"
    names, titles = await services.db.transact(load_names, people.values())
    chats = {
        f"{scope}:{chat}": title
        for (account, chat), title in titles.items()
        for scope in (account, accounts.get(account, ""))
    }
    return {entry: names.get(person) or chats.get(entry, "") for entry, person in people.items()}


Search = Annotated[str, Query(max_length=100, description="Part of a name; omit it to list all.")]


@router.get("")
@open_to(Role.MEMBER)
async def list_names(
    services: Services, by: By, q: Search = "", kind: NameKind | None = None, limit: Limit = DEFAULT
) -> schemas.NameList:
    """List people and chats by name: members find their own, admins those of their accounts."""
    accounts = accounts_with(services, by, Permission.READ)
    sees_own = accounts is not None and not accounts
    texts, wanted = texts_of(services, by), q.strip().casefold()

    def collect(connection: Connection) -> tuple[dict[str, str], dict[str, str], list[ConversationView]]:
        known = {} if kind is NameKind.CHAT else list_known_people(connection, accounts)
        known = {by.person: by.account} if sees_own and kind is not NameKind.CHAT else known
        owners = by.owner_ids if sees_own else ()
        places = [] if kind is NameKind.PERSON else list_places(connection, accounts, owners)
        return known, load_person_names(connection, known), places

    known, names, places = await services.db.transact(collect)
    people = [
        schemas.PersonName(
            person=person,
            name=name_person(services, texts, person, names.get(person, "")),
            platform=person.partition(":")[0],
            account=account,
        )
        for person, account in known.items()
    ]
    chats = [_present_chat(services, by, of) for of in places if not sees_own or by.owns_conversation(of)]
    return schemas.NameList(
        people=sorted(
            (one for one in people if wanted in one.name.casefold()), key=lambda one: one.name.casefold()
        )[:limit],
        chats=[one for one in chats if wanted in one.name.casefold()][:limit],
    )


def _present_chat(services: ApiServices, by: Principal, of: ConversationView) -> schemas.ChatName:
    place = name_place(services, by, of)
    return schemas.ChatName(
        account=of.key.account,
        chat=of.key.chat,
        topic=of.key.topic,
        name=f"{place} · {of.title}" if of.title and (of.key.topic or of.platform in LOCAL) else place,
        platform=of.platform,
        kind=of.chat_kind,
        conversation=of.id,
    )
