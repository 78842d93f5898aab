"""Keys, certificates, tokens and kubeconfigs of a control plane, in its folder.

One authority signs the server's certificate, so that clients check it as they would in production.
"""
import json
import secrets
import subprocess

# (user, group). `tutti` has no right at first: it is given just what its deployment grants.
USERS = {"admin": "system:masters", "tutti": "tutti", "nobody": "nobody",
         "system:kube-controller-manager": "none", "system:kube-scheduler": "none"}
DAYS = "30"


class Credentials:
    """Made once in `folder`, which only its owner may read; found there again later."""

    def __init__(self, folder):
        self.folder = folder
        self.tokens_file = self.path("tokens.csv")
        if not self.tokens_file.exists():
            self.make()
        lines = self.tokens_file.read_text(encoding="utf-8").splitlines()
        self.tokens = {user: token for token, user, *_ in (line.split(",") for line in lines)}

    def path(self, name):
        return self.folder / name

    def make(self):
        self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
        self.openssl("ecparam", "-genkey", "-name", "prime256v1", "-noout", "-out", "accounts.key")
        self.openssl("req", "-x509", *key, "-days", DAYS, "-subj", "/CN=tutti-test-ca",
                     "-keyout", "ca.key", "-out", "ca.crt")
        names = "subjectAltName=IP:127.0.0.1,DNS:localhost,DNS:kubernetes.default.svc"
        self.openssl("req", "-x509", *key, "-days", DAYS, "-subj", "/CN=kube-apiserver",
                     "-CA", "ca.crt", "-CAkey", "ca.key", "-addext", names,
                     "-addext", "basicConstraints=critical,CA:FALSE",
                     "-keyout", "server.key", "-out", "server.crt")
        rows = [f"{secrets.token_hex(16)},{user},{user},{group}\n"
                for user, group in USERS.items()]
        self.tokens_file.write_text("".join(rows), encoding="utf-8")

    def openssl(self, *words):
        done = subprocess.run(["openssl", *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"openssl {words[0]}: {done.stderr}")

    def write_kubeconfig(self, path, user, url):
        """A kubeconfig is YAML, and JSON is YAML."""
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "clusters": [{"name": "test", "cluster": {
                "server": url, "certificate-authority": str(self.path("ca.crt"))}}],
            "users": [{"name": user, "user": {"token": self.tokens[user]}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": user}}]},
            indent=1) + "\n", encoding="utf-8")
        path.chmod(0o600)
