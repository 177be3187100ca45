"""Set-up of this machine: the two environments and the functions' dependencies.

Needs nothing but Python, since it runs before anything is installed.
"""
