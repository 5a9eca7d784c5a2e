"""The address rule: what is inside a special block is refused, its neighbours not.

Special are IANA's blocks, and those that a cloud's own machines alone reach.
"""

from ipaddress import ip_address, ip_network

import pytest

from webhooks.delivery.http.addresses import is_public

# A block; the addresses before and after it, where these are public.
RANGES = [
    ("0.0.0.0/8", None, "1.0.0.0"),
    ("10.0.0.0/8", "9.255.255.255", "11.0.0.0"),
    ("100.64.0.0/10", "100.63.255.255", "100.128.0.0"),
    ("127.0.0.0/8", "126.255.255.255", "128.0.0.0"),
    ("169.254.0.0/16", "169.253.255.255", "169.255.0.0"),
    ("172.16.0.0/12", "172.15.255.255", "172.32.0.0"),
    ("161.26.0.0/16", "161.25.255.255", "161.27.0.0"),
    ("166.8.0.0/14", "166.7.255.255", "166.12.0.0"),
    ("168.63.129.16/32", "168.63.129.15", "168.63.129.17"),
    ("192.80.8.124/32", "192.80.8.123", "192.80.8.125"),
    ("199.36.153.4/30", "199.36.153.3", None),
    ("199.36.153.8/30", None, "199.36.153.12"),
    ("192.0.0.0/24", "191.255.255.255", "192.0.1.0"),
    ("192.0.2.0/24", "192.0.1.255", "192.0.3.0"),
    ("192.31.196.0/24", "192.31.195.255", "192.31.197.0"),
    ("192.52.193.0/24", "192.52.192.255", "192.52.194.0"),
    ("192.88.99.0/24", "192.88.98.255", "192.88.100.0"),
    ("192.168.0.0/16", "192.167.255.255", "192.169.0.0"),
    ("192.175.48.0/24", "192.175.47.255", "192.175.49.0"),
    ("198.18.0.0/15", "198.17.255.255", "198.20.0.0"),
    ("198.51.100.0/24", "198.51.99.255", "198.51.101.0"),
    ("203.0.113.0/24", "203.0.112.255", "203.0.114.0"),
    ("224.0.0.0/4", "223.255.255.255", None),
    ("240.0.0.0/4", None, None),
    ("255.255.255.255/32", None, None),
    ("::/3", None, "2000::"),
    ("2001::/23", "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::"),
    ("2001:db8::/32", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"),
    ("2002::/16", "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::"),
    ("2620:4f:8000::/48", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::"),
    ("2600:2d00:2:1000::/56", "2600:2d00:2:fff:ffff:ffff:ffff:ffff", "2600:2d00:2:1100::"),
    ("2600:2d00:2:2000::/56", "2600:2d00:2:1fff:ffff:ffff:ffff:ffff", "2600:2d00:2:2100::"),
    ("3fff::/20", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"),
    ("4000::/2", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", None),
    ("8000::/1", None, None),
]

DISGUISES = {
    "unspecified": "::",
    "loopback": "::1",
    "mapped loopback": "::ffff:127.0.0.1",
    "mapped public": "::ffff:8.8.8.8",
    "translated": "::ffff:0:127.0.0.1",
    "compatible": "::127.0.0.1",
    "NAT64": "64:ff9b::7f00:1",
    "NAT64 of a public one": "64:ff9b::808:808",
    "local NAT64": "64:ff9b:1::a9fe:a9fe",
    "discard": "100::1",
    "segment routing": "5f00::1",
    "Teredo": "2001:0:4136:e378:8000:63bf:3fff:fdd2",
    "ORCHID": "2001:20::1",
    "benchmark": "2001:2::1",
    "6to4 of loopback": "2002:7f00:1::",
    "ISATAP": "2a00:1450:4001:80b:0:5efe:7f00:1",
    "ISATAP, universal": "2a00:1450:4001:80b:200:5efe:7f00:1",
    "unique local": "fd00:ec2::254",
    "link-local": "fe80::1",
    "link-local with a zone": "fe80::1%eth0",
    "public with a zone": "2a00:1450:4001:80b::200e%1",
    "site-local": "fec0::1",
    "multicast": "ff02::1",
}


@pytest.mark.parametrize(("block", "before", "after"), RANGES)
def test_a_block_is_refused_from_its_first_to_its_last_address(
    block: str, before: str | None, after: str | None
) -> None:
    network = ip_network(block)
    first, last = network[0], network[-1]
    inside = network[network.num_addresses // 2]

    assert not any(is_public(address) for address in (first, inside, last))
    assert before is None or (ip_address(before) == first - 1 and is_public(first - 1))
    assert after is None or (ip_address(after) == last + 1 and is_public(last + 1))


@pytest.mark.parametrize("address", DISGUISES.values(), ids=DISGUISES)
def test_no_disguise_passes(address: str) -> None:
    assert not is_public(ip_address(address))


@pytest.mark.parametrize("address", ["8.8.8.8", "93.184.215.14", "2a00:1450:4001:80b::200e"])
def test_a_public_address_passes(address: str) -> None:
    assert is_public(ip_address(address))
