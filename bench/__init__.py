"""Benchmarks: ratios against a peer in one run, never absolute times.

Each subject is a folder with two scripts beside each other, ours and the
peer's. They run as processes of their own against a fake AWS on loopback.
"""
