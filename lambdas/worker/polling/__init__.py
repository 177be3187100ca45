"""A worker that polls its agent's queue itself, for hours if need be.

Two processes: a supervisor that holds the message, and a child that runs the agent.
Whatever the agent does to its own process, the supervisor answers for its message.
"""
