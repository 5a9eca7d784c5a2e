"""The address rule: deliveries go to public addresses, and to none that only looks public.

`ipaddress.is_global` alone lets several kinds of dangerous address through; this list is
IANA's special-purpose registries (and the multicast and reserved blocks), all of them,
whether marked as globally reachable or not. Some clouds use addresses of their own for what
only their machines reach, which no registry lists: those are added here.
"""

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

SPECIAL_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "0.0.0.0/8",  # this network
            "10.0.0.0/8",  # private
            "100.64.0.0/10",  # behind a carrier's NAT, and some clouds' metadata
            "127.0.0.0/8",  # loopback
            "169.254.0.0/16",  # link-local, most clouds' metadata
            "172.16.0.0/12",  # private
            "192.0.0.0/24",  # protocol assignments, one cloud's metadata
            "192.0.2.0/24",  # documentation
            "192.31.196.0/24",  # AS112
            "192.52.193.0/24",  # multicast tunnels
            "192.88.99.0/24",  # 6to4 relays
            "192.168.0.0/16",  # private
            "192.175.48.0/24",  # AS112
            "198.18.0.0/15",  # benchmarks
            "198.51.100.0/24",  # documentation
            "203.0.113.0/24",  # documentation
            "224.0.0.0/4",  # multicast
            "240.0.0.0/4",  # reserved, and the broadcast address
        ),
    )
)
PLATFORM_IPV4 = tuple(
    map(
        IPv4Network,
        (
            "161.26.0.0/16",  # IBM Cloud: services of its private network
            "166.8.0.0/14",  # IBM Cloud: private endpoints of services
            "168.63.129.16/32",  # Azure: the host's agent, in all regions
            "192.80.8.124/32",  # Equinix Metal: metadata
            "199.36.153.4/30",  # Google Cloud: restricted access to APIs
            "199.36.153.8/30",  # Google Cloud: private access to APIs
        ),
    )
)
# Everything else is unassigned, local, or carries an IPv4 address (mapped, NAT64).
GLOBAL_IPV6 = IPv6Network("2000::/3")
SPECIAL_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2001::/23",  # protocol assignments, Teredo among them
            "2001:db8::/32",  # documentation
            "2002::/16",  # 6to4: an IPv4 address in disguise
            "2620:4f:8000::/48",  # AS112
            "3fff::/20",  # documentation
        ),
    )
)
PLATFORM_IPV6 = tuple(
    map(
        IPv6Network,
        (
            "2600:2d00:2:1000::/56",  # Google Cloud: restricted access to APIs
            "2600:2d00:2:2000::/56",  # Google Cloud: private access to APIs
        ),
    )
)
# The first half of an interface's identifier when the second is an IPv4 address, in any network.
ISATAP = frozenset({0x0000_5EFE, 0x0200_5EFE})


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Return whether a delivery may go there (architecture: the address rule)."""
    if isinstance(address, IPv4Address):
        return not any(address in block for block in SPECIAL_IPV4 + PLATFORM_IPV4)
    if address not in GLOBAL_IPV6 or address.scope_id is not None:
        return False
    is_isatap = (int(address) >> 32) & 0xFFFF_FFFF in ISATAP
    return not is_isatap and not any(address in block for block in SPECIAL_IPV6 + PLATFORM_IPV6)
