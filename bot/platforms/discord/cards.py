"""Cards of apps: embeds and components.

Sources: docs.discord.com/developers/resources/message#embed-object and
docs.discord.com/developers/components/reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from urllib.parse import urlsplit

from bot.content import Card, CardField, CardLink, link_text
from bot.platforms.discord.names import MessageNames
from bot.platforms.discord.times import format_timestamp
from bot.platforms.payload import Json, get_int, get_object, get_objects, get_string

ROW, BUTTON, STRING_MENU, SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER = (
    1, 2, 3, 9, 10, 11, 12, 13, 14, 17,
)  # fmt: skip
ENTITY_MENUS = frozenset({5, 6, 7, 8})
"""Types of components (docs.discord.com/developers/components/reference#component-object-component-types)."""
DEEPEST = 4
"""Levels of components: a button in a row in a container is the third."""
_OWN_HOSTS = (".discordapp.com", ".discordapp.net")
"""Hosts of Discord's copies of files: their addresses expire, and the files are attachments."""


def read_embed(embed: Json, names: MessageNames) -> Card:
    """Read an embed. Raises Malformed."""
    author, provider = get_object(embed, "author"), get_object(embed, "provider")
    fields = [
        CardField(names.read(get_string(field, "name")), names.read(get_string(field, "value")))
        for field in get_objects(embed, "fields")
    ]
    title, timestamp = names.read(get_string(embed, "title")), get_string(embed, "timestamp")
    at = format_timestamp(timestamp) if timestamp else ""
    return Card(
        title=title or ("GIF" if get_string(embed, "type") == "gifv" else ""),
        url=get_string(embed, "url"),
        author=" · ".join(filter(None, (get_string(provider, "name"), _link(author, "name")))),
        lines=[
            names.read(get_string(embed, "description")),
            *fields,
            *_picture(get_object(embed, "image"), "image"),
            *_picture(get_object(embed, "thumbnail")),
        ],
        footer=" · ".join(filter(None, (names.read(get_string(get_object(embed, "footer"), "text")), at))),
    )


def read_components(message: Json, names: MessageNames) -> Card:
    """Read a message's components as one card. Raises Malformed."""
    return Card(lines=[line for one in get_objects(message, "components") for line in _lines(one, names)])


def list_components(parent: Json, depth: int = DEEPEST) -> Iterator[Json]:
    """Yield a message's components, including nested ones. Raises Malformed."""
    accessory = get_object(parent, "accessory")
    for one in (*get_objects(parent, "components"), *([accessory] if accessory else [])):
        yield one
        if depth > 1:
            yield from list_components(one, depth - 1)


def list_component_files(message: Json) -> list[Json]:
    """Return the files displayed by components, in the attachment format. Raises Malformed."""
    found: list[Json] = []
    for one in list_components(message):
        file = get_object(one, "file")
        if get_int(one, "type") == FILE and file.get("attachment_id") is not None:
            name = get_string(one, "name")
            found.append({**file, "id": file["attachment_id"], "filename": name, "size": one.get("size")})
    return found


def find_unknown_components(message: Json) -> list[str]:
    """Return the names of components that can't be read. Raises Malformed."""
    known = {ROW, BUTTON, STRING_MENU, SECTION, TEXT, THUMBNAIL, GALLERY, FILE, SEPARATOR, CONTAINER}
    kinds = (get_int(one, "type") for one in list_components(message))
    return [f"component of type {kind}" for kind in dict.fromkeys(kinds) if kind not in known | ENTITY_MENUS]


def public_url(url: str) -> str:
    """Return an address, or "" if it is a copy on Discord's servers."""
    with suppress(ValueError):
        return "" if f".{urlsplit(url).hostname or ''}".endswith(_OWN_HOSTS) else url
    return ""


def _lines(component: Json, names: MessageNames, depth: int = DEEPEST) -> Iterator[str | CardLink]:
    """Yield a component's content in reading order. Raises Malformed."""
    kind = get_int(component, "type")
    if kind == TEXT:
        yield names.read(get_string(component, "content"))
    elif kind == BUTTON:
        yield _button(component)
    elif kind == STRING_MENU or kind in ENTITY_MENUS:
        yield from _menu(component)
    elif kind == THUMBNAIL:
        yield names.read(get_string(component, "description"))
    elif kind == GALLERY:
        for item in get_objects(component, "items"):
            yield from _picture({**get_object(item, "media"), **_named(item)}, "image")
    if depth > 1:
        accessory = get_object(component, "accessory")
        for one in (*get_objects(component, "components"), *([accessory] if accessory else [])):
            yield from _lines(one, names, depth - 1)


def _button(component: Json) -> CardLink:
    label = get_string(component, "label") or get_string(get_object(component, "emoji"), "name")
    return CardLink(label or "button", get_string(component, "url"))


def _menu(component: Json) -> Iterator[str | CardLink]:
    yield CardLink(get_string(component, "placeholder") or "menu")
    for option in get_objects(component, "options"):
        detail = get_string(option, "description")
        chosen = " (selected)" if option.get("default") is True else ""
        yield f"- {get_string(option, 'label')}{f': {detail}' if detail else ''}{chosen}"


def _named(item: Json) -> Json:
    return {"description": get_string(item, "description")}


def _picture(media: Json, label: str = "") -> list[str | CardLink]:
    """Return a picture's line: its description, and its address if it only has a `label`."""
    described = get_string(media, "description")
    url = public_url(get_string(media, "url")) if label else ""
    return [CardLink(described or label, url)] if url else [described]


def _link(parent: Json, key: str) -> str:
    name, url = get_string(parent, key), get_string(parent, "url")
    return link_text(CardLink(name, url)) if name else ""
