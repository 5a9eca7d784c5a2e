"""One Turkish glossary: each term of the panel has one translation, in the whole catalogue."""

import re

import pytest

from tests.panel.test_translations import entries

SMALL = str.maketrans({"I": "ı", "İ": "i"})
PLACEHOLDER = re.compile(r"%\(\w+\)[sd]")
# By the English term, the stem that its Turkish has.
TERMS = {
    r"top-?ups?": "bakiye yükle",
    r"payouts?": "hesaba aktarım",
    r"second factors?": "iki adımlı doğrulama",
    r"callback urls?": "dönüş adres",
    r"settlements?": "hak ediş",
    r"surcharges?": "vade farkı",
    r"operators?": "operatör",
    r"statements?": "ekstre",
    r"filters?": "filtre",
    r"pending (?:funds|becomes|afterwards)|of it pending|available and pending": "valör bekle",
    r"(?:reserved|held) for disputes": "bloke",
}
# Translations of before, and of other glossaries.
FORBIDDEN = [
    "işyer", "üye iş", "satıcı", "işletme", "etken", "faktör", "geri dönüş ad", "geri dönüş url",
    "mutabakat", "ek ücret", "para aktarım", "para çek", "süzgeç", "süzgec", "süz",
]  # fmt: skip


def small(text: str) -> str:
    return PLACEHOLDER.sub("", text).translate(SMALL).lower()


def against(texts: list[tuple[str, str]]) -> list[str]:
    """Return the translations that have another word than the glossary."""
    wrong = [
        f"{english} → {turkish}: {stem}"
        for english, turkish in texts
        for term, stem in TERMS.items()
        if re.search(rf"\b(?:{term})\b", small(english)) and stem not in small(turkish)
    ]
    return wrong + [
        f"{english} → {turkish}: not {stem}"
        for english, turkish in texts
        for stem in FORBIDDEN
        if re.search(rf"\b{stem}", small(turkish))
    ]


def test_each_term_has_one_translation() -> None:
    texts = [(english, turkish) for _, english, said in entries() for turkish in said]

    assert against(texts) == []
    assert len(texts) > 1000


@pytest.mark.parametrize(
    ("english", "turkish"),
    [
        ("Cancel the payout?", "Aktarım iptal edilsin mi?"), ("Top-ups", "Yüklemeler"),
        ("Merchant", "İşyeri"), ("Filter", "Süz"), ("Second factor", "İkinci etken"),
        ("Settlement", "Mutabakat"), ("Pending funds", "Bekleyen"),
    ],
)  # fmt: skip
def test_another_word_is_found(english: str, turkish: str) -> None:
    assert against([(english, turkish)])
