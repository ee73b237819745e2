"""An HTML page taken apart with the standard library's parser."""

from html.parser import HTMLParser

VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})


class Page(HTMLParser):
    """Tags with their attributes, the visible text, and whether every element is closed in order."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.open: list[str] = []
        self.misnested: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if not self.open or self.open.pop() != tag:
            self.misnested.append(tag)

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data

    def names(self) -> set[str]:
        return {name for name, _ in self.tags}

    def ids(self) -> list[str]:
        """The ids of the page's sections, in order."""
        return [attributes["id"] or "" for name, attributes in self.tags if name == "section" and "id" in attributes]
