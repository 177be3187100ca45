"""The whole stack on this machine: the synthesized template on a local engine.

Nothing here runs in AWS and nothing in ``lambdas/`` knows about it. Everything
that belongs to one running stack lies under one folder (``.local`` unless
another is named), so that several can run beside each other.
"""
