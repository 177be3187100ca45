"""Sends dead letters round again: what is chosen, job by job, each by its own way."""
