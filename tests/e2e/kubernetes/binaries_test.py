#!/usr/bin/env python3
"""Programs are built once, whole or not at all, by one build at a time; a stand-in plays Go."""
import concurrent.futures
import io
import os
import pathlib
import shutil
import sys
import unittest
import unittest.mock

import binaries
from kube_case import FolderCase

GO = """#!/bin/sh
if [ "$1" = env ]; then echo go$VERSION; exit; fi
while [ "$1" != -o ]; do shift; done
echo "$3" >>"$BUILDS"
case "$3" in *$BROKEN) echo "half" >"$2"; echo "$3: it does not compile" >&2; exit 1;; esac
sleep 0.02
printf '#!/bin/sh\\n' >"$2"
chmod +x "$2"
"""


class BinariesTest(FolderCase):
    def setUp(self):
        super().setUp()
        self.bin, self.builds = self.folder / "cache" / "bin", self.folder / "builds"
        go = self.folder / "path" / "go"
        go.parent.mkdir()
        go.write_text(GO, encoding="utf-8")
        go.chmod(0o755)
        modules = self.folder / "modules"
        shutil.copytree(binaries.MODULES, modules)
        self.enterContext(unittest.mock.patch.object(binaries, "MODULES", modules))
        self.enterContext(unittest.mock.patch.object(sys, "__stderr__", io.StringIO()))
        self.enterContext(unittest.mock.patch.dict(os.environ, {
            "TUTTI_K8S_BIN": str(self.bin), "BUILDS": str(self.builds), "VERSION": "1.26.1",
            "PATH": f"{go.parent}:{os.environ['PATH']}", "BROKEN": "/nothing"}))

    def built(self):
        """The packages that Go was asked for since this was asked last."""
        names = self.builds.read_text(encoding="utf-8").split() if self.builds.exists() else []
        self.builds.unlink(missing_ok=True)
        return [name.rpartition("/")[2] for name in names]

    def test_once_for_each_go_mod(self):
        self.assertEqual(binaries.ensure(), self.bin)
        self.assertEqual(len(self.built()), len(binaries.CONTROL_PLANE))
        binaries.ensure()
        self.assertEqual(self.built(), [])
        with (binaries.MODULES / "kwok" / "go.mod").open("a", encoding="utf-8") as file:
            file.write("// another version\n")
        (self.bin / "kubectl").unlink()
        binaries.ensure()
        self.assertEqual(self.built(), ["kubectl", "kwok"])
        self.assertFalse((self.bin / ".work").exists())

    def test_what_fails_leaves_nothing_and_goes_on_later(self):
        os.environ["BROKEN"] = "/kubectl"
        with self.assertRaisesRegex(binaries.BuildError, "kubectl: it does not compile"):
            binaries.ensure()
        self.assertEqual(binaries.missing(self.bin), ["kubectl", "kube-scheduler", "etcd", "kwok"])
        self.assertFalse((self.bin / "kubectl").exists())
        self.assertTrue((self.bin / ".work").exists())
        self.built()
        os.environ["BROKEN"] = "/nothing"
        binaries.ensure()
        self.assertEqual(self.built(), ["kubectl", "kube-scheduler", "v3", "kwok"])

    def test_two_at_once_build_once(self):
        with concurrent.futures.ThreadPoolExecutor() as pool:
            for done in [pool.submit(binaries.ensure) for _ in range(3)]:
                self.assertEqual(done.result(), self.bin)
        self.assertEqual(len(self.built()), len(binaries.CONTROL_PLANE))

    def test_an_old_go_is_none(self):
        for version, good in (("1.25.9", False), ("1.26", True), ("1.30.0", True), ("2.0", True)):
            os.environ["VERSION"] = version
            with unittest.mock.patch.object(shutil, "which", self.only_ours):
                self.assertEqual(binaries.go() is not None, good, version)
        os.environ["VERSION"] = "1.19"
        with unittest.mock.patch.object(shutil, "which", self.only_ours):
            with self.assertRaisesRegex(binaries.BuildError, r"Go 1\.26 or newer"):
                binaries.ensure()

    def only_ours(self, name, path=None):
        return str(self.folder / "path" / name) if path is None else None

    def test_where_they_are(self):
        self.assertEqual(binaries.folder(), self.bin)
        del os.environ["TUTTI_K8S_BIN"]
        os.environ["XDG_CACHE_HOME"] = "/a"
        self.assertEqual(binaries.folder(), pathlib.Path("/a/tutti/kubernetes",
                                                         binaries.version(), "bin"))


if __name__ == "__main__":
    unittest.main()
