"""Which addresses are the public Internet's: all others are some private network."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

# IANA hands out this half of IPv6's eighth alone; what lies beside it is special,
# or nobody's: local, site-local, multicast, "::127.0.0.1", routers' own.
_GLOBAL_UNICAST = "2000::/3"
# Of another network's size, though within it or among the public IPv4: special by
# IANA's registries, which Python's tables follow some years later.
_SPECIAL = (
    "192.88.99.0/24",  # 6to4's relays, given up (RFC 7526)
    "2001::/23",  # protocols, with Teredo, which wraps IPv4 (RFC 4380)
    "3fff::/20",  # documentation (RFC 9637)
)
# A NAT64's address is the IPv4 one at its end (RFC 6052).
_NAT64 = "64:ff9b::/96"


def is_public(text: str) -> bool:
    """Tell whether an address leads to the public Internet and nowhere else.

    An IPv4 address in the clothes of an IPv6 one (mapped, 6to4, NAT64) is judged as
    what it is; a scope (``%eth0``) is left out.

    Raises:
        ValueError: it is no address.
    """
    # Imported here: few receivers call anybody.
    import ipaddress

    ip: IPv4Address | IPv6Address = ipaddress.ip_address(text.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in ipaddress.ip_network(_NAT64):
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        else:
            ip = ip.ipv4_mapped or ip.sixtofour or ip
    if ip.version == 6 and ip not in ipaddress.ip_network(_GLOBAL_UNICAST):
        return False
    if any(ip in ipaddress.ip_network(special) for special in _SPECIAL):
        return False
    return ip.is_global and not ip.is_multicast
