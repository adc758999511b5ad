"""Looking into a store that a trial has left behind."""
import tempfile

from harness.daemon import Broken, Daemon, check


def check_whole(daemon):
    """All that the store holds fits together."""
    result = daemon.call("verify")
    if result["fault_count"]:
        raise Broken(f"{result['fault_count']} faults: {result['faults'][:5]}")


def verify(build, store):
    """The same of a store that no daemon uses."""
    with tempfile.TemporaryDirectory(prefix="lectern-verify-") as house:
        with Daemon(build, house, store=store, watch="off") as daemon:
            check_whole(daemon)


def walk(node):
    yield node
    for child in node["children"]:
        yield from walk(child)


def look_into(build, house, store):
    """A daemon opens it, verifies it, and reads its sections: {manual: generation}."""
    with Daemon(build, house, store=store, watch="off") as daemon:
        check_whole(daemon)
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
