"""One tab of a Chromium: what somebody does in it, what they see, and what went wrong in it.

Nothing of one tab is seen by another: each has a browser context of its own.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from tests.support.chromium import Chromium, Message
from tests.support.eventually import eventually

__all__ = ["Tab", "a_tab"]

_WATCH: Final = """
window.violations = [];
document.addEventListener("securitypolicyviolation", (event) => {
  window.violations.push(`${event.violatedDirective}: ${event.blockedURI} ${event.sample}`);
});
"""
_KEYS: Final = {
    "Tab": (9, ""),
    "Enter": (13, "\r"),
    "Escape": (27, ""),
    " ": (32, " "),
    "ArrowDown": (40, ""),
}
_SHIFT: Final = 8


class Tab:
    """One tab. Made with `a_tab`."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser = browser
        self._session = session
        self._lock = threading.Lock()
        self._errors: list[str] = []
        browser.listen(session, self._hear)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.command(f"{domain}.enable")
        self.command("Page.addScriptToEvaluateOnNewDocument", source=_WATCH)

    def command(self, method: str, **parameters: Any) -> Message:
        """Speak the DevTools protocol."""
        return self._browser.command(method, session=self._session, **parameters)

    # Where it is, and how it looks

    def go(self, address: str) -> None:
        """Load an address; what the page's scripts then do is waited for by what is seen."""
        self.command("Page.navigate", url=address)
        self.wait_for("document.readyState === 'complete' && !!document.querySelector('h1')", what=address)

    def resize(self, width: int, height: int = 900, *, scale: float = 1.0) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=scale,
            mobile=False,
        )

    def prefer(self, **features: str) -> None:
        """`prefer(color_scheme="dark")`."""
        named = [
            {"name": f"prefers-{name.replace('_', '-')}", "value": value} for name, value in features.items()
        ]
        self.command("Emulation.setEmulatedMedia", features=named)

    def screenshot(self, *, whole: bool = False) -> bytes:
        """A PNG."""
        taken = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        return base64.b64decode(taken["data"])

    # What is in it

    def run(self, script: str) -> Any:
        """Evaluate an expression, or await a promise, and give its value."""
        answer = self.command(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]["exception"]
        return answer["result"].get("value")

    def call(self, module: str, function: str, *arguments: Any) -> Any:
        """Call a function that a module of the page exports."""
        given = ", ".join(json.dumps(argument) for argument in arguments)
        return self.run(f"import('./page/{module}').then((module) => module.{function}({given}))")

    def text(self, selector: str = "main") -> str:
        """What is seen of an element, or nothing where there is none."""
        return str(self.run(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''"))

    def wait_for(self, script: str, *, what: str, timeout_s: float = 30.0) -> None:
        """Wait until an expression is true."""
        try:
            eventually(lambda: bool(self.run(script)), what=what, timeout_s=timeout_s)
        except AssertionError as error:
            raise AssertionError(f"{error}; the page shows: {self.text()[:2000]}") from None

    def wait_for_text(self, text: str, *, within: str = "main", timeout_s: float = 30.0) -> None:
        """Wait until a text is seen."""
        shown = f"document.querySelector({json.dumps(within)})?.innerText.includes({json.dumps(text)})"
        self.wait_for(shown, what=f"{text!r} in {within}", timeout_s=timeout_s)

    @property
    def focused(self) -> str:
        """What has the focus: its tag, and its label or its text."""
        return str(
            self.run(
                "(() => { const one = document.activeElement ?? document.body; const label = one.labels?.[0]?.innerText"
                " ?? one.getAttribute('aria-label') ?? one.innerText;"
                " return `${one.tagName.toLowerCase()} ${label.trim().split('\\n')[0]}`; })()"
            )
        )

    # What somebody does

    def press(self, key: str, *, times: int = 1, shift: bool = False) -> None:
        code, text = _KEYS[key]
        pressed = {
            "key": key,
            "code": "Space" if key == " " else key,
            "windowsVirtualKeyCode": code,
            "modifiers": _SHIFT if shift else 0,
        }
        for _ in range(times):
            self.command(
                "Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **pressed
            )
            self.command("Input.dispatchKeyEvent", type="keyUp", **pressed)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.command("Input.insertText", text=text)

    def tab_to(self, wanted: str, *, shift: bool = False, most: int = 80) -> None:
        """Press Tab until something has the focus, as `focused` names it, or with a text at its begin."""
        for _ in range(most):
            if self.focused.startswith(wanted):
                return
            self.press("Tab", shift=shift)
        raise AssertionError(f"{most} times Tab did not lead to {wanted!r}; the focus is at {self.focused!r}")

    def go_offline(self) -> None:
        self._connect(offline=True)

    def go_online(self) -> None:
        self._connect(offline=False)

    def hide(self) -> None:
        """Put another tab before it: what the page is told of that, since a tab without a screen is always seen."""
        self._turn(hidden=True)

    def show(self) -> None:
        """Come back to it."""
        self._turn(hidden=False)

    def let_pass(self, seconds: int) -> None:
        """Have this long pass by the page's own clock, at once."""
        until_ms = self.run("performance.now()") + seconds * 1_000
        self.command("Emulation.setVirtualTimePolicy", policy="advance", budget=seconds * 1_000)
        self.wait_for(f"performance.now() >= {until_ms}", what=f"{seconds} s of the page's own time")

    def _turn(self, *, hidden: bool) -> None:
        self.run(
            f"Object.defineProperty(document, 'hidden', {{ value: {json.dumps(hidden)}, configurable: true }});"
            "document.dispatchEvent(new Event('visibilitychange'))"
        )

    def _connect(self, *, offline: bool) -> None:
        no_limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.command("Network.emulateNetworkConditions", offline=offline, **no_limits)

    # What went wrong

    @property
    def errors(self) -> list[str]:
        """What stands in the console as an error, and what the page's policy forbade."""
        with self._lock:
            heard = list(self._errors)
        return heard + [str(one) for one in self.run("window.violations ?? []")]

    def _hear(self, event: str, said: Message) -> None:
        told: str | None = None
        if event == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            told = details.get("exception", {}).get("description", details["text"])
        elif event == "Runtime.consoleAPICalled" and said["type"] in {"error", "assert"}:
            told = " ".join(str(one.get("description", one.get("value"))) for one in said["args"])
        elif event == "Log.entryAdded" and said["entry"]["level"] == "error":
            told = f"{said['entry']['text']} {said['entry'].get('url', '')}"
        if told is not None:
            with self._lock:
                self._errors.append(told)


@contextmanager
def a_tab(browser: Chromium) -> Generator[Tab]:
    """A tab during the block."""
    context = browser.command("Target.createBrowserContext")["browserContextId"]
    target = browser.command("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
    session = browser.command("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
    try:
        yield Tab(browser, session)
    finally:
        browser.command("Target.disposeBrowserContext", browserContextId=context)
