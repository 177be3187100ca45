"""The metrics of AWS that we watch, as AWS documents them; nothing else may be watched.

Namespace, name and dimensions, from the user guides' pages named beside them. An
alarm on a metric that nobody emits is silent for ever.
"""

from __future__ import annotations

_API = ("AWS/ApiGateway", ("ApiId",))
_FUNCTION = ("AWS/Lambda", ("FunctionName",))
_QUEUE = ("AWS/SQS", ("QueueName",))
_SERVICE = ("AWS/ECS", ("ClusterName", "ServiceName"))
_GROUP = ("AWS/Scheduler", ("ScheduleGroup",))

_NAMES = {
    # API Gateway, "Work with metrics for HTTP APIs"
    _API: ("4xx", "5xx", "Count", "Latency"),
    # Lambda, "Types of metrics for Lambda functions"
    _FUNCTION: (
        "AsyncEventsDropped",
        "ConcurrentExecutions",
        "DestinationDeliveryFailures",
        "Errors",
        "Invocations",
        "IteratorAge",
        "Throttles",
    ),
    # SQS, "Available CloudWatch metrics for Amazon SQS"
    _QUEUE: (
        "ApproximateAgeOfOldestMessage",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesVisible",
    ),
    # ECS, "Amazon ECS service utilization metrics": Fargate has them by itself
    _SERVICE: ("CPUUtilization", "MemoryUtilization"),
    # EventBridge Scheduler, "Monitoring with Amazon CloudWatch"
    _GROUP: (
        "InvocationDroppedCount",
        "InvocationsFailedToBeSentToDeadLetterCount",
    ),
    # EventBridge, "Monitoring Amazon EventBridge": a rule of another bus than the
    # default one is counted under both names.
    ("AWS/Events", ("RuleName",)): ("InvocationsFailedToBeSentToDlq",),
    ("AWS/Events", ("EventBusName", "RuleName")): ("InvocationsFailedToBeSentToDlq",),
}

DOCUMENTED = {
    (namespace, name, dimensions)
    for (namespace, dimensions), names in _NAMES.items()
    for name in names
}
