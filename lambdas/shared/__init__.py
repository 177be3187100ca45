"""What every function shares: configuration, words, ports.

Imports no function's own package.
"""
