#!/usr/bin/env python3
"""The programs of a Kubernetes control plane, built from their Go modules into a cache.

They lie in $TUTTI_K8S_BIN, else in $XDG_CACHE_HOME/tutti/kubernetes/VERSION/bin. What is there, and
was built from the same go.mod, is not built again; what a build cut short had compiled is used by
the next one. Only the programs are kept: Go's own caches go when all of them are there.
"""
import argparse
import contextlib
import fcntl
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
MODULES = HERE / "modules"
GO_NEEDED = (1, 26)
# Program: (folder of modules/, Go package). The slow ones come first.
CONTROL_PLANE = {
    "kube-apiserver": ("kubernetes", "k8s.io/kubernetes/cmd/kube-apiserver"),
    "kube-controller-manager": ("kubernetes", "k8s.io/kubernetes/cmd/kube-controller-manager"),
    "kubectl": ("kubernetes", "k8s.io/kubernetes/cmd/kubectl"),
    "kube-scheduler": ("kubernetes", "k8s.io/kubernetes/cmd/kube-scheduler"),
    "etcd": ("etcd", "go.etcd.io/etcd/server/v3"),
    "kwok": ("kwok", "sigs.k8s.io/kwok/cmd/kwok"),
}


def version():
    """Kubernetes' own, such as v1.36.1."""
    text = (MODULES / "kubernetes" / "go.mod").read_text(encoding="utf-8")
    return re.search(r"^require k8s\.io/kubernetes (v\S+)", text, re.M)[1]


def folder():
    named = os.environ.get("TUTTI_K8S_BIN")
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(named or pathlib.Path(cache, "tutti", "kubernetes", version(), "bin"))


def go():
    """Go in the version that the modules need, or None."""
    for program in (shutil.which("go"), shutil.which("go", path="/usr/local/go/bin")):
        if program is None:
            continue
        said = subprocess.run([program, "env", "GOVERSION"], capture_output=True, text=True,
                              env={**os.environ, "GOTOOLCHAIN": "local"}, check=False).stdout
        found = re.match(r"go(\d+)\.(\d+)", said)
        if found and (int(found[1]), int(found[2])) >= GO_NEEDED:
            return program
    return None


class BuildError(Exception):
    """Why there is no control plane."""


def stamp(name):
    """What the program is made of: another one means that it is to be built again."""
    module, package = CONTROL_PLANE[name]
    digest = hashlib.sha256(package.encode())
    for file in ("go.mod", "go.sum"):
        digest.update((MODULES / module / file).read_bytes())
    return digest.hexdigest()


def missing(bin_folder):
    """The programs that are not there, or are not of this version."""
    try:
        stamps = json.loads((bin_folder / ".stamps").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        stamps = {}
    return [name for name in CONTROL_PLANE
            if stamps.get(name) != stamp(name) or not os.access(bin_folder / name, os.X_OK)]


def mark(bin_folder, name):
    path = bin_folder / ".stamps"
    stamps = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    part = bin_folder / ".stamps.part"
    part.write_text(json.dumps({**stamps, name: stamp(name)}, indent=1), encoding="utf-8")
    part.rename(path)


@contextlib.contextmanager
def alone(bin_folder):
    """Two builds at once would do everything twice: the second one waits for the first."""
    with open(bin_folder / ".lock", "a", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"another build fills {bin_folder}; waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def say(text):
    print(f"kubernetes: {text}", file=sys.__stderr__, flush=True)


def build(program, bin_folder, name, lock):
    """Builds one program beside its place, and moves it there when it is whole. Go inherits the
    lock: should this process be killed, no other build starts beside the one that goes on."""
    module, package = CONTROL_PLANE[name]
    work = bin_folder / ".work"
    source = work / module
    shutil.copytree(MODULES / module, source, dirs_exist_ok=True)
    major, minor = version()[1:].split(".")[:2]
    variables = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor}
    flags = "-s -w " + " ".join(f"-X k8s.io/component-base/version.{key}={value}"
                                for key, value in variables.items())
    part, log = work / f"{name}.part", work / f"{name}.log"
    with log.open("wb") as said:
        done = subprocess.run(
            ["nice", program, "build", "-trimpath", "-buildvcs=false", "-modcacherw",
             "-ldflags", flags, "-o", str(part), package],
            cwd=source, stdin=subprocess.DEVNULL, stdout=said, stderr=said, check=False,
            pass_fds=(lock.fileno(),),
            env={**os.environ, "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off",
                 "GOCACHE": str(work / "go-build"), "GOMODCACHE": str(work / "go-modules")})
    if done.returncode != 0:
        last = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:])
        raise BuildError(f"{last}\n{name} was not built; what was compiled is kept in {work}")
    part.rename(bin_folder / name)
    mark(bin_folder, name)


def ensure():
    """The folder of all programs, after building those that are missing."""
    bin_folder = folder()
    if not missing(bin_folder):
        return bin_folder
    program = go()
    if program is None:
        raise BuildError("Go %d.%d or newer is missing" % GO_NEEDED)
    bin_folder.mkdir(parents=True, exist_ok=True)
    with alone(bin_folder) as lock:
        names = missing(bin_folder)
        begin = time.monotonic()
        for number, name in enumerate(names, 1):
            start = time.monotonic()
            say(f"building {name} ({number} of {len(names)})")
            build(program, bin_folder, name, lock)
            say(f"built {name} in {time.monotonic() - start:.0f} s")
        shutil.rmtree(bin_folder / ".work", ignore_errors=True)
        if names:
            say(f"all of it took {time.monotonic() - begin:.0f} s")
    return bin_folder


def main():
    argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0]).parse_args()
    try:
        print(ensure())
    except BuildError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
