"""Reading values of events that we did not write."""

from __future__ import annotations

import pytest

from bot.platforms.payload import get_string, get_strings


@pytest.mark.parametrize(
    ("sent", "read"), [("a\0b", "a\ufffdb"), ("é\0", "é\ufffd"), ("a\ud800b", "a?b"), ("plain", "plain")]
)
def test_what_no_database_stores_is_replaced(sent: str, read: str) -> None:
    assert get_string({"text": sent}, "text") == read
    assert get_strings({"texts": [sent]}, "texts") == [read]
