"""A small client of the Kubernetes API: one kept connection a thread, and JSON in and out.

A call takes about a millisecond; starting kubectl takes a hundred times as long.
"""
import http.client
import json
import pathlib
import ssl
import threading
import urllib.parse

PAGE = 500  # Objects that are asked for at a time.
PATCH = "application/merge-patch+json"
OF_NO_NAMESPACE = {
    "Namespace", "Node", "PersistentVolume", "PriorityClass", "StorageClass", "CSINode",
    "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"}


class ApiError(Exception):
    """What the server refused: its status code, and its message."""

    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


def plural(kind):
    word = kind.lower()
    if word.endswith("y"):
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch")) else "s")


def path_of(thing, named=True):
    """Where an object lives, or (named=False) where it is created."""
    version, kind = thing["apiVersion"], thing["kind"]
    parts = ["/api" if "/" not in version else "/apis", version]
    if kind not in OF_NO_NAMESPACE:
        parts += ["namespaces", thing["metadata"].get("namespace", "default")]
    parts.append(plural(kind))
    return "/".join(parts + ([thing["metadata"]["name"]] if named else []))


class ApiClient:
    """Speaks to the server of a kubeconfig that has a token."""

    def __init__(self, kubeconfig):
        config = json.loads(pathlib.Path(kubeconfig).read_text(encoding="utf-8"))
        cluster = config["clusters"][0]["cluster"]
        self.url = urllib.parse.urlsplit(cluster["server"])
        self.tls = ssl.create_default_context(cafile=cluster["certificate-authority"])
        self.token = config["users"][0]["user"]["token"]
        self.own = threading.local()
        self.connections = []  # Of all threads.

    def connection(self):
        if not hasattr(self.own, "connection"):
            self.own.connection = http.client.HTTPSConnection(
                self.url.hostname, self.url.port, context=self.tls, timeout=60)
            self.connections.append(self.own.connection)
        return self.own.connection

    def close(self):
        """When no thread asks any more; a later call opens a connection again."""
        for connection in self.connections:
            connection.close()

    def call(self, method, path, body=None, kind="application/json"):
        """The answer's object, or its text where it is no JSON."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": kind}
        text = None if body is None else json.dumps(body)
        connection = self.connection()
        try:
            connection.request(method, path, text, headers)
            response = connection.getresponse()
            answer = response.read().decode()
        except (OSError, http.client.HTTPException):
            connection.close()  # The next call opens a new one.
            raise
        found = answer
        if response.headers.get_content_type() == "application/json":
            found = json.loads(answer)
        if response.status >= 300:
            raise ApiError(response.status, found.get("message") if found is not answer else answer)
        return found

    def get(self, path):
        return self.call("GET", path)

    def list(self, path, **query):
        """All objects, read page by page."""
        items, query = [], {"limit": PAGE, **query}
        while True:
            page = self.get(f"{path}?{urllib.parse.urlencode(query)}")
            items += page["items"]
            query["continue"] = page["metadata"].get("continue")
            if not query["continue"]:
                return items

    def create(self, thing):
        return self.call("POST", path_of(thing, named=False), thing)

    def patch(self, path, change):
        return self.call("PATCH", path, change, PATCH)

    def delete(self, path, grace_s=None):
        """Whether there was anything to delete."""
        query = "" if grace_s is None else f"?gracePeriodSeconds={grace_s}"
        try:
            self.call("DELETE", path + query)
        except ApiError as error:
            if error.code != 404:
                raise
            return False
        return True

    def bind(self, pod, node, namespace="default"):
        """What a scheduler does in the end."""
        self.call("POST", f"/api/v1/namespaces/{namespace}/pods/{pod}/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}})
