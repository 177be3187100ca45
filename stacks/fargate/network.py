"""Where containers live: a network made for them, or subnets of your own."""

from __future__ import annotations

from collections.abc import Sequence

from aws_cdk import Fn
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from stacks import nag

_ZONES = 2


class Network(Construct):
    """Subnets, and a security group that lets nobody in.

    The network made here has no NAT gateway, which would cost more than an idle fleet:
    its subnets are public, each container has an address of its own to call from, and
    nothing can call it. Table and bucket are reached without the internet.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        vpc: str | None,
        subnets: Sequence[str],
        public_ip: bool,
    ) -> None:
        """Use ``subnets`` of ``vpc``; without them make a network."""
        super().__init__(scope, id)
        vpc_id = vpc or self._make()
        self.subnets = list(subnets) or self._subnets
        self.public_ip = public_ip if vpc else True
        self.security_group = ec2.CfnSecurityGroup(
            self,
            "Nobody",
            group_description="Bellhop workers: nobody may call them",
            vpc_id=vpc_id,
            # An agent may call what it likes, as one that runs in Lambda may.
            security_group_egress=[
                ec2.CfnSecurityGroup.EgressProperty(
                    ip_protocol="-1", cidr_ip="0.0.0.0/0", description="Out"
                )
            ],
        )

    def _make(self) -> str:
        # L1: the L2 makes a route table per subnet, and a function of its own to
        # empty the default group, which nothing uses.
        vpc = ec2.CfnVPC(
            self,
            "Vpc",
            cidr_block="10.0.0.0/16",
            enable_dns_hostnames=True,
            enable_dns_support=True,
        )
        nag.accept(
            vpc,
            "VPC7",
            because="Nothing in it can be called, and what calls out has a role, a log"
            " and a ledger; flow logs of rejected scans would cost more than they say.",
        )
        gateway = ec2.CfnInternetGateway(self, "Gateway")
        attached = ec2.CfnVPCGatewayAttachment(
            self, "Attached", vpc_id=vpc.ref, internet_gateway_id=gateway.ref
        )
        routes = ec2.CfnRouteTable(self, "Routes", vpc_id=vpc.ref)
        out = ec2.CfnRoute(
            self,
            "Out",
            route_table_id=routes.ref,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway.ref,
        )
        out.add_resource_dependency(attached)
        self._subnets = [self._subnet(vpc, routes, number) for number in range(_ZONES)]
        for service in ("dynamodb", "s3"):
            ec2.CfnVPCEndpoint(
                self,
                service.capitalize(),
                vpc_id=vpc.ref,
                service_name=Fn.sub(f"com.amazonaws.${{AWS::Region}}.{service}"),
                route_table_ids=[routes.ref],
            )
        return vpc.ref

    def _subnet(self, vpc: ec2.CfnVPC, routes: ec2.CfnRouteTable, number: int) -> str:
        subnet = ec2.CfnSubnet(
            self,
            f"Subnet{number + 1}",
            vpc_id=vpc.ref,
            availability_zone=Fn.select(number, Fn.get_azs()),
            cidr_block=f"10.0.{64 * number}.0/18",
        )
        ec2.CfnSubnetRouteTableAssociation(
            self,
            f"Routes{number + 1}",
            subnet_id=subnet.ref,
            route_table_id=routes.ref,
        )
        return subnet.ref
