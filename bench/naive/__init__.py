"""Both receivers behind the same server (uvicorn), asked over HTTP.

Run by ``.venv-bench``, which only ``make bench`` makes.
"""
