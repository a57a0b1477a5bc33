"""Rendering and parsing of message envelopes for the agent, with author, role, and quotations.

An envelope is a pair of `<message>` tags, with `<quotation>` tags for what the author forwarded, quoted or
shared, and for cards, polls and the like. Texts are escaped so that nothing in them can open or close such a
tag, and attributes can't end early (docs/decisions/pass-messages-in-envelopes.md).
"""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MESSAGE, QUOTATION, SKILL = "message", "quotation", "skill"
TAGS = (MESSAGE, QUOTATION, SKILL)
"""Tags that only the service writes: escaped texts can't open or close them."""
APP = "app"
"""The role of an app: an automation rather than a person; it may ask for work."""
MAX_ATTRIBUTE = 120
"""Maximum number of characters of an attribute's value; the rest is cut off."""
MAX_MENTIONS = 600
"""Maximum number of characters of the attribute with mentions; the last ones are omitted."""
BRACKETS = "<＜﹤‹〈⟨❬❮˂ᐸ≺"
"""The bracket that opens a tag, and characters that a reader may take for it."""
MARK = "·"
"""Stands behind the bracket of a marked tag; hardly any code has it there."""
_BRACKET = re.compile(f"[{BRACKETS}]")
_CLOSERS = ">＞﹥›〉⟩❭❯˃ᐳ≻"
_INVISIBLE = frozenset({"Cc", "Cf", "Mn", "Me", "Zs", "Zl", "Zp", "Cs", "Cn", "Co"})
_SKIPPED = frozenset("/\\／＼∕⁄⧸╱" + MARK)
# Letters of other scripts that resemble those in the tags.
_LOOKALIKES = str.maketrans(
    "мᴍеєҽѕꜱаαɑɡցԛυսᴜоοօσтτᴛіιıлпոηռƒꜰӏʟʀуʏсᴄһʜкκᴋǀ", "mmeeessaaaggquuuooootttiiinnnnnffllryycchhkkkl"
)
_TYPE = re.compile(r"[A-Z][A-Za-z]*>")
_SURROGATE = re.compile("[\ud800-\udfff]")
_QUOTES = str.maketrans(dict.fromkeys("“”„‟″＂«»", "'") | dict.fromkeys(BRACKETS[1:] + _CLOSERS[1:], "'"))
_ATTRIBUTE = re.compile(r' ([a-z]+)="([^"<>\n]*)"')
_SEPARATOR = " | "


@dataclass(frozen=True, slots=True)
class QuotedText:
    """Quoted content in a message. `kind` is forward, quote, shared, reply (to the contained message), card
    or another one of `bot.domain.QuotationKind`; `person` is the author as `platform:id`, "" if unknown;
    `files` are the names of attached files; `time` is the time of writing, as text ("" if unknown).
    """

    kind: str
    text: str
    person: str = ""
    name: str = ""
    files: tuple[str, ...] = ()
    time: str = ""


@dataclass(frozen=True, slots=True)
class MentionedName:
    """A name in a text, with its sign (`@Ann`, `#deploys`), and its owner as `platform:id`."""

    name: str
    id: str


@dataclass(frozen=True, slots=True)
class MessageEnvelope:
    """A message for the agent. `person` is its author as `platform:id`; `text` is their own text only; `time`
    is the time of writing, as text in the chat's time zone. `mentions` are names in the text whose ids the
    platform provides.
    """

    person: str
    text: str
    name: str = ""
    role: str = ""
    quotations: tuple[QuotedText, ...] = ()
    time: str = ""
    mentions: tuple[MentionedName, ...] = ()


def render_envelope(envelope: MessageEnvelope) -> str:
    author = {"from": envelope.person, "name": envelope.name, "role": envelope.role}
    opening = _open_tag(
        MESSAGE, {**author, "time": envelope.time}, {"mentions": _join_mentions(envelope.mentions)}
    )
    quoted = [render_quotation(one) for one in envelope.quotations]
    body = [escape_text(envelope.text)] if envelope.text or not quoted else []
    return "\n".join([opening, *body, *quoted, f"</{MESSAGE}>"])


