"""Each way to prove a secret: what is accepted, and what is not."""

from __future__ import annotations

import base64
import hmac
import json
from collections.abc import Mapping

import pytest

from bot.features.events.credentials import (
    TOLERANCE,
    Credential,
    HeaderSecret,
    Signature,
    basic_secret,
    standard_webhooks,
)
from bot.features.events.sources import alertmanager, github, pagerduty, sentry

NOW = 1_800_000_000.0
BODY = '{"title":"Größe überschritten","n":1.50}'.encode()
REWRITTEN = json.dumps(json.loads(BODY)).encode()
OLD, NEW = "0ld-secret", "n3w-secret"
KEY = base64.b64encode(b"a key of 24 bytes, or so").decode()


def digest(secret: str, content: bytes) -> str:
    return hmac.digest(secret.encode(), content, "sha256").hex()


def encoded(key: str, content: bytes) -> str:
    return base64.b64encode(hmac.digest(base64.b64decode(key), content, "sha256")).decode()


def webhook(at: float, key: str = KEY, request: str = "msg_1", body: bytes = BODY) -> Mapping[str, str]:
    signature = encoded(key, f"{request}.{at:.0f}.".encode() + body)
    return {
        "webhook-id": request,
        "webhook-timestamp": f"{at:.0f}",
        "webhook-signature": f"v1,AAAA v1,{signature} v1a,{signature}",
    }


def timed(at: float, secret: str = NEW) -> Mapping[str, str]:
    return {"x-time": f"{at:.0f}", "x-sign": f"v0={digest(secret, f'v0:{at:.0f}:'.encode() + BODY)}"}


GITHUB, PAGERDUTY, SENTRY, GRAFANA = (
    module.SIGN([OLD, NEW]) for module in (github, pagerduty, sentry, alertmanager)
)
STANDARD = standard_webhooks([f"whsec_{KEY}"])
TIMED = Signature([NEW.encode()], ("x-sign",), "v0=", signed="v0:{time}:{body}", time_header="x-time")
BASIC = {"authorization": "Basic " + base64.b64encode(b"alerts:p\xc3\xa4ss").decode()}
RIGHT: list[tuple[Credential, Mapping[str, str]]] = [
    (HeaderSecret([OLD, NEW]), {"authorization": f"Bearer {OLD}"}),
    (HeaderSecret([OLD, NEW]), {"authorization": f"bearer {NEW}"}),
    (HeaderSecret([NEW], "x-token", ""), {"x-token": NEW}),
    (HeaderSecret([NEW], "authorization", "GenieKey "), {"authorization": f"GenieKey {NEW}"}),
    (basic_secret(["alerts:päss"]), BASIC),
    (GITHUB, {"x-hub-signature-256": f"sha256={digest(OLD, BODY)}"}),
    (GITHUB, {"x-hub-signature-256": f"sha256={digest(NEW, BODY)}"}),
    (PAGERDUTY, {"x-pagerduty-signature": f"v1={digest('another', BODY)},v1={digest(NEW, BODY)}"}),
    (SENTRY, {"sentry-hook-signature": digest(NEW, BODY)}),
    (SENTRY, {"sentry-app-signature": digest(NEW, BODY)}),
    (GRAFANA, {"x-grafana-alerting-signature": digest(NEW, BODY).upper()}),
    (STANDARD, webhook(NOW - TOLERANCE)),
    (STANDARD, webhook(NOW + TOLERANCE)),
    (TIMED, timed(NOW)),
]
WRONG: list[tuple[Credential, Mapping[str, str]]] = [
    (HeaderSecret([NEW]), {}),
    (HeaderSecret([NEW]), {"authorization": NEW}),
    (HeaderSecret([NEW]), {"authorization": "Bearer "}),
    (HeaderSecret([NEW]), {"authorization": "Bearer größe"}),
    (HeaderSecret([NEW], "x-token", ""), {"authorization": f"Bearer {NEW}"}),
    (basic_secret(["alerts:other"]), BASIC),
    (basic_secret(["alerts:päss"]), {"authorization": "Basic ä"}),
    (basic_secret(["alerts:päss"]), {"authorization": BASIC["authorization"].replace("Basic", "Bearer")}),
    (GITHUB, {}),
    (GITHUB, {"x-hub-signature-256": digest(NEW, BODY)}),
    (GITHUB, {"x-hub-signature-256": "sha256=größe"}),
    (GITHUB, {"x-hub-signature-256": f"sha256={digest('another', BODY)}"}),
    (GITHUB, {"x-hub-signature-256": f"sha256={digest(NEW, REWRITTEN)}"}),
    (PAGERDUTY, {"x-pagerduty-signature": f"v2={digest(NEW, BODY)}"}),
    (SENTRY, {"sentry-hook-signature": digest(NEW, REWRITTEN)}),
    (STANDARD, webhook(NOW - TOLERANCE - 1)),
    (STANDARD, webhook(NOW + TOLERANCE + 1)),
    (STANDARD, {**webhook(NOW), "webhook-id": "msg_2"}),
    (STANDARD, {**webhook(NOW), "webhook-timestamp": "-5"}),
    (STANDARD, {**webhook(NOW), "webhook-timestamp": "١٨٠٠٠٠٠٠٠٠"}),
    (STANDARD, {name: value for name, value in webhook(NOW).items() if name != "webhook-id"}),
    (STANDARD, webhook(NOW, key=base64.b64encode(b"another").decode())),
    (TIMED, timed(NOW, OLD)),
    (TIMED, {**timed(NOW), "x-time": f"{NOW + 1:.0f}"}),
]


@pytest.mark.parametrize(("credential", "headers"), RIGHT)
def test_a_right_proof_is_accepted(credential: Credential, headers: Mapping[str, str]) -> None:
    assert credential.accepts(headers, BODY, NOW)


@pytest.mark.parametrize(("credential", "headers"), WRONG)
def test_a_wrong_proof_is_not_accepted(credential: Credential, headers: Mapping[str, str]) -> None:
    assert not credential.accepts(headers, BODY, NOW)


@pytest.mark.parametrize("secret", ["whsec_not base64!", "whsec_a", "geheim-ü"])
def test_a_mistyped_key_is_no_key(secret: str) -> None:
    with pytest.raises(ValueError, match="whsec_"):
        standard_webhooks([secret])
