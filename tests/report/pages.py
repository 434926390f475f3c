"""A page as a browser would take it apart."""

from html.parser import HTMLParser

__all__ = ["Page"]


class Page(HTMLParser):
    """What a page loads and says, and whether its elements close."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.anchors: list[str] = []
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[tuple[str, str, str]] = set()
        self.words: list[str] = []
        self.feed(text)

    @property
    def said(self) -> str:
        return " ".join("".join(self.words).split())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        places = [value for name, value in attrs if name in ("src", "href") and value]
        self.loads += [place for place in places if not place.startswith("#")]
        self.anchors += [place[1:] for place in places if place.startswith("#")]
        self.tags.add(tag)
        self.attributes |= {(tag, name, value or "") for name, value in attrs}
        if tag not in ("meta", "img", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)
