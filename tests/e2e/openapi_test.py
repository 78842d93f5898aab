"""The description of the API against what the server answers."""
import json
import os
import pathlib
import subprocess
import unittest
import urllib.error
import urllib.request

import python_tools
from serve_case import ServeCase
from tutti_case import ROOT

SOURCE = ROOT / "src" / "api" / "openapi.yaml"
HELD = {"name": "held", "held": True, "command": ["true"]}


class OpenapiCase(ServeCase):
    def setUp(self):
        if python_tools.missing():
            self.skipTest(python_tools.missing())
        super().setUp()
        self.start()
        self.token = (self.data / "admin.token").read_text().strip()
        self.document = json.loads(self.fetch("GET", "/api/v1/openapi.json")[2])

    def fetch(self, method, path, body=None, **headers):
        """Status, headers and body of any answer."""
        request = urllib.request.Request(self.url + path, method=method,
                                         data=None if body is None else body.encode())
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json",
                   **{name.replace("_", "-"): value for name, value in headers.items()}}
        for name, value in headers.items():
            request.add_header(name, value)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.headers, answer.read().decode()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.headers, refused.read().decode()


class AnswersTest(OpenapiCase):
    def test_the_document_is_valid_and_what_the_file_says(self):
        import openapi_spec_validator  # noqa: PLC0415
        import yaml  # noqa: PLC0415
        openapi_spec_validator.validate(self.document)
        self.assertEqual(self.document, yaml.safe_load(SOURCE.read_text()))

    def resolved(self, value):
        while "$ref" in value:
            found = self.document
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            value = found
        return value

    def check_schema(self, instance, schema):
        import jsonschema  # noqa: PLC0415
        jsonschema.Draft202012Validator(
            {**schema, "components": self.document["components"]},
            format_checker=jsonschema.FormatChecker()).validate(instance)

    def check(self, what, expected, body=None, query="", headers=None, **parts):
        """Calls an operation, and holds its answer against what is said of it."""
        path, method, operation = self.operations[what]
        status, given, text = self.fetch(method.upper(), path.format(**parts) + query, body,
                                         **(headers or {}))
        self.assertEqual(status, expected, f"{what}: {text}")
        responses = operation["responses"]
        said = self.resolved(responses.get(str(status)) or responses["default"])
        self.called.add(what)
        content = said.get("content")
        if content is None:
            self.assertEqual(text, "", what)
            return given, text
        kind = given["Content-Type"].split(";")[0]
        self.assertIn(kind, content, what)
        if "ETag" in said.get("headers", {}) and method == "get":
            self.assertIn("ETag", given, what)
        if kind != "application/json":
            return given, text
        answer = json.loads(text)
        self.check_schema(answer, content[kind]["schema"])
        return given, answer

    def test_every_operation_answers_as_it_is_described(self):
        self.operations = {
            operation["operationId"]: (path, method, operation)
            for path, item in self.document["paths"].items() for method, operation in item.items()
            if method in ("get", "post", "put", "delete")}
        self.called = set()
        check = self.check
        for name in "lives", "isReady", "readDescription", "readMetrics", "listNodes":
            check(name, 200)
        check("readMetrics", 401, headers={"Authorization": "Bearer wrong"})
        _, answer = check("submitJobs", 201, json.dumps({"job": HELD}))
        self.assertEqual(answer["id"], "1")
        key = {"Idempotency-Key": "k"}
        run = json.dumps({"jobs": [{"name": "run", "gpus": 1, "command": "echo hello"}]})
        check("submitJobs", 201, run, headers=key)
        given, _ = check("submitJobs", 201, run, headers=key)
        self.assertEqual(given["Idempotent-Replayed"], "true")
        check("submitJobs", 409, json.dumps({"job": HELD}), headers=key)
        check("submitJobs", 400, "{")
        check("submitJobs", 404, json.dumps({"job": {**HELD, "queue": "nosuch"}}))
        _, lines = check("submitBatch", 200, json.dumps(HELD) + "\nnonsense\n")
        for line in lines.splitlines():
            self.check_schema(json.loads(line), {"$ref": "#/components/schemas/BatchLine"})
        self.wait_for_state("2", "succeeded")
        given, _ = check("listJobs", 200, query="?limit=1&state=held,succeeded")
        check("listJobs", 304, query="?limit=1&state=held,succeeded",
             headers={"If-None-Match": given["ETag"]})
        check("listJobs", 200, query="?fields=id,devices")
        check("listJobs", 400, query="?state=odd")
        check("showJob", 404, id="99")
        given, job = check("showJob", 200, id="1")
        self.assertEqual(set(job), set(self.document["components"]["schemas"]["Job"]["properties"]))
        check("showJob", 200, id="2")
        check("explainJob", 200, id="1")
        _, text = check("readOutput", 200, id="2")
        self.assertEqual(text, "hello\n")
        check("readOutput", 404, id="2", query="?task=7")
        check("attachToTask", 409, id="2", task=0)
        check("attachToTask", 404, id="2", task=7)
        check("holdJob", 200, id="1")
        check("holdJob", 412, id="1", headers={"If-Match": '"x"'})
        other = json.loads(lines.splitlines()[0])["id"]
        check("cancelJob", 200, id=other, headers={"If-Match": "*"})
        check("cancelJob", 409, id=other)
        check("releaseJob", 200, id="1", headers={"If-Match": given["ETag"]})
        self.wait_for_state("1", "succeeded")
        node = self.ask_json("nodes")["nodes"][0]["name"]
        check("cordonNode", 200, name=node)
        check("cordonNode", 404, name="nosuch")
        check("drainNode", 200, name=node)
        check("uncordonNode", 200, name=node)
        check("whatIf", 200, json.dumps({"add_nodes": 1}))
        self.check_access()
        self.check_events()
        self.assertEqual(self.called, set(self.operations))

    def check_access(self):
        check = self.check
        check("listQueues", 200)
        check("setQueue", 201, json.dumps({"limit": {"gpu": 8, "cpu": "1500m"}}), name="a")
        check("setQueue", 200, json.dumps({"limit": {"gpu": 8}, "weight": 2}), name="a")
        check("setQueue", 200, "{}", name="a", query="?dry_run=true")
        check("setQueue", 404, "{}", name="b%2Fc")
        check("showQueue", 200, name="a")
        check("showQueue", 404, name="b")
        _, made = check("makeToken", 201, json.dumps({"role": "viewer", "queues": ["a"]}))
        check("makeToken", 400, json.dumps({"role": "king"}))
        check("listTokens", 200)
        check("listTokens", 403, headers={"Authorization": "Bearer " + made["token"]})
        check("revokeToken", 200, id=made["id"])
        check("revokeToken", 404, id=made["id"])
        _, page = check("readAudit", 200, query="?limit=2")
        check("readAudit", 200, query="?cursor=" + page["next"])
        check("readAudit", 400, query="?cursor=x")
        _, usage = check("readUsage", 200, query="?by=job,model&since=1d")
        self.assertIn("run", [row["name"] for row in usage["rows"]])
        check("readUsage", 200, query="?by=user,queue")
        check("readUsage", 400, query="?by=planet")
        check("showServer", 200)

    def check_events(self):
        _, text = self.check("readEvents", 200, query="?from=0&follow=false")
        kinds = {"job": "JobEvent", "node": "NodeEvent"}
        seen = set()
        for message in text.split("\n\n"):
            fields = dict(line.split(": ", 1) for line in message.splitlines() if ": " in line)
            if "data" in fields:
                seen.add(fields["event"])
                self.check_schema(json.loads(fields["data"]),
                                  {"$ref": f"#/components/schemas/{kinds[fields['event']]}"})
        self.assertEqual(seen, set(kinds))
        _, text = self.check("readEvents", 200, query="?from=999&follow=false")
        data = next(line for line in text.splitlines() if line.startswith("data: "))
        self.check_schema(json.loads(data[6:]), {"$ref": "#/components/schemas/Reset"})
        self.check("readEvents", 400, query="?from=x")


