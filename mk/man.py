#!/usr/bin/env python3
"""Makes a manual page (mdoc) of a page of docs/reference, which is checked against the programs.

    man.py PAGE.md NAME[,NAME...] SECTION DESCRIPTION > NAME.SECTION

Read of Markdown: headings, paragraphs, tables (rows become tagged lists), indented and fenced blocks; in a line
`code`, **bold** and links, which to pages that are manuals too become references.  A fenced block that begins
with "usage:" is what a program prints as help: its options become a list.  The date is $SOURCE_DATE_EPOCH, else
the page's own.
"""
import datetime
import os
import re
import sys
import textwrap

PAGES = {"cli.md": ("lectern", "1"), "configuration.md": ("lectern.ini", "5"), "protocol.md": ("lectern-json", "7"),
         "daemon.md": ("lecternd", "8")}
ORDER = ("ENVIRONMENT", "FILES", "EXIT STATUS", "EXAMPLES")  # of the sections behind all others


def escape(text):
    """As roff takes it in running text."""
    text = text.replace("\\", "\\e")
    return "".join(c if ord(c) < 128 else f"\\[u{ord(c):04X}]" for c in text)


def inline(text):
    """Words of running text; a code span's spaces do not break."""
    def link(match):
        name = PAGES.get(os.path.basename(match[2].split("#")[0]))
        return f"{match[1]}, **{name[0]}**({name[1]})" if name else match[1]

    def strong(match):
        return "\\fB" + (match[1] or match[2]).replace("-", "\\-").replace(" ", "\\ ") + "\\fP"

    text = re.sub(r"\[((?:`[^`]*`|[^\]`])*)\]\(([^)\s]+)\)", link, text)
    return re.sub(r"`([^`]+)`|\*\*([^*]+)\*\*", strong, escape(text))


def guard(line):
    return "\\&" + line if line.startswith((".", "'")) else line


def running(text):
    """Lines of a paragraph, each sentence on its own."""
    sentences = re.split(r"(?<=[.?!])\s+(?=[A-Z`~])|(?<=[.?!][)])\s+(?=[A-Z`~])", " ".join(text.split()))
    lines = []
    for sentence in sentences:
        *part, last = textwrap.wrap(inline(sentence), 76, break_long_words=False, break_on_hyphens=False)
        lines += [re.sub(r"([.?!][)]*)$", r"\1\\&", line) for line in part] + [last]
    return [guard(line) for line in lines]


def literal(lines):
    body = [guard(escape(line).replace("-", "\\-")) for line in lines]
    return [".Bd -literal -offset indent", *body, ".Ed"]


def cells(row):
    return [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])]


def tag(text):
    """A first cell as one argument of .It."""
    return '"' + inline(text).replace('"', '""') + '"'


def table(rows):
    head, body = cells(rows[0]), [cells(row) for row in rows[2:]]
    lines = [".Bl -tag -width Ds"]
    for row in body:
        lines.append(f".It {tag(row[0])}")
        between = [f"{name.capitalize()}: {value}." for name, value in zip(head[1:-1], row[1:-1])]
        lines += running(row[-1] + "." * bool(between))
        lines += [line for one in between for line in running(one)]
    return lines + [".El"]


def option(line):
    """Of a line of help: the option as .It, and what it does."""
    names, does = re.match(r"  (\S.*?)  +(.*)", line).groups()
    items = []
    for name in names.split(", "):
        flag, _, argument = name.partition(" ")
        items.append("Fl " + escape(flag[1:]).replace("-", "\\-") + (f" Ar {argument}" if argument else ""))
    return [".It " + " , ".join(items), *running(does)]


def options(lines):
    found = [line for line in lines if line.startswith("  ")]
    return [".Bl -tag -width Ds", *(part for line in found for part in option(line)), ".El"]


def help_text(lines):
    """What a program prints, as `usage`, what it does, and options."""
    usage, rest = lines[0].split(None, 1)[1], lines[1:]
    at = rest.index("options:") if "options:" in rest else len(rest)
    does = " ".join(line.strip() for line in rest[:at]).strip()
    parts = running(does[0].upper() + does[1:] + ".")
    if not re.fullmatch(r"lecternd? \[options\]", usage):
        parts = [".Bd -literal", escape(usage).replace("-", "\\-"), ".Ed", ".Pp", *parts]
    return parts + (options(rest[at + 1:]) if at < len(rest) else [])


def fenced(lines):
    if lines and lines[0].startswith("usage:"):
        return help_text(lines)
    if lines and all(line.startswith("  -") for line in lines if line):
        return options(lines)
    return literal(lines)


def blocks(text):
    """(kind, lines) of a section's text."""
    lines, at = text.split("\n"), 0
    while at < len(lines):
        line, start = lines[at], at
        if line.startswith("```"):
            at = lines.index("```", at + 1)
            yield "fenced", lines[start + 1:at]
            at += 1
        elif line.startswith("|"):
            while at < len(lines) and lines[at].startswith("|"):
                at += 1
            yield "table", lines[start:at]
        elif line.startswith("    "):
            while at < len(lines) and lines[at].startswith("    "):
                at += 1
            yield "literal", [line[4:] for line in lines[start:at]]
        elif line.strip():
            while at < len(lines) and lines[at].strip() and not lines[at].startswith(("|", "```")):
                at += 1
            yield "text", lines[start:at]
        else:
            at += 1


def section(text):
    parts = []
    for kind, lines in blocks(text):
        if kind == "text":
            parts += [".Pp"] * bool(parts) + running(" ".join(lines))
        else:
            parts += {"fenced": fenced, "table": table, "literal": literal}[kind](lines)
    return parts


def sections(text):
    """(heading, text) of a page, the first of them without a heading."""
    pieces = re.split(r"^## (.+)$", text.split("\n", 1)[1], flags=re.M)
    return [("", pieces[0]), *zip(pieces[1::2], pieces[2::2])]


def page(text, names, number, description, date):
    name = names[0]
    verbs, own, behind = [], [], []
    (_, intro), *rest = sections(text)
    for heading, body in rest:
        if re.fullmatch("[a-z]+", heading):
            verbs += [f".Ss {heading}", *section(body)]
        elif heading.upper() in ORDER:
            behind.append((ORDER.index(heading.upper()), [f".Sh {heading.upper()}", *section(body)]))
        else:
            own += [f".Sh {heading.upper()}", *section(body)]
    others = sorted(set(PAGES.values()) - {(name, number)}, key=lambda one: (one[1], one[0]))
    see = [f".Xr {other} {their}" + (" ," if (other, their) != others[-1] else "") for other, their in others]
    synopsis = {"1": [".Nm", ".Ar verb", ".Op Ar options", ".Op Ar arguments"], "8": [".Nm", ".Op Ar options"]}.get(number)
    return [".\\\" Made by mk/man.py of docs/reference; change it there.",
            f".Dd {date:%B} {date.day}, {date.year}", f".Dt {name.upper()} {number}", ".Os", ".Sh NAME",
            *(f".Nm {one} ," for one in names[:-1]), f".Nm {names[-1]}", f".Nd {description}", *([".Sh SYNOPSIS", *synopsis] if synopsis else []), ".Sh DESCRIPTION", *section(intro),
            *([".Sh VERBS", *verbs] if verbs else []), *own, *(line for _, lines in sorted(behind) for line in lines),
            ".Sh SEE ALSO", *see]


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    path, names, number, description = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        text = file.read()
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or os.stat(path).st_mtime)
    date = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
    print("\n".join(page(text, names.split(","), number, description, date)))


main()
