#!/usr/bin/env python3
"""Are the sections of LaTeX manuals those of the .toc that LaTeX writes?

    [LIST=latex-repositories.txt] sections.py BUILD MANUALS WORK [NAME...]

MANUALS is the folder that latex-manuals.sh fills (or where the repositories of
latex-repositories.txt are, by their names), WORK is for LaTeX to run in.
Each entry of the .toc, in order, must be a node of the tree with the same
title, formulas apart (or, where the .toc has a short one, the title that is printed), at the same depth below the one before of a higher level.  Of those that
are not, two kinds are told apart, as nothing in the manual's folder has them:
what LaTeX itself writes (lists of contents, the index), and sections of files
of the TeX installation that the manual includes, known by the .fls beside the
.toc.
"""
import difflib
import os
import re
import sys

import common

LEVELS = ("book", "part", "chapter", "section", "subsection", "subsubsection", "paragraph", "subparagraph")


PART = re.compile(r"\s*(?:\\uppercase *\{)?(?:([IVXLCivxlc]+)\}?\\[a-z]*space *\{1em\}|(第\w+部分)\\hspace *\{1em\})")


def read_toc(path, entries):
    """(level, number, title)."""
    for line in open(path, encoding="utf-8", errors="replace"):
        line = re.sub(r"\\gls(symbol)?[a-z]* *\{([^}]*)\}",
                      lambda match: entries.get(match.group(2), (match.group(2),) * 2)[bool(match.group(1))], line)
        if not line.startswith("\\contentsline"):
            continue
        parts = common.groups(line)
        if parts and parts[0] == "appendix":  # memoir's chapters there
            parts[0] = "chapter"
        if len(parts) < 2 or parts[0] not in LEVELS:
            continue
        title = common.without_formulas(parts[1])
        ams = re.match(r"\\toc[a-z]+ *(?=\{)", title)
        if ams:  # \tocsection{Appendix}{A}{Title}
            _, number, title = (common.groups(title) + ["", "", ""])[:3]
            yield LEVELS.index(parts[0]), common.fold(number), common.fold(title)
            continue
        number = re.match(r"\s*(?:\\[a-z]*number[a-z]*line|\\numberline)\s*\{", title)
        if number:
            inner = common.groups(title)[0]
            title = title[title.index("{") + len(inner) + 2:]
            yield LEVELS.index(parts[0]), common.fold(inner), common.fold(title)
        else:
            part = PART.match(title)
            if part:
                yield LEVELS.index(parts[0]), common.fold(part.group(1) or part.group(2)), common.fold(title[part.end():])
            else:
                yield LEVELS.index(parts[0]), "", common.fold(title)


NUMBER = re.compile(r"(?:[^\W\d_]+ )?((?:-?\d+|[A-Z]|[IVXLC]+)(?:\.\w+)*)\.? +(?=\S)")


def ours(tree):
    """(index, number, titles): the ways to read one, as some print a number
    before it and a label, as [intro.scope], behind it."""
    for index, node in enumerate(tree["nodes"]):
        if not index or node["entry"]:
            continue
        titles, number = [], ""
        for title in (node["title"], common.without_formulas(node["title"]),
                      common.without_formulas(re.sub(r" \[[\w.]+\]$", "", node["title"]))):
            match = NUMBER.match(title)
            if match:
                number = common.fold_text(match.group(1))
                titles.append(common.fold_text(title[match.end():]))
            titles.append(common.fold_text(title))
        yield index, number, titles


def under_printed_title(toc, nodes, met):
    """Of those that are not met: the .toc has a short title, or one made for it;
    the node between the same neighbours has the same number, or the same words and more."""
    taken = set(met.values())
    low = 0
    for a, (_, number, title) in enumerate(toc):
        if a in met:
            low = met[a] + 1
            continue
        high = next((met[later] for later in range(a + 1, len(toc)) if later in met), len(nodes))
        for b in range(low, high):
            _, other, titles = nodes[b]
            same = number and number == other
            if b not in taken and (same or len(title) > 3 and any(title in one for one in titles)):
                taken.add(b)
                low = b + 1
                yield a, b
                break


def compare(name, toc, tree, elsewhere, show):
    nodes = list(ours(tree))
    wanted = [title for _, _, title in toc]
    known = set(wanted)
    have = [next((title for title in titles if title in known), titles[0]) for _, _, titles in nodes]
    matcher = difflib.SequenceMatcher(None, wanted, have, autojunk=False)
    pairs = [(a + i, b + i) for a, b, n in matcher.get_matching_blocks() for i in range(n)]
    met = dict(pairs)
    printed = dict(under_printed_title(toc, nodes, met))
    pairs, met = sorted([*pairs, *printed.items()]), {**met, **printed}
    numbered = sum(1 for a, b in pairs if toc[a][1] and toc[a][1] == nodes[b][1])
    numbers = sum(1 for a, b in pairs if toc[a][1])
    nested, stack = 0, []
    for a, (level, _, _) in enumerate(toc):
        while stack and stack[-1][0] >= level:
            stack.pop()
        if a in met:
            node = tree["nodes"][nodes[met[a]][0]]
            above = stack[-1][1] if stack else None
            at = node["parent"]
            while at > 0 and above is not None and at != above:
                at = tree["nodes"][at]["parent"]
            right = above is None or at == above
            nested += right
            if show > 1 and not right:
                print(f"    nested: {toc[a]} is not below {tree['nodes'][above]['title']}")
            stack.append((level, nodes[met[a]][0]))
    lists = sum(1 for a, entry in enumerate(toc) if a not in met and common.LISTS.fullmatch(entry[2]))
    missing = [(a, entry) for a, entry in enumerate(toc) if a not in met and not common.LISTS.fullmatch(entry[2])]
    outside = sum(1 for _, entry in missing if entry[2] in elsewhere)
    for _, entry in missing:
        if show and entry[2] not in elsewhere:
            print(f"    not met: {entry}")
    for a, b in pairs:
        if show > 1 and toc[a][1] != nodes[b][1]:
            print(f"    number: {toc[a]} is {tree['nodes'][nodes[b][0]]['title']}")
    for b, node in enumerate(nodes):
        if show > 2 and b not in met.values():
            print(f"    besides: {tree['nodes'][node[0]]['title']}")
    wanted = len(toc) - lists - outside
    share = len(pairs) / max(1, wanted)
    print(f"{name}: {len(pairs)} of {wanted} titles ({100 * share:.1f} %), {nested} below the right one, "
          f"{numbered} of {numbers} numbers, {len(printed)} by what is printed; besides {lists} lists, {outside} of the installation; "
          f"{len(nodes) - len(pairs)} nodes are not in the .toc")
    return len(pairs), wanted


def main():
    build, folder, work, *names = sys.argv[1:]
    show = int(os.environ.get("SHOW", "0"))
    met = total = 0
    for name, path, options in common.manuals(names):
        manual = os.path.join(folder, options.get("folder", name))
        tree = common.read_tree(build, manual, path)
        base = os.path.join(work, name)
        toc_path = f"{base}.toc"
        if not os.path.exists(toc_path):
            made = common.typeset(manual, path, options, f"{base}.run")
            if not os.path.exists(f"{made}.toc"):
                print(f"{name}: LaTeX writes no .toc")
                continue
            for ending in ("toc", "fls"):
                os.replace(f"{made}.{ending}", f"{base}.{ending}")
        one, all_of = compare(name, list(read_toc(toc_path, common.entries(manual))), tree, common.installed(f"{base}.fls"), show)
        met += one
        total += all_of
    print(f"all: {met} of {total} titles ({100 * met / max(1, total):.2f} %)")


main()
