"""The hashes of version 512: the published vectors, and what has to be signed."""

import pytest

from acquirers.garanti import hashes

PASSWORD, TERMINAL, KEY = "123qweASD/", "30691298", "12345678"
SECURITY = "1639636D00AB5EF0B3CE073BB222BFAAC2C2C38D"
FORM = {
    "terminalid": TERMINAL, "orderid": "order222", "txnamount": "10025", "txncurrencycode": "949",
    "successurl": "https://domain.com/success", "errorurl": "https://domain.com/fail_url",
    "txntype": "sales", "txninstallmentcount": "",
}  # fmt: skip
RETURN = {
    "clientid": TERMINAL, "oid": "2023100354BB", "authcode": "", "procreturncode": "",
    "response": "", "mdstatus": "1", "cavv": "xgRlQDz4AAAAAAAAAAAAAAAAAAA=", "eci": "02",
    "md": "aW5kZXg6MDJ6LjAI5iAcKf/ilXjYIOnTh4t+deHrtwO8ze7tPTL1YCDcBe8KEpuq6HDLYbqQSluL7p3kGcpFzX9s"
          "9XcegNhHMsDszxqGd33+p+p5sULGrDF3J2GGfiJDwan4ku7+eiTyS8x2xS9pUy7PTgMGc6jw94aLfXLHskhvY7FY"
          "WrymzQ==",
    "rnd": "kW094tPzNEhqORzzCsLB",
}  # fmt: skip
OF_THE_REQUEST = (
    "0CFE09F107274C6A07292DA061A4EECAB0F5F0CF87F831F2D3626A3346A941126C52D1D95A3B77ADF5AC348B3D25C76B"
    "A5D8D98A29557D087D3367BFFACCD25C"
)
OF_THE_FORM = (
    "372D6CB20B2B699D0A6667DFF46E3AA8CF3F9D8C2BB69A7C411895151FFCFAAB5277CCFE3B3A06035FEEFBFBFD40C79D"
    "BE51DBF867D0A24B37335A28F0CEFDE2"
)
OF_THE_ANSWER = (
    "6D6CA65F9420861F942E74BBA8C2DCB367150E28F23447394915D518E01808E36AB462C5F2B85B7058447C20CD4FB1FE"
    "66B6D7366FE233A762E2D3FC8FD07DC2"
)
OF_THE_RETURN = (
    "416B6253425E73184F118CC02E3BAA393622059BF6B0865D83F501E55A61339B9EC659CBCF7297EDECC1B17BF6281D90"
    "CC0AD8EDF3E1EFE94432ACCEAF79B26E"
)


def test_the_terminal_is_padded_with_zeros_in_the_hash_of_the_password_alone() -> None:
    assert hashes.security(PASSWORD, TERMINAL) == SECURITY
    assert hashes.security(PASSWORD, "030691298") == SECURITY


def test_a_request_an_answer_a_form_and_a_return_meet_their_vectors() -> None:
    request = hashes.of("order222", TERMINAL, "", "10025", "949", SECURITY)
    answer = hashes.of(
        "00", "407000985165", "304919", "20240310 14:05:08", "20240310D17E", SECURITY
    )

    assert request == OF_THE_REQUEST
    assert answer == OF_THE_ANSWER
    assert hashes.of_form(FORM, KEY, SECURITY) == OF_THE_FORM
    assert hashes.of_return(RETURN, KEY) == OF_THE_RETURN


@pytest.mark.parametrize("name", FORM)
def test_every_part_of_the_form_is_signed(name: str) -> None:
    assert hashes.of_form({**FORM, name: "7"}, KEY, SECURITY) != OF_THE_FORM


@pytest.mark.parametrize("name", RETURN)
def test_every_part_of_the_return_is_signed(name: str) -> None:
    assert hashes.of_return({**RETURN, name: "7"}, KEY) != OF_THE_RETURN


def test_the_signed_names_are_the_ones_that_the_bank_lists() -> None:
    assert (
        hashes.RETURNED_LIST
        == "clientid:oid:authcode:procreturncode:response:mdstatus:cavv:eci:md:rnd:"
    )
