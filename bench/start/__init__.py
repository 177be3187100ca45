"""The start of a fresh process with its first event, against a bare boto3 client."""
