#!/usr/bin/env python3
"""Renders tests/golden/chat with Jinja2, as transformers' apply_chat_template does.

    venv/bin/python tests/experiments/model/make_chats.py tests/golden/chat

*.jinja are templates of our own, in the styles of public families; constructs.txt
has one template a line.  rendered.json gets, for each template and conversation, the
text, or null where Jinja2 raises an exception.  Needs jinja2 (3.1)."""
import copy
import datetime
import json
import os
import sys

import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

NOW = datetime.datetime(2024, 7, 9, 8, 5, 3)
BOS, EOS = "<s>", "</s>"


def says(*turns):
    return [{"role": role, "content": content} for role, content in turns]


THOUGHT = "<think>\nTwo and two.\nOr 2 * 2.\n</think>\n\nFour."
CONVERSATIONS = {
    "one": says(("user", "What is a B-tree?")),
    "system": says(("system", "You answer briefly. "), ("user", " What is a B-tree?\n")),
    "turns": says(("system", "Be kind."), ("user", "Hello"), ("assistant", " Hi! "), ("user", "2 + 2?"), ("assistant", THOUGHT), ("user", "Sure?")),
    "plain": says(("user", "Hello"), ("assistant", "Hi."), ("user", "Who are you?"), ("assistant", "A manual.")),
    "odd": says(("user", "a"), ("tool", "{\"x\": [1, 2]}"), ("narrator", "It rains."), ("assistant", "")),
    "twice": says(("user", "a"), ("user", "b")),
    "late": says(("user", "a"), ("system", "late"), ("user", "b")),
    "empty": [],
    "unicode": says(("system", "\u00c4\u00e9 \u4e2d\u6587 \U0001f600"), ("user", "\u00a0\u2003na\u00efve\t'x' \"y\" \\ <b>&amp;</b>\u2028\u00a0")),
}
OPTIONS = [
    {"add_generation_prompt": False, "flags": {}},
    {"add_generation_prompt": True, "flags": {}},
    {"add_generation_prompt": True, "flags": {"enable_thinking": False}},
    {"add_generation_prompt": True, "flags": {"enable_thinking": True}},
]
CONSTRUCTS = [("turns", OPTIONS[1])]


class Generation(jinja2.ext.Extension):
    """{% generation %}, which transformers has to mark what the assistant wrote."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(("name:endgeneration",), drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("write"), [], [], body).set_lineno(line)

    def write(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[Generation, "jinja2.ext.loopcontrols"])
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = NOW.strftime
    return made


def render(text, messages, options):
    try:
        return environment().from_string(text).render(
            messages=copy.deepcopy(messages), tools=None, documents=None, bos_token=BOS, eos_token=EOS,
            add_generation_prompt=options["add_generation_prompt"], **options["flags"])
    except Exception:  # whatever Python raises, the template does not run
        return None


def main(folder):
    cases = []
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".jinja"):
            with open(path, encoding="utf-8", newline="") as file:
                text = file.read()
            asked = [(which, options) for which in CONVERSATIONS for options in (OPTIONS if "enable_thinking" in text else OPTIONS[:2])]
            cases.append({"template": name, "renderings": [
                {"conversation": which, **options, "output": render(text, CONVERSATIONS[which], options)} for which, options in asked]})
    with open(os.path.join(folder, "constructs.txt"), encoding="utf-8") as file:
        for line in file.read().split("\n"):
            if line and not line.startswith("##"):
                cases.append({"template": line, "renderings": [
                    {"conversation": which, **options, "output": render(line, CONVERSATIONS[which], options)} for which, options in CONSTRUCTS]})
    with open(os.path.join(folder, "rendered.json"), "w", encoding="utf-8") as file:
        json.dump({"conversations": CONVERSATIONS, "cases": cases}, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")
    print(len(cases), "templates,", sum(len(case["renderings"]) for case in cases), "renderings,",
          sum(one["output"] is None for case in cases for one in case["renderings"]), "of them exceptions")


if __name__ == "__main__":
    main(sys.argv[1])
