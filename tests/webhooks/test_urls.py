"""Where events may be sent: public https addresses of the merchant's own (contract 9)."""

from typing import Any

import pytest

from core.urls import is_host_and_port
from merchants import sites
from merchants.models import Merchant, Website
from tests.stage.factories import MerchantFactory
from tests.stage.processes import run
from webhooks import destinations
from webhooks.destinations import WebhookUrlNotAllowed

ALLOWED = [
    "https://acme.example",
    "https://acme.example/hooks",
    "https://acme.example:443/hooks",
    "https://acme.example:/hooks",
    "HTTPS://ACME.Example/Hooks?token=a%20b#part",
    "https://hooks.acme.example/",
    "https://a.b.c.acme.example/",
    "https://xn--mnchen-3ya.acme.example/",
    "https://partner.example/acme",
    "https://partner.example/acme/",
    "https://partner.example/acme/hooks?token=7",
    "https://partner.example:8443/other/hooks",
    "https://acme.example/" + "a" * 1979,
]
SYNTAX, HTTPS, PUBLIC, PORT, REGISTERED = (
    "plain absolute address", "https://", "public host name", "port", "registered website",
)  # fmt: skip
# Refused addresses, and the rule that each refusal names.
REFUSED = {
    SYNTAX: [
        "", "x", "acme.example/hooks", "//acme.example/hooks", "/hooks", "https://",
        "https:acme.example",
        "https:///acme.example", "https://user@acme.example/", "https://user:pw@acme.example/",
        "https://@acme.example/", "https://acme.example@evil.example/",
        "https://acme.example\\@evil.example/",
        "https://acme.example /hooks", " https://acme.example", "https://acme.example/\n", "https://ac\tme.example",
        "https://acme.example/../hooks", "https://acme.example/%2e%2E/hooks", "https://acme.example./",
        "https://acme..example/", "https://-acme.example/", "https://acme_hooks.acme.example/",
        "https://ａcme.example/", "https://acme。example/", "https://acmé.example/",
        "https://acme.example:0/",
        "https://acme.example:99999/", "https://acme.example:x/", "ftp://acme.example/",
        "javascript:alert(1)",
        "file:///etc/passwd", "https://[::1]/", "https://[::ffff:127.0.0.1]/", "https://[64:ff9b::7f00:1]/",
        "https://127.1/", "https://2130706433/", "https://0177.0.0.1/", "https://127.0.0.1.../",
        "https://acme.example/" + "a" * 1980,
    ],
    HTTPS: [
        "http://acme.example/hooks", "http://acme.example:443/", "HTTP://acme.example/",
        "http://localhost:3000/return/hooks", "http://127.0.0.1:5000/",
    ],
    PUBLIC: [
        "https://xn--a.acme.example/", "https://xn--99999999999.acme.example/",
        "https://localhost/", "https://intranet/hooks", "https://127.0.0.1/", "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data", "https://8.8.8.8/", "https://0x7f000001/",
        "https://0x7f.0x0.0x0.0x1/", "https://127.0.0.0x1/", "https://com/",
    ],
    PORT: [
        "https://acme.example:8080/", "https://acme.example:80/", "https://acme.example:8444/",
        "https://acme.example:22/", "https://acme.example:65535/",
    ],
    REGISTERED: [
        "https://globex.example/hooks", "https://example.com/", "https://notacme.example/",
        "https://acme.example.evil.example/", "https://partner.example/", "https://partner.example/acmehooks",
        "https://partner.example/other/hooks", "https://partner.example:8443/acme",
        "https://sub.partner.example/acme", "https://evil.example?@acme.example/",
        "https://evil.example#.acme.example",
    ],
}  # fmt: skip
CASES = [(rule, address) for rule, addresses in REFUSED.items() for address in addresses]
DEV_HOSTS = ["localhost:3000", "127.0.0.1:5000", "hooks.test:80"]


@pytest.fixture
def merchant(db: None, settings: Any) -> Merchant:
    """A shop with a website, and callbacks on hosts that it shares with others."""
    settings.WEBHOOK_PORTS = [443, 8443]
    merchant = MerchantFactory()
    sites.register_website(merchant, "https://acme.example")
    for callback in (
        "https://partner.example/acme/", "https://partner.example:8443/other",
        "http://localhost:3000/return", "http://127.0.0.1:5000",
    ):  # fmt: skip
        sites.register_callback(merchant, callback)
    return merchant


def rule_broken(merchant: Merchant, address: str) -> str | None:
    """Return what the refusal says, None for an address that is taken."""
    try:
        destinations.require(merchant, address)
    except WebhookUrlNotAllowed as refusal:
        return refusal.text
    return None


