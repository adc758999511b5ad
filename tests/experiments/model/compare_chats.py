#!/usr/bin/env python3
"""Compares our chat templates with Jinja2's on random templates.

    venv/bin/python tests/experiments/model/compare_chats.py build/chats [COUNT [SEED]]

Templates are made from a grammar, so that most of them run.  What Jinja2 renders we
render alike or refuse as not supported; what it cannot run we do not render.  Prints
each difference; ends with 1 when there was one.  Needs jinja2 (3.1)."""
import collections
import json
import random
import re
import subprocess
import sys
import warnings

from make_chats import CONVERSATIONS, OPTIONS, render

STRINGS = ["''", "'a'", "'Ab cD'", "' x '", "'a,b,,c'", "'<think>é</think> y'", "'中 😀'", "\"it's\"", "'\\n\\nq\\t'", "'user'", "'12'", "'-3.5'", "'Σ'", "'a\\nb\\n'"]
ATOMS = ["0", "1", "2", "-1", "3", "7", "1.5", "-0.5", "1e3", "true", "false", "none", "x", "y", "ns", "ns.a", "messages", "messages[0]", "messages[-1].content", "messages[0]['role']",
         "add_generation_prompt", "bos_token", "tools", "enable_thinking", "nothing", "nothing.more", "[]", "{}", "()", "[1, 2, 3]", "(1, 'a')", "{'a': 1, 'b': [2]}", "range(4)", "loop", "loop.index"]
FILTERS = ["trim", "length", "upper", "lower", "title", "capitalize", "first", "last", "list", "string", "int", "float", "abs", "tojson", "tojson(indent=2)", "join(', ')", "join", "reverse", "sort",
           "unique", "unique|list", "items", "items|list", "default('d')", "default('d', true)", "replace('a', 'b')", "replace('', '-')", "map('upper')", "map('string')|list", "map(attribute='role')|list",
           "selectattr('role', 'eq', 'user')|list", "rejectattr('role')|list", "select|list", "reject('none')|list", "select('string')|list", "min", "max", "sum", "indent", "indent(2, true)",
           "dictsort", "safe", "count", "d(1)", "sort(reverse=true)", "map('length')|list", "select('odd')|list", "indent(1, blank=true)", "trim('a ')"]
TESTS = ["defined", "undefined", "none", "string", "mapping", "iterable", "sequence", "number", "boolean", "true", "false", "integer", "float", "odd", "even", "callable", "eq(1)", "in([1, 'a'])", "gt(0)", "divisibleby(2)"]
METHODS = ["strip()", "lstrip()", "rstrip('a ')", "split()", "split(',')", "split('</think>')[-1]", "split('a', 1)", "rsplit(',', 1)", "startswith('a')", "endswith(('b', ' '))", "replace('a', 'zz', 1)",
           "upper()", "lower()", "title()", "capitalize()", "splitlines()", "find('b')", "rfind('')", "count('a')", "items()", "items()|list", "keys()|list", "values()|list", "get('a')", "get('z', 5)", "role", "content", "index(1)", "join(['a', 'b'])"]
TEXT_FILTERS = ["trim", "upper", "lower", "title", "capitalize", "replace('a', 'b')", "replace('', '-')", "replace(' ', '', 1)", "reverse", "indent", "indent(2, true)", "indent('>', blank=true)", "default('d')", "d('e', true)", "string", "trim('a ')", "first|default('z')", "last|d"]
TEXT_METHODS = ["strip()", "lstrip()", "rstrip('a ')", "strip('<k>')", "replace('a', 'zz', 1)", "upper()", "lower()", "title()", "capitalize()", "removeprefix('a')", "removesuffix('b')", "split(',')[-1]", "split('</think>')[0]", "join(['a', 'b'])"]
LIST_FILTERS = ["list", "reverse|list", "unique|list", "map('string')|list", "select|list", "reject|list", "select('string')|list", "rejectattr('role')|list", "selectattr('role', 'eq', 'user')|list", "map(attribute='content')|list",
                "map('string')|sort", "map('string')|map('upper')|unique|list", "map('string')|sort(reverse=true, case_sensitive=true)", "select('number')|sort", "map('default', 'd')|list", "map(attribute=0, default='n')|list", "first|list", "select('in', [1, 'a'])|list"]
SPLITS = ["split()", "split(',')", "split('a', 1)", "rsplit(',', 1)", "splitlines()", "split(none, 1)", "rsplit()", "splitlines(true)"]
BINARY = ["+", "-", "*", "/", "//", "%", "~", "==", "!=", "<", "<=", ">", ">=", "in", "not in", "and", "or", "**"]
SLICES = ["[0]", "[-1]", "[1:]", "[:-1]", "[::-1]", "[::2]", "['a']", "['role']", "[5]", "[-2:1:-1]", "[none]", "[1:3]"]
BLANKS = ["", " ", "\n", "  \n ", "\n\n", "\t", "text", " text ", "é\n"]
# Where Jinja2 goes on: it folds constants its own way, and runs no filter of which nobody asks for an item.
EARLIER = re.compile("cannot be sliced|is no mapping|has no items")


