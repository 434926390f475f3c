"""The page in a real browser, before the real server."""

import json
import re
import threading
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlencode

import httpx
import numpy as np
import pytest

from tests.serve.browser import CHROMIUM, Tab, open_tab
from tests.serve.serving import Server, serving
from tongues.experts.ensemble.model import Model
from tongues.experts.ensemble.request import Request, Token
from tongues.use.serve.engine import End, Engine, Listener, TextJob

PAGE = Path(__file__).parents[2] / "tongues/use/serve/page"
ARABIC = "كان النهر هادئًا"

browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no chromium here")
TEXT, STATUS, PROBLEM, CARD = (
    f"document.getElementById('{name}')" for name in ("text", "status", "problem", "card")
)
IDLE = f"!document.body.classList.contains('busy') && {STATUS}.textContent !== ''"
MARKED = """[...CSS.highlights].flatMap(([name, marks]) => [...marks].map((range) =>
  [range.startOffset, range.endOffset, name])).sort((a, b) => a[0] - b[0])"""


@pytest.fixture(scope="module")
def address(server: Server) -> str:
    return server.url


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tab]:
    with open_tab(tmp_path_factory.mktemp("profile")) as tab:
        yield tab


@pytest.fixture
def tab(opened: Tab) -> Tab:
    opened.events.clear()
    opened.look()
    return opened


def visit(tab: Tab, address: str, **state: str) -> None:
    """Open the page with a state, as a link has it, and wait until it can write."""
    tab.go(f"{address}#{urlencode(state)}")
    tab.wait("document.getElementById('generate')?.disabled === false")


def run(tab: Tab, keys: str = "control+Enter") -> str:
    """Write, and give what stands there then."""
    tab.evaluate(f"{STATUS}.textContent = ''")
    tab.press(keys)
    tab.wait(IDLE)
    return tab.evaluate(f"{TEXT}.value")


def spot(tab: Tab, place: int) -> tuple[float, float]:
    """Where a letter of the text stands in the window."""
    x, y = tab.evaluate(
        f"""(() => {{
          const range = new Range();
          range.setStart(document.getElementById("layer").firstChild, {place});
          range.setEnd(document.getElementById("layer").firstChild, {place + 1});
          const box = range.getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }})()"""
    )
    return x, y


