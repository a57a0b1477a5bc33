"""Webhook requests: only genuine ones count, and 200 means that the event is stored."""

from __future__ import annotations

from bot.errors import StoreError
from bot.platforms.base import ReceivesWebhooks, WebhookAnswer, WebhookRequest
from roebot_testing.conformance.bench import Stage
from roebot_testing.conformance.driver import Ability
from roebot_testing.conformance.needs import needs
from roebot_testing.conformance.suite import Suite

FORBIDDEN = (401, 403)


class Webhooks(Suite):
    @needs(ReceivesWebhooks, Ability.REQUESTS)
    async def test_a_genuine_request_is_stored_before_the_answer(self, stage: Stage) -> None:
        answer = await _answer(stage, await stage.platform.genuine("hello"))
        assert answer.status == 200
        assert stage.inbox.texts == ["hello"]

    @needs(ReceivesWebhooks, Ability.REQUESTS)
    async def test_what_is_not_stored_is_not_answered_with_200(self, stage: Stage) -> None:
        request = await stage.platform.genuine("hello")
        stage.inbox.refuse = 1
        try:
            answer = await _answer(stage, request)
        except StoreError:  # the service's port makes 500 of it
            answer = WebhookAnswer(500)
        assert answer.status >= 500
        assert (await _answer(stage, request)).status == 200
        assert stage.inbox.texts == ["hello"]

    @needs(ReceivesWebhooks, Ability.REQUESTS)
    async def test_forged_requests_are_refused(self, stage: Stage) -> None:
        genuine = await stage.platform.genuine("hello")
        for request in (*await stage.platform.forged(), WebhookRequest({}, genuine.body)):
            assert (await _answer(stage, request)).status in FORBIDDEN
        assert stage.inbox.messages == []
        assert not stage.running.ended

    @needs(ReceivesWebhooks, Ability.REQUESTS)
    async def test_nonsense_is_answered_and_harmless(self, stage: Stage) -> None:
        genuine = await stage.platform.genuine("hello")
        for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"a": ' + b"[" * 2000, b"1" * 10000):
            answer = await _answer(stage, WebhookRequest(genuine.headers, body))
            assert answer.status < 500
        assert stage.inbox.messages == []
        assert not stage.running.ended
        assert (await _answer(stage, genuine)).status == 200

    @needs(ReceivesWebhooks, Ability.REQUESTS)
    async def test_while_it_is_not_connected_they_have_to_come_again(self, stage: Stage) -> None:
        request = await stage.platform.genuine("hello")
        await stage.stop()
        assert (await _answer(stage, request)).status in (404, 503)
        fresh = stage.platform.adapter()
        assert isinstance(fresh, ReceivesWebhooks)
        assert (await fresh.webhook(request)).status in (404, 503)
        assert stage.inbox.messages == []


async def _answer(stage: Stage, request: WebhookRequest) -> WebhookAnswer:
    assert isinstance(stage.adapter, ReceivesWebhooks)
    return await stage.adapter.webhook(request)
