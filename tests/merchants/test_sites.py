"""Where payers may be sent back to: addresses that browsers and we read alike, on known sites."""

import re
from typing import Any
from urllib.parse import urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core import urls
from merchants import sites
from merchants.models import Merchant
from merchants.sites import ReturnUrlNotAllowed, SiteRefused
from tests.stage.client import ApiClient
from tests.stage.factories import MerchantFactory, payment

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def merchant(db: None) -> Merchant:
    """A shop with a website, and callbacks of several kinds."""
    merchant = MerchantFactory()
    sites.register_website(merchant, "https://acme.example")
    sites.register_callback(merchant, "http://localhost:3000/return")
    sites.register_callback(merchant, "https://partner.example:8443/acme/")
    sites.register_callback(merchant, "http://127.0.0.1:5000")
    return merchant


def is_allowed(merchant: Merchant, address: str) -> bool:
    try:
        sites.require_return_url(merchant, address)
    except ReturnUrlNotAllowed:
        return False
    return True


# --- Websites -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "https://acme.example",
        "https://acme.example/",
        "https://ACME.Example/Done?order=1#paid",
        "HTTPS://acme.example/",
        "https://shop.acme.example/a/b",
        "https://a.b.c.acme.example:8443/",
        "https://acme.example:443/",
        "https://acme.example:/",
        "https://acme.example/a%20b/%D9%A1?q=%2e%2e/",
        "https://acme.example?done",
        "https://acme.example#done",
    ],
)
def test_a_website_trusts_its_host_and_what_is_below_it(merchant: Merchant, address: str) -> None:
    assert is_allowed(merchant, address)


@pytest.mark.every_case("nobody is sent to an address that is not registered")
@pytest.mark.parametrize(
    "address",
    [
        "http://acme.example/",
        "https://evil.example/",
        "https://acme.example.evil.com/",
        "https://evilacme.example/",
        "https://example/",
        "https://acme.example./",
        "https://acme..example/",
        "https://.acme.example/",
        "https://-acme.acme.example/",
        "https://user@acme.example/",
        "https://user:pw@acme.example/",
        "https://@acme.example/",
        "https://acme.example@evil.com/",
        "https://evil.com#@acme.example/",
        "https://evil.com?@acme.example/",
        "https://evil.com\\@acme.example/",
        "https://evil.com\\.acme.example/",
        "https://acme.example\\@evil.com/",
        "https:\\\\acme.example/",
        "https:/\\acme.example/",
        "https:acme.example",
        "https:/acme.example",
        "https:///acme.example",
        "https:////acme.example",
        "//acme.example",
        "/acme.example",
        "acme.example",
        "",
        " ",
        "https://",
        "https:///",
        " https://acme.example/",
        "https://acme.example/ ",
        "https://acme.example/\n",
        "https://acme.example/\ta",
        "ht\ntps://acme.example/",
        "https://ac\tme.example/",
        "https://evil.com\t.acme.example/",
        "https://acme.example/\x00",
        "https://acme.example/\x7f",
        "https://acme.example/\x85",
        "https://acme.example/\u2028",
        "https://ａcme.example/",
        "https://acme．example/",
        "https://acme。example/",
        "https://evil.com／.acme.example/",
        "https://evil.com⁄.acme.example/",
        "https://evil.com﹖.acme.example/",
        "https://evil.com＃.acme.example/",
        "https://ac\u200bme.example/",
        "https://ac\u00adme.example/",
        "https://acme.example\u200d/",
        "https://acm\u0435.example/",
        "https://ⓐcme.example/",
        "https://xn--acm-6cd.example/",
        "https://acme.example%2eevil.com/",
        "https://acme.example%00.evil.com/",
        "https://evil.com%2f.acme.example/",
        "https://evil.com%40acme.example/",
        "https://evil.com:443@acme.example/",
        "https://acme.example:0/",
        "https://acme.example:x/",
        "https://acme.example:65536/",
        "https://acme.example:-1/",
        "https://acme.example:+443/",
        "https://acme.example:4_43/",
        "https://acme.example:４４３/",
        "https://acme.example:443:80/",
        "https://[acme.example]/",
        "https://[::1]/",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f000001/",
        "https://acme.example/../x",
        "https://acme.example/a/./b",
        "https://acme.example/a/%2e%2E/b",
        "https://acme.example/a/.%2e",
        "https://acme.example/a/..%5cb",
        "https://acme.example/a%5C%2e%2e%5Cb",
        "https://acme.example/%2e",
        "javascript:alert(1)//https://acme.example/",
        "javascript://acme.example/%0aalert(1)",
        "data:text/html,https://acme.example/",
        "ftp://acme.example/",
        "file://acme.example/",
        "httpss://acme.example/",
        "https://acme.example/" + "a" * 2000,
        "https://" + "a" * 64 + ".acme.example/",
    ],
)
def test_what_browsers_might_read_otherwise_is_refused(merchant: Merchant, address: str) -> None:
    assert not is_allowed(merchant, address)


