"""Batches of ten messages, each AWS call 5 ms away."""
