"""Looking into a store that a trial has left behind."""
import functools
import os
import subprocess

from daemon import Broken, Daemon, check


@functools.lru_cache
def has_verb(build, verb):
    return subprocess.run([os.path.join(build, "lectern"), "help", verb],
                          capture_output=True).returncode == 0


def verify(build, store):
    """`lectern verify` of a store that no daemon uses."""
    if not has_verb(build, "verify"):
        return
    done = subprocess.run([os.path.join(build, "lectern"), "verify", "--store", store, "--socket",
                           os.path.join(store, "none")], capture_output=True, text=True, timeout=120)
    if done.returncode:
        raise Broken(f"verify: exit {done.returncode}: {done.stdout[-1500:]}{done.stderr[-1500:]}")


def walk(node):
    yield node
    for child in node["children"]:
        yield from walk(child)


def look_into(build, house, store):
    """A daemon opens it, all its sections are read: {manual: generation}."""
    with Daemon(build, house, store=store, watch="off") as daemon:
        found = {m["name"]: m["generation"] for m in daemon.call("status")["manuals"]}
        for manual, generation in found.items():
            if not generation:
                continue
            nodes = list(walk(daemon.call("toc", manual=manual)))
            for node in nodes[:: 1 + len(nodes) // 40]:
                daemon.call("get", node=node["id"])
            word = nodes[-1]["title"].split()[0]
            check(daemon.call("search", query=word, manual=manual, mode="lexical")["results"],
                  f"{manual}: {word} is not found")
    return found
