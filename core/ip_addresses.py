"""Network addresses as texts: one spelling for each, and whether the internet knows it."""

from ipaddress import IPv4Address, IPv6Address, ip_address

# Of an IPv6 address that ends like an IPv4 one.
LONGEST = 45


def plain(text: str) -> str:
    """Return an IPv4 or IPv6 address in its shortest form; a mapped IPv4 address as IPv4.

    :raises ValueError: it is no address, or one with a zone (`fe80::1%eth0`).
    """
    if len(text) > LONGEST or "%" in text:
        raise ValueError("not an address")
    return str(_unmapped(ip_address(text)))


def is_public(address: str) -> bool:
    """Return whether an address, as `plain` returns it, is one of the internet's."""
    found = ip_address(address)
    return found.is_global and not found.is_multicast


def _unmapped(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address
