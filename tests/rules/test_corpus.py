"""The corpus of message payloads covers the platforms, cites its sources and holds no secrets."""

from __future__ import annotations

import re

import pytest

from tests.corpus import FOLDER, Sample, load_samples

LEAST = {"slack": 60, "discord": 40, "telegram": 40, "feishu": 40}
SECRET = re.compile(r"xox[a-z]-\d|xapp-\d|\b\d{8,10}:[A-Za-z0-9_-]{35}\b|hooks\.slack\.com/services/T")
SAMPLES = [pytest.param(one, id=f"{name}-{one.name}") for name in LEAST for one in load_samples(name)]


@pytest.mark.parametrize("platform", LEAST)
def test_each_platform_has_enough_content_types(platform: str) -> None:
    samples = load_samples(platform)
    assert len(samples) >= LEAST[platform]
    assert len({one.title for one in samples}) == len(samples), "each shows something else"
    assert (FOLDER / platform / "README.md").is_file(), "it says which types are missing"


@pytest.mark.parametrize("sample", SAMPLES)
def test_a_sample_says_where_it_is_from_and_what_is_read(sample: Sample) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", sample.name)
    assert re.match(r"https://[a-z.]+/\S+$", sample.source)
    assert sample.event
    assert all(isinstance(text, str) and text for text in (*sample.reads, *sample.omits))
    assert not any(left in text for left in sample.omits for text in sample.reads)


@pytest.mark.parametrize("platform", LEAST)
def test_no_sample_holds_a_secret(platform: str) -> None:
    for file in (FOLDER / platform).iterdir():
        assert not SECRET.search(file.read_text()), file.name