def test_a_website_of_another_merchant_is_not_ours(merchant: Merchant) -> None:
    globex = MerchantFactory(name="Globex")
    sites.register_website(globex, "globex.example")

    assert not is_allowed(merchant, "https://globex.example/")
    assert not is_allowed(globex, "https://acme.example/")


# --- Callbacks ------------------------------------------------------------------------------


@pytest.mark.every_case("nobody is sent to an address that is not registered")
@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("http://localhost:3000/return", True),
        ("http://localhost:3000/return/", True),
        ("http://localhost:3000/return/order/1?a=b#c", True),
        ("http://localhost:3000/return?a=b", True),
        ("HTTP://LOCALHOST:3000/return", True),
        ("http://localhost:3000/returned", False),
        ("http://localhost:3000/return%2fx", False),
        ("http://localhost:3000/Return", False),
        ("http://localhost:3000/", False),
        ("http://localhost:3000", False),
        ("http://localhost:3000//return", False),
        ("http://localhost:3000/x/return", False),
        ("http://localhost:3000/return/../admin", False),
        ("http://localhost:3000/return/%2e%2e/admin", False),
        ("https://localhost:3000/return", False),
        ("http://localhost:3001/return", False),
        ("http://localhost/return", False),
        ("http://a.localhost:3000/return", False),
        ("http://localhost.:3000/return", False),
        ("https://partner.example:8443/acme", True),
        ("https://partner.example:8443/acme/done", True),
        ("https://partner.example:8443/acme-evil", False),
        ("https://partner.example/acme/", False),
        ("https://a.partner.example:8443/acme/", False),
        ("http://127.0.0.1:5000/anything", True),
        ("http://127.0.0.1:5000", True),
        ("http://127.1:5000/", False),
        ("http://0177.0.0.1:5000/", False),
        ("http://2130706433:5000/", False),
    ],
)
def test_a_callback_trusts_its_origin_and_its_path_up_to_a_slash(
    merchant: Merchant, address: str, *, allowed: bool
) -> None:
    assert is_allowed(merchant, address) is allowed


# --- At the API -----------------------------------------------------------------------------


@pytest.mark.every_case("nobody is sent to an address that is not registered")
@pytest.mark.parametrize(
    "return_url",
    ["https://evil.example/", "http://acme.example/", "not an address", "x" * 5000,
     "javascript:alert(1)"],
)  # fmt: skip
def test_a_foreign_return_url_is_refused_at_create_and_confirm(
    acme: ApiClient, bank: object, return_url: str
) -> None:
    bare = acme.post("/v1/payment_intents", {"amount": 1, "currency": "try"})

    create = acme.post("/v1/payment_intents", payment(return_url=return_url))
    confirm = acme.post(f"/v1/payment_intents/{bare['id']}/confirm", {"return_url": return_url})

    assert create.refusal == confirm.refusal == (400, "return_url_not_allowed", "return_url")


def test_a_return_url_is_kept_with_its_fragment(acme: ApiClient) -> None:
    address = "https://shop.acme.example/done?order=1#paid"
    body = {"amount": 1, "currency": "try", "return_url": address}

    assert acme.post("/v1/payment_intents", body).status == 200


# --- Registering ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("acme.example", "acme.example"),
        ("https://Shop.ACME.com.tr/path?x", "shop.acme.com.tr"),
        ("https://acme.co.uk", "acme.co.uk"),
        ("xn--mnchen-3ya.example", "xn--mnchen-3ya.example"),
    ],
)
def test_a_website_is_kept_by_its_host(merchant: Merchant, address: str, host: str) -> None:
    assert sites.register_website(merchant, address).host == host


