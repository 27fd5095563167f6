#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Whether a site that MkDocs built is whole.

    scripts/check-site.py SITE

Each link within the site leads to a file, and to an element of that name where
it has an anchor. Pages load nothing from other sites. No mark of Markdown is
left in the text of a page, as where a table or a fence was not understood.
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse

# Elements that are loaded, by their attribute.
LOADED = {"img": "src", "script": "src", "link": "href", "source": "src", "iframe": "src"}
MARKS = re.compile(r"```|\|\s*:?-{3,}|\]\(|\*\*|^\s*([-*]|\d+\.) +\S")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.anchors = set()
        # (element, target)
        self.links = []
        self.text = []
        # Nested elements whose text is not prose.
        self.inside = 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors |= {values[key] for key in ("id", "name") if values.get(key)}
        if tag in ("code", "pre", "script", "style"):
            self.inside += 1
        key = LOADED.get(tag, "href" if tag == "a" else None)
        if key and values.get(key):
            self.links.append((tag, values[key]))

    def handle_endtag(self, tag):
        if tag in ("code", "pre", "script", "style"):
            self.inside -= 1

    def handle_data(self, data):
        if not self.inside:
            self.text.append(data)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    site = pathlib.Path(sys.argv[1]).resolve()
    pages = {
        path: Page(path.read_text())
        for path in sorted(site.rglob("*.html"))
        # Its links are those of a server's root.
        if path.name != "404.html"
    }
    faults = []
    links = anchors = 0
    for path, page in pages.items():
        name = path.relative_to(site)
        for tag, target in page.links:
            parts = urllib.parse.urlsplit(target)
            if parts.scheme or parts.netloc:
                if tag != "a":
                    faults.append(f"{name}: loads {target}")
                continue
            links += 1
            there = path
            if parts.path:
                there = (path.parent / urllib.parse.unquote(parts.path)).resolve()
            if not there.is_file():
                faults.append(f"{name}: no file {target}")
                continue
            anchor = urllib.parse.unquote(parts.fragment)
            if anchor and there in pages:
                anchors += 1
                if anchor not in pages[there].anchors:
                    faults.append(f"{name}: no place {target}")
        for line in "".join(page.text).splitlines():
            if MARKS.search(line):
                faults.append(f"{name}: left of Markdown: {line.strip()[:80]}")
    # A pattern that matches nothing checks nothing.
    if not anchors:
        faults.append(f"{site}: no links to places")
    if faults:
        sys.exit("\n".join(faults))
    print(f"{len(pages)} pages, {links} links, {anchors} of them to places")


main()
