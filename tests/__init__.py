"""Proofs: unit, ports (fakes against real parts), infra, flows, e2e."""
