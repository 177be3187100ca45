"""The only modules of the functions that speak to AWS.

Each fulfils a port that is declared beside its user.
"""
