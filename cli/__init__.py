"""The `bellhop` command line."""
