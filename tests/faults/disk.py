"""What a disk may hold after a power cut, from a log of record.so (record.h).

Model: a file's pages and its size reach the disk when it is flushed, or when the system likes; of
a page that was written several times, any state since the last flush may be there.  Names (made,
renamed, removed) reach it when their folder is flushed, or when the system likes.
"""
import os
import struct

OPEN, CLOSE, WRITE, WRITTEN, TRUNCATE, SYNC, RENAME, UNLINK, MKDIR, MAP, SYNC_ALL = range(1, 12)
PAGE = 4096
FOLDER = object()  # what a folder's name stands for


def read_log(path):
    """[(time, kind, fd, at, payload)]"""
    records = []
    with open(path, "rb") as file:
        while head := file.read(32):
            time, kind, fd, at, size = struct.unpack("<QIiQQ", head)
            records.append((time, kind, fd, at, file.read(size)))
    return records


class File:
    def __init__(self, content=b""):
        self.now = bytearray(content)
        self.durable = bytearray(content)
        self.pages = {}  # number -> its states since the last flush
        self.sizes = []  # the same of the file's size

    def write(self, at, data, durable):
        if at > len(self.now):
            self.now += bytes(at - len(self.now))
        self.now[at:at + len(data)] = data
        for page in range(at // PAGE, (at + len(data) - 1) // PAGE + 1):
            state = bytes(self.now[page * PAGE:(page + 1) * PAGE])
            if durable:
                put_page(self.durable, page, state)
                self.pages.pop(page, None)
            else:
                self.pages.setdefault(page, []).append(state)
        self.sizes.append(len(self.now))

    def truncate(self, size):
        if size < len(self.now):
            del self.now[size:]
            self.pages = {p: states for p, states in self.pages.items() if p * PAGE < size}
        self.now += bytes(size - len(self.now))
        self.sizes.append(size)

    def sync(self):
        self.durable = bytearray(self.now)
        self.pages, self.sizes = {}, []

    def cut(self, keep, dice):
        content = bytearray(self.durable)
        sizes = [len(content)] + self.sizes
        size = sizes[choose(len(sizes), keep, dice)]
        for page, states in self.pages.items():
            kept = choose(len(states) + 1, keep, dice)
            if kept:
                put_page(content, page, states[kept - 1])
        if size < len(content) and self.sizes and min(self.sizes) < len(self.durable):
            del content[size:]  # it was cut short since its flush
        return bytes(content) + bytes(max(0, size - len(content)))


def put_page(content, page, state):
    if page * PAGE > len(content):
        content += bytes(page * PAGE - len(content))
    content[page * PAGE:page * PAGE + len(state)] = state


def choose(count, keep, dice):
    """Of the states 0 (on the disk) to count - 1 (the last): the first, the last, or any."""
    return {"none": 0, "all": count - 1}[keep] if keep != "some" else dice.randrange(count)


def plain(path):
    """Without . and ..; the folder itself is "" (no link is ever made in it)."""
    path = os.path.normpath(path) if path else ""
    return "" if path == "." else path


def parent(path):
    return os.path.dirname(path)


class Disk:
    def __init__(self, folder):
        """As the folder stands now, all of it on the disk."""
        self.names, self.durable_names = {}, {}
        self.changes = []  # of names, since they were flushed: [{path: what or None}]
        self.open, self.mapped = {}, set()
        for where, folders, files in os.walk(folder):
            for name in folders:
                self.names[os.path.relpath(os.path.join(where, name), folder)] = FOLDER
            for name in files:
                with open(os.path.join(where, name), "rb") as file:
                    self.names[os.path.relpath(os.path.join(where, name), folder)] = File(file.read())
        self.durable_names.update(self.names)

    def rename_all(self, change):
        self.changes.append(change)
        apply(self.names, change)

    def apply(self, record):
        _, kind, fd, at, payload = record
        if kind in (WRITE, WRITTEN):
            self.open[fd][1].write(at, payload, kind == WRITTEN)
        elif kind == TRUNCATE:
            self.open[fd][1].truncate(at)
        elif kind == SYNC:
            self.sync(*self.open[fd])
        elif kind == SYNC_ALL:
            for what in self.names.values():
                if what is not FOLDER:
                    what.sync()
            self.settle_names(lambda path: True)
        elif kind == OPEN:
            self.opened(fd, at, plain(payload.decode()))
        elif kind == CLOSE:
            self.open.pop(fd, None)
        elif kind == MAP:
            self.mapped.add(self.open[fd][0])
        elif kind == RENAME:
            old, new = map(plain, payload.decode().split("\0")[:2])
            change = {old: None, new: self.names[old]}
            for path, what in self.names.items():
                if path.startswith(old + "/"):
                    change.update({path: None, new + path[len(old):]: what})
            self.rename_all(change)
        elif kind == UNLINK:
            self.rename_all({plain(payload.decode()): None})
        elif kind == MKDIR:
            self.rename_all({plain(payload.decode()): FOLDER})

    def opened(self, fd, flags, path):
        if path not in self.names and flags & os.O_CREAT:
            self.rename_all({path: File()})
        what = self.names.get(path, FOLDER)
        if flags & os.O_TRUNC and what is not FOLDER:
            what.truncate(0)
        self.open[fd] = (path, what)

    def sync(self, path, what):
        if what is FOLDER:
            self.settle_names(lambda name: parent(name) == path)
        else:
            what.sync()

    def settle_names(self, meant):
        waiting = []
        for change in self.changes:
            if any(map(meant, change)):
                apply(self.durable_names, change)
            else:
                waiting.append(change)
        self.changes = waiting

    def cut(self, keep, dice):
        """{path: bytes, or FOLDER} as the disk may have it."""
        names, dropped = dict(self.durable_names), set()
        in_order = dice.random() < 0.5
        most = choose(len(self.changes) + 1, keep, dice)
        for i, change in enumerate(self.changes):
            kept = i < most if in_order or keep != "some" else dice.random() < 0.5
            if kept and not dropped & change.keys():
                apply(names, change)
            else:
                dropped |= change.keys()
        return {path: what if what is FOLDER else what.cut(keep, dice)
                for path, what in names.items() if has_parents(names, path)}


def apply(names, change):
    for path, what in change.items():
        if what is None:
            names.pop(path, None)
        else:
            names[path] = what


def has_parents(names, path):
    while path := parent(path):
        if names.get(path) is not FOLDER:
            return False
    return True


def write_out(image, folder):
    for path in sorted(image):
        full = os.path.join(folder, path)
        if image[path] is FOLDER:
            os.makedirs(full, mode=0o700, exist_ok=True)
        else:
            with open(full, "wb") as file:
                file.write(image[path])
