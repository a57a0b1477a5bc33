"""Sums in questions, exactly or not at all."""

import pytest

from agent.guide.arithmetic import evaluate


@pytest.mark.parametrize(
    ("question", "expression", "value"),
    [
        ("What's 15% of 2,340?", "15% × 2,340", "351"),
        ("15 percent of 80", "15% × 80", "12"),
        ("What is 0.1 + 0.2?", "0.1 + 0.2", "0.3"),
        ("calculate 12 * (3 + 4)", "12 × (3 + 4)", "84"),
        ("7 divided by 3", "7 ÷ 3", "2.33333333333…"),
        ("1234567890123 * 3", "1,234,567,890,123 × 3", "3,703,703,670,369"),
        ("10000000000000 / 3", "10,000,000,000,000 ÷ 3", "3,333,333,333,333…"),
        ("2+2*-10=", "2 + 2 × -10", "-18"),
        ("1,000,000 x 3", "1,000,000 × 3", "3,000,000"),
        ("2340的15%是多少？", "15% × 2,340", "351"),
        ("12 加 30 等于多少", "12 + 30", "42"),
        ("计算 100 除以 8", "100 ÷ 8", "12.5"),
        ("200 的百分之 5", "5% × 200", "10"),
    ],
)
def test_a_sum_in_two_languages(question: str, expression: str, value: str) -> None:
    assert evaluate(question) == (expression, value)


@pytest.mark.parametrize(
    "question",
    [
        *(
            "1/0",
            "2**99999999",
            "9" * 200 + "+1",
            "(" * 60 + "1+1",
            "1+",
            "()",
            "5",
            "2024",
            "",
            "=",
            "1 // 2",
        ),
        *("__import__('os')", "1+a", "0x10+1", "1e9*1e9", "1_000+1", "010+1", "what is 2 + two"),
        *("What is the date 24.12.2026?", "call +49 30 1234 5678 now", "10.0.0.1/8"),
    ],
)
def test_anything_else_is_no_sum(question: str) -> None:
    assert evaluate(question) is None
