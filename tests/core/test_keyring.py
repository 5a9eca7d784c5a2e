import json
import pickle
from collections.abc import Callable

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core import keyring
from core.keyring import KeyRing, SealBroken, UnknownKey

KEYS = {name: name.encode() * 16 for name in ("k1", "k2")}
MAC = {**{purpose: purpose.encode() for purpose in keyring.MAC_PURPOSES}, "cvc": b"c" * 32}
RING = KeyRing(primary="k1", encryption={"k1": KEYS["k1"]}, mac=MAC)
ROTATED = KeyRing(primary="k2", encryption=KEYS, mac=MAC)
BLOB = RING.seal(b"number", context="vault.card|mer_a|tok_a|number")


@given(st.binary(max_size=300), st.text(max_size=60))
def test_what_was_sealed_opens_again(plaintext: bytes, context: str) -> None:
    blob = RING.seal(plaintext, context=context)

    assert RING.open(blob, context=context) == plaintext
    assert RING.open_cvc(RING.seal_cvc(plaintext, context=context), context=context) == plaintext


@pytest.mark.parametrize("place", range(len(BLOB)))
def test_a_flipped_byte_is_refused(place: int) -> None:
    changed = bytearray(BLOB)
    changed[place] ^= 1

    with pytest.raises((SealBroken, UnknownKey)):
        RING.open(bytes(changed), context="vault.card|mer_a|tok_a|number")


@given(st.integers(0, len(BLOB) - 1), st.binary(max_size=40))
def test_anything_but_the_blob_is_refused(length: int, tail: bytes) -> None:
    with pytest.raises((SealBroken, UnknownKey)):
        RING.open(BLOB[:length] + tail, context="vault.card|mer_a|tok_a|number")


@pytest.mark.parametrize("context", ["", "vault.card|mer_b|tok_a|number", "vault.card|mer_a|tok_a"])
def test_a_blob_opens_only_in_its_own_context(context: str) -> None:
    with pytest.raises(SealBroken):
        RING.open(BLOB, context=context)


def test_the_same_plaintext_is_sealed_differently_each_time() -> None:
    assert RING.seal(b"number", context="a") != RING.seal(b"number", context="a")


def test_an_old_key_in_the_ring_opens_old_blobs() -> None:
    new = ROTATED.seal(b"number", context="a")

    assert ROTATED.open(BLOB, context="vault.card|mer_a|tok_a|number") == b"number"
    assert (ROTATED.key_id_of(BLOB), ROTATED.key_id_of(new)) == ("k1", "k2")


def test_a_rewrapped_blob_opens_with_the_primary_key_alone() -> None:
    new = ROTATED.rewrap(BLOB, context="vault.card|mer_a|tok_a|number")

    alone = KeyRing(primary="k2", encryption={"k2": KEYS["k2"]}, mac=MAC)
    assert alone.open(new, context="vault.card|mer_a|tok_a|number") == b"number"
    assert (ROTATED.key_id_of(BLOB), ROTATED.key_id_of(new)) == ("k1", "k2")


@pytest.mark.parametrize("context", ["", "vault.card|mer_b|tok_a|number"])
def test_a_blob_is_not_rewrapped_for_another_context(context: str) -> None:
    with pytest.raises(SealBroken):
        ROTATED.rewrap(BLOB, context=context)


def test_a_blob_of_a_key_that_is_not_in_the_ring_names_the_key() -> None:
    with pytest.raises(UnknownKey) as refusal:
        RING.open(ROTATED.seal(b"number", context="a"), context="a")

    assert refusal.value.key_id == "k2"


@pytest.mark.parametrize("place", [0, 1, 20])
def test_a_changed_or_moved_cvc_is_refused(place: int) -> None:
    blob = bytearray(RING.seal_cvc(b"987", context="tok_a"))
    blob[place] ^= 1

    with pytest.raises(SealBroken):
        RING.open_cvc(bytes(blob), context="tok_a")
    with pytest.raises(SealBroken):
        RING.open_cvc(RING.seal_cvc(b"987", context="tok_a"), context="tok_b")


def test_a_cvc_is_not_sealed_with_a_card_key() -> None:
    other = KeyRing(primary="k1", encryption={"k1": KEYS["k1"]}, mac=MAC | {"cvc": b"d" * 32})

    with pytest.raises(SealBroken):
        other.open_cvc(RING.seal_cvc(b"987", context="tok_a"), context="tok_a")


def test_each_purpose_has_a_mac_of_its_own() -> None:
    macs = {RING.mac(purpose, b"x") for purpose in keyring.MAC_PURPOSES}

    assert len(macs) == len(keyring.MAC_PURPOSES)
    assert RING.mac("link", b"x") == RING.mac("link", b"x")


@pytest.mark.parametrize("keep", [pickle.dumps, json.dumps, orjson.dumps, vars])
def test_the_ring_shows_no_key(keep: Callable[[object], object]) -> None:
    with pytest.raises(TypeError):
        keep(RING)
    assert repr(RING) == "<KeyRing primary=k1>"


@pytest.mark.parametrize("secret", [b"", b"another", b"sessio"])
def test_what_was_sealed_with_a_secret_opens_with_it_alone(secret: bytes) -> None:
    blob = RING.seal_for("session", b"page", context="c", secret=b"session")

    assert RING.open_for("session", blob, context="c", secret=b"session") == b"page"
    with pytest.raises(SealBroken):
        RING.open_for("session", blob, context="c", secret=secret)
