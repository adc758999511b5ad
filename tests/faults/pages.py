"""A small manual of generated pages that a trial edits."""
import os

WORDS = ("okapi zebra index table vacuum trigger constraint heron quartz lattice partition cursor "
         "schema column planner commit segment").split()


class Pages:
    def __init__(self, root, dice, count):
        self.root, self.dice, self.serial = root, dice, 0
        os.makedirs(root, exist_ok=True)
        for _ in range(count):
            self.create()

    def words(self, most):
        return " ".join(self.dice.choices(WORDS, k=1 + self.dice.randrange(most)))

    def section(self):
        self.serial += 1
        return (f"<h2 id='s{self.serial}'>{self.words(4)}</h2>"
                f"<p>{self.words(60)}.</p><p>{self.words(30)}.</p>")

    def names(self):
        return sorted(name for name in os.listdir(self.root) if name.endswith(".html"))

    def write(self, name, text):
        path = os.path.join(self.root, name)
        with open(path + "~", "w") as file:
            file.write(text)
        os.rename(path + "~", path)

    def read(self, name):
        with open(os.path.join(self.root, name)) as file:
            return file.read()

    def create(self):
        self.serial += 1
        title = self.words(4)
        self.write(f"p{self.serial}.html",
                   f"<html><head><title>{title}</title></head><body><h1>{title}</h1>"
                   f"<p>{self.words(40)}.</p>" + "".join(self.section() for _ in range(3)))

    def change(self):
        name = self.dice.choice(self.names())
        sections = self.read(name).split("<h2")
        at = self.dice.randrange(1, len(sections) + 1)
        if at < len(sections) and len(sections) > 5:
            del sections[at]
        text = "<h2".join(sections)
        self.write(name, text + (self.section() if self.dice.random() < 0.7 else
                                 f"<p>{self.words(30)}.</p>"))

    def edit(self):
        deed = self.dice.random()
        if deed < 0.1:
            self.create()
        elif deed < 0.2 and len(self.names()) > 4:
            os.remove(os.path.join(self.root, self.dice.choice(self.names())))
        elif deed < 0.3:
            self.serial += 1
            os.rename(os.path.join(self.root, self.dice.choice(self.names())),
                      os.path.join(self.root, f"r{self.serial}.html"))
        else:
            self.change()
