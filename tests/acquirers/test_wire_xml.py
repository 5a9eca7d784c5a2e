"""XML from a bank: read if it is plain, refused if it is hostile, long, deep or broken."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acquirers.wire import xml

GOOD = b"<CC5Response><OrderId>A1</OrderId><Extra><HOSTMSG>ok</HOSTMSG></Extra></CC5Response>"
ENTITIES = b'<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">'

HOSTILE = {
    "nothing": b"",
    "no xml": b"not xml",
    "html": b"<html><body><br></body></html>",
    "half": GOOD[:-5],
    "two roots": GOOD + GOOD,
    "a dtd": b"<!DOCTYPE r>" + GOOD,
    "a dtd elsewhere": b'<!DOCTYPE r SYSTEM "http://127.0.0.1:9/x.dtd">' + GOOD,
    "laughs": b"<!DOCTYPE r [" + ENTITIES + b"]><r>&b;&b;&b;</r>",
    "a file": b'<!DOCTYPE r [<!ENTITY f SYSTEM "file:///etc/passwd">]><r>&f;</r>',
    "a parameter entity": b'<!DOCTYPE r [<!ENTITY % p "x"> %p;]><r/>',
    "an unknown entity": b"<r>&nbsp;</r>",
    "a twice given attribute": b'<r a="1" a="2"/>',
    "too long": b"<r>" + b" " * 65_536 + b"</r>",
    "too deep": b"<r>" * 17 + b"</r>" * 17,
    "much too deep": b"<r>" * 20_000,
    "too many": b"<r>" + b"<a/>" * 2000 + b"</r>",
    "a nul": b"<r>\x00</r>",
    "not utf-8": b"<r>\xff\xfe</r>",
    "an encoding that nobody knows": b'<?xml version="1.0" encoding="klingon"?><r/>',
    "an encoding of many bytes": b'<?xml version="1.0" encoding="utf-7"?><r/>',
    "another encoding than said": b'<?xml version="1.0" encoding="utf-16"?><r/>',
}


def test_a_plain_answer_is_read() -> None:
    root = xml.read(b'<?xml version="1.0" encoding="UTF-8"?>\n' + GOOD)

    assert root.tag == "CC5Response"
    assert xml.text_at(root, "OrderId") == "A1"
    assert xml.text_at(root, "Extra", "HOSTMSG") == "ok"
    assert xml.text_at(root, "Extra", "NOTHING") is None
    assert xml.text_at(root, "Nothing", "HOSTMSG") is None


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_refused_and_not_quoted(name: str) -> None:
    with pytest.raises(xml.Unreadable) as refusal:
        xml.read(HOSTILE[name])

    assert "passwd" not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_known_characters_may_be_escaped() -> None:
    assert xml.read(b"<r>&lt;&amp;&#305;</r>").text == "<&ı"


@pytest.mark.parametrize("encoding", ["ISO-8859-9", "windows-1254", "utf-8"])
def test_turkish_letters_are_read_in_the_documents_encoding(encoding: str) -> None:
    text = f'<?xml version="1.0" encoding="{encoding}"?><r>ğüşıöçİ</r>'

    assert xml.read(text.encode(encoding)).text == "ğüşıöçİ"


def test_the_encoding_of_the_answers_head_comes_before_the_documents() -> None:
    content = '<?xml version="1.0" encoding="utf-8"?><r>ğ</r>'.encode("iso-8859-9")

    assert xml.read(content, encoding="iso-8859-9").text == "ğ"


@pytest.mark.parametrize("content", [b"<r><a>1</a><a>2</a></r>", b"<r><a>1<b/></a></r>"])
def test_an_element_that_is_not_one_text_is_refused(content: bytes) -> None:
    with pytest.raises(xml.Unreadable):
        xml.text_at(xml.read(content), "a")


@given(
    st.one_of(st.binary(max_size=200), st.text("<>/&;!?[]ar=\"'-x", max_size=60).map(str.encode))
)
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    with suppress(xml.Unreadable):
        xml.read(content)
