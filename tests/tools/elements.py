"""What a page is made of."""

from html.parser import HTMLParser


class Elements(HTMLParser):
    """Collects tags, text outside scripts, and the content of each script."""

    def __init__(self, page):
        super().__init__()
        self.tags = []
        self.text = []
        self.scripts = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data):
        inside = self.cdata_elem
        if inside == "script":
            self.scripts[-1] += data
        elif inside is None:
            self.text.append(data)
