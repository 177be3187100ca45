"""Tells the dead letters every morning: what failed, whose fault, what to do."""
