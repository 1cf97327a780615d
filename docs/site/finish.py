#!/usr/bin/env python3
"""Makes a site that Sphinx has written open from disk, without a web server, and for everybody (scripts/site).

    finish.py FOLDER

Debian's theme leaves two things to a server: a style sheet at /javascript, and a module of JavaScript, which browsers do
not load from disk. Both are put into the files that ask for them. And the theme's pages lack what screen readers and
keyboards need: levels of headings, names of sidebars, code that can be scrolled by keys; and the dark theme.
"""

import re
import sys
from pathlib import Path

SERVED = Path("/usr/share/javascript")  # what Debian's web servers have at /javascript


def with_style_sheets(text: str) -> str:
    return re.sub(r"@import url\(/javascript/([^)]+)\);", lambda m: (SERVED / m[1]).read_text(encoding="utf-8"), text)


def with_dark_theme(text: str) -> str:
    """The theme has its dark colours only for who asks for them by the button: here also for a system that is dark."""
    dark = re.search(r'body\[data-theme="dark"\] \{([^{}]*)\}', text)
    if not dark or "prefers-color-scheme" in text:
        return text
    return f'{text}\n@media screen and (prefers-color-scheme: dark) {{ body:not([data-theme="light"]) {{{dark[1]}}} }}\n'


def with_modules(script: Path) -> str:
    # These modules give their name to the page where there is no module loader.
    return re.sub(r'^import \w+ from "(\./[^"]+)";\n', lambda m: (script.parent / m[1]).read_text(encoding="utf-8"),
                  script.read_text(encoding="utf-8"), flags=re.M)


ACCESSIBLE = [
    ('<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    ('<aside class="sidebar-drawer">', '<aside class="sidebar-drawer" aria-label="All pages">'),
    ('<aside class="toc-drawer">', '<aside class="toc-drawer" aria-label="On this page">'),
    ('<aside class="toc-drawer no-toc">', '<aside class="toc-drawer no-toc" aria-label="On this page">'),
    # Where a pointer closes a sidebar; keys have the buttons of the header.
    ('<label class="overlay', '<label aria-hidden="true" class="overlay'),
    ('<div class="content-icon-container">', '<div class="content-icon-container" role="region" aria-label="Page tools">'),
    ("<pre>", '<pre tabindex="0">'),
    ('<div id="search-results">', '<h1 class="visually-hidden">Search</h1>\n<div id="search-results">'),
]


def accessible(page: str) -> str:
    for before, after in ACCESSIBLE:
        page = page.replace(before, after)
    return page


def main() -> int:
    for page in Path(sys.argv[1]).rglob("*.html"):
        page.write_text(accessible(page.read_text(encoding="utf-8")), encoding="utf-8")
    static = Path(sys.argv[1]) / "_static"
    for sheet in static.rglob("*.css"):
        text = with_style_sheets(sheet.read_text(encoding="utf-8"))
        sheet.write_text(with_dark_theme(text) if sheet.name == "furo.css" else text, encoding="utf-8")
    for script in static.rglob("*.js"):
        script.write_text(with_modules(script), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
