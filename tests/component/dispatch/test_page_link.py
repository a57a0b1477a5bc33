"""`/page`: a link in private, which nobody finds later."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.access.one_time_codes import CODE_LASTS, hash_secret
from bot.domain import ChatKind
from bot.store.audit import list_audit_entries
from bot.store.read_models import list_turns
from bot.store.web_sessions import SecretHash, redeem_sign_in_code
from tests.component.dispatch.bench import Bench, bench

LINK = re.compile(r"https://bot\.example\.org/#code=([0-9a-f]{40})")


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Bench]:
    async with bench(tmp_path) as made:
        made.role = None
        yield made


async def asks(at: Bench, chat: str = "p7", *, kind: ChatKind = ChatKind.PRIVATE) -> str:
    """What `/page` is answered with."""
    before = len(at.adapter.texts(chat))
    await at.adapter.hears("/page", chat=chat, person="7", kind=kind)
    await at.until(lambda: len(at.adapter.texts(chat)) > before)
    return at.adapter.texts(chat)[-1]


async def test_the_link_is_told_and_not_kept(at: Bench) -> None:
    async with at.running():
        found = LINK.search(await asks(at))
        assert found is not None
        [turn] = await at.db.transact(list_turns, None)
        kept = " ".join(part.content for part in turn.parts)
        assert found[1] not in kept
        assert "not stored" in kept
        now = at.clock.now()
        sender = await at.db.transact(
            redeem_sign_in_code, hash_secret(found[1]), SecretHash("s", now + 1), "k", now
        )
        assert sender is not None
        assert (sender.id, sender.account) == ("recording:7", "rec")


async def test_a_new_link_ends_the_one_before_and_time_ends_each(at: Bench) -> None:
    async with at.running():
        codes = []
        for _ in range(2):
            found = LINK.search(await asks(at))
            assert found is not None
            codes.append(hash_secret(found[1]))
        now = at.clock.now()
        assert await at.db.transact(redeem_sign_in_code, codes[0], SecretHash("s", now + 1), "k", now) is None
        late = now + CODE_LASTS
        assert (
            await at.db.transact(redeem_sign_in_code, codes[1], SecretHash("s", late + 1), "k", late) is None
        )


async def test_a_group_hears_no_link(at: Bench) -> None:
    async with at.running():
        said = await asks(at, "g1", kind=ChatKind.GROUP)
        assert said.startswith("Please ask me in a private chat")
        assert "page link" not in [one.deed.action for one in await at.db.transact(list_audit_entries)]


@pytest.mark.parametrize(
    ("address", "told"), [("", "server.public_url"), ("http://127.0.0.1:2026", "only works on the machine")]
)
async def test_where_others_do_not_reach_the_page(at: Bench, address: str, told: str) -> None:
    at.page = address
    async with at.running():
        said = await asks(at)
        assert told in said
        assert ("#code=" in said) is bool(address)
