"""Compares what the schedules promised with what the ledger shows, and tells."""
