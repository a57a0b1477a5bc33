#!/usr/bin/env bash
# A code verifier (PKCE, RFC 7636) that is passed to the OAuth client of Authlib.
#
# Packages: Authlib 1.9.10, httpx2 2.16.2
# Expected: create_authorization_url(url, code_verifier=...) adds `code_challenge` and `code_challenge_method=S256`,
#           because the verifier has no other use there.
# Observed: it adds neither, without a warning, unless the client was created with code_challenge_method="S256". The
#           same argument in the call adds the method, but no challenge. fetch_token() sends the verifier in each case,
#           so a provider that follows RFC 9700 refuses the sign-in, and only at its end: it accepts no verifier
#           without a challenge.
# So: pass code_challenge_method="S256" to the constructor, or the result of create_s256_code_challenge() to the call.
#
# AsyncOAuth2Client needs httpx2, which Authlib doesn't install. Without it httpx is used, with a deprecation warning.
set -euo pipefail
dir=$(mktemp -d); trap 'rm -rf "$dir"' EXIT
"${PYTHON:-python3}" -m venv "$dir/venv"
"$dir/venv/bin/pip" install -q authlib==1.9.10 httpx2==2.16.2
cd "$dir"; venv/bin/python - <<'PYTHON'
import asyncio
import sys
from importlib.metadata import version
from urllib.parse import parse_qs, urlsplit

import httpx2
from authlib.integrations.httpx_client import AsyncOAuth2Client

for name in ("authlib", "httpx2"):
    print(name, version(name))
PROVIDER = "https://id.example.com"
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"  # with its challenge in appendix B of RFC 7636
CHALLENGE = {"code_challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method": "S256"}
METHOD = {"code_challenge_method": "S256"}


async def sign_in(settings, arguments):
    """Return what the provider gets about PKCE, in the URL and in the token request."""
    bodies = []

    def answer(request):
        bodies.append(request.content.decode())
        return httpx2.Response(200, json={"access_token": "a", "token_type": "Bearer"})

    async with AsyncOAuth2Client("id", "s", transport=httpx2.MockTransport(answer), **settings) as client:
        assert isinstance(client, httpx2.AsyncClient)
        url, _ = client.create_authorization_url(f"{PROVIDER}/authorize", code_verifier=VERIFIER, **arguments)
        await client.fetch_token(f"{PROVIDER}/token", code="c", code_verifier=VERIFIER)
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
    return {name: query[name] for name in CHALLENGE if name in query}, parse_qs(bodies[0]).get("code_verifier")


CASES = [
    ("a verifier alone", {}, {}, {}),
    ("a verifier, and the method in the call", {}, METHOD, METHOD),
    ("a verifier, and the method in the constructor", METHOD, {}, CHALLENGE),
]
changed = 0
for name, settings, arguments, before in CASES:
    query, verifier = asyncio.run(sign_in(settings, arguments))
    print(f"{name}\n  expected: {CHALLENGE}\n  observed: {query}, then the verifier {verifier}")
    if query != before or verifier != [VERIFIER]:
        print(f"  CHANGED: it was {before}, then the verifier {[VERIFIER]}")
        changed = 1
sys.exit(changed)
PYTHON
