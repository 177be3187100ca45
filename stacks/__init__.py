"""The infrastructure: one construct per domain, put together by ``fleet_stack``."""
