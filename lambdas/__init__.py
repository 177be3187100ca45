"""Code that runs in AWS. The path of a module is its import name everywhere."""

import gc

# A start makes some hundred thousand objects that stay (modules, botocore's tables):
# Python would walk all of them again and again, a seventh of a cold start. An event
# leaves few behind; they are collected as before, only later.
gc.set_threshold(50_000)