@pytest.mark.every_case("nobody is sent to an address that is not registered")
@pytest.mark.parametrize(
    "address",
    [
        "com", "com.tr", "co.uk", "https://github.io", "https://vercel.app", "s3.amazonaws.com",
        "localhost", "http://acme.example", "ftp://acme.example", "127.0.0.1", "https://[::1]",
        "1.2.3.4", "0x7f.0.0.1", "0x7f000001", "acme.0x1", "acme.1", "münchen.example",
        "acme..example", "acme.example.", "user@acme.example", "javascript:alert(1)",
        "*.acme.example", "_dmarc.acme.example",
        "", " ", "https://", "acme example",
    ],
)  # fmt: skip
def test_what_is_nobodys_own_name_cannot_be_registered(merchant: Merchant, address: str) -> None:
    with pytest.raises(SiteRefused):
        sites.register_website(merchant, address)

    assert merchant.websites.count() == 1


@pytest.mark.parametrize(
    "address",
    ["localhost:3000/return", "ftp://acme.example", "javascript:alert(1)", "/return", "",
     "https://acme.example/?a=b", "https://acme.example/#x", "https://acme.example/a?",
     "https://u@acme.example/", "https://acme.example/../a", "https://acme.example/%2e%2e/a"],
)  # fmt: skip
def test_what_is_no_plain_address_is_no_callback(merchant: Merchant, address: str) -> None:
    with pytest.raises(SiteRefused):
        sites.register_callback(merchant, address)


def test_registering_twice_is_once(merchant: Merchant) -> None:
    sites.register_website(merchant, "https://ACME.example/other")
    sites.register_callback(merchant, "http://localhost:3000/return")

    assert merchant.websites.count() == 1
    assert merchant.callback_urls.count() == 3


# --- Everything else ------------------------------------------------------------------------

PIECES = st.sampled_from(
    ["https:", "http:", "HTTPS:", "/", "//", "\\", "@", ":", "?", "#", ".", "..", "%2e", "%2f",
     "%5c", "%00", "\t", "\n", "\x00", " ", "acme.example", "evil.com", "acme", "example", "443",
     "0", "[", "]", "::1", "127.0.0.1", "。", "．", "／", "\u200b", "\u00ad", "user",
     "javascript:", "a", "-", "_", "xn--a", "0x7f", "é", "ß", "İ"]
)  # fmt: skip
ADDRESSES = st.one_of(
    st.lists(PIECES, max_size=10).map("".join),
    st.lists(PIECES, max_size=8).map(lambda parts: "https://" + "".join(parts)),
    st.lists(PIECES, max_size=8).map(lambda parts: "https://acme.example" + "".join(parts)),
    st.text(max_size=30).map(lambda text: "https://" + text),
)


def browsers_host(address: str) -> str:
    """Return the host as the WHATWG's URL standard reads a special scheme's address."""
    text = re.sub(r"[\t\n\r]", "", address.strip("".join(map(chr, range(0x21)))))
    rest = re.sub(r"^https?:", "", text, count=1, flags=re.IGNORECASE)
    rest = rest.replace("\\", "/") if "?" not in rest and "#" not in rest else _slashed(rest)
    authority = re.split(r"[/?#]", rest.lstrip("/"), maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    return re.sub(r":\d*$", "", host).lower()


def _slashed(rest: str) -> str:
    head = re.split(r"[?#]", rest, maxsplit=1)[0]
    return head.replace("\\", "/") + rest[len(head) :]


@given(ADDRESSES)
@example("https://acme.example?@evil.com")
@example("https://acme.example#@evil.com")
@example("https://acme.example/@evil.com")
def test_everybody_reads_an_accepted_address_alike(address: str) -> None:
    try:
        url = urls.parse(address)
    except urls.BadUrl:
        return

    assert url.host == urlsplit(address).hostname == browsers_host(address)
    assert url.scheme in ("http", "https")
    assert url.host.isascii()


@given(ADDRESSES)
def test_an_address_is_taken_apart_or_refused_and_nothing_else(address: str) -> None:
    try:
        url: Any = urls.parse(address)
    except urls.BadUrl:
        return

    rebuilt = f"{url.scheme}://{url.host}:{url.port}{url.path}"
    assert urls.parse(rebuilt).origin == url.origin


def test_the_generated_addresses_are_not_all_refused() -> None:
    assert urls.parse("https://acme.example:443/a?b#c").host == "acme.example"
