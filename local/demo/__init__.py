"""A story of real signed events, told while it happens and checked at every scene."""
