"""Tools from PyPI for tests, in a virtual environment of their own: build/python."""
import functools
import pathlib
import site
import subprocess
import sys

from tutti_case import ROOT

FOLDER = ROOT / "build" / "python"
WANTED = pathlib.Path(__file__).with_name("requirements.txt")
PATIENCE_S = 300


@functools.cache
def missing():
    """Why they are not there, or an empty text; installs them where they are not."""
    stamp = FOLDER / "installed.txt"
    if not stamp.exists() or stamp.read_text() != WANTED.read_text():
        for command in ([sys.executable, "-m", "venv", "--clear", FOLDER],
                        [FOLDER / "bin" / "python", "-m", "pip", "install", "--quiet",
                         "--disable-pip-version-check", "-r", WANTED]):
            try:
                done = subprocess.run(list(map(str, command)), capture_output=True, text=True,
                                      timeout=PATIENCE_S, check=False)
            except subprocess.TimeoutExpired:
                return "missing: tools from PyPI; no answer"
            if done.returncode != 0:
                last = (done.stderr or done.stdout).strip().splitlines()[-1:]
                return f"missing: tools from PyPI; {''.join(last)}"
        stamp.write_text(WANTED.read_text())
    site.addsitedir(str(FOLDER / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"))
    return ""


def program(name):
    return str(FOLDER / "bin" / name)
