"""A browser without a screen, driven over its debugging protocol: pictures, films, and the tests of
the pages.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from robot_dynamics_ros.errors import BackendError, RobotDynamicsError

BROWSERS = (
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "chrome",
    "microsoft-edge",
)

_QUIET = (
    "background-networking",
    "component-update",
    "default-apps",
    "domain-reliability",
    "extensions",
    "sync",
)
_FLAGS = (
    "--headless=new",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    *(f"--disable-{name}" for name in _QUIET),
    # the software that stands in for a graphics processor has enough to do with the scene
    "--disable-gpu-compositing",
    # one picture a second otherwise, as there is no screen
    "--disable-frame-rate-limit",
    "--metrics-recording-only",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
    "--mute-audio",
    "--remote-debugging-port=0",
)
# nothing but this machine can be reached, whatever a page asks for
_NAMES = "MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"

# The page draws only what has changed: while anything is left to do it asks for a picture, and
# takes that back where nothing is.  Letters of labels come one by one.
_FRAMES_SCRIPT = """
const draw = requestAnimationFrame, due = new Set();
window.framesDue = () => due.size;
window.requestAnimationFrame = (work) => {{
    const number = setTimeout(
      () => draw((time) => {{ if (due.delete(number)) work(time); }}), {pause});
    due.add(number);
    return number;
}};
window.cancelAnimationFrame = (number) => due.delete(number);
"""
# toBlob waits for the page to be idle, which it never is here: 1.8 s a picture
_TO_BLOB = """
HTMLCanvasElement.prototype.toBlob = function (done, type, quality) {
    const [head, data] = this.toDataURL(type, quality).split(",");
    const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
    done(new Blob([bytes], {type: head.slice(5).split(";")[0]}));
};
"""


def _unexpected(text: str) -> RobotDynamicsError:
    return RobotDynamicsError(
        text, where="browser", remedy="Please report it, with the version of the browser."
    )


def find_browser() -> str | None:
    """Path of a Chromium, Chrome or Edge: ``ROBOT_DYNAMICS_BROWSER``, or the first one on the
    path.
    """
    named = os.environ.get("ROBOT_DYNAMICS_BROWSER")
    if named:
        return shutil.which(named)
    return next((p for p in map(shutil.which, BROWSERS) if p), None)


class Browser(AbstractContextManager["Browser"]):
    """One page of so many pixels in a browser without a screen.  Use as a context manager.

    Args:
        pause: s between two pictures that the page draws of itself; drawing as fast as it can,
            without a graphics processor, takes all there is.
        names: rules that map more names to addresses, in Chromium's notation, e.g. ``MAP
            robot.example 127.0.0.1``.
        dark: the person prefers dark pages.

    Attributes:
        errors: what the page wrote to its console as errors, and exceptions nobody caught.
        requests: address of every request that the page made.
    """

    def __init__(
        self,
        width: int = 1280,
        height: int = 800,
        pause: float = 0.1,
        names: str = "",
        dark: bool = False,
    ) -> None:
        if (program := find_browser()) is None:
            remedy = (
                "Install Chromium (Debian and Ubuntu: apt install chromium), or name one in "
                "ROBOT_DYNAMICS_BROWSER."
            )
            raise BackendError("there is no browser to draw with", where="browser", remedy=remedy)
        self.errors: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._folder = tempfile.mkdtemp(prefix="robot_dynamics_view_")
        # a browser run by root, as in most containers, does not start with its sandbox
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            sandbox = ["--no-sandbox"]
        else:
            sandbox = []
        rules = f"--host-resolver-rules={', '.join(filter(None, (names, _NAMES)))}"
        page = (f"--user-data-dir={self._folder}", f"--window-size={width},{height}", "about:blank")
        nowhere = subprocess.DEVNULL
        command = [program, *_FLAGS, rules, *sandbox, *page]
        self._process = subprocess.Popen(command, stdin=nowhere, stdout=nowhere, stderr=nowhere)
        try:
            self._connect(width, height, pause)
            self.prefer("dark" if dark else "light")
        except BaseException:
            self.close()
            raise

    def _connect(self, width: int, height: int, pause: float) -> None:
        from urllib.request import ProxyHandler, build_opener

        from websockets.sync.client import connect

        port_file = Path(self._folder) / "DevToolsActivePort"
        deadline = time.monotonic() + 120.0
        while not (port_file.is_file() and len(port_file.read_text().split()) == 2):
            if self._process.poll() is not None or time.monotonic() > deadline:
                remedy = "Start it in a terminal to see why."
                raise BackendError("the browser does not start", where="browser", remedy=remedy)
            time.sleep(0.02)
        port = port_file.read_text().split()[0]
        opener = build_opener(ProxyHandler({}))
        address = ""
        while not address:
            time.sleep(0.02)
            with opener.open(f"http://127.0.0.1:{port}/json/list", timeout=30.0) as answer:
                pages = [page for page in json.load(answer) if page["type"] == "page"]
                if pages:
                    address = pages[0]["webSocketDebuggerUrl"]
                else:
                    address = ""
        self._socket = connect(
            address, max_size=None, compression=None, ping_interval=None, proxy=None
        )
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")
        script = _TO_BLOB + _FRAMES_SCRIPT.format(pause=1e3 * pause)
        self.call("Page.addScriptToEvaluateOnNewDocument", source=f"{{ {script} }}")
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )

    def call(
        self,
        method: str,
        timeout: float = 120.0,
        **parameters: object,
    ) -> dict[str, Any]:
        """One command of the debugging protocol, and its answer; an error if it is refused, or
        comes too late.
        """
        self._number += 1
        self._socket.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        deadline = time.monotonic() + timeout
        while True:
            message = self._next(deadline - time.monotonic())
            if message is None:
                remedy = "Close other programs, or allow more time."
                raise RobotDynamicsError(
                    f"no answer to {method} within {timeout:g} s", where="browser", remedy=remedy
                )
            if message.get("id") == self._number:
                if "error" in message:
                    raise _unexpected(f"{method}: {message['error'].get('message')}")
                return dict(message["result"])

    def _next(self, timeout: float) -> dict[str, Any] | None:
        try:
            message = json.loads(self._socket.recv(max(timeout, 0.0)))
        except TimeoutError:
            return None
        values = message.get("params", {})
        match message.get("method"):
            case "Runtime.consoleAPICalled" if values["type"] in ("error", "assert"):
                self.errors.append(
                    " ".join(str(a.get("value", a.get("description", ""))) for a in values["args"])
                )
            case "Runtime.exceptionThrown":
                detail = values["exceptionDetails"]
                self.errors.append(
                    str(detail.get("exception", {}).get("description", detail["text"]))
                )
            case "Log.entryAdded" if values["entry"]["level"] == "error":
                self.errors.append(f"{values['entry']['text']} {values['entry'].get('url', '')}")
            case "Network.requestWillBeSent":
                self.requests.append(values["request"]["url"])
            case "Network.webSocketCreated":
                self.requests.append(values["url"])
        return dict(message)

    def prefer(self, colours: str) -> None:
        """The person prefers ``dark`` or ``light`` pages from now on."""
        feature = {"name": "prefers-color-scheme", "value": colours}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def go(self, address: str) -> None:
        self.call("Page.navigate", url=address)

    def run(self, script: str) -> Any:
        """The value of an expression in the page; promises are waited for; a RobotDynamicsError if
        it throws.
        """
        answer = self.call(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise _unexpected(str(answer["exceptionDetails"]))
        return answer["result"].get("value")

    def wait(self, condition: str | Callable[[], object], timeout: float = 30.0) -> bool:
        """Wait until an expression in the page, or a function, is true; ``False`` if time is up
        before.
        """
        deadline = time.monotonic() + timeout
        while not (self.run(condition) if isinstance(condition, str) else condition()):
            if time.monotonic() > deadline:
                return False
            self._next(0.03)
        return True

    def rest(self, seconds: float) -> None:
        """Let the page go on for a while."""
        deadline = time.monotonic() + seconds
        while (remaining := deadline - time.monotonic()) > 0.0:
            self._next(remaining)

    def drawn(self, timeout: float = 30.0) -> bool:
        """Wait until the page has drawn all that it has to draw; ``False`` if time is up before."""
        return self.wait("framesDue() === 0", timeout)

    def leave(self) -> None:
        """Leave the page for an empty one, and forget errors and requests: for another page to
        come.
        """
        self.go("about:blank")
        self.errors.clear()
        self.requests.clear()

    def picture(self) -> bytes:
        """Picture of the page, as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])

    def close(self) -> None:
        self._process.terminate()
        if hasattr(self, "_socket"):
            # after that: a page that draws does not answer a farewell
            self._socket.close()
        try:
            self._process.wait(10.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def __exit__(self, *_: object) -> None:
        self.close()
