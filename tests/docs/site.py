#!/usr/bin/env python3
"""Builds the site with warnings as errors: every page is reached from the first one, no link or anchor is broken, and nothing is fetched from
elsewhere; and a broken link would be seen.

    site.py SOURCE WORK
"""
import os
import pathlib
import shutil
import subprocess
import sys
import urllib.parse
from html.parser import HTMLParser


class Page(HTMLParser):
    def __init__(self, file):
        super().__init__()
        self.links, self.fetched, self.anchors = [], [], set()
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        for name in ("id", "name"):
            if values.get(name):
                self.anchors.add(values[name])
        if tag == "a" and values.get("href"):
            self.links.append(values["href"])
        if tag in ("script", "img") and values.get("src"):
            self.fetched.append(values["src"])
        if tag == "link" and values.get("href") and values.get("rel") != "canonical":
            self.fetched.append(values["href"])


def wrong_in(site, docs):
    """How many pages are reached, and what is wrong with them."""
    site = pathlib.Path(site).resolve()
    pages = {file: Page(file) for file in site.rglob("*.html")}
    wrong = []
    reached, todo = set(), [site / "index.html"]
    while todo:
        at = todo.pop()
        if at in reached or at not in pages:
            continue
        reached.add(at)
        for link in pages[at].links + pages[at].fetched:
            parts = urllib.parse.urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in pages[at].fetched and parts.scheme != "data":
                    wrong.append(f"{at.name} fetches {link}")
                continue
            to = pathlib.Path(os.path.normpath(at.parent / urllib.parse.unquote(parts.path))) if parts.path else at
            if to.is_dir():
                to = to / "index.html"
            if not to.exists():
                wrong.append(f"{at.name} links to {link}, which is not there")
            elif parts.fragment and to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].anchors:
                wrong.append(f"{at.name} links to {link}, and there is no such heading")
            todo.append(to)
    for file in pathlib.Path(docs).glob("*.md"):
        name = "contents.html" if file.name == "README.md" else file.stem + ".html"
        if site / name not in reached:
            wrong.append(f"docs/{file.name} is not reached from the first page")
    return len(reached), sorted(set(wrong))


def main(source, work):
    if not shutil.which("mkdocs"):
        print("skipped: there is no mkdocs")
        return 77
    source, work = pathlib.Path(source), pathlib.Path(work)
    subprocess.run([source / "docs/site/build.sh", source, work], check=True)
    pages, wrong = wrong_in(work / "site", source / "docs")
    print("\n".join(wrong) or f"{pages} pages")
    shutil.copytree(work / "site", work / "broken")
    (work / "broken" / "zoo.html").unlink()
    if not any("links to zoo.html, which is not there" in line for line in wrong_in(work / "broken", source / "docs")[1]):
        wrong.append("a page is gone, and the check has not noticed")
        print(wrong[-1])
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
