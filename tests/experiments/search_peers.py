"""Other programs that search, over the same sections, for people_peers.py: (title, text, place) of each.

Recoll: Debian's `recollcmd`; a page of HTML for each section, a base for each manual and one of all, the words of the
question as its simple search has them, any of them. txtai: the Python package; its hybrid (a SentenceTransformers
model's vectors and its own BM25, half each) of all sections, of which a manual's are taken.
"""
import html
import os
import subprocess


class Recoll:
    def __init__(self, sections, folder):
        self.places, self.bases = [], {}
        for manual, rows in sections.items():
            for title, text, place in rows:
                page = os.path.join(folder, "pages", manual, f"{len(self.places)}.html")
                os.makedirs(os.path.dirname(page), exist_ok=True)
                with open(page, "w", encoding="utf-8") as file:
                    file.write(f'<html><head><meta charset="utf-8"><title>{html.escape(title)}</title></head>'
                               f"<body><h1>{html.escape(title)}</h1><pre>{html.escape(text)}</pre></body></html>")
                self.places.append(place)
        for manual in [None, *sections]:
            base = os.path.join(folder, "base", manual or "all")
            os.makedirs(base)
            with open(os.path.join(base, "recoll.conf"), "w", encoding="utf-8") as file:
                file.write(f"topdirs = {os.path.join(folder, 'pages', manual or '')}\nindexstemminglanguages = english\n")
            subprocess.run(["recollindex", "-c", base], check=True, capture_output=True)
            self.bases[manual] = base

    def search(self, question, manual, depth):
        words = "".join(c if c.isalnum() or c == "_" else " " for c in question)
        done = subprocess.run(["recollq", "-c", self.bases[manual], "-o", "-b", "-n", f"0-{depth}", words],
                              check=True, capture_output=True, text=True)
        names = [line.rsplit("/", 1)[-1] for line in done.stdout.splitlines() if line.startswith("file://")]
        return [self.places[int(name.removesuffix(".html"))] for name in names][:depth]


class Txtai:
    def __init__(self, sections, model):
        from txtai import Embeddings
        rows = [row for manual in sections for row in sections[manual]]
        self.places = [place for _, _, place in rows]
        self.base = Embeddings(path=model, hybrid=True)
        self.base.index((n, f"{title}\n{text}", None) for n, (title, text, _) in enumerate(rows))

    def search(self, question, manual, depth):
        found = (self.places[n] for n, _ in self.base.search(question, 1000 if manual else depth))
        return [place for place in found if manual in (None, place["manual"])][:depth]
