"""The peer: the receiver that most guides print.

Settings: FastAPI under uvicorn; verify, remember the id in DynamoDB, then
``send_message``; plain boto3 clients in an ``async def``, as the guides have
it; a crash between the two calls loses the event, since the sender's retry is
then a duplicate.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from typing import Any

import boto3
from botocore.exceptions import ClientError
from fastapi import FastAPI, HTTPException, Request

from bench.made import SECRET

app = FastAPI()
_dynamodb = boto3.client("dynamodb")
_sqs = boto3.client("sqs")


@app.post("/webhooks/github")
async def receive(request: Request) -> dict[str, Any]:
    """Take one webhook."""
    body = await request.body()
    wanted = "sha256=" + hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    given = request.headers.get("x-hub-signature-256", "")
    if not hmac.compare_digest(wanted, given):
        raise HTTPException(status_code=401)
    payload = json.loads(body)
    delivery = request.headers["x-github-delivery"]
    try:
        _dynamodb.put_item(
            TableName="seen",
            Item={
                "pk": {"S": delivery},
                "expires_at": {"N": str(int(time.time()) + 86400)},
            },
            ConditionExpression="attribute_not_exists(pk)",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
            raise
        return {"status": "duplicate"}
    _sqs.send_message(
        QueueUrl="http://127.0.0.1/000000000000/work",
        MessageBody=json.dumps({"id": delivery, "payload": payload}),
    )
    return {"status": "accepted"}


@app.get("/cpu")
async def cpu() -> float:
    """Return the CPU seconds that this process has used."""
    return time.process_time()
