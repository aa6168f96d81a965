"""A headless Chromium, driven over the WebDriver protocol (W3C, 2018) with nothing but the standard library."""

import base64
import collections
import contextlib
import itertools
import json
import pathlib
import shutil
import struct
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
import zlib

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
KEYS = {"Down": "\ue015", "Up": "\ue013", "Left": "\ue012", "Right": "\ue014", "Home": "\ue011", "End": "\ue010",
        "PageDown": "\ue00f", "Enter": "\ue007", "Escape": "\ue00c"}


def programs():
    """Paths of Chromium and its driver; a missing one is None."""
    return shutil.which("chromium"), shutil.which("chromedriver")


def shrink_png(data):
    """A picture with 16 levels a channel and at most 256 colours, as one with a palette (PNG, W3C 2003): a third of the bytes."""
    width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", data[16:29])
    if depth != 8 or colours not in (2, 6) or interlaced:
        return data
    packed, at = b"", 8
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if kind == b"IDAT" else b""
        at += size + 12
    raw, each = zlib.decompress(packed), 3 if colours == 2 else 4
    line_bytes = width * each
    above, pixels = bytearray(line_bytes), []
    for row in range(height):
        begin = row * (line_bytes + 1)
        line = bytearray(raw[begin + 1:begin + 1 + line_bytes])
        how = raw[begin]
        for n in range(line_bytes):
            left = line[n - each] if n >= each else 0
            if how == 1:
                line[n] = line[n] + left & 255
            elif how == 2:
                line[n] = line[n] + above[n] & 255
            elif how == 3:
                line[n] = line[n] + (left + above[n] >> 1) & 255
            elif how == 4:
                corner = above[n - each] if n >= each else 0
                guess = left + above[n] - corner
                far = abs(guess - left), abs(guess - above[n]), abs(guess - corner)
                line[n] = line[n] + (left if far[0] <= min(far[1:]) else above[n] if far[1] <= far[2] else corner) & 255
        pixels.append([(line[n] >> 4, line[n + 1] >> 4, line[n + 2] >> 4) for n in range(0, line_bytes, each)])
        above = line
    palette = [colour for colour, _ in collections.Counter(itertools.chain.from_iterable(pixels)).most_common(256)]
    index = {colour: n for n, colour in enumerate(palette)}

    def nearest(colour):
        if colour not in index:
            index[colour] = min(range(len(palette)), key=lambda n: sum((a - b) ** 2 for a, b in zip(palette[n], colour)))
        return index[colour]

    body = b"".join(b"\0" + bytes(nearest(colour) for colour in row) for row in pixels)

    def chunk(kind, held):
        return struct.pack(">I", len(held)) + kind + held + struct.pack(">I", zlib.crc32(kind + held))

    return (data[:8] + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
            chunk(b"PLTE", bytes(17 * level for colour in palette for level in colour)) + chunk(b"IDAT", zlib.compress(body, 9)) + chunk(b"IEND", b""))


class Browser:
    def __init__(self, port, session, driver):
        self.base, self.session, self.driver = f"http://127.0.0.1:{port}", session, driver

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.base}/session/{self.session}{path}", data, method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{path}: {error.read().decode()[:500]}") from None

    def open(self, file):
        self.call("POST", "/url", {"url": pathlib.Path(file).resolve().as_uri()})

    def run(self, script, *arguments):
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find(self, selector):
        return self.call("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0]).textContent", selector)

    def click(self, selector):
        self.call("POST", f"/element/{self.find(selector)}/click", {})

    def type(self, selector, text):
        self.call("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def press(self, *keys):
        """Keys for the page as a whole."""
        actions = []
        for key in keys:
            value = KEYS.get(key, key)
            actions += [{"type": "keyDown", "value": value}, {"type": "keyUp", "value": value}]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": actions}]})

    def resize(self, width, height):
        self.call("POST", "/window/rect", {"width": width, "height": height})

    def screenshot(self, file):
        pathlib.Path(file).write_bytes(shrink_png(base64.b64decode(self.call("GET", "/screenshot"))))

    def wait_until(self, script, seconds=20):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = self.run(f"return {script}")
            if value:
                return value
            time.sleep(0.05)
        raise RuntimeError(f"after {seconds} s still not: {script}")

    def problems(self):
        """What the page has complained of."""
        return [entry for entry in self.call("POST", "/se/log", {"type": "browser"}) if entry["level"] == "SEVERE"]


@contextlib.contextmanager
def browser(width=1500, height=1100):
    chromium, driver_program = programs()
    with tempfile.TemporaryDirectory() as profile:
        driver = subprocess.Popen([driver_program, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            port = None
            for line in driver.stdout:
                if "was started successfully on port" in line:
                    port = line.split("port")[1].strip(" .\n")
                    break
            # As root, which CI mostly is, Chromium has no sandbox.
            options = {"binary": chromium, "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                                                    "--hide-scrollbars", "--force-device-scale-factor=1",
                                                    f"--user-data-dir={profile}", f"--window-size={width},{height}"]}
            asked = {"capabilities": {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options,
                                                      "goog:loggingPrefs": {"browser": "ALL"}}}}
            request = urllib.request.Request(f"http://127.0.0.1:{port}/session", json.dumps(asked).encode(), method="POST")
            with urllib.request.urlopen(request, timeout=120) as answer:
                session = json.load(answer)["value"]["sessionId"]
            made = Browser(port, session, driver)
            try:
                yield made
            finally:
                with contextlib.suppress(Exception):
                    made.call("DELETE", "")
        finally:
            driver.terminate()
            driver.wait(30)
