"""Each route has its own limit for bodies; only routes without a credential share the strangers' budget."""

from __future__ import annotations

import pytest

from agent.shared.body_limits import BodyRule
from bot.config.server_limits import ServerLimits
from bot.server.api.request_guard import FILES_PER_FORM, make_body_rules

LIMITS = ServerLimits(sign_in_kb=1, webhook_kb=20, body_kb=300)
FILE = 5_000_000
FORM = BodyRule(300_000 + FILES_PER_FORM * FILE)
OTHER = BodyRule(300_000)


@pytest.mark.guard(
    "sign-in has a limit of its own",
    "bot/server/api/request_guard.py",
    "        if path == SESSION_PATH:",
    "        if False:",
    against="large requests",
)
@pytest.mark.parametrize(
    ("path", "content_type", "rule"),
    [
        ("/api/session", "application/json", BodyRule(1_000, is_anonymous=True)),
        ("/webhooks/slack", "application/x-www-form-urlencoded", BodyRule(20_000, is_anonymous=True)),
        ("/api/conversations/1/messages", "application/json", OTHER),
        ("/api/conversations/1/messages", "multipart/form-data; boundary=x", FORM),
        ("/api/threads/t/uploads", "Multipart/Form-Data; boundary=x", FORM),
        ("/api/langgraph/threads", "application/json", OTHER),
        ("/api/budgets", "multipart/form-data; boundary=x", OTHER),
    ],
)
def test_a_route_has_its_limit(path: str, content_type: str, rule: BodyRule) -> None:
    scope = {"path": path, "headers": [(b"host", b"x"), (b"content-type", content_type.encode())]}
    assert make_body_rules(LIMITS, FILE)(scope) == rule