@pytest.mark.parametrize("address", ALLOWED)
def test_a_public_address_of_the_merchants_own_is_taken(merchant: Merchant, address: str) -> None:
    assert rule_broken(merchant, address) is None


@pytest.mark.every_case("webhooks reach no internal address")
@pytest.mark.parametrize(("rule", "address"), CASES)
def test_any_other_is_refused_and_told_which_rule_it_breaks(
    merchant: Merchant, rule: str, address: str
) -> None:
    told = rule_broken(merchant, address) or "taken"

    assert rule in told
    assert [value for value in ("acme", "127", "evil", "localhost") if value in told] == []


def test_another_merchants_website_is_not_ones_own(merchant: Merchant) -> None:
    globex = MerchantFactory()

    assert REGISTERED in (rule_broken(globex, "https://acme.example/hooks") or "taken")


def test_below_a_public_suffix_everybody_is_on_his_own(merchant: Merchant) -> None:
    sites.register_website(merchant, "https://acme.github.io")

    assert rule_broken(merchant, "https://hooks.acme.github.io/") is None
    assert rule_broken(merchant, "https://globex.github.io/") is not None


def test_a_website_that_is_gone_is_trusted_no_more(merchant: Merchant) -> None:
    Website.objects.filter(merchant=merchant).delete()

    assert rule_broken(merchant, "https://acme.example/hooks") is not None


def test_the_port_of_https_is_open_whatever_others_are(merchant: Merchant, settings: Any) -> None:
    settings.WEBHOOK_PORTS = [8443]

    assert rule_broken(merchant, "https://acme.example/hooks") is None


# --- A developer's own machine --------------------------------------------------------------


@pytest.mark.parametrize(
    ("address", "is_taken"),
    [
        ("http://localhost:3000/hooks", True),
        ("https://localhost:3000/hooks", True),
        ("http://LocalHost:3000", True),
        ("http://127.0.0.1:5000/hooks", True),
        ("http://hooks.test/", True),
        ("https://hooks.test/", False),
        ("http://localhost:3001/hooks", False),
        ("http://localhost/hooks", False),
        ("http://127.0.0.1:3000/hooks", False),
        ("http://user@localhost:3000/hooks", False),
        ("ftp://localhost:3000/hooks", False),
        ("http://localhost:3000.evil.example/", False),
    ],
)
def test_a_listed_host_and_port_is_exempt(
    merchant: Merchant, settings: Any, address: str, is_taken: bool
) -> None:
    settings.WEBHOOK_DEV_HOSTS = DEV_HOSTS

    assert (rule_broken(merchant, address) is None) == is_taken


@pytest.mark.parametrize(
    ("text", "is_one"),
    [
        *((pair, True) for pair in DEV_HOSTS),
        ("host.docker.internal:8080", True),
        ("localhost", False),
        ("localhost:", False),
        ("localhost:0", False),
        ("localhost:65536", False),
        ("localhost:x", False),
        ("Localhost:3000", False),
        ("http://localhost:3000", False),
        ("localhost:3000/", False),
        ("user@localhost:3000", False),
        ("*:3000", False),
        (":3000", False),
        ("3000", False),
        ("", False),
    ],
)
def test_what_a_host_and_port_is(text: str, is_one: bool) -> None:
    assert is_host_and_port(text) == is_one


@pytest.mark.slow
@pytest.mark.parametrize(
    ("variable", "listed", "installation", "said"),
    [
        ("WEBHOOK_DEV_HOSTS", "localhost", "sandbox", "Set WEBHOOK_DEV_HOSTS to host:port pairs"),
        ("WEBHOOK_DEV_HOSTS", "localhost:3000", "live", "Unset WEBHOOK_DEV_HOSTS"),
        ("WEBHOOK_DEV_HOSTS", "localhost:3000,http://x:1", "sandbox", "Set WEBHOOK_DEV_HOSTS to"),
        ("WEBHOOK_PORTS", "443,https", "sandbox", "Set WEBHOOK_PORTS to port numbers"),
        ("WEBHOOK_PORTS", "65536", "sandbox", "Set WEBHOOK_PORTS to port numbers"),
    ],
)
def test_a_wrong_list_stops_the_start(
    variable: str, listed: str, installation: str, said: str
) -> None:
    status, printed = run(
        "-c", "import config.wsgi", INSTALLATION=installation, BASE_URL="https://pay.example",
        **{variable: listed},
    )  # fmt: skip

    assert status != 0
    assert said in printed
