"""The receiver, warm, against a bare boto3 call; and the calls that it makes."""