class FuzzTest(OpenapiCase):
    """Requests at random, as the document allows them and as it does not: no 5xx, no surprise."""

    CHECKS = ("not_a_server_error,status_code_conformance,content_type_conformance,"
              "response_schema_conformance,response_headers_conformance")
    SECONDS = int(os.environ.get("TUTTI_FUZZ_SECONDS", "30"))

    def test_random_requests_are_answered_as_it_says(self):
        # Nothing that is made up must run.
        node = self.ask_json("nodes")["nodes"][0]["name"]
        self.assertEqual(self.fetch("POST", f"/api/v1/nodes/{node}:cordon")[0], 200)
        job = json.dumps({"job": {"name": "seed", "command": ["true"]}})
        self.assertEqual(self.fetch("POST", "/api/v1/jobs", job)[0], 201)
        done = subprocess.run(
            [python_tools.program("schemathesis"), "run", f"{self.url}/api/v1/openapi.json",
             "--header", f"Authorization: Bearer {self.token}", "--checks", self.CHECKS,
             "--phases", "examples,coverage,fuzzing", "--max-examples", str(self.SECONDS),
             "--mode", "all", "--max-time", str(self.SECONDS), "--generation-deterministic",
             "--request-timeout", "10", "--no-color",
             # They do not end by themselves.
             "--exclude-path", "/api/v1/events", "--exclude-path", "/api/v1/jobs/{id}/output"],
            capture_output=True, text=True, timeout=240 + self.SECONDS, check=False,
            cwd=self.folder,
            env={**os.environ, "SCHEMATHESIS_HOOKS": "fuzz_hooks",
                 "PYTHONPATH": str(pathlib.Path(__file__).parent)})
        self.assertEqual(done.returncode, 0, done.stdout[-6000:] + done.stderr[-2000:])
        self.assertIsNone(self.server.poll(), self.said())


if __name__ == "__main__":
    unittest.main()
