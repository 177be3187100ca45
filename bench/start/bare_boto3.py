"""The peer: a plain boto3 client and one conditional ``put_item``.

Settings: boto3's own defaults; no verification, no log, no metric. The request
is the JSON file named by the first argument.
"""

import json
import os
import sys
from pathlib import Path

request = json.loads(Path(sys.argv[1]).read_bytes())

import boto3  # noqa: E402 - the import is what is measured

boto3.client("dynamodb").put_item(
    TableName="ledger",
    Item={
        "pk": {"S": f"bare-{os.getpid()}"},
        "sk": {"S": "event"},
        "body": {"S": request["body"]},
    },
    ConditionExpression="attribute_not_exists(pk)",
)