class Maker:
    def __init__(self, rng):
        self.rng = rng

    def expression(self, depth=3):
        """One that mostly runs, seldom a wild one."""
        if self.rng.random() < .04:
            return self.wild(depth)
        return self.rng.choice([self.text, self.text, self.items, self.number, self.truth])(depth)

    def text(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < .2:
            return rng.choice(STRINGS + ["messages[0].role", "messages[-1]['content']", "bos_token", "(x|string)", "(ns.b|default('q'))"])
        inner = self.text(depth - 1)
        return rng.choice([
            lambda: f"({inner} ~ {self.expression(depth - 1)})", lambda: f"({inner} + {self.text(depth - 1)})", lambda: f"({inner}|{rng.choice(TEXT_FILTERS)})",
            lambda: f"{inner}.{rng.choice(TEXT_METHODS)}", lambda: f"{inner}{rng.choice(['[1:]', '[:-1]', '[::-1]', '[::2]', '[-2:]', '[-1:-3:-1]', '[2:5]'])}",
            lambda: f"({self.items(depth - 1)}|join({rng.choice(STRINGS)}))", lambda: f"({self.expression(depth - 1)}|{rng.choice(['string', 'tojson', 'tojson(indent=2)'])})",
            lambda: f"({inner} if {self.truth(depth - 1)} else {self.text(depth - 1)})", lambda: f"({inner} * {rng.randrange(3)})", lambda: f"({inner} or {self.text(depth - 1)})"])()

    def items(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < .3:
            return rng.choice(["[1, 2, 3]", "['b', 'a', 'B']", "messages", "messages[1:]", "[]", "(range(4)|list)", "[none, true, 1.5, 'x']", "(messages|map(attribute='role')|list)", "[[1, 'a'], [0, 'b']]"])
        inner = self.items(depth - 1)
        return rng.choice([
            lambda: f"{inner}{rng.choice(['[1:]', '[::-1]', '[:-1]', '[::2]'])}", lambda: f"({inner}|{rng.choice(LIST_FILTERS)})", lambda: f"({inner} + [{self.expression(depth - 1)}])",
            lambda: f"{self.text(depth - 1)}.{rng.choice(SPLITS)}", lambda: f"[{self.expression(depth - 1)}, {self.expression(depth - 1)}]", lambda: f"({self.text(depth - 1)}|list)",
            lambda: f"({{'b': {self.expression(depth - 1)}, 'a': {inner}}}|{rng.choice(['dictsort', 'items|list', 'list'])})", lambda: f"({inner} if {self.truth(depth - 1)} else [])"])()

    def number(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < .3:
            return rng.choice(["0", "1", "2", "7", "1.5", "-3", "0.1", "12345678901", "(messages|length)"])
        return rng.choice([
            lambda: f"({self.number(depth - 1)} {rng.choice(['+', '-', '*'])} {self.number(depth - 1)})", lambda: f"({self.number(depth - 1)} {rng.choice(['%', '//', '/'])} {rng.choice(['3', '-2', '0.7'])})",
            lambda: f"({self.text(depth - 1)}|length)", lambda: f"({self.items(depth - 1)}|length)", lambda: f"{self.text(depth - 1)}.{rng.choice(['find', 'count', 'rfind'])}({rng.choice(STRINGS)})",
            lambda: f"({self.text(depth - 1)}|{rng.choice(['int', 'float', 'int(3)'])})", lambda: f"({self.number(depth - 1)}|{rng.choice(['abs', 'int', 'float', 'string|int'])})", lambda: f"(-{self.number(depth - 1)})"])()

    def truth(self, depth):
        rng = self.rng
        if depth == 0:
            return rng.choice(["true", "add_generation_prompt", "x is defined", "tools", "enable_thinking is false"])
        return rng.choice([
            lambda: f"({self.number(depth - 1)} {rng.choice(['<', '<=', '>', '>=', '==', '!='])} {self.number(depth - 1)})", lambda: f"({self.text(depth - 1)} {rng.choice(['in', 'not in', '==', '<'])} {self.text(depth - 1)})",
            lambda: f"({self.expression(depth - 1)} is {rng.choice(['', 'not '])}{rng.choice(TESTS[:13])})", lambda: f"({self.expression(depth - 1)} {rng.choice(['in', 'not in'])} {self.items(depth - 1)})",
            lambda: f"({self.truth(depth - 1)} {rng.choice(['and', 'or'])} {self.expression(depth - 1)})", lambda: f"(not {self.expression(depth - 1)})",
            lambda: f"{self.text(depth - 1)}.{rng.choice(['startswith', 'endswith'])}({rng.choice(STRINGS)})", lambda: f"({self.items(depth - 1)} == {self.items(depth - 1)})"])()

    def wild(self, depth=3):
        rng = self.rng
        if depth == 0 or rng.random() < .25:
            return rng.choice(STRINGS if rng.random() < .45 else ATOMS)
        inner = self.wild(depth - 1)
        made = rng.randrange(9)
        if made == 0:
            return f"{inner} {rng.choice(BINARY)} {self.wild(depth - 1)}"
        if made == 1:
            return f"({inner} {rng.choice(BINARY)} {self.wild(depth - 1)})"
        if made == 2:
            return f"({inner})|{rng.choice(FILTERS)}"
        if made == 3:
            return f"{inner}|{rng.choice(FILTERS)}"
        if made == 4:
            return f"({inner}) is {rng.choice(['', '', 'not '])}{rng.choice(TESTS)}"
        if made == 5:
            return f"({inner}).{rng.choice(METHODS)}"
        if made == 6:
            return f"({inner}){rng.choice(SLICES)}"
        if made == 7:
            return f"({inner} if {self.wild(depth - 1)}{rng.choice(['', ' else ' + self.wild(depth - 1)])})"
        return rng.choice([f"[{inner}, {self.wild(depth - 1)}]", f"{{'a': {inner}}}", f"not {inner}", f"-{inner}", f"m({inner})", f"({inner},)"])

    def tag(self, inside):
        return "{%" + self.rng.choice(["", "", "", "-", "+"]) + " " + inside + " " + self.rng.choice(["", "", "", "-", "+"]) + "%}"

    def output(self):
        return "{{" + self.rng.choice(["", "", "-"]) + " " + self.expression() + " " + self.rng.choice(["", "", "-"]) + "}}"

    def body(self, depth):
        return "".join(self.rng.choice(BLANKS) + self.statement(depth) for _ in range(self.rng.randrange(1, 4))) + self.rng.choice(BLANKS)

    def statement(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < .4:
            return self.output()
        made = rng.randrange(9)
        inner = self.body(depth - 1)
        if made == 0:
            return self.tag("if " + self.expression()) + inner + rng.choice(["", self.tag("else") + self.body(depth - 1), self.tag("elif " + self.expression()) + self.body(depth - 1)]) + self.tag("endif")
        if made == 1:
            what = rng.choice(["messages", "[1, 2, 3]", "'aé'", "range(3)", "[]", "messages[1:]", self.expression(1)])
            control = rng.choice(["", "", self.tag("if x") + self.tag(rng.choice(["break", "continue"])) + self.tag("endif")])
            return self.tag(f"for {rng.choice(['x', 'y', 'i'])} in {what}{rng.choice(['', '', ' if ' + self.expression(1)])}") + inner + control + rng.choice(["", self.tag("else") + "none"]) + self.tag("endfor")
        if made == 2:
            return self.tag(f"set {rng.choice(['x', 'y', 'ns.a', 'ns.b', 'x, y'])} = {self.expression(2)}")
        if made == 3:
            return self.tag("set " + rng.choice(["x", "y", "x | upper", "y | trim | length"])) + inner + self.tag("endset")
        if made == 4:
            return self.tag(f"macro {rng.choice(['m', 'n'])}(a{rng.choice(['', '=1', '=x'])}, b={rng.choice(STRINGS)})") + "{{ a }}" + inner + self.tag("endmacro")
        if made == 5:
            return self.tag("filter " + rng.choice(["upper", "trim", "replace('a', 'b')|length"])) + inner + self.tag("endfilter")
        if made == 6:
            return rng.choice([self.tag("generation") + inner + self.tag("endgeneration"), self.tag("with x = " + self.expression(1)) + inner + self.tag("endwith")])
        if made == 7:
            return rng.choice(["{# note #}", "{#- note -#}", "{#+ note +#}", "{% raw %} {{ x }} {%- endraw %}"])
        return self.tag("call m(1)") + inner + self.tag("endcall")

    def template(self):
        return self.rng.choice(["", "{% set ns = namespace(a=1, b='q') %}{% set x = 2 %}", "{% macro m(a=0) %}[{{ a }}{{ caller() if caller }}]{% endmacro %}\n"]) + self.body(2)


def main(program, count, seed):
    warnings.simplefilter("ignore")  # Python's, of what templates do
    rng = random.Random(seed)
    asked = []
    for _ in range(count):
        name, options = rng.choice(sorted(CONVERSATIONS)), rng.choice(OPTIONS)
        asked.append({"template": Maker(rng).template(), "messages": CONVERSATIONS[name], **options})
    lines = "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in asked)
    answers = subprocess.run([program], input=lines.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().rstrip("\n").split("\n")
    seen = collections.Counter()
    for one, line in zip(asked, answers, strict=True):
        want, got = render(one["template"], one["messages"], one), json.loads(line)
        if want == got.get("output"):
            seen["alike" if want is not None else "neither"] += 1
        elif want is not None and EARLIER.search(got.get("error", "")):
            seen["earlier"] += 1
        elif "not supported" in got.get("error", ""):
            seen["refused"] += 1
        else:
            seen["differ"] += 1
            print(json.dumps({"template": one["template"], "jinja2": want, "ours": got}, ensure_ascii=False))
    print(dict(seen))
    return 1 if seen["differ"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int((sys.argv[2:] or ["20000"])[0]), int((sys.argv[3:] or ["1"])[0])))
