"""A headless Chromium driven over its debugging pipe, with Python's standard library alone."""
import base64
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome")
ANSWER_S = 60


def find():
    """The path of a Chromium, or None."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Browser:
    """`complaints` gathers what a page prints as an error, throws, or asks of the outside."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="tutti-browser-",
                                                  ignore_cleanup_errors=True)
        their_in, self.to = os.pipe()
        self.of, their_out = os.pipe()
        # The protocol wants descriptors 3 and 4; high numbers first, so that none is overwritten.
        high = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 30) for pipe in (their_in, their_out)]
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
                   "--disable-extensions", "--no-first-run", "--remote-debugging-pipe",
                   f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$0" "$@" 3<&{high[0]} 4>&{high[1]}', find(), *options],
            pass_fds=high, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True)
        for descriptor in (their_in, their_out, *high):
            os.close(descriptor)
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.complaints = []
        self.loaded = False
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        try:  # Its children may outlive it, and write into the folder.
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.close(self.to)
        os.close(self.of)
        self.folder.cleanup()

    def call(self, method, **arguments):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": arguments}
        if self.session:
            message["sessionId"] = self.session
        text = json.dumps(message).encode() + b"\0"
        while text:
            text = text[os.write(self.to, text):]
        while True:
            answer = self.receive(ANSWER_S)
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]

    def receive(self, seconds):
        end = time.monotonic() + seconds
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.of], [], [], max(0.0, end - time.monotonic()))
            chunk = os.read(self.of, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser ended" if ready else f"no answer in {seconds} s")
            self.buffer += chunk
        text, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(text)
        self.notice(message.get("method"), message.get("params", {}))
        return message

    def notice(self, method, event):
        if method == "Page.loadEventFired":
            self.loaded = True
        elif method == "Runtime.exceptionThrown":
            details = event["exceptionDetails"]
            thrown = details.get("exception", {}).get("description", details["text"])
            self.complaints.append(f"exception: {thrown}")
        elif method == "Runtime.consoleAPICalled" and event["type"] in ("error", "warning"):
            said = " ".join(str(arg.get("value", "")) for arg in event["args"])
            self.complaints.append(f"console: {said}")
        elif method == "Log.entryAdded" and event["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"log: {event['entry']['text']}")
        elif method == "Network.requestWillBeSent":
            url = event["request"]["url"]
            if not url.startswith(("file:", "data:", "about:")):
                self.complaints.append(f"request: {url}")

    def open(self, url, width, height, theme="light"):
        self.complaints.clear()
        self.loaded = False
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": theme}])
        self.call("Page.navigate", url=url)
        while not self.loaded:
            self.receive(ANSWER_S)
        # Two frames: the charts draw when their width is known.
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def run(self, expression):
        """The value of a JavaScript expression; a promise is awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                           awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode={"ArrowRight": 39, "ArrowDown": 40, "Tab": 9}[key])

    def point(self, x, y):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def picture(self, path, whole=True):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def paper(self, path=None):
        pdf = base64.b64decode(self.call("Page.printToPDF", preferCSSPageSize=True,
                                         printBackground=True)["data"])
        if path:
            with open(path, "wb") as file:
                file.write(pdf)
        return pdf
