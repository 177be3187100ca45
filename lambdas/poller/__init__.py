"""Looks at feeds, and accepts what is new in them as events."""
