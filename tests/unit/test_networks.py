"""Every range that IANA calls special, by both of its registries, and their disguises.

The registries: iana-ipv4-special-registry and iana-ipv6-special-registry.
"""

from __future__ import annotations

import ipaddress

import pytest

from lambdas.shared.networks import is_public

SPECIAL_IPV4 = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/29",
    "192.0.2.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
    "255.255.255.255/32",
)
SPECIAL_IPV6 = (
    "::/128",
    "::1/128",
    "::/96",  # IPv4-compatible
    "::ffff:0:0:0/96",  # IPv4-translated
    "64:ff9b:1::/48",  # local NAT64
    "100::/64",
    "100:0:0:1::/64",
    "2001::/32",  # Teredo
    "2001:2::/48",
    "2001:10::/28",
    "2001:20::/28",
    "2001:db8::/32",
    "3fff::/20",
    "5f00::/16",
    "4000::/3",
    "fc00::/7",
    "fd00:ec2::254/128",  # EC2's metadata
    "fe80::/10",
    "fec0::/10",
    "ff00::/8",
)
PUBLIC_IPV4 = ("1.1.1.1", "8.8.8.8", "52.94.236.248", "223.255.255.254")
PUBLIC_IPV6 = ("2600:1f18::1", "2a05:d018::1", "2620:fe::fe", "2c0f:fb50::1")


def ends(network: str) -> list[str]:
    """Return the first, a middle and the last address of a range."""
    found = ipaddress.ip_network(network)
    first, size = int(found.network_address), found.num_addresses
    kind = type(found.network_address)
    return [str(kind(first + n)) for n in sorted({0, size // 2, size - 1})]


def disguises(ipv4: str) -> list[str]:
    """Return an IPv4 address as each kind of IPv6 address that leads to it."""
    number = int(ipaddress.IPv4Address(ipv4))
    return [
        f"::ffff:{ipv4}",
        str(ipaddress.IPv6Address((0x0064FF9B << 96) | number)),
        str(ipaddress.IPv6Address((0x2002 << 112) | (number << 80))),
    ]


@pytest.mark.parametrize("network", SPECIAL_IPV4 + SPECIAL_IPV6)
def test_special_range_is_not_public(network: str) -> None:
    for address in ends(network):
        assert not is_public(address), address


@pytest.mark.parametrize("network", SPECIAL_IPV4)
def test_special_address_in_disguise_is_not_public(network: str) -> None:
    for address in ends(network):
        for disguise in disguises(address):
            assert not is_public(disguise), disguise


@pytest.mark.parametrize("address", PUBLIC_IPV4)
def test_public_address_is_public_in_each_disguise(address: str) -> None:
    """A network of IPv6 alone reaches the Internet's IPv4 by NAT64."""
    assert all(is_public(each) for each in (address, *disguises(address)))


@pytest.mark.parametrize("address", PUBLIC_IPV6)
def test_public_address_of_ipv6_is_public(address: str) -> None:
    assert is_public(address)


def test_scope_hides_nothing() -> None:
    assert not is_public("fe80::1%eth0")


def test_what_is_no_address_is_said_to_be_none() -> None:
    with pytest.raises(ValueError, match="localhost"):
        is_public("localhost")
