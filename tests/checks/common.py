"""What the checks share: folding of titles, the rule for a right section, asking Lectern."""
import functools
import json
import os
import subprocess

import docbook


@functools.lru_cache(maxsize=None)
def fold(title):
    """Case, white space and punctuation folded away; a title of signs alone stays as it is."""
    kept = "".join(char for char in title.casefold() if char.isalnum())
    return kept or docbook.squeeze(title)


def ends_with(path, section):
    """True when the path of titles ends with the section's."""
    return bool(section) and [fold(t) for t in path[-len(section):]] == [fold(t) for t in section]


def is_right(path, question):
    """True when the path ends with any of the sections that answer the question."""
    sections = question.get("sections") or [question["section"]]
    return any(ends_with(path, section) for section in sections)


def read_jsonl(path):
    with open(path, encoding="utf-8") as stream:
        return [json.loads(line) for line in stream if line.strip()]


def ask(lectern, socket, manual, question, seconds=300):
    """One `lectern ask --json`: (exit code, answer). A crash or bad JSON becomes an error answer."""
    command = [lectern, "ask", question, "-c", manual, "--json"]
    try:
        done = subprocess.run(command, env={**os.environ, "LECTERN_SOCKET": socket}, timeout=seconds,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False)
        answer = json.loads(done.stdout)
        if not isinstance(answer, dict):
            raise ValueError("not a JSON object")
        return done.returncode, answer
    except subprocess.TimeoutExpired:
        return -1, {"error": {"code": "timeout", "message": f"no answer in {seconds} s"}}
    except ValueError as error:
        message = f"{error}; exit code {done.returncode}; {done.stderr[-300:].decode(errors='replace')}"
        return done.returncode, {"error": {"code": "json", "message": message}}
