"""Ready-made effects, one module per service.

Each is a plain function: ``run.effect(NAME, github.comment, URL, TEXT)``. It
takes its token from the secret that its keyword ``secret`` names (by default
``bellhop/<service>-token``; Google's calendar has ``bellhop/google-calendar``),
which the agent's table must list under ``secrets``. Each says in its docstring
what happens when it is sent twice.
``docs/howto/write-an-effect.md`` shows how to write another.
"""
