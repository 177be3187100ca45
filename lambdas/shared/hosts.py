"""Reads from an exception which other side failed: a service, a host, a database."""

from __future__ import annotations

import re

URL = re.compile(r"https?://[^\s\"'<>)\]}]+", re.IGNORECASE)
# A bare name ends in a domain that is really used, or it is a file or an attribute.
HOST = re.compile(
    r"(?<![\w./@-])(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9])?\.){1,6}"
    r"(?:com|net|org|io|dev|app|ai|co|de|eu|uk|us|cloud|internal|local|localhost|test"
    r"|example|info|biz|me|tech|gov|edu|ch|at|fr|nl|se|jp|au|ca|in|br)"
    r"(?::\d+)?(?![\w.-]*\w)",
    re.IGNORECASE,
)
# Pages that explain, which clients put into their messages.
_EXPLAINS = re.compile(
    r"(?i)(?:documentation_url['\"]?: ?['\"]?|check:? |visit |see |more about [\w ]+ |"
    r"docs:? |here:? |at |information[:, ]+[\w ]*)$"
)
_DOCUMENTATION = re.compile(
    r"(?i)^(?:docs?|developers?|errors|platform|help|support|learn|wiki|readthedocs)\."
)
_STATUS_PAGE = re.compile(r"(?i)/(?:docs?|documentation|help|errors?)(?:/|$)")

# Whose errors these are: the client's package names its service.
_SDKS = {
    "aiomysql": "mysql",
    "aioredis": "redis",
    "aiosmtplib": "smtp",
    "asyncpg": "postgres",
    "cassandra": "cassandra",
    "confluent_kafka": "kafka",
    "elasticsearch": "elasticsearch",
    "elastic_transport": "elasticsearch",
    "github": "github",
    "gitlab": "gitlab",
    "googleapiclient": "google",
    "hubspot": "hubspot",
    "imaplib": "imap",
    "jira": "jira",
    "kafka": "kafka",
    "mysql": "mysql",
    "MySQLdb": "mysql",
    "notion_client": "notion",
    "opensearchpy": "opensearch",
    "oracledb": "oracle",
    "pika": "rabbitmq",
    "psycopg": "postgres",
    "psycopg2": "postgres",
    "pymongo": "mongodb",
    "pymssql": "sqlserver",
    "pymysql": "mysql",
    "redis": "redis",
    "shopify": "shopify",
    "simple_salesforce": "salesforce",
    "slack_sdk": "slack",
    "smtplib": "smtp",
    "sqlite3": "sqlite",
    "twilio": "twilio",
    "zenpy": "zendesk",
}
# What only carries: the address in the message names the other side.
_CARRIERS = frozenset(
    {
        *("aiohttp", "asyncio", "builtins", "http", "httpcore", "httpx", "requests"),
        *("socket", "ssl", "tenacity", "urllib", "urllib3", "websockets"),
    }
)
_NO_SERVICE = frozenset(
    {
        *("agents", "attr", "binascii", "codecs", "concurrent", "csv", "dataclasses"),
        *("decimal", "email", "importlib", "json", "jsonschema", "jinja2", "lambdas"),
        *("lxml", "marshmallow", "msgspec", "numpy", "pandas", "pickle", "PIL"),
        *("pydantic", "pydantic_core", "Runtime", "Sandbox", "shutil", "struct"),
        *("subprocess", "tomllib", "uuid", "xml", "yaml", "zipfile", "zlib"),
        *("zoneinfo", "cerberus", "dateutil", "fractions", "jwt", "cryptography"),
    }
)
_AWS_PACKAGES = frozenset({"botocore", "boto3", "aiobotocore", "s3transfer"})
_AWS_OPERATION = re.compile(r"when calling the (\w+) operation")
_AWS_ACTION = re.compile(r"perform: ([a-z0-9-]+):\w+")
_AWS_HOST = re.compile(
    r"(?:^|\.)([a-z0-9-]+)(?:\.[a-z]{2}(?:-[a-z]+)+-\d)?\.(?:amazonaws\.com|api\.aws)"
)
_AWS_SERVICES = {
    "dynamodb": r"(?:Batch)?(?:Get|Put|Update|Delete|Write)Items?|Query|Scan"
    r"|Transact\w+|ExecuteStatement|DescribeTable",
    "s3": r"\w*(?:Object|Bucket|Multipart)\w*|UploadPart\w*",
    "bedrock": r"Invoke(?:Model|Agent|Flow)\w*|Converse\w*|Retrieve\w*|ApplyGuardrail",
    "sqs": r"(?:Send|Receive|Delete|Change)Message\w*|GetQueue\w+",
    "sns": r"Publish\w*",
    "ses": r"Send\w*Email",
    "lambda": r"Invoke(?:Async)?",
    "events": r"PutEvents",
    "secretsmanager": r"\w*SecretValue",
    "states": r"StartExecution|SendTask\w+",
    "kms": r"Encrypt|Decrypt|GenerateDataKey\w*",
    "ssm": r"\w*Parameters?\w*",
    "sts": r"AssumeRole\w*|GetCallerIdentity",
    "kinesis": r"PutRecords?",
    "athena": r"\w*QueryExecution",
    "textract": r"\w*(?:Document|Text)\w*",
}


