#!/usr/bin/env python
"""First screens of pages as pictures: docs/pictures NAME=PAGE… fills docs/images/first-screens.

PAGE is an `index.html` that the tool wrote, `watch:FOLDER` or `serve:example`. NAME.png is 1,400
by 900 pixels, light; `dark.webp` and `phone.webp` have all of the call, dark and 390 pixels wide.
Needs chromium and what the tests need.
"""

import re
import subprocess
import sys
import tempfile
from base64 import b64decode, b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[0]
sys.path.insert(0, str(ROOT))

from tests.serve.browser import Tab, open_tab  # noqa: E402

PLACE = Path('/tmp/h/shots')
WIDE, PHONE = (1400, 900), (390, 844)  # pixels
DRAWN = "[...document.querySelectorAll('.panels .panel')].every(each => each.querySelector('svg'))"
SHEET = "<style>body {{ margin: 0; background: {paper}; font: 13px sans-serif; color: #888 }} main {{ \
display: grid; gap: 14px; padding: 14px; grid-template-columns: repeat({columns}, 1fr) }} \
img {{ width: 100%; display: block; border: 1px solid #8884 }}</style><main>{inside}</main>"


@contextmanager
def address(page: str) -> Iterator[str]:
    """Where a browser finds a page; what serves it runs until the end of the block."""
    kind, _, rest = page.partition(":")
    if kind not in ("watch", "serve"):
        yield Path(page).resolve().as_uri()
        return
    words = ["watch", "--workspace", rest] if kind == "watch" else ["serve", "--example"]
    command = [sys.executable, "-m", "tongues", *words, "--port", "0"]
    with subprocess.Popen(command, stdout=-1, stderr=-2, text=True) as process:
        try:
            lines = iter(process.stdout or ())
            yield next(found[0] for line in lines if (found := re.search(r"http://\S+/", line)))
        finally:
            process.terminate()


def shot(tab: Tab, size: tuple[int, int], *, dark: bool = False, kind: str = "png") -> bytes:
    """The window as it is, of that size."""
    tab.look(*size, dark=dark)
    tab.evaluate("new Promise(done => setTimeout(done, 700))")
    tab.wait(DRAWN)
    more = {} if kind == "png" else {"quality": 82}
    return b64decode(tab.call("Page.captureScreenshot", format=kind, **more)["data"])


def generate(tab: Tab) -> None:
    """A text of the example, continued."""
    tab.wait("!document.querySelector('#generate').disabled", 60)
    tab.evaluate("document.querySelector('#text').focus()")
    tab.write("esgondo sas")
    tab.evaluate("document.querySelector('[name=max_tokens]').value = 48")
    tab.click("#generate")
    tab.evaluate("new Promise(done => setTimeout(done, 4000))")


def sheet(tab: Tab, pictures: dict[str, bytes], columns: int, paper: str, out: Path) -> None:
    """All of them in one picture, each below its name."""
    inside = "".join(
        f'<div>{name}<img src="data:image/png;base64,{b64encode(each).decode()}"></div>'
        for name, each in pictures.items()
    )
    html = SHEET.format(paper=paper, columns=columns, inside=inside)
    with tempfile.NamedTemporaryFile("w", suffix=".html") as file:
        file.write(html)
        file.flush()
        tab.look(1400, 100)
        tab.go(Path(file.name).as_uri())
        height = tab.evaluate("document.documentElement.scrollHeight")
        out.write_bytes(shot(tab, (1400, height), kind="webp"))


def main(pages: list[str]) -> None:
    """Take every picture that was asked for."""
    dark, phone = dict[str, bytes](), dict[str, bytes]()
    with tempfile.TemporaryDirectory() as profile, open_tab(Path(profile)) as tab:
        for name, _, page in (each.partition("=") for each in pages):
            with address(page) as place:
                tab.look(*WIDE)
                tab.go(place)
                if page.startswith("serve:"):
                    generate(tab)
                (PLACE / f"{name}.png").write_bytes(shot(tab, WIDE))
                dark[name] = shot(tab, WIDE, dark=True)
                phone[name] = shot(tab, PHONE)
                wider = tab.evaluate("document.documentElement.scrollWidth - innerWidth")
                print(f"{name}.png{f', {wider} pixels too wide for a phone' if wider > 0 else ''}")
        sheet(tab, dark, 2, "#000", PLACE / "dark.webp")
        sheet(tab, phone, 5, "#fff", PLACE / "phone.webp")


if __name__ == "__main__":
    main(sys.argv[1:])
