#!/usr/bin/env python3
"""Are the sections of LaTeX manuals those of the bookmarks in their PDF?

    bookmarks.py BUILD MANUALS NAME=PDF...

For manuals that LaTeX does not run on here: PDF is what the package ships,
relative to the manual's folder.  pdftohtml (poppler-utils) reads the bookmarks.
Titles are compared in order, letters and digits, whatever number is before;
lists of contents, and what the TeX installation holds, are told apart.
"""
import difflib
import html
import os
import re
import subprocess
import sys

import common


def bookmarks(path):
    done = subprocess.run(["pdftohtml", "-xml", "-i", "-stdout", "-f", "1", "-l", "1", path],
                          capture_output=True, text=True, check=True)
    for title in re.findall(r"<item[^>]*>(.*?)</item>", done.stdout, re.S):
        yield html.unescape(re.sub("<[^>]*>", "", title)).strip()


NUMBER = re.compile(r"^(?:(?:Part|Chapter|Appendix) )?(?:[0-9A-Z]|[IVXLC]+)[0-9]*(?:\.[0-9A-Z]+)*\.? +(?=\S)")


def choose(title, known):
    """The title without a number, unless it is known with what looks like one."""
    whole = common.fold_text(title)
    return whole if whole in known else common.fold_text(NUMBER.sub("", title))


def main():
    build, folder, *pairs = sys.argv[1:]
    files = dict(pair.split("=") for pair in pairs)
    for name, path, options in common.manuals(list(files)):
        tree = common.read_tree(build, os.path.join(folder, name), path)
        have = [common.fold_text(NUMBER.sub("", node["title"]))
                for node in tree["nodes"][1:] if not node["entry"]]
        known = set(have)
        wanted = [choose(title, known) for title in bookmarks(os.path.join(folder, name, files[name]))]
        matcher = difflib.SequenceMatcher(None, wanted, have, autojunk=False)
        met = set()
        for begin, _, size in matcher.get_matching_blocks():
            met.update(range(begin, begin + size))
        missing = [title for at, title in enumerate(wanted) if at not in met]
        lists = [title for title in missing if common.LISTS.fullmatch(title)]
        known = common.elsewhere(options)
        outside = [title for title in missing if title not in lists and title in known]
        for title in missing if os.environ.get("SHOW") else []:
            if title not in lists and title not in outside:
                print(f"    not met: {title}")
        rest = len(wanted) - len(lists) - len(outside)
        print(f"{name}: {len(met)} of {rest} bookmarks ({100 * len(met) / max(1, rest):.1f} %); besides "
              f"{len(lists)} lists, {len(outside)} of the installation; {len(have)} sections in the tree")


main()
