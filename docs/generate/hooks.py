"""Hook of MkDocs: pages that are made from the code when the site is built.

Those that other pages link to are kept in the repository too, where the links work as well:
``python -m docs.generate.kept`` writes them anew.
"""

from __future__ import annotations

import re

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs.generate import arms, formulas, library, messages, notebooks, parameters, sources

NAME_IN_TABLE = re.compile(r"(?<=<td>)<code>[^<]*</code>")
IMAGE = re.compile(r'<img [^>]*src="([^"]+)"[^>]*>')

MAKERS = (
    arms.pages,
    library.pages,
    messages.pages,
    notebooks.pages,
    parameters.pages,
    sources.pages,
)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add them to the files of the site."""
    for pages in MAKERS:
        for path, text in pages().items():
            kept = files.get_file_from_path(path)
            if kept is not None:
                files.remove(kept)
            files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Offer the notebook of a tutorial for download."""
    return notebooks.with_download(page.file.src_uri, markdown)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """For phones: every picture is a link to itself, and names in tables break after their parts
    only.  Formulas within lines are typeset.
    """
    html = formulas.typeset(html)
    html = NAME_IN_TABLE.sub(lambda name: re.sub(r"(?<=\w[._/])(?=\w)", "<wbr>", name[0]), html)
    return IMAGE.sub(r'<a class="picture" href="\1">\g<0></a>', html)
