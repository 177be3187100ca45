"""EventBridge event patterns: judged as EventBridge does, refused as it would."""

from lambdas.shared.patterns.faults import problems
from lambdas.shared.patterns.match import judge, matches

__all__ = ["judge", "matches", "problems"]