def render_quotation(quotation: QuotedText) -> str:
    files = _SEPARATOR.join(name.replace("|", "_") for name in quotation.files)
    author = {"kind": quotation.kind, "from": quotation.person, "name": quotation.name}
    opening = _open_tag(QUOTATION, {**author, "time": quotation.time, "files": files})
    return "\n".join([opening, escape_text(quotation.text), f"</{QUOTATION}>"])


def parse_envelopes(content: str) -> list[MessageEnvelope]:
    """Return the envelopes in a message's content; text around them is by the service."""
    return [part for part in _split(content) if isinstance(part, MessageEnvelope)]


def without_envelopes(content: str) -> str:
    """Return a message's content with each envelope replaced by its readable text."""
    return "\n".join(part if isinstance(part, str) else _read(part) for part in _split(content))


def plain_text(content: str) -> str:
    """Return people's text in a message: their own words without envelopes and quotations, or the content of
    a message without an envelope.
    """
    found = parse_envelopes(content)
    return "\n\n".join(one.text for one in found if one.text) if found else content


def readable_text(content: str) -> str:
    """Return a message as people would read it: its own text, or else its quoted text."""
    found = parse_envelopes(content)
    return "\n\n".join(filter(None, map(_read, found))) if found else content


def _read(envelope: MessageEnvelope) -> str:
    return envelope.text or "\n\n".join(filter(None, (one.text for one in envelope.quotations)))


def escape_text(text: str, *enclosing: str) -> str:
    """Return the text with a backslash inserted wherever it resembles one of the tags.

    `enclosing` are names of other tags around the text; what looks like their closing tags is escaped too.
    Without them it is reversible with `unescape_text`, except that a lone surrogate becomes U+FFFD.
    """
    return _map_tags(_SURROGATE.sub("\ufffd", text), "\\", removing=False, enclosing=enclosing)


def unescape_text(text: str) -> str:
    """Revert `escape_text`."""
    return _map_tags(text, "\\", removing=True)


def mark_tags(text: str) -> str:
    """Return a text with MARK inserted wherever it may be mistaken for a complete tag.

    Unlike `escape_text` it leaves longer names such as `<MessageList>` and types such as `List<Message>`
    alone, for texts that are edited and written back: `unmark_tags` reverses it.
    """
    return _map_tags(text, MARK, removing=False, whole=True)


def unmark_tags(text: str) -> str:
    """Revert `mark_tags`."""
    return _map_tags(text, MARK, removing=True, whole=True) if MARK in text else text


def _map_tags(
    text: str, mark: str, *, removing: bool, enclosing: tuple[str, ...] = (), whole: bool = False
) -> str:
    """Add or remove a mark after each bracket that seems to open or close one of the tags."""
    parts: list[str] = []
    at = 0
    for found in _BRACKET.finditer(text):
        end = found.end()
        if _resembles_tag(text, end, enclosing, whole=whole) and not (whole and _is_type(text, end)):
            parts += [text[at:end], "" if removing else mark]
            at = end + len(mark) if removing and text.startswith(mark, end) else end
    return "".join([*parts, text[at:]])


def _resembles_tag(text: str, at: int, enclosing: tuple[str, ...], *, whole: bool) -> bool:
    """Return whether a tag's name follows, whatever invisible characters, accents or scripts it uses.

    The names in `enclosing` count after a slash. A `whole` name is not the beginning of a longer one.
    """
    letters = ""
    names: tuple[str, ...] = TAGS
    for index in range(at, len(text)):
        char = text[index]
        if char in _SKIPPED or unicodedata.category(char) in _INVISIBLE:
            names = (*TAGS, *enclosing) if char in _SKIPPED else names
            continue
        letters += _fold(char)
        if any(letters.startswith(name) for name in names):
            return not whole or _ends_name(text[index + 1 : index + 2])
        if not any(name.startswith(letters) for name in names):
            return False
    return False


def _ends_name(char: str) -> bool:
    """Return whether a tag's name stops before this character; "" stands for the end of the text."""
    return not char or char in _CLOSERS or char in _SKIPPED or unicodedata.category(char) in _INVISIBLE


def _is_type(text: str, at: int) -> bool:
    """Return whether a capitalized name is in brackets directly after another name, like types in code."""
    return bool(_TYPE.match(text, at)) and (text[at - 2 : at - 1].isalnum() or text[at - 2 : at - 1] == "_")


