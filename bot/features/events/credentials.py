"""Authentication of requests from event sources.

A check receives the body exactly as it arrived. Every scheme accepts several secrets, since senders switch
to a new one at different times, and compares them in constant time. A malformed request is refused like one
with a wrong secret.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

TOLERANCE: Final = 300.0
"""Maximum difference between a signed time and the clock (s; Standard Webhooks: five minutes)."""


class Credential(Protocol):
    """Checks requests."""

    def accepts(self, headers: Mapping[str, str], body: bytes, now: float) -> bool:
        """Return whether a request that arrived at `now` (s) is authentic. Header names are in lower case."""
        ...

    def prove(self, body: bytes, now: float) -> Mapping[str, str]:
        """Return the headers that authenticate a request."""
        ...


@dataclass(frozen=True, slots=True)
class HeaderSecret:
    """A secret in plain text in a header, after a prefix such as "Bearer "."""

    secrets: Sequence[str]
    header: str = "authorization"
    prefix: str = "Bearer "

    def accepts(self, headers: Mapping[str, str], body: bytes, now: float) -> bool:
        """Return whether the header contains one of the secrets. The case of the prefix is ignored."""
        given = headers.get(self.header, "")
        if given[: len(self.prefix)].lower() != self.prefix.lower():
            return False
        return _matches([given[len(self.prefix) :].strip()], self.secrets)

    def prove(self, body: bytes, now: float) -> Mapping[str, str]:
        return {self.header: f"{self.prefix}{self.secrets[-1]}"}


def basic_secret(secrets: Sequence[str]) -> HeaderSecret:
    """Create the check of a user name and a password, as "name:password"."""
    return HeaderSecret([base64.b64encode(one.encode()).decode() for one in secrets], prefix="Basic ")


@dataclass(frozen=True, slots=True)
class Signature:
    """An HMAC-SHA256 of the body in a header.

    - `headers`: names of the header; the first one in the request counts.
    - `prefix`: text before each signature ("sha256=", "v1="). A header may contain several signatures with
      `separator` between them.
    - `signed`: template of the signed content, with `{body}`, `{time}` and `{id}`.
    - `time_header`, `id_header`: headers with the time (s since the epoch) and the id, if they are signed.
    """

    keys: Sequence[bytes]
    headers: Sequence[str]
    prefix: str = ""
    separator: str = ","
    encoding: Literal["hex", "base64"] = "hex"
    signed: str = "{body}"
    time_header: str = ""
    id_header: str = ""

    def accepts(self, headers: Mapping[str, str], body: bytes, now: float) -> bool:
        """Return whether a signature was made with one of the keys, and recently if the time is signed."""
        sent = next((headers[name] for name in self.headers if name in headers), "")
        at, request = headers.get(self.time_header, ""), headers.get(self.id_header, "")
        if self.time_header and not (re.fullmatch(r"[0-9]{1,12}", at) and abs(now - int(at)) <= TOLERANCE):
            return False
        if self.id_header and not request:
            return False
        content = self._content(body, at, request)
        parts = [one.strip() for one in sent.split(self.separator)]
        given = [one.removeprefix(self.prefix) for one in parts if one.startswith(self.prefix)]
        if self.encoding == "hex":
            given = [one.lower() for one in given]
        return _matches(given, [self._sign(key, content) for key in self.keys])

    def prove(self, body: bytes, now: float) -> Mapping[str, str]:
        at = f"{now:.0f}" if self.time_header else ""
        request = f"test-{now:.3f}" if self.id_header else ""
        more = {self.time_header: at, self.id_header: request}
        signature = self._sign(self.keys[-1], self._content(body, at, request))
        named = {name: value for name, value in more.items() if name}
        return {**named, self.headers[0]: f"{self.prefix}{signature}"}

    def sent_at(self, headers: Mapping[str, str]) -> float | None:
        """Return the time in a request (s), or None if times are not signed."""
        at = headers.get(self.time_header, "") if self.time_header else ""
        return float(at) if re.fullmatch(r"[0-9]{1,12}", at) else None

    def _content(self, body: bytes, at: str, request: str) -> bytes:
        before, _, after = self.signed.partition("{body}")
        fill = [text.replace("{time}", at).replace("{id}", request) for text in (before, after)]
        return fill[0].encode(errors="replace") + body + fill[1].encode(errors="replace")

    def _sign(self, key: bytes, content: bytes) -> str:
        digest = hmac.digest(key, content, "sha256")
        return digest.hex() if self.encoding == "hex" else base64.b64encode(digest).decode()


def hex_signature(*headers: str, prefix: str = "") -> Callable[[Sequence[str]], Signature]:
    """Return a function that creates the check of a hexadecimal signature from its secrets."""
    return lambda secrets: Signature([one.encode() for one in secrets], headers, prefix)


def standard_webhooks(secrets: Sequence[str], family: str = "webhook") -> Signature:
    """Create the check of the Standard Webhooks specification. Raises ValueError for a malformed secret.

    `family` is the prefix of its three headers (some senders use "svix"). Keys are base64 after "whsec_".
    The reference library ignores characters that aren't base64, so that a mistyped secret becomes a different
    key; this check refuses it.
    """
    try:
        keys = [base64.b64decode(one.removeprefix("whsec_"), validate=True) for one in secrets]
    except ValueError:
        raise ValueError('expected a secret such as "whsec_…", with base64 after the prefix') from None
    return Signature(
        keys,
        headers=(f"{family}-signature",),
        prefix="v1,",
        separator=" ",
        encoding="base64",
        signed="{id}.{time}.{body}",
        time_header=f"{family}-timestamp",
        id_header=f"{family}-id",
    )


def _matches(given: Iterable[str], expected: Sequence[str]) -> bool:
    """Return whether one of the texts is expected, comparing all pairs in constant time."""
    pairs = [
        hmac.compare_digest(one.encode(errors="replace"), other.encode())
        for one in given
        for other in expected
    ]
    return any(pairs)
