"""Carries each newly accepted event from the ledger to the bus."""