def _fold(char: str) -> str:
    """Return the Latin letters that a character resembles."""
    base = "".join(one for one in unicodedata.normalize("NFKD", char) if not unicodedata.combining(one))
    return base.casefold().translate(_LOOKALIKES)


def _open_tag(name: str, attributes: Mapping[str, str], escaped: Mapping[str, str] | None = None) -> str:
    shown = {key: escape_attribute(value) for key, value in attributes.items()} | dict(escaped or {})
    return "".join([f"<{name}", *(f' {key}="{value}"' for key, value in shown.items() if value), ">"])


def _join_mentions(mentions: Sequence[MentionedName]) -> str:
    """Return the escaped value of up to MAX_MENTIONS mentions, without duplicates."""
    shown: dict[str, None] = {}
    length = 0
    for one in mentions:
        # A colon in a name could make it look like an id.
        entry = f"{_escape_part(one.name.replace(':', '_'))} ({_escape_part(one.id)})"
        length += len(entry) + len(_SEPARATOR) if entry not in shown else 0
        if length > MAX_MENTIONS:
            break
        shown[entry] = None
    return _SEPARATOR.join(shown)


def _escape_part(value: str) -> str:
    return escape_attribute(value.replace("|", "_"))


def escape_attribute(value: str) -> str:
    """Return a value that can't leave its line or its quotation marks."""
    spaced = "".join(
        " " if char.isspace() else char
        for char in value
        if char.isspace() or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Cn", "Co")
    )
    line = " ".join(spaced.translate(_QUOTES).split())
    return html.escape(line[:MAX_ATTRIBUTE], quote=False).replace('"', "&quot;")


Attributes = Mapping[str, str]


def _split(content: str) -> Iterator[MessageEnvelope | str]:
    """Yield a content's envelopes and the lines around them. Tags occupy whole lines."""
    opened: Attributes | None = None
    quoting: Attributes | None = None
    own: list[str] = []
    quoted: list[str] = []
    quotations: list[QuotedText] = []
    for line in content.split("\n"):
        if opened is None:
            opened = _read_tag(line, MESSAGE)
            if opened is None:
                yield line
        elif quoting is not None and line == f"</{QUOTATION}>":
            quotations.append(_to_quotation(quoting, "\n".join(quoted)))
            quoting, quoted = None, []
        elif quoting is not None:
            quoted.append(line)
        elif (quoting := _read_tag(line, QUOTATION)) is not None:
            continue
        elif line == f"</{MESSAGE}>":
            yield _to_envelope(opened, "\n".join(own), quotations)
            opened, own, quotations = None, [], []
        else:
            own.append(line)


def _to_envelope(attributes: Attributes, text: str, quotations: Sequence[QuotedText]) -> MessageEnvelope:
    person, name, role, time = (attributes.get(key, "") for key in ("from", "name", "role", "time"))
    mentions = tuple(_split_mentions(attributes.get("mentions", "")))
    return MessageEnvelope(person, unescape_text(text), name, role, tuple(quotations), time, mentions)


def _split_mentions(value: str) -> Iterator[MentionedName]:
    for entry in value.split(_SEPARATOR):
        name, bracket, identity = entry.removesuffix(")").rpartition(" (")
        if bracket:
            yield MentionedName(name, identity)


def _read_tag(line: str, name: str) -> Attributes | None:
    """Return the attributes of an opening tag, or None for any other line."""
    if not line.startswith(f"<{name}") or not line.endswith(">"):
        return None
    inner = line[len(name) + 1 : -1]
    found = _ATTRIBUTE.findall(inner)
    if "".join(f' {key}="{value}"' for key, value in found) != inner:
        return None
    return {key: html.unescape(value) for key, value in found}


def _to_quotation(attributes: Attributes, text: str) -> QuotedText:
    files = attributes.get("files", "")
    return QuotedText(
        kind=attributes.get("kind", ""),
        text=unescape_text(text),
        person=attributes.get("from", ""),
        name=attributes.get("name", ""),
        files=tuple(files.split(_SEPARATOR)) if files else (),
        time=attributes.get("time", ""),
    )
