"""The strict providers reject images that the real ones can't read."""

from __future__ import annotations

from typing import Any

import pytest

from tests.harness.mcp_contents import coded, noisy_png, png
from tests.harness.strict_providers import STRICT
from tests.harness.strict_providers.images import PIXELS, find_bad_image
from tests.harness.strict_providers.server import RejectedRequest

BAD = {
    "no base64": ("image/png", "not base64!", "Could not process image"),
    "no image": ("image/png", "AAAA", "Could not process image"),
    "cut": ("image/png", coded(png(64, 64, cut=20)), "Could not process image"),
    "of another type": ("image/jpeg", coded(png()), "Could not process image"),
    "of a type that no model reads": ("image/bmp", coded(png()), "image/bmp is not supported"),
    "too wide": ("image/png", coded(png(PIXELS + 1, 1)), "exceeds 8000 pixels"),
    "too large": ("image/png", coded(noisy_png(1_200, 1_200)), "exceeds 5 MB"),
}


def forms(kind: str, data: str) -> list[dict[str, Any]]:
    """The image in the forms of the providers."""
    return [
        {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}},
        {"type": "input_image", "image_url": f"data:{kind};base64,{data}"},
        {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}},
    ]


@pytest.mark.parametrize("what", BAD)
def test_an_image_that_can_not_be_read(what: str) -> None:
    kind, data, problem = BAD[what]
    for form in forms(kind, data):
        assert problem in find_bad_image({"messages": [{"content": [form]}]})
    assert not find_bad_image({"messages": [{"content": forms("image/png", coded(png()))}]})


def test_of_many_images_none_may_be_large() -> None:
    def body(number: int) -> dict[str, Any]:
        return {"content": [forms("image/png", coded(png(2_001, 1)))[2] for _ in range(number)]}

    assert not find_bad_image(body(20))
    assert "exceeds 2000 pixels" in find_bad_image(body(21))


@pytest.mark.parametrize(("name", "form"), [("openai", 0), ("anthropic", 2)])
def test_a_request_with_such_an_image_is_rejected(name: str, form: int) -> None:
    def body(data: str) -> dict[str, Any]:
        content = [forms("image/png", data)[form]]
        return {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": content}]}

    STRICT[name]().check(body(coded(png())))
    with pytest.raises(RejectedRequest, match="Could not process image"):
        STRICT[name]().check(body("AAAA"))
