"""The guards that `python -m scripts.mutations` removes are in the code, and each stands on one page."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from scripts.guards import Guard, read_guards
from scripts.reference.guards import PAGES

MARKED = """
import pytest
pytestmark = [pytest.mark.may_block, pytest.mark.guard("one", "a.py", "x", "y", against="all")]

@pytest.mark.guard("two", "a.py", "x", "y", against="all", test="test_inherited", user=True)
class TestSome(Base):
    @pytest.mark.guard("three", "a.py", "x" "x", "y", against="all", case="telegram")
    async def test_own(self, case): ...
"""


def test_each_guard_stands_once_in_its_file() -> None:
    texts = {file: Path(file).read_text() for file in {guard.file for guard in read_guards()}}
    assert [guard.what for guard in read_guards() if texts[guard.file].count(guard.old) != 1] == []


def test_each_guard_is_on_one_page() -> None:
    listed = Counter(guard for page in PAGES for guard in page.list_guards())
    assert listed == Counter(read_guards())


def test_a_marker_names_its_test(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_a.py").write_text(MARKED)
    node = "tests/test_a.py"
    assert read_guards(tmp_path) == (
        Guard("one", "a.py", "x", "y", "all", node),
        Guard("two", "a.py", "x", "y", "all", f"{node}::TestSome::test_inherited", user=True),
        Guard("three", "a.py", "xx", "y", "all", f"{node}::TestSome::test_own[telegram]"),
    )
