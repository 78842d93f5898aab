"""A real Kubernetes on loopback: etcd, kube-apiserver, kube-controller-manager, and KWOK.

KWOK plays the kubelets of fake nodes (kwok.yaml says what pods do there). There is no scheduler:
that is Tutti's place, unless the stock one is asked for.

Whatever it keeps lies in one folder; all daemons listen on 127.0.0.1 only.
"""
import concurrent.futures
import contextlib
import json
import pathlib
import shutil
import signal

import audit_log
import binaries
from api_client import ApiClient, ApiError
from credentials import USERS, Credentials
from daemons import Daemons, TakenPort, free_port, wait_until

HERE = pathlib.Path(__file__).resolve().parent
START_S = 180  # Slow machines take a fifth of it.
TRIES = 5
IN_USE = "address already in use"
MANY = 50000  # Requests a second: no limit that a scheduler would meet.


class ControlPlane:
    """`start` it, and `stop` it; in between each daemon can be ended and started alone.

    `tied`: its daemons die with the thread that started them.
    """

    def __init__(self, folder, tied=True, bin_folder=None):
        self.folder = pathlib.Path(folder).resolve()
        self.bin = bin_folder or binaries.folder()
        self.daemons = Daemons(self.folder, tied)
        self.ports_file = self.folder / "ports.json"
        self.audit_path = self.folder / "audit.log"
        self.etcd_data = self.folder / "etcd"
        self.pki = self.folder / "pki"
        self.flags = {}  # Daemon: what it is given beside what it needs.
        self.credentials = None

    # --- As a whole -----------------------------------------------------------------------------

    def start(self, flags=None, kwok=True, scheduler=False):
        """From nothing, or from what an earlier run left in the folder."""
        self.flags = flags or {}
        self.folder.mkdir(parents=True, exist_ok=True)
        self.credentials = Credentials(self.pki)
        for attempt in range(1, TRIES + 1):
            try:
                self.start_api()
                break
            except TakenPort:
                self.stop()
                self.ports_file.unlink(missing_ok=True)
                if attempt == TRIES:
                    raise
        self.start_daemon("kube-controller-manager")
        if kwok:
            self.start_daemon("kwok")
        if scheduler:
            self.start_daemon("kube-scheduler")
        account = "/api/v1/namespaces/default/serviceaccounts/default"
        self.wait(lambda: self.answers(account), "the controllers")
        return self

    def start_api(self):
        if not self.ports_file.exists():
            self.ports_file.write_text(json.dumps({"etcd": free_port(), "api": free_port()}),
                                       encoding="utf-8")
        for user in USERS:
            self.credentials.write_kubeconfig(self.kubeconfig(user), user, self.url)
        self.start_daemon("etcd")
        self.start_daemon("kube-apiserver")
        self.wait_until_ready()

    def stop(self):
        """Ends all that runs in the folder, whoever started it, newest first. Nothing is asked to
        tidy up: an API server would wait for those who watch it."""
        self.daemons.stop(how=signal.SIGKILL)

    def forget(self):
        """Removes what it keeps, and nothing else that may be in the folder."""
        for path in (self.etcd_data, self.pki, self.daemons.log("").parent):
            shutil.rmtree(path, ignore_errors=True)
        for path in (self.ports_file, self.daemons.list, self.audit_path,
                     *map(self.kubeconfig, USERS)):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # It is not there, or not empty.
            self.folder.rmdir()

    def running(self):
        return self.daemons.running()

    # --- One daemon -----------------------------------------------------------------------------

    def start_daemon(self, name):
        arguments = {"etcd": self.etcd, "kube-apiserver": self.api_server,
                     "kube-controller-manager": self.controllers, "kwok": self.kwok,
                     "kube-scheduler": self.scheduler}[name]()
        self.daemons.log(name).unlink(missing_ok=True)
        return self.daemons.start(name, [self.bin / name, *arguments, *self.flags.get(name, ())])

    def stop_daemon(self, name, how=signal.SIGTERM):
        self.daemons.stop(name, how)

    def restart(self, name, how=signal.SIGKILL):
        """Ends it without a word, and starts it on the same port; waits until the API answers."""
        self.stop_daemon(name, how)
        self.start_daemon(name)
        self.wait_until_ready()

    def etcd(self):
        url = f"http://127.0.0.1:{self.port('etcd')}"
        peers = "http://127.0.0.1:0"  # There are none.
        return ["--data-dir", self.etcd_data, "--log-level", "warn", "--unsafe-no-fsync",
                "--listen-client-urls", url, "--advertise-client-urls", url,
                "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                "--initial-cluster", f"default={peers}", "--quota-backend-bytes", str(8 << 30)]

    def api_server(self):
        path = self.credentials.path
        return ["--etcd-servers", f"http://127.0.0.1:{self.port('etcd')}",
                "--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1",
                "--secure-port", str(self.port("api")), "--endpoint-reconciler-type", "none",
                "--tls-cert-file", path("server.crt"), "--tls-private-key-file", path("server.key"),
                "--client-ca-file", path("ca.crt"), "--token-auth-file", path("tokens.csv"),
                "--authorization-mode", "RBAC", "--allow-privileged",
                "--service-account-issuer", "https://kubernetes.default.svc",
                "--service-account-key-file", path("accounts.key"),
                "--service-account-signing-key-file", path("accounts.key"),
                "--service-cluster-ip-range", "10.0.0.0/24",
                "--audit-policy-file", HERE / "audit.yaml", "--audit-log-path", self.audit_path,
                "--max-requests-inflight", "3000", "--max-mutating-requests-inflight", "1000"]

    def controllers(self):
        # No kubelet sends heartbeats here: a node is lost when a test says so.
        return ["--kubeconfig", self.kubeconfig("system:kube-controller-manager"),
                "--secure-port", "0", "--leader-elect=false", "--use-service-account-credentials",
                "--service-account-private-key-file", self.credentials.path("accounts.key"),
                "--root-ca-file", self.credentials.path("ca.crt"),
                "--kube-api-qps", "500", "--kube-api-burst", "500",
                "--node-monitor-grace-period", "24h"]

    def kwok(self):
        return ["--kubeconfig", self.kubeconfig("admin"), "--config", HERE / "kwok.yaml",
                "--manage-all-nodes", "--node-lease-duration-seconds", "0"]

    def scheduler(self):
        config = self.kubeconfig("system:kube-scheduler")
        return ["--kubeconfig", config, "--secure-port", "0", "--leader-elect=false",
                "--kube-api-qps", str(MANY), "--kube-api-burst", str(MANY)]

    # --- What it is to others -------------------------------------------------------------------

    def port(self, name):
        return json.loads(self.ports_file.read_text(encoding="utf-8"))[name]

    @property
    def url(self):
        return f"https://127.0.0.1:{self.port('api')}"

    def kubeconfig(self, user):
        return self.folder / f"{user.removeprefix('system:')}.kubeconfig"

    def client(self, user="admin"):
        return ApiClient(self.kubeconfig(user))

    def audit(self):
        return audit_log.read(self.audit_path)

    def create(self, things, threads=4):
        """Creates objects, in no order, as the administrator."""
        with contextlib.closing(self.client()) as client, \
                concurrent.futures.ThreadPoolExecutor(threads) as pool:
            return list(pool.map(client.create, things))

    # --- Waiting --------------------------------------------------------------------------------

    def answers(self, path):
        with contextlib.closing(self.client()) as client:
            try:
                client.get(path)
            except (OSError, ApiError):
                return False
        return True

    def wait_until_ready(self):
        self.wait(lambda: self.answers("/readyz"), "the API server")

    def wait(self, condition, what):
        done = wait_until(lambda: self.daemons.died() or condition(), START_S, step=0.1)
        if died := self.daemons.died():
            said = self.daemons.said(died[0])
            raise (TakenPort if IN_USE in said else RuntimeError)(f"{died[0]} has ended:\n{said}")
        if not done:
            said = "\n".join(f"{name}: {self.daemons.said(name, 5)}" for name in self.running())
            raise TimeoutError(f"waited {START_S} s for {what}\n{said}")
