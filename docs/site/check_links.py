#!/usr/bin/env python3
"""Checks a site on disk: that every link leads somewhere, that no page loads anything from elsewhere, and that every
page is at most two clicks from the first one.

    check_links.py FOLDER        exit 0 when all is well, 1 with a line for every mistake
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Dict, List, Optional, Set, Tuple
from urllib.parse import unquote, urlsplit

MOST_CLICKS = 2


class Page(HTMLParser):
    """What a page links to, what it loads, and the places in it that can be linked to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: List[str] = []
        self.loads: List[str] = []
        self.places: Set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: List[Tuple[str, Optional[str]]]) -> None:
        found = {key: value or "" for key, value in attributes}
        self.places.update(found[key] for key in ("id", "name") if key in found)
        if tag in ("a", "area") and "href" in found:
            self.links.append(found["href"])
        if tag == "form" and found.get("action"):
            self.links.append(found["action"])
        if tag == "link" and found.get("rel") in ("stylesheet", "icon", "preload"):
            self.loads.append(found["href"])
        if tag in ("img", "script", "iframe", "source", "video") and found.get("src"):
            self.loads.append(found["src"])
        if tag == "object":
            self.loads.append(found.get("data", ""))


def mistakes(root: Path) -> List[str]:
    pages: Dict[Path, Page] = {path: Page(path) for path in sorted(root.rglob("*.html"))}
    found: List[str] = []
    leads: Dict[Path, Set[Path]] = {path: set() for path in pages}
    for path, page in pages.items():
        name = path.relative_to(root)
        for target in page.links + page.loads:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                if target in page.loads and parts.scheme != "data":
                    found.append(f"{name}: loads {target}, which is not on the site")
                continue
            file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not file.is_file():
                found.append(f"{name}: {target} is not there")
            elif file in pages:
                leads[path].add(file)
                place = unquote(parts.fragment)
                if place and place not in pages[file].places:
                    found.append(f"{name}: {target} leads to no place of that page")
    for style in root.rglob("*.css"):
        for target in re.findall(r"url\(\s*['\"]?((?:https?:|/)[^)'\"]*)", style.read_text(encoding="utf-8")):
            found.append(f"{style.relative_to(root)}: loads {target}, which is not on the site")
    seen = {root / "index.html"}
    for _ in range(MOST_CLICKS):
        seen |= {target for path in seen for target in leads.get(path, ())}
    found += [f"{path.relative_to(root)}: more than {MOST_CLICKS} clicks from index.html" for path in pages if path not in seen]
    return found


def main() -> int:
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "index.html").is_file():
        print("check_links: a folder with an index.html is expected", file=sys.stderr)
        return 2
    root = Path(sys.argv[1]).resolve()
    found = mistakes(root)
    for one in found:
        print(one)
    pages = list(root.rglob("*.html"))
    links = sum(len(Page(path).links) for path in pages)
    print(f"check_links: {len(pages)} pages, {links} links, {len(found)} mistakes")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