def downstream(error: BaseException, message: str) -> str | None:
    """Return what ``error`` itself says of the other side, or its words do."""
    told_by_agent = getattr(error, "downstream", None)
    if isinstance(told_by_agent, str) and told_by_agent:
        return told_by_agent
    kind = type(error)
    return _aws_client(error) or told(f"{kind.__module__}.{kind.__qualname__}", message)


def told(exception_type: str, message: str) -> str | None:
    """Return the other side by the exception's type and words, or ``None``."""
    package = exception_type.split(".", 1)[0].lstrip("_")
    if package in _AWS_PACKAGES:
        return _aws(message)
    if package in _SDKS:
        return _SDKS[package]
    if package in _NO_SERVICE:
        return None
    if package in _CARRIERS or "." not in exception_type:
        return _host(message)
    return re.sub(r"[_-]?(?:sdk|client|api|python)$", "", package) or package


def service_of(host: str) -> str:
    """Return the part of a host that every customer of a service shares.

    ``acme.portal.example.com`` and ``tenant-07.portal.example.com`` are one side;
    the regions of an AWS service are one, too.
    """
    host = host.lower().partition(":")[0]
    aws = _AWS_HOST.search(host)
    if aws:
        return _aws_name(aws[1])
    labels = host.split(".")
    return re.sub(r"\d+", "*", ".".join(labels[-3:] if len(labels) > 3 else labels))


def _host(message: str) -> str | None:
    for match in URL.finditer(message):
        address = match[0].split("://", 1)[1]
        host = address.partition("/")[0].rpartition("@")[2]
        if _explains(message[: match.start()], host, address):
            continue
        return service_of(host)
    without = URL.sub(" ", message)
    found = HOST.search(without)
    return service_of(found[0]) if found else None


def _explains(before: str, host: str, address: str) -> bool:
    if _DOCUMENTATION.match(host) or _STATUS_PAGE.search(address):
        return True
    return bool(_EXPLAINS.search(before) and not before.rstrip().endswith("url:"))


def _aws(message: str) -> str | None:
    action = _AWS_ACTION.search(message)
    if action:
        return _aws_name(action[1])
    operation = _AWS_OPERATION.search(message)
    if operation:
        for service, pattern in _AWS_SERVICES.items():
            if re.fullmatch(pattern, operation[1]):
                return service
        return None
    found = URL.search(message)
    return service_of(found[0].split("://", 1)[1].partition("/")[0]) if found else None


def _aws_name(word: str) -> str:
    return re.sub(r"-(?:runtime|agent|fips|data|control|agent-runtime)$", "", word)


def _aws_client(error: BaseException) -> str | None:
    """Return the service of the boto3 client that raised; its error does not say."""
    package = type(error).__module__.split(".", 1)[0]
    if package not in _AWS_PACKAGES:
        return None
    trace = error.__traceback__
    found = None
    while trace is not None:
        if trace.tb_frame.f_code.co_name == "_make_api_call":
            client = trace.tb_frame.f_locals.get("self")
            found = getattr(getattr(client, "meta", None), "service_model", found)
        trace = trace.tb_next
    name = getattr(found, "service_name", None)
    return _aws_name(name) if isinstance(name, str) else None
