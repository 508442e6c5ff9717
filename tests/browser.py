"""A headless Chromium for tests of pages: what the page logged, threw and fetched, what is in it, how it looks.

All tests of a process have one Chromium, which takes a second to start, and each page a profile of its own in it.
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.profiles import others_nightly

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = others_nightly([1400, 800], [800], "what fits the narrow page fits the wide one")

_OPTIONS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]
_PATIENCE_S = 60.0


class Browser:
    """A Chromium, spoken to in the DevTools protocol over two pipes."""

    def __init__(self) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._process, self._out, self._in = _start(self._profile.name)
        self._buffer = b""
        self._ids = itertools.count(1)

    def send(self, message: dict[str, Any]) -> int:
        """Send a command and return its number."""
        number = next(self._ids)
        os.write(self._out, json.dumps({"id": number} | message).encode() + b"\0")
        return number

    def receive(self) -> dict[str, Any]:
        """Return the next answer or event."""
        until = time.monotonic() + _PATIENCE_S
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0.0, until - time.monotonic()))
            chunk = os.read(self._in, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("Chromium has ended or says nothing")
            self._buffer += chunk
        raw, self._buffer = self._buffer.split(b"\0", 1)
        message: dict[str, Any] = json.loads(raw)
        return message

    def end(self) -> None:
        """Have it end, and wait for that."""
        os.close(self._out)  # Chromium ends when no one can speak to it any more
        os.close(self._in)
        _end(self._process)
        self._profile.cleanup()


class Page:
    """A page in Chromium, with a profile of its own.

    Attributes:
        errors: uncaught exceptions and console messages of level error, as text.
        fetched: the URL of everything that was requested.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._session: str | None = None
        self._loaded = False
        self.errors: list[str] = []
        self.fetched: list[str] = []
        self._context = self.send("Target.createBrowserContext")["browserContextId"]

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come meanwhile are noted."""
        message: dict[str, Any] = {"method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        number = self._browser.send(message)
        while True:
            response = self._receive()
            if response.get("id") == number:
                if "error" in response:
                    raise RuntimeError(f"{method}: {response['error']['message']}")
                result: dict[str, Any] = response["result"]
                return result

    def open(self, url: str, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a page at a width in pixels and wait until its load event."""
        target = self.send("Target.createTarget", url="about:blank", browserContextId=self._context)["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self._loaded = False
        self.send("Page.navigate", url=url)
        while not self._loaded:
            self._receive()
        self.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page."""
        response = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in response:
            raise RuntimeError(response["exceptionDetails"]["text"])
        return response["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """The whole page, also what is below the fold, as PNG."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        image = self.send("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(image))

    def print_pdf(self, path: Path) -> None:
        """The page as it prints."""
        path.write_bytes(base64.b64decode(self.send("Page.printToPDF")["data"]))

    def close(self) -> None:
        """Close the page, and forget what it left."""
        self._session = None
        self.send("Target.disposeBrowserContext", browserContextId=self._context)

    def _receive(self) -> dict[str, Any]:
        message = self._browser.receive()
        if message.get("sessionId") == self._session:
            self._note(message.get("method", ""), message.get("params", {}))
        return message

    def _note(self, event: str, details: dict[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            thrown = details["exceptionDetails"]
            self.errors.append(thrown.get("exception", {}).get("description", thrown["text"]))
        elif event == "Runtime.consoleAPICalled" and details["type"] in ("error", "assert"):
            self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in details["args"]))
        elif event == "Log.entryAdded" and details["entry"]["level"] == "error":
            self.errors.append(details["entry"]["text"])
        elif event == "Network.requestWillBeSent":
            self.fetched.append(details["request"]["url"])
        elif event == "Page.loadEventFired":
            self._loaded = True


_running: list[Browser] = []
"""The Chromium of this process, if one was started."""


@contextmanager
def opened(path: Path | str, width: int, dark: bool = False) -> Iterator[Page]:
    """An HTML file or address in a page of its own, which is closed with the block; an error ends Chromium, too."""
    if not _running:
        _running.append(Browser())
    try:
        page = Page(_running[0])
        page.open(path if isinstance(path, str) else path.resolve().as_uri(), width, dark=dark)
        yield page
        page.close()
    except BaseException:
        end()
        raise


def end() -> None:
    """End the Chromium of this process, if one was started."""
    while _running:
        _running.pop().end()


def _start(profile: str) -> tuple[int, int, int]:
    """A browser's process id, and the descriptors to write to it and to read from it."""
    assert CHROMIUM is not None
    child_in, to_browser = os.pipe()
    from_browser, child_out = os.pipe()
    # Chromium reads its commands from descriptor 3 and answers on 4; both may be in use for something else here.
    low = [child_in, child_out]
    high = [fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10) for descriptor in low]
    process = os.posix_spawn(
        CHROMIUM,
        [CHROMIUM, *_OPTIONS, f"--user-data-dir={profile}", "about:blank"],
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_DUP2, high[0], 3),
            (os.POSIX_SPAWN_DUP2, high[1], 4),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ],
    )
    for descriptor in low + high:
        os.close(descriptor)
    return process, to_browser, from_browser


def _end(process: int) -> None:
    until = time.monotonic() + 10
    while os.waitpid(process, os.WNOHANG)[0] == 0:
        if time.monotonic() > until:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            return
        time.sleep(0.01)
