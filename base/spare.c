/* The region is a row of blocks, each behind its head:
 *
 *     head │ bytes │ head │ bytes │ ... │ end (a head of size 0, in use)
 *
 * Free neighbours are one block.  A search begins where the last one ended.  What is
 * aligned to more than a head stands somewhere in its block, behind a head of size 0
 * whose `before` says how far the block's own is. */
#include "base/spare.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>

struct head {
    size_t before; /* bytes of the block before, with its head; 0: none */
    size_t size;   /* bytes with this head, a multiple of 16; | 1: in use */
};

enum { HEAD = 16, IN_USE = 1 };
_Static_assert(sizeof(struct head) == HEAD, "blocks stay aligned");

static struct {
    pthread_mutex_t lock;
    atomic_uintptr_t from, to; /* 0: not opened */
    struct head *rover;        /* where the next search begins */
    atomic_size_t used;
    void (*notice)(void *context);
    void *context;
} spare = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t size_of(const struct head *head)
{
    return head->size & ~(size_t)IN_USE;
}

static struct head *at_offset(struct head *head, size_t bytes)
{
    return (struct head *)(void *)((char *)head + bytes);
}

static struct head *first(void)
{
    return (struct head *)atomic_load(&spare.from);
}

/* Makes it one block, free or not, and tells the one behind. */
static void set(struct head *head, size_t size, size_t in_use)
{
    head->size = size | in_use;
    at_offset(head, size)->before = size;
}

bool spare_open(size_t bytes)
{
    bytes &= ~(size_t)(HEAD - 1);
    if (bytes < 4 * HEAD)
        return false;
    pthread_mutex_lock(&spare.lock);
    bool opened = !atomic_load(&spare.from);
    void *region = opened ? mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                          : MAP_FAILED;
    opened = region != MAP_FAILED;
    if (opened) {
        spare.rover = region;
        spare.rover->before = 0;
        set(spare.rover, bytes - HEAD, 0);
        at_offset(spare.rover, bytes - HEAD)->size = IN_USE;
        atomic_store(&spare.to, (uintptr_t)region + bytes);
        atomic_store(&spare.from, (uintptr_t)region);
    }
    pthread_mutex_unlock(&spare.lock);
    return opened;
}

void spare_on_shortage(void (*notice)(void *context), void *context)
{
    pthread_mutex_lock(&spare.lock);
    spare.notice = notice;
    spare.context = context;
    pthread_mutex_unlock(&spare.lock);
}

/* A free block of that size or more, or NULL. */
static struct head *find(size_t need)
{
    struct head *at = spare.rover;
    do {
        if (!(at->size & IN_USE) && at->size >= need)
            return at;
        at = at_offset(at, size_of(at));
        if (!size_of(at))
            at = first();
    } while (at != spare.rover);
    return NULL;
}

static void split(struct head *head, size_t need)
{
    size_t rest = head->size - need;
    if (rest < 2 * HEAD) {
        set(head, head->size, IN_USE);
        return;
    }
    set(head, need, IN_USE);
    set(at_offset(head, need), rest, 0);
}

void *spare_take(size_t bytes)
{
    if (!atomic_load(&spare.from) || bytes > SIZE_MAX / 2)
        return NULL;
    size_t need = HEAD + ((bytes ? bytes : 1) + HEAD - 1) / HEAD * HEAD;
    pthread_mutex_lock(&spare.lock);
    struct head *head = find(need);
    if (head) {
        split(head, need);
        struct head *next = at_offset(head, size_of(head));
        spare.rover = size_of(next) ? next : first();
        atomic_fetch_add(&spare.used, size_of(head));
        if (spare.notice)
            spare.notice(spare.context);
    }
    pthread_mutex_unlock(&spare.lock);
    return head ? (char *)head + HEAD : NULL;
}

void *spare_take_aligned(size_t alignment, size_t bytes)
{
    if (alignment <= HEAD)
        return spare_take(bytes);
    if (alignment > SIZE_MAX / 4 || bytes > SIZE_MAX / 4)
        return NULL;
    char *block = spare_take(bytes + alignment + HEAD);
    if (!block)
        return NULL;
    uintptr_t at = ((uintptr_t)block + alignment) & ~(alignment - 1);
    if (at == (uintptr_t)block)
        return block;
    struct head *inner = (struct head *)(at - HEAD);
    *inner = (struct head){at - (uintptr_t)block, IN_USE};
    return (void *)at;
}

static bool is_of_spare(const void *pointer)
{
    uintptr_t at = (uintptr_t)pointer, from = atomic_load(&spare.from);
    return from && at >= from && at < atomic_load(&spare.to);
}

/* Of its block. */
static struct head *head_of(const void *pointer)
{
    struct head *head = (struct head *)((uintptr_t)pointer - HEAD);
    return size_of(head) ? head
                         : (struct head *)((uintptr_t)head - head->before);
}

bool spare_give(void *pointer)
{
    if (!is_of_spare(pointer))
        return false;
    pthread_mutex_lock(&spare.lock);
    struct head *head = head_of(pointer);
    size_t size = size_of(head);
    atomic_fetch_sub(&spare.used, size);
    struct head *next = at_offset(head, size);
    if (!(next->size & IN_USE))
        size += next->size;
    struct head *before =
        head->before ? (struct head *)((uintptr_t)head - head->before) : NULL;
    if (before && !(before->size & IN_USE)) {
        size += before->size;
        head = before;
    }
    set(head, size, 0);
    spare.rover = head;
    pthread_mutex_unlock(&spare.lock);
    return true;
}

size_t spare_size(const void *pointer)
{
    if (!is_of_spare(pointer))
        return 0;
    const struct head *head = head_of(pointer);
    return (size_t)((uintptr_t)head + size_of(head) - (uintptr_t)pointer);
}

size_t spare_used(void)
{
    return atomic_load(&spare.used);
}

bool spare_is_low(void)
{
    size_t all = atomic_load(&spare.to) - atomic_load(&spare.from);
    return all && spare_used() > all / 2;
}
