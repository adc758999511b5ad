"""compile_commands.json out of what make would run, on standard input, without the
flags that clang does not know."""
import json
import os
import re
import sys

GCC_ONLY = re.compile(r" -ftrivial-auto-var-init=zero| -fstack-clash-protection")
commands = []
for line in sys.stdin:
    found = re.search(r" -c -o (\S+) (\S+\.(?:c|cu|cc))\b", line)
    if found and line.split()[0].rsplit("/")[-1] in ("cc", "gcc", "clang", "c++", "g++", "clang++"):
        commands.append({"directory": os.getcwd(), "command": GCC_ONLY.sub("", line.strip()), "file": found[2], "output": found[1]})
if not commands:
    sys.exit("compdb: make would compile nothing")
json.dump(commands, sys.stdout, indent=1)
