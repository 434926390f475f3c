"""A real browser, driven by its DevTools protocol: what a reader does, and what stands there."""

import json
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

from tests.golden import inputs

__all__ = ["CHROMIUM", "Tab", "open_tab"]

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")

_FLAGS: list[str] = inputs("browser")["flags"]
_KEYS: dict[str, tuple[str, int, str]] = inputs("browser")["keys"]
_HELD = {"alt": 1, "control": 2, "meta": 4, "shift": 8}


class Tab:
    """One page of a browser.

    `events` are the protocol's events so far, such as requests the page made and what its console
    said.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self.events: list[dict[str, Any]] = []
        self._socket = socket
        self._asked = 0
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command of the protocol, answered."""
        self._asked += 1
        self._socket.send(json.dumps({"id": self._asked, "method": method, "params": parameters}))
        while True:
            message = json.loads(self._socket.recv(timeout=20))
            if message.get("id") == self._asked:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            if "method" in message:
                self.events.append(message)

    def go(self, address: str) -> None:
        """Open an address, also one that differs in its fragment alone."""
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def evaluate(self, expression: str) -> Any:
        """What a JavaScript expression comes to; promises are awaited."""
        found = self.call(
            "Runtime.evaluate",
            expression=expression,
            awaitPromise=True,
            returnByValue=True,
            userGesture=True,
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, expression: str, seconds: float = 10) -> Any:
        """Wait until an expression holds."""
        end = time.monotonic() + seconds
        while not (found := self.evaluate(expression)):
            assert time.monotonic() < end, f"never came: {expression}"
            time.sleep(0.02)
        return found

    def press(self, keys: str) -> None:
        """Press a key, such as `Escape` or `control+Enter`."""
        *held, key = keys.split("+")
        code, number, text = _KEYS[key]
        modifiers = sum(_HELD[one] for one in held)
        common = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": modifiers}
        printed = {} if modifiers & ~_HELD["shift"] or not text else {"text": text}
        commands = {"commands": ["undo"]} if keys == "control+z" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **common, **printed, **commands)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text: str) -> None:
        """Type text into what has the focus."""
        self.call("Input.insertText", text=text)

    def point(self, x: float, y: float) -> None:
        """Move the mouse."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, selector: str) -> None:
        """Click in the middle of an element."""
        x, y = self.middle(selector)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def tap(self, x: float, y: float) -> None:
        """Touch the screen with a finger."""
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def middle(self, selector: str) -> tuple[float, float]:
        """Where the middle of an element stands in the window, after scrolling to it."""
        x, y = self.evaluate(
            f"""(() => {{
              const element = document.querySelector({json.dumps(selector)});
              element.scrollIntoView({{ block: "nearest", behavior: "instant" }});
              const box = element.getBoundingClientRect();
              return [box.x + box.width / 2, box.y + box.height / 2];
            }})()"""
        )
        return x, y

    def look(
        self, width: int = 1400, height: int = 1000, *, dark: bool = False, touch: bool = False
    ) -> None:
        """The window's size, the reader's preference of dark pages, and whether it is touched."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=2 if touch else 1,
            mobile=touch,
        )
        self.call("Emulation.setTouchEmulationEnabled", enabled=touch)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def complaints(self) -> list[str]:
        """What the console and the page's own errors said so far."""
        said = []
        for event in self.events:
            if event["method"] == "Log.entryAdded":
                said.append(event["params"]["entry"]["text"])
            if event["method"] == "Runtime.exceptionThrown":
                said.append(str(event["params"]["exceptionDetails"]))
        return said

    def requested(self) -> list[str]:
        """Every address the page asked for."""
        requests = [one for one in self.events if one["method"] == "Network.requestWillBeSent"]
        return [one["params"]["request"]["url"] for one in requests]


@contextmanager
def open_tab(profile: Path) -> Iterator[Tab]:
    """A browser with one page, its profile in an empty folder; closed at the end."""
    assert CHROMIUM is not None, "there is no chromium here"
    command = [CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        with connect(_page_address(profile), max_size=None, compression=None) as socket:
            yield Tab(socket)
            socket.send(json.dumps({"id": 0, "method": "Browser.close"}))
        process.wait(timeout=10)
    finally:
        process.kill()
        process.wait()


def _page_address(profile: Path) -> str:
    """Where the browser's first page is driven, once the browser has written where it listens."""
    written, end = profile / "DevToolsActivePort", time.monotonic() + 30
    while not (written.is_file() and len(written.read_text().splitlines()) == 2):
        assert time.monotonic() < end, "the browser does not start"
        time.sleep(0.05)
    port = written.read_text().splitlines()[0]
    while True:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
            pages = [one for one in json.load(answer) if one["type"] == "page"]
        if pages:
            return pages[0]["webSocketDebuggerUrl"]
        time.sleep(0.05)
