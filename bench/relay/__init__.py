"""Batches of a hundred stream records, EventBridge 15 ms away."""
