"""For schemathesis: how a list of jobs becomes lines."""
import json

import schemathesis


@schemathesis.serializer("application/x-ndjson")
def lines_of(_context, value):
    items = value if isinstance(value, list) else [value]
    return b"".join(json.dumps(item).encode() + b"\n" for item in items)