def test_the_page_has_nothing_inline_and_loads_nothing_from_elsewhere() -> None:
    markup = (PAGE / "index.html").read_text()
    assert not re.search(r"<script(?![^>]* src=)|<style|\sstyle=|\son\w+=", markup)
    assert not re.search(r"(src|href|action)=\"(https?:)?//", markup)
    modules = {file.name for file in PAGE.glob("*.js")}
    loaded = set(re.findall(r"(?:src|href)=\"(\w+\.js)\"", markup))
    assert loaded == modules
    for file in PAGE.glob("*.*s"):
        source = file.read_text()
        assert len(source.splitlines()) <= 300
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|eval\(|https?://", source)


@browser
def test_a_page_of_another_site_asks_where_it_is_allowed(
    tab: Tab, address: str, served: dict[str, Model]
) -> None:
    tab.go(f"{address}health")  # without the policy of the page, which asks nobody else
    own = frozenset({address.rstrip("/")})
    for origins, found in ((frozenset(), "TypeError"), (own, "small/small")):
        with serving(served, origins=origins) as other:
            body = json.dumps({"model": "small/small", "prompt": "a", "max_tokens": 1})
            sent = {"content-type": "application/json", "authorization": "Bearer a"}
            how = {"method": "POST", "body": body, "headers": sent}
            ask = f"fetch('{other.url}v1/completions', {json.dumps(how)})"
            ask += ".then((answer) => answer.json()).then((text) => text.model)"
            assert tab.evaluate(f"{ask}.catch((fault) => fault.name)") == found


@browser
def test_writes_what_the_server_says_and_colours_every_token(tab: Tab, address: str) -> None:
    prompt = "the end of"
    visit(tab, address, text=prompt, temperature="0", max_tokens="24")
    asked = {"prompt": prompt, "temperature": 0, "max_tokens": 24, "model": "small/small"}
    told = httpx.post(
        f"{address}v1/completions", json=asked | {"echo": True, "logprobs": 1, "weights": True}
    ).json()["choices"][0]
    assert run(tab) == told["text"]

    marks = tab.evaluate(MARKED)
    assert marks[0][0] == 0
    assert marks[-1][1] == len(told["text"].encode("utf-16-le")) // 2
    assert all(one[1] == following[0] for one, following in pairwise(marks))
    starts = dict(zip(told["logprobs"]["text_offset"], told["tongues"]["weights"], strict=True))
    speakers = [int(np.argmax(weights)) for weights in starts.values()]
    legend = "[...document.querySelectorAll('.experts .number')].map((one) => one.innerText)"
    spoken = [int(count) for count in tab.evaluate(legend)]
    assert sum(spoken) == len(told["tongues"]["weights"])
    assert [count > 0 for count in spoken] == [expert in speakers for expert in range(3)]

    written = len(told["logprobs"]["tokens"]) - 24
    bits = -sum(told["logprobs"]["token_logprobs"][:written]) / np.log(2) / len(prompt)
    assert f"{bits:.2f}" in tab.evaluate("document.querySelector('.facts').innerText")
    assert all(url.startswith((address, "about:")) for url in tab.requested())
    assert tab.complaints() == []


@browser
def test_a_token_tells_of_itself_under_the_mouse_and_at_the_cursor(tab: Tab, address: str) -> None:
    visit(tab, address, text="the art of all that is said", max_tokens="1")
    run(tab, "control+shift+Enter")
    tab.point(*spot(tab, 6))
    tab.wait(f"!{CARD}.hidden")
    shown = tab.evaluate(f"{CARD}.innerText")
    assert "likely" in shown
    assert re.search(r"e\d\s+[\d.]+ %", shown)
    assert "prompt" in shown
    tab.point(5, 5)
    tab.wait(f"{CARD}.hidden")

    tab.evaluate(f"{TEXT}.setSelectionRange(3, 3)")
    tab.press("alt+ArrowDown")
    first = tab.wait("document.getElementById('announcement').textContent")
    for _ in range(5):
        tab.press("ArrowRight")
    tab.wait(f"document.getElementById('announcement').textContent !== {json.dumps(first)}")
    tab.press("Escape")
    tab.wait(f"{CARD}.hidden")


@browser
def test_what_is_written_can_be_taken_back_and_edits_lose_the_colours_behind(
    tab: Tab, address: str
) -> None:
    visit(tab, address, text="go on", temperature="0", max_tokens="8")
    written = run(tab)
    marks = tab.evaluate(MARKED)
    tab.press("control+z")
    tab.wait(f"{TEXT}.value === 'go on'")
    tab.evaluate("document.execCommand('redo')")
    assert tab.evaluate(f"{TEXT}.value") == written
    assert tab.evaluate(MARKED) == marks
    tab.evaluate(f"{TEXT}.setSelectionRange(4, 4)")
    tab.write("X")
    assert tab.evaluate("document.getElementById('layer').firstChild.data") == (
        written[:4] + "X" + written[4:]
    )
    assert max(end for _, end, _ in tab.evaluate(MARKED)) <= 4
    tab.click("#undo")
    assert tab.evaluate(f"{TEXT}.value") == "go on"


@browser
def test_right_to_left_letters_join_and_bytes_share_their_letter(tab: Tab, address: str) -> None:
    visit(tab, address, text=ARABIC, max_tokens="1")
    width = "(() => { const range = new Range(); range.selectNodeContents("
    width += "document.getElementById('layer').firstChild); return range.getBoundingClientRect()"
    plain = tab.evaluate(f"{width}.width; }})()")
    run(tab, "control+shift+Enter")
    assert tab.evaluate(f"{width}.width; }})()") == plain  # colours do not part what joins
    edges = tab.evaluate(f"{width}.right; }})()"), tab.middle("#text")[0]
    assert edges[0] > edges[1] + 100  # it begins at the right
    tab.point(*spot(tab, 2))
    tab.wait(f"{CARD}.innerText.includes('2 tokens of one character')")


@browser
def test_two_write_side_by_side_and_one_is_kept(tab: Tab, address: str) -> None:
    visit(tab, address, text="the ban", temperature="0", max_tokens="12", seed="1")
    tab.click("#compare")
    tab.evaluate(
        """(() => { const chosen = { model: "small/small", routing: "tfidf:2" };
          for (const [name, value] of Object.entries(chosen)) {
          const [, select] = document.querySelectorAll(`[name=${name}]`);
          select.value = value;
          select.dispatchEvent(new Event("change", { bubbles: true })); } })()"""
    )
    tab.evaluate(f"{TEXT}.focus()")
    assert run(tab) == "the ban"
    texts = tab.evaluate("[...document.querySelectorAll('.written')].map(one => one.innerText)")
    assert texts[0] != texts[1]
    link = tab.evaluate("location.hash")
    tab.click(".panel:last-child .keep")
    kept = tab.evaluate(f"{TEXT}.value")
    assert texts[1].startswith(kept[:10])
    assert len(kept) > len("the ban")

    tab.go(address + link)
    tab.wait("document.querySelectorAll('.panel').length === 2")
    assert tab.evaluate("document.querySelectorAll('[name=routing]')[1].value") == "tfidf:2"
    assert tab.evaluate(f"{TEXT}.value") == "the ban"


@browser
def test_a_link_brings_everything_and_runs_nothing(tab: Tab, address: str) -> None:
    state = {"text": f"a\n{ARABIC} & b", "temperature": "0.3", "top_k": "5", "model": "elsewhere"}
    visit(tab, address, **state)
    assert tab.evaluate(f"{TEXT}.value") == state["text"]
    assert tab.evaluate("document.querySelector('[name=top_k]').value") == "5"
    assert "elsewhere" in tab.evaluate(f"{STATUS}.textContent")
    assert not any("completions" in url for url in tab.requested())


@browser
def test_refusals_are_told_and_the_setting_is_pointed_at(tab: Tab, address: str) -> None:
    visit(tab, address, text="the end " * 60)
    assert "of 96" in run_into_problem(tab)
    visit(tab, address, text="the end", max_tokens="4", stop="x" * 300)
    assert "stop" in run_into_problem(tab)
    assert tab.evaluate("document.querySelector('[name=stop]').ariaInvalid") == "true"
    assert tab.evaluate(f"{TEXT}.value") == "the end"


def run_into_problem(tab: Tab) -> str:
    tab.press("control+Enter")
    return tab.wait(f"{PROBLEM}.textContent")


@browser
def test_a_key_is_asked_for_and_sent(tab: Tab, served: dict[str, Model]) -> None:
    with serving(served, key="open sesame") as server:
        tab.go(f"{server.url}#text=the")
        tab.wait("!document.getElementById('key').hidden")
        assert tab.evaluate(f"{TEXT}.value") == "the"
        tab.write("wrong")
        tab.press("Enter")
        tab.wait(f"{PROBLEM}.textContent.includes('rejected')")
        tab.evaluate("document.getElementById('secret').value = ''")
        tab.write("open sesame")
        tab.press("Enter")
        tab.wait("document.getElementById('generate').disabled === false")
        assert run(tab).startswith("the")
        assert "sesame" not in tab.evaluate("location.href")


class Endless(Engine):
    """Writes one letter until it is cancelled."""

    cancelled = threading.Event()

    def submit(self, model: str, request: Request, listener: Listener) -> TextJob:
        """Begin."""
        token = int(self.models[model].encode("a")[0])
        sure = np.eye(len(self.models[model].experts))[0]

        def write() -> None:
            for one in request.prompt.tolist():
                listener([Token(one, -1.0, sure, given=True)])
            while not self.cancelled.wait(0.005):
                listener([Token(token, -1.0, sure)])
            listener([End("cancelled")])

        threading.Thread(target=write).start()
        return TextJob(model, request, listener)

    def cancel(self, job: TextJob) -> None:
        """End."""
        self.cancelled.set()


@browser
def test_escape_stops_the_server_and_keeps_what_was_written(
    tab: Tab, served: dict[str, Model], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.serve.serving.Engine", Endless)
    with serving(served) as server:
        visit(tab, server.url, text="go")
        tab.press("control+Enter")
        tab.wait("document.getElementById('layer').textContent.length > 20")
        assert tab.evaluate("document.getElementById('generate').textContent") == "Stop"
        tab.press("Escape")
        tab.wait(IDLE)
        assert re.fullmatch("goa{10,}", tab.evaluate(f"{TEXT}.value"))
        assert "stopped" in tab.evaluate(f"{STATUS}.textContent")
        assert Endless.cancelled.wait(10)


@browser
@pytest.mark.parametrize("dark", [False, True])
def test_a_phone_shows_all_of_it_and_a_tap_tells(tab: Tab, address: str, dark: bool) -> None:
    tab.look(390, 844, touch=True, dark=dark)
    visit(tab, address, text="the art of all that is said", max_tokens="1")
    run(tab, "control+shift+Enter")
    tab.evaluate("document.activeElement.blur()")
    assert tab.evaluate("document.documentElement.scrollWidth") == 390
    tab.tap(*spot(tab, 6))
    tab.wait(f"!{CARD}.hidden")
    assert tab.evaluate("document.activeElement.tagName") == "BODY"  # no keyboard comes up
    box = tab.evaluate(f"(({{ left, right }}) => [left, right])({CARD}.getBoundingClientRect())")
    assert 0 <= box[0] < box[1] <= 390


@browser
def test_a_conversation_goes_back_and_forth(tab: Tab, address: str, hub: str) -> None:
    visit(tab, address, model=hub, max_tokens="6", seed="3")
    tab.evaluate("document.getElementById('chat').click()")
    for number in (1, 2):
        tab.evaluate("document.getElementById('text').focus()")
        tab.write("the ban")
        tab.press("control+Enter")
        count = "document.querySelectorAll('#talk li').length"
        tab.wait(f"{count} === {2 * number} && !document.body.classList.contains('busy')")
    talk = tab.evaluate("[...document.querySelectorAll('#talk li')].map((one) => one.textContent)")
    said = [{"role": "user", "content": "the ban"}]
    options = {"model": hub, "max_tokens": 6, "seed": 3, "temperature": 0.8}
    for place in (1, 3):
        body = options | {"messages": said}
        answer = httpx.post(f"{address}v1/chat/completions", json=body).json()
        assert talk[place - 1 : place + 1] == [
            "the ban",
            answer["choices"][0]["message"]["content"],
        ]
        said += [{"role": "assistant", "content": talk[place]}, said[0]]
    tab.evaluate("document.getElementById('text').focus()")
    tab.write("the end")
    tab.press("control+shift+Enter")  # there is nothing to score
    assert tab.evaluate(f"!document.body.classList.contains('busy') && {count} === 4")
    tab.evaluate("document.getElementById('chat').click()")
    assert tab.evaluate("document.getElementById('talk').hidden")


@browser
def test_texts_to_try_are_offered_while_there_is_none(tab: Tab, served: dict[str, Model]) -> None:
    with serving(served, examples={"small/small": {"qaa": "the ban", "sw": "of a mal"}}) as server:
        visit(tab, server.url, model="small/small", max_tokens="4")
        place = "document.getElementById('examples')"
        assert tab.evaluate(f"{place}.textContent") == "Try a text inqaaSwahili"
        tab.evaluate(f"{place}.querySelectorAll('button')[1].click()")
        tab.wait(IDLE)
        assert tab.evaluate(f"{TEXT}.value").startswith("of a mal")
        assert len(tab.evaluate(f"{TEXT}.value")) > len("of a mal")
        assert tab.evaluate(f"{place}.hidden")
