/* The log of record.so: what a program did, in order, to the files below one
 * folder.  Little-endian, packed by hand:
 *
 *     time u64    nanoseconds of CLOCK_MONOTONIC, once it was done
 *     kind u32    enum record_kind
 *     fd   i32    -1: none
 *     at   u64    offset; of OPEN: its flags; of TRUNCATE: the new size
 *     size u64    bytes of payload that follow
 *     payload     data written; of paths, relative to the folder ("" itself):
 *                 of RENAME two, each ended by a 0 byte
 *
 * powercut.py reads it. */
#ifndef TESTS_FAULTS_RECORD_H
#define TESTS_FAULTS_RECORD_H

enum record_kind {
    RECORD_OPEN = 1,
    RECORD_CLOSE,
    RECORD_WRITE,    /* to the page cache */
    RECORD_WRITTEN,  /* and to the disk: O_SYNC, O_DSYNC */
    RECORD_TRUNCATE, /* also of fallocate that makes a file longer */
    RECORD_SYNC,     /* fsync or fdatasync, of a folder too */
    RECORD_RENAME,
    RECORD_UNLINK,
    RECORD_MKDIR,
    RECORD_MAP,     /* shared and writable: what is written cannot be seen */
    RECORD_SYNC_ALL /* sync, syncfs */
};

#endif
