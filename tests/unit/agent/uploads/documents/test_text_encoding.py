"""Encodings of tables by their header alone: rows in ASCII say nothing, however many there are."""

from __future__ import annotations

import pytest

from agent.uploads.documents.text_encoding import detect_encoding

HEADERS = {
    "cp1252": [
        "Größe;Preis",
        "prénom;âge",
        "Fläche;m²",
        "año;país",
        "Région;Département;Coût",
        "Preço;Quantidade;Descrição",
        "Température;°C",
        "Ålder;Kön",
        "Rabatt ½;5 €",
    ],
    "cp1250": ["miasto;kwota\nŁódź;5", "název;částka", "zamówień;żółty", "összeg;darabszám;őr"],
    "cp1251": ["имя;сумма", "Отдел;Бюджет;Год"],
    "cp1253": ["όνομα;ποσό"],
    "cp1256": ["الاسم;المبلغ"],
    "koi8-r": ["имя;сумма"],
    "gbk": ["姓名,金额", "部门;预算", "日期,销售额,备注", "iPhone手机,数量"],
    "big5": ["姓名,金額", "部門;預算"],
    "cp932": ["名前,金額", "売上;日付", "カテゴリ,数量"],
    "euc-jp": ["カテゴリ,数量"],
    "cp949": ["이름,금액", "부서;예산"],
}
ROWS = ["2026-01-02;2026-02-03", "A-00001;1;EUR", "g0;0,50", "item 1;north;shipped"]


@pytest.mark.parametrize("count", [0, 1, 10, 1500])
@pytest.mark.parametrize(
    ("codec", "header"), [(codec, header) for codec, headers in HEADERS.items() for header in headers]
)
def test_a_header_decides(codec: str, header: str, count: int) -> None:
    for row in ROWS[: max(1, count)]:
        text = f"{header}\n" + f"{row}\n" * count
        found = detect_encoding(text.encode(codec))
        assert found is not None and found.decode(text.encode(codec)) == text, (found, row)
