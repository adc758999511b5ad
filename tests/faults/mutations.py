#!/usr/bin/env python3
"""Mutations: the code is changed so that a rule of it no longer holds, and the test that should notice must fail.

    mutations.py --folder DIR [--only WORD] [--list] [--jobs 1] [--make 'NVCC=']
    mutations.py --check

DIR becomes a copy of the tracked tree and is kept: with a compiler cache each mutation takes seconds. First each test that
is used must pass (--trust leaves that out). Each is a text
of one file that stands there once, what it becomes, and tests in order, of which the first that fails has
caught it. A mutation whose text is not found is an error of this table; --check looks for all of them, and changes nothing.
Prints a row for each; ends with status 1 if one was caught by nothing.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
B = "build/release"
FAULTS = f"{B}/tests/faults"


def unit(name):
    program = f"{B}/tests/unit/{name}"
    return ([program, f"{B}/lectern-parse"], f"LECTERN_PARSE={B}/lectern-parse LECTERN_BUILD={B} {program}", name.split("/")[1])


def nth(verbs, classes, most=12):
    return (["all", f"{FAULTS}/nth.so"],
            f"python3 tests/faults/nth.py --build {B} --preload {FAULTS}/nth.so --seed 7 --most {most} --restart-every 4 "
            f"--verbs {verbs} --classes {classes}", f"nth.py, {verbs}, {classes}")


def powercut():
    return (["all", f"{FAULTS}/record.so"],
            f"python3 tests/faults/powercut.py --build {B} --record {FAULTS}/record.so --seed 4 --runs 1 --acts 12 --random 1 "
            "--between 20 --most 80", "powercut.py")


def e2e(names):
    return (["all", "build/manuals/postgresql"], f"python3 tests/e2e.py {B} build/manuals/postgresql {names}", f"e2e, {names}")


SIMULATE = ([f"{B}/simulate"], f"{B}/simulate --count 3000 --first", "simulate")



def twice(name):
    return ([f"{B}/tests/fuzz/fuzz_{name}"], f"{B}/tests/fuzz/fuzz_{name} tests/fuzz/corpus/{name}/*", f"fuzz_{name}, its corpus")


DAMAGES = ([f"{FAULTS}/damages"], f"{FAULTS}/damages --count 2000", "damages")
LONG_SIMULATE = (*SIMULATE[:1], f"{B}/simulate --count 20000 --first", "simulate, 20,000 seeds")

# rule: (what is changed, file, text, what it becomes, tests)
TABLE = {
    "a changed value is known": [
        ("sums are not compared", "memory/store/store_sums.c", "return c.right && !trapped;", "return !trapped;",
         [unit("memory/test_sums")]),
        ("a sum is not of the key", "memory/store/store_sums.c", "hash_bytes64(key.data, key.size) + (uint64_t)table",
         "(uint64_t)table", [unit("memory/test_sums")]),
        ("a sum is not of the table", "memory/store/store_sums.c", "hash_bytes64(key.data, key.size) + (uint64_t)table",
         "hash_bytes64(key.data, key.size)", [unit("memory/test_sums")])],
    "damage is told": [
        ("keys may be out of order", "memory/store/store_check.c", 'return fail(walk->check, "keys are out of order");', "return true;", [DAMAGES]),
        ("a table may lose records", "memory/store/store_check.c", 'fail(check, "a table has lost records");', "true;", [DAMAGES]),
        ("a term may have another name", "memory/store/store_sums.c", "    return code == ERR_NOT_FOUND ? 0 : code;\n}\n\nint store_check_postings",
         "    return 0;\n}\n\nint store_check_postings", [unit("memory/test_store_damage"), DAMAGES])],
    "want of memory ends nothing": [
        ("malloc takes no spare", "daemon/lecternd_malloc.c", "return room ? room : spare_take(size);\n}\n\nvoid *calloc",
         "return room;\n}\n\nvoid *calloc", [nth("search", "memory")]),
        ("calloc does not clear", "daemon/lecternd_malloc.c", "return room ? memset(room, 0, bytes) : NULL;", "return room;",
         [nth("search,ask", "memory", 40)]),
        ("realloc does not copy", "daemon/lecternd_malloc.c", "memcpy(room, old, had < size ? had : size);", "",
         [nth("search,ask", "memory", 40)])],
    "what cannot be read is not gone": [
        ("a folder that cannot be listed is empty", "indexer/scan.c", "if (source_is_shortage(errno))\n        walk->failure = errno;",
         "", [nth("update", "open,read")]),
        ("a file without descriptors has failed", "indexer/parsers.c", "ret->broken = source_is_shortage(errno);", "",
         [nth("update", "open,read")]),
        ("a file that the disk does not give has failed", "indexer/index_records.c",
         "if (r->unread && u->has_tree[i] && file->state == FILE_INDEXED) {", "if (false) {", [nth("update", "read", 40)]),
        ("a part that the disk did not give stays one", "indexer/index_records.c", "            u->changed = true;\n        }\n        return;",
         "        }\n        return;", [unit("indexer/test_source")])],
    "errors are told": [
        ("a first page that cannot be read is damage", "memory/store/store_prepare.c",
         "*ret_failed = *ret_failed || size < 0;", "(void)ret_failed;", [nth("start", "read")]),
        ("no thread to parse with is nothing", "indexer/parsers.c", "if (count && !parsers->thread_count) {", "if (false) {",
         [nth("update", "thread")]),
        ("the store is not opened anew", "memory/store/store_env.c", "if (!atomic_load(&old->panicked) || old->users ||",
         "if (true || !atomic_load(&old->panicked) || old->users ||", [nth("update", "write,flush", 40)])],
    "what is acknowledged is on the disk": [
        ("no folder is flushed", "base/file.c", "(!fsync(fd) || errno == EINVAL)", "true", [powercut()]),
        ("a copy is not flushed", "memory/store/store_copy.c", "int rc = mdb_env_sync(env->mdb, 1);", "int rc = 0;", [powercut()]),
        ("a store is opened without flushes", "memory/store/store_env.c", "MDB_NOTLS | o->flags", "MDB_NOTLS | MDB_NOSYNC | o->flags",
         [powercut()])],
    "an edit is seen, or status says why not": [
        ("a change is not marked", "daemon/net/watching.c", "    jobs_mark(watching->daemon->jobs, manual);\n", "", [SIMULATE]),
        ("lost events are nothing", "indexer/watch.c", "            w->dirty = true;\n        return;", "            (void)w;\n        return;",
         [SIMULATE]),
        ("only the manual's own folder is watched", "indexer/scan.c", "if (walk->visitor)\n        walk->visitor->folder",
         "if (walk->visitor && !*path)\n        walk->visitor->folder", [SIMULATE]),
        ("an update takes the mark away at its start", "daemon/jobs/jobs.c", "job->behind = job->behind || job->marked;", "", [SIMULATE]),
        ("changes during the rest after an update are dropped", "daemon/jobs/jobs_marks.c",
         "        retry_by(jobs, job, job->rests_until);\n", "        (void)now;\n", [SIMULATE]),
        ("a burst never ends while it goes on", "daemon/net/watching.c", "return quiet < late ? quiet : late;", "return quiet;", [SIMULATE])],
    "a file is read again when it may be another": [
        ("a time stamp is believed at once", "indexer/index_records.c", "return mtime_ns < u->started_ns - RACY_NS ? mtime_ns : 0;",
         "return mtime_ns;", [LONG_SIMULATE]),
        ("what changed while it was read is as it was met", "indexer/parsers.c",
         "ret->moved = !is_as_met(&parsers->tasks[task], &st);", "ret->moved = false; (void)is_as_met;", [LONG_SIMULATE]),
        ("a record is of what its path leads to, before and after", "indexer/source.c",
         "bool known = !fstat(fd, &before);\n    int code = file_read_open(fd, path, PARSER_MAX_BYTES, ret_bytes, err);\n    known = known && !fstat(fd, &after);",
         "bool known = !stat(path, &before);\n    int code = file_read_open(fd, path, PARSER_MAX_BYTES, ret_bytes, err);\n    known = known && !stat(path, &after);",
         [unit("indexer/test_source")]),
        ("when an inode changed tells nothing", "indexer/scan.c", "record->inode == now->inode && now->changed_at < indexed_at;",
         "record->inode == now->inode && indexed_at >= 0;", [e2e("updates")])],
    "an index is what one made afresh would be": [
        ("the words of what is gone stay", "indexer/index_postings.c", "if (!kept[o])", "if (false)", [SIMULATE]),
        ("a file that is gone changes nothing", "indexer/index_scan.c", "!u->old_outline || any_gone(u) ||", "!u->old_outline ||", [SIMULATE]),
        ("a document is not read anew for what it includes", "indexer/index_parse.c", "if (file->inputs[0] &&", "if (false &&", [SIMULATE]),
        ("a skeleton is kept under another's name", "indexer/index_outline.c", "skeletons_find(u->skeletons, file->tree)",
         "skeletons_find(u->skeletons, u->files[u->indexed[0]].tree)", [SIMULATE])],
    "a parser's death costs its file": [
        ("one that says more than it was asked is asked again", "indexer/parser_process.c", "                        is_out_of_step(parser)))", "                        false))",
         [unit("indexer/test_parser"), SIMULATE]),
        ("half an answer is one", "indexer/parser.c", "if (reply.number != request.number || reply.size > max)", "if (false)",
         [unit("indexer/test_parser")]),
        ("a parser that cannot be started is the file's fault", "indexer/parsers.c",
         "code == ERR_IO || code == ERR_INTERNAL || code == ERR_CANCELLED;", "false;", [nth("update", "process")])],
    "memories are those of what is indexed": [
        ("none are made after an update", "daemon/jobs/jobs.c", "job->wanted = job->wanted ? job->wanted : ticket;\n        job->memory_at = 0;\n    }\n    pthread",
         "    }\n    pthread", [SIMULATE]),
        ("one is taken that another model made", "memory/embeddings/plan.c", "    put_hash(scratch, build->facts.model);\n", "",
         [unit("memory/test_memories")]),
        ("one is taken that another text gave", "memory/embeddings/plan.c", "    put_hash(scratch, segment->text);\n", "",
         [unit("memory/test_memories"), SIMULATE]),
        ("a plan is taken of a section that has changed", "memory/embeddings/plan_cache.c", "found && hash_equal(found->seen, seen)", "found && (seen.low | 1)",
         [unit("memory/test_memories"), SIMULATE])],
    "what is quoted stands there now": [
        ("a text is quoted that the file has no more", "daemon/answer/quote.c", "(quote_find(text, places, buf_slice(&folded), &span) ||",
         "((span = (struct span){0, 1}, true) ||", [e2e("quoting"), unit("daemon/test_cite")]),
        ("a file of another content is fresh", "daemon/answer/quote.c", "hash_equal(hash_bytes(bytes.data, bytes.size),\n                           view->files[file].content);", "file >= 0;",
         [e2e("updates quoting reading")]),
        ("a place is counted from the wrong byte", "daemon/answer/quote.c", "quote.span.from += span.from;", "", [e2e("quoting reading")])],
    "what is computed twice is the same": [
        ("BM25 without the length of a text", "memory/lexical/lexical.c", "double tf = match->body / norms->body +", "double tf = match->body + 0 * norms->body +",
         [twice("ranking")]),
        ("a list of vectors is not looked through", "memory/vectors/ivf.c", "struct ivf_seen seen = {0};", "struct ivf_seen seen = {.lists = probes > 1};", [twice("nearest")]),
        ("a span is counted from another one", "tree/encode.c", "    *last = origin.span.to;\n}\n\nstatic void put_node", "    *last = origin.span.from;\n}\n\nstatic void put_node",
         [twice("encoding")])],
    "a pack holds what its seal says": [
        ("a path may lead out", "memory/pack/pack_check.c", "(size == 2 && path[at] == '.' && path[at + 1] == '.'))", "false)",
         [unit("memory/test_pack")]),
        ("names are not looked at", "memory/pack/pack_check.c", "fine = fine && (unsigned char)name[i] >= ' ' && name[i] != 127;", "",
         [unit("memory/test_pack")]),
        ("texts need not be UTF-8", "memory/pack/pack_check.c", "return text_is_utf8(text.data, text.size);", "(void)text; return true;",
         [unit("memory/test_pack")]),
        ("what follows its vectors is not looked at", "memory/pack/pack_body.c", "    in->failed |= !count;", "    in->failed = false; in->at = in->size;",
         [unit("memory/test_pack")])],
    "a store of another time is opened or refused": [
        ("a later one is opened", "memory/store/store_env.c", "if (schema < OLDEST_SCHEMA || schema > SCHEMA)", "if (schema < OLDEST_SCHEMA)",
         [unit("memory/test_store"), e2e("store")]),
        ("an older one is not brought to this schema", "memory/store/store_env.c", "return schema < SCHEMA ? ERR_NOT_FOUND : 0;", "return 0;",
         [unit("memory/test_sums"), unit("memory/test_store"), e2e("store")]),
        ("it keeps a table that nobody knows any more", "memory/store/store_env.c", "        rc = drop_tokens(txn);", "        rc = 0;",
         [unit("memory/test_store"), e2e("store")]),
        ("it gets no sums", "memory/store/store_sums.c", "            rc = add_to_all(cursor, t);", "            rc = 0;",
         [unit("memory/test_sums")])],
}


def run(command, folder, seconds):
    try:
        return subprocess.run(command, shell=True, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds)
    except subprocess.TimeoutExpired as error:
        return subprocess.CompletedProcess(command, 124, error.stdout or b"")


def copy_tree(folder):
    os.makedirs(folder, exist_ok=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    subprocess.run(["rsync", "-rlp", "--checksum", "--from0", "--files-from=-", f"{ROOT}/", folder], input=files, check=True)
    os.makedirs(f"{folder}/build", exist_ok=True)
    for name in ("faiss", "manuals"):
        source = os.path.realpath(f"{ROOT}/build/{name}")
        if os.path.exists(source) and not os.path.lexists(f"{folder}/build/{name}"):
            os.symlink(source, f"{folder}/build/{name}")


def read_for(path, old):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.count(old) != 1:
        raise SystemExit(f"{path} has {text.count(old)} times: {old}")
    return text


def change(path, old, new):
    text = read_for(path, old)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(old, new))
    return text


def make(args, targets):
    return run(f"make -s -j{args.jobs} {args.make} {' '.join(targets)}", args.folder, 1800)


def caught_by(args, tests):
    """The test that failed, and its last line; None: nothing failed."""
    for targets, command, name in tests:
        built = make(args, targets)
        if built.returncode:
            return f"(does not build: {built.stdout.decode(errors='replace')[-300:]})"
        done = run(command, args.folder, 900)
        if done.returncode:
            lines = [line for line in done.stdout.decode(errors="replace").splitlines() if re.search("FAIL|fail|rror|orbidden|up to date", line)]
            if args.verbose:
                print("\n".join(lines[:6]))
            return name
    return None


def wanted(args):
    for rule, mutations in TABLE.items():
        for what, file, old, new, tests in mutations:
            if args.only in f"{rule} | {what} | {' '.join(test[2] for test in tests)}":
                yield rule, what, file, old, new, tests


def check_tests(args):
    tests = {test[1]: test for mutation in wanted(args) for test in mutation[5]}
    for targets, command, name in tests.values():
        if make(args, targets).returncode or run(command, args.folder, 900).returncode:
            raise SystemExit(f"{name} fails as it is: {command}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--trust", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--make", default="NVCC=")
    args = parser.parse_args()
    if args.check:
        for _, _, file, old, _, _ in wanted(args):
            read_for(os.path.join(ROOT, file), old)
        return 0
    if not args.folder:
        parser.error("--folder says where the copy is")
    args.folder = os.path.abspath(args.folder)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(3))  # so that what is changed is put back
    copy_tree(args.folder)
    if not args.trust and not args.list:
        check_tests(args)
    survived = 0
    for rule, what, file, old, new, tests in wanted(args):
        if args.list:
            print(f"| {rule} | {what} | {file} |")
            continue
        path = os.path.join(args.folder, file)
        since, text = time.time(), change(path, old, new)
        try:
            by = caught_by(args, tests)
        finally:
            with open(path, "w", encoding="utf-8") as out:
                out.write(text)
        survived += by is None or by.startswith("(")
        print(f"| {rule} | {what} | {by or 'NOTHING'} | {time.time() - since:.0f} s", flush=True)
    return survived > 0


if __name__ == "__main__":
    sys.exit(main())
