"""The adapter and the bank's stub, which were written apart, agree on any text."""

from hypothesis import given, settings
from hypothesis import strategies as st

from acquirers.nestpay import hashes
from acquirers.set_up import PASSWORD
from testbank.nestpay import hashes as the_banks

NAMES = ("Email", "oid", "EXTRA_CARDISSUER", "mdErrorMsg", "item2", "Item10", "firmaadi", "md")
TURKISH = "ğĞşŞıİçÇöÖüÜ"
TEXTS = st.one_of(
    st.sampled_from(["", "|", "\\", "\\|", "|\\", "||", TURKISH, "x" * 255, f"{TURKISH}|" * 19]),
    st.text(st.sampled_from(f"{TURKISH}|\\aZ09 +&=%"), max_size=255),
    st.text(max_size=20),
)
KEYS = st.one_of(
    st.sampled_from(["123456", "SANDBOX|KEY\\2"]), st.from_regex(PASSWORD, fullmatch=True)
)


def in_bytes(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "replace")


@settings(max_examples=150)
@given(
    st.dictionaries(st.sampled_from(NAMES), TEXTS), KEYS, st.sampled_from(["utf-8", "iso-8859-9"])
)
def test_both_make_the_same_hash_of_any_text(
    fields: dict[str, str], key: str, encoding: str
) -> None:
    sent = {name: in_bytes(text, encoding) for name, text in fields.items()}
    came = {name: text.decode(hashes.BYTES) for name, text in sent.items()}

    made = the_banks.hashed({**sent, "hash": b"?", "encoding": b"?"}, key)

    assert made == hashes.of({**came, "HASH": "?", "encoding": "?"}, key)
    assert hashes.is_right(came, made, key)
