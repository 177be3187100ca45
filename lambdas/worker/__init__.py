"""Runs one agent: claims a run, guards its effects, tells what became of it."""
