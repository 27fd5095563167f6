# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes pages that are written for a repository's viewer fit MkDocs, which calls
this (`hooks` in mkdocs.yml).

- README.md, SECURITY.md and CHANGELOG.md of the root folder are pages; README.md
  is the first one.
- Links may leave docs/: to those pages, or to a file of the repository, which
  is then part of the site.
- Headings have the anchors that GitHub gives them.
- A fenced block may have words behind its language, such as `text measured`.
"""

import logging
import pathlib
import posixpath
import re

from mkdocs.structure.files import File

root = pathlib.Path(__file__).resolve().parent.parent
ROOT_PAGES = ["README.md", "SECURITY.md", "CHANGELOG.md"]
# `mkdocs build --strict` fails after a warning.
log = logging.getLogger("mkdocs.hooks.site_pages")

FENCE = re.compile(r"^```", re.MULTILINE)
# Target and anchor. Links to other sites have a colon.
LINK = re.compile(r"(\]\()([^)\s#:]+)((?:#[^)\s]*)?\))")


def anchor_of(heading, separator="-"):
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", separator)


def place_of(path):
    """The path of a file's copy in the site: docs/ is the root there."""
    return path[len("docs/") :] if path.startswith("docs/") else path


def source_of(page):
    """The path of a page in the repository."""
    return pathlib.Path(page.abs_src_path).relative_to(root).as_posix()


def without_code(text, change):
    """Applies a function to what is outside of fenced blocks and code spans."""
    parts = re.split(r"(^```.*?^```|`[^`\n]+`)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if k % 2 else change(part) for k, part in enumerate(parts))


def targets_of(text):
    targets = set()
    without_code(text, lambda part: targets.update(m[2] for m in LINK.finditer(part)) or part)
    return targets


def on_config(config):
    config["mdx_configs"].setdefault("toc", {})["slugify"] = anchor_of
    return config


def on_files(files, config):
    def add(path):
        files.append(
            File(path, str(root), config["site_dir"], config["use_directory_urls"])
        )

    for path in ROOT_PAGES:
        add(path)
    # Linked files that are no pages.
    present = {place_of(source_of(file)) for file in files if root in pathlib.Path(file.abs_src_path).parents}
    for page in list(files.documentation_pages()):
        source = source_of(page)
        for target in sorted(targets_of((root / source).read_text())):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
            if place_of(path) in present:
                continue
            if path.startswith("..") or not (root / path).is_file():
                log.warning("%s: no file %s", source, path)
                continue
            present.add(place_of(path))
            add(path)
    return files


def on_nav(nav, config, files):
    shown = {page.file.src_uri for page in nav.pages}
    for page in files.documentation_pages():
        if page.src_uri not in shown:
            log.warning("%s is not in the navigation of mkdocs.yml", page.src_uri)
    return nav


def on_page_markdown(markdown, page, config, files):
    source = source_of(page.file)
    folder = posixpath.dirname(source)

    def in_site(match):
        path = posixpath.normpath(posixpath.join(folder, match[2]))
        here = posixpath.dirname(place_of(source)) or "."
        return match[1] + posixpath.relpath(place_of(path), here) + match[3]

    markdown = without_code(markdown, lambda part: LINK.sub(in_site, part))
    return re.sub(r"^```(\w+) .+$", r"```\1", markdown, flags=re.MULTILINE)
