"""The network of workers that poll: made for them, or subnets of your own."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import App, Stack

from stacks.fargate.network import Network
from tests.infra.template import Template, referred

OWN: dict[str, Any] = {
    "vpc": "vpc-0a1b2c3d",
    "subnets": ("subnet-0a1b2c3d", "subnet-0e5f6a7b"),
    "public_ip": False,
}
MADE: dict[str, Any] = {"vpc": None, "subnets": (), "public_ip": False}


def _made(how: dict[str, Any]) -> tuple[Network, Template]:
    app = App(analytics_reporting=False)
    network = Network(Stack(app, "Bellhop"), "Network", **how)
    return network, Template(app.synth().get_stack_by_name("Bellhop").template)


def test_in_subnets_of_ones_own_nothing_is_made_but_a_group() -> None:
    network, template = _made(OWN)

    group = template.only("EC2::SecurityGroup")
    assert [each.id for each in template.resources()] == [group.id]
    assert group.of("VpcId") == "vpc-0a1b2c3d"
    assert group.of("SecurityGroupIngress") is None
    assert network.subnets == ["subnet-0a1b2c3d", "subnet-0e5f6a7b"]


@pytest.mark.parametrize(
    ("how", "is_public"),
    [
        ({**OWN, "public_ip": False}, False),
        ({**OWN, "public_ip": True}, True),
        # Without a NAT gateway there is no other way out.
        (MADE, True),
    ],
    ids=["own subnets", "own public subnets", "made"],
)
def test_an_address_of_its_own_is_given_where_it_is_the_way_out(
    how: dict[str, Any], is_public: bool
) -> None:
    network, _ = _made(how)

    assert network.public_ip is is_public


def test_the_network_that_is_made_leads_out_from_two_zones() -> None:
    _, template = _made(MADE)
    (route,) = template.all("EC2::Route")
    zones = {str(each.of("AvailabilityZone")) for each in template.all("EC2::Subnet")}

    assert len(zones) == 2
    assert template[referred(route.of("GatewayId"))].type == "AWS::EC2::InternetGateway"
    assert len(template.all("EC2::SubnetRouteTableAssociation")) == 2
    # A container's address is asked for by its service, not given by the subnet.
    for subnet in template.all("EC2::Subnet"):
        assert subnet.of("MapPublicIpOnLaunch") is None
