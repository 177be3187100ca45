"""The receiver against a bare boto3 call, and against the receiver most guides print."""
