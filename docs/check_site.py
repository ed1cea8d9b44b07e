"""Is the built site whole? Links lead somewhere, the reference has every name, no other host.

Usage: python docs/check_site.py SITE

- Every link within the site leads to a page, and to an anchor that is there.
- Every public name of `lowd` and of its public modules has an entry in the reference.
- No page, style or script makes a browser ask another host for anything.
- What new users type into the search has an entry of the index, which is ranked first.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import lowd

# Tags whose address a browser fetches by itself, and the attributes that hold it.
FETCHED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "image": ("href", "xlink:href"),
    "img": ("src", "srcset"),
    "input": ("src",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
# Relations of <link> that fetch nothing.
PASSIVE = {"author", "canonical", "help", "index", "license", "next", "prev", "search", "up"}
# What was typed into the search by people who knew scikit-learn -> the page that they looked for.
SEARCHES = {
    "map new points with t-SNE": "methods/tsne",
    "trustworthiness": "how-it-works/evidence",
    "dask cluster": "how-it-works/dask",
    "dask": "how-it-works/dask",
    "t-SNE new data": "methods/tsne",
    "TSNE": "methods/tsne",
    "quality measures": "how-it-works/evidence",
    "umap": "methods/umap",
    "spectral embedding": "methods/laplacian_eigenmaps",
    "save a model": "how-it-works/saving",
}
STYLE_ADDRESS = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s;]+)""")


class Page(HTMLParser):
    """Anchors of a page, its links, and what a browser fetches for it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and not set(given.get("rel", "").split()) <= PASSIVE:
            self.fetched.append(given.get("href", ""))
        self.fetched += [given[name] for name in FETCHED.get(tag, ()) if name in given]
        self.fetched += STYLE_ADDRESS.findall(given.get("style", ""))


def main(site: Path) -> int:
    if not (site / "index.html").is_file():
        print(f"{site}: no site is here; build it by `make docs`.")
        return 1
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = [
        *find_foreign(site, pages),
        *find_broken(site, pages),
        *find_missing(list_names(), pages),
        *find_unanswered(site, SEARCHES),
    ]
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(pages)} pages of the site, {len(problems)} problems")
    return int(bool(problems))


def find_foreign(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Everything that a browser would fetch from another host."""
    for path, page in pages.items():
        for address in page.fetched:
            if urlsplit(address).netloc:
                yield f"{path.relative_to(site)}: fetches {address}"
    for path in sorted(site.rglob("*.css")):
        for address in STYLE_ADDRESS.findall(path.read_text(encoding="utf-8", errors="replace")):
            yield f"{path.relative_to(site)}: fetches {address}"


def find_broken(site: Path, pages: dict[Path, Page]) -> Iterator[str]:
    """Links within the site to a file or an anchor that is not there."""
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or not link:
                continue
            address, anchor = urldefrag(link)
            target = (path.parent / unquote(urlsplit(address).path)).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                yield f"{path.relative_to(site)}: broken link {link}"
            elif anchor and target in pages and unquote(anchor) not in pages[target].anchors:
                yield f"{path.relative_to(site)}: no such anchor {link}"


def find_missing(names: list[str], pages: dict[Path, Page]) -> Iterator[str]:
    """Public names without an entry in the reference."""
    described = {
        anchor
        for path, page in pages.items()
        if "reference" in path.parts
        for anchor in page.anchors
    }
    for name in names:
        if name not in described:
            yield f"reference: {name} has no entry"


def find_unanswered(site: Path, searches: dict[str, str]) -> Iterator[str]:
    """Searches that no main entry of the index answers with their page."""
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text.removeprefix("Search.setIndex(").removesuffix(")"))
    for query, page in searches.items():
        entries = index["indexentries"].get(query.lower(), [])
        if page not in [index["docnames"][number] for number, _, is_main in entries if is_main]:
            yield f"search: {query!r} does not lead to {page}"


def list_names() -> list[str]:
    """Public names: those of `lowd`, of its modules those in `__all__`, and classes of errors."""
    found = []
    for name in lowd.__all__:
        member = getattr(lowd, name)
        if not inspect.ismodule(member):
            found.append(f"lowd.{name}")
            continue
        found.append(f"module-lowd.{name}")
        module = import_module(f"lowd.{name}")
        public = getattr(module, "__all__", [])
        found += [f"lowd.{name}.{inner}" for inner in public]
    found += [
        f"lowd.errors.{name}"
        for name, member in vars(lowd.errors).items()
        if inspect.isclass(member) and issubclass(member, lowd.errors.LowdError | Warning)
        and member.__module__ == "lowd.errors"
    ]  # fmt: skip
    return found


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
