/* Tensor cores and asynchronous copies for the emulation: what
 * kernels/cuda/cuda_fragments.h says of a device, in plain loops.  A product's sum is
 * made in double and rounded once; a device's is rounded as it goes. */
#include "kernels/cuda/cuda_warpgroup.h"
#include "tests/cuda/emulated.h"
#include "tests/cuda/together.h"

enum {
    LANES = 32,
    MAX_THREADS = 1024,
    MAX_COPIES = 256,
    MAX_GROUPS = 8,
    GROUP_COLUMNS = 128, /* of a warpgroup's product, at most */
    MAX_PRODUCTS = 64    /* of a warpgroup, under way */
};

static float widen(unsigned half)
{
    return __uint_as_float(half << 16);
}

/* ---- Products ---- */

struct matmul {
    float *c;
    const unsigned *a, *b;
};

static void multiply_together(void *const *lanes)
{
    double a[16][16], b[16][8], c[16][8];
    for (unsigned lane = 0; lane < LANES; lane++) {
        const auto *own = static_cast<const struct matmul *>(lanes[lane]);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned e = 0; e < 8; e++) {
            unsigned half = own->a[e / 2] >> 16 * (e % 2) & 0xFFFFu;
            a[g + 8 * (e / 2 % 2)][2 * t + e % 2 + 8 * (e / 4)] = widen(half);
        }
        for (unsigned e = 0; e < 4; e++) {
            unsigned half = own->b[e / 2] >> 16 * (e % 2) & 0xFFFFu;
            b[2 * t + e % 2 + 8 * (e / 2)][g] = widen(half);
        }
        for (unsigned e = 0; e < 4; e++)
            c[g + 8 * (e / 2)][2 * t + e % 2] = own->c[e];
    }
    for (unsigned i = 0; i < 16; i++)
        for (unsigned k = 0; k < 16; k++)
            for (unsigned j = 0; j < 8; j++)
                c[i][j] += a[i][k] * b[k][j];
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned e = 0; e < 4; e++)
            static_cast<const struct matmul *>(lanes[lane])->c[e] =
                static_cast<float>(
                    c[lane / 4 + 8 * (e / 2)][2 * (lane % 4) + e % 2]);
}

void multiply_bf16(float *c, const unsigned *a, const unsigned *b)
{
    struct matmul own = {c, a, b};
    emulated_together(&own, multiply_together);
}

unsigned pack_bf16(float low, float high)
{
    return static_cast<unsigned>(to_bf16(high)) << 16 | to_bf16(low);
}

/* ---- Matrices ---- */

struct matrices {
    unsigned *to;
    const uint16_t *row;
};

template <bool TURNED> static void read_together(void *const *lanes)
{
    for (unsigned lane = 0; lane < LANES; lane++)
        for (unsigned m = 0; m < 4; m++) {
            unsigned value[2];
            for (unsigned e = 0; e < 2; e++) {
                unsigned across = lane / 4, along = 2 * (lane % 4) + e;
                unsigned row = TURNED ? along : across;
                const auto *from =
                    static_cast<const struct matrices *>(lanes[8 * m + row]);
                value[e] = from->row[TURNED ? across : along];
            }
            static_cast<const struct matrices *>(lanes[lane])->to[m] =
                value[0] | value[1] << 16;
        }
}

static struct matrices matrices_of(unsigned *to, const void *row)
{
    if (!aligned_16(row) || !emulated_is_shared(row, 16))
        emulated_wrong("a matrix's row is not 16 aligned bytes of shared "
                       "memory");
    return {to, static_cast<const uint16_t *>(row)};
}

void read_matrices(unsigned *to, const void *row)
{
    struct matrices own = matrices_of(to, row);
    race_access(row, 16, RACE_READ, __builtin_return_address(0));
    emulated_together(&own, read_together<false>);
}

void read_turned(unsigned *to, const void *row)
{
    struct matrices own = matrices_of(to, row);
    race_access(row, 16, RACE_READ, __builtin_return_address(0));
    emulated_together(&own, read_together<true>);
}

/* ---- A warpgroup's ---- */

static bool no_warpgroups;

void emulated_without_warpgroups(bool missing)
{
    no_warpgroups = missing;
}

bool has_warpgroups()
{
    return !no_warpgroups;
}

/* Of a thread: where copies lie that it waited for and did not publish since. */
struct unpublished {
    const void *at[MAX_COPIES];
    unsigned count;
};
static struct unpublished unpublished_of[MAX_THREADS];

void publish_shared(const char *file, unsigned line)
{
    unpublished_of[threadIdx.x].count = 0;
    race_publish(file, line);
}

static void check_published(uintptr_t from, uintptr_t to)
{
    for (unsigned t = 0; t < blockDim.x; t++)
        for (unsigned i = 0; i < unpublished_of[t].count; i++) {
            auto at = reinterpret_cast<uintptr_t>(unpublished_of[t].at[i]);
            if (at >= from && at < to)
                emulated_wrong("a warpgroup multiplies a copy that was not "
                               "published");
        }
}

struct group_matmul {
    float (*c)[4];
    const unsigned *a; /* or */
    const uint16_t *shared_a;
    const uint16_t *b;
    unsigned warp, columns;
    bool turned, fresh;
    unsigned panel; /* numbers */
    const void *caller;
};

/* A number of shared memory where the device looks for it: bits 4 to 6 of an address
 * are those by bits 7 to 9. */
static const uint16_t *group_number(const uint16_t *plain)
{
    auto address = reinterpret_cast<uintptr_t>(plain);
    address ^= (address >> 7 & 7) << 4;
    auto at = reinterpret_cast<const uint16_t *>(address);
    if (!emulated_is_shared(at, sizeof *at))
        emulated_wrong("a warpgroup's matrix is not all in shared memory");
    return at;
}

static const uint16_t *right_number(const struct group_matmul *of, unsigned k,
                                    unsigned j)
{
    return group_number(of->turned
                            ? of->b + j / 64 * of->panel + k * 64 + j % 64
                            : of->b + j * 64 + k);
}

/* Number (row, k) of the warp's 16 rows. */
static float left_number(void *const *lanes, unsigned row, unsigned k)
{
    const auto *its = static_cast<const struct group_matmul *>(
        lanes[row % 8 * 4 + k % 8 / 2]);
    if (its->shared_a)
        return widen(
            *group_number(its->shared_a + (its->warp % 4 * 16 + row) * 64 + k));
    return widen(its->a[row / 8 + k / 8 * 2] >> 16 * (k % 2) & 0xFFFFu);
}

/* Of a thread: products that are not made yet, in groups; they are when somebody waits
 * for them, so that who changes what they read, or reads their sums, sooner has other
 * numbers. */
struct products {
    struct group_matmul waiting[MAX_PRODUCTS];
    unsigned count;
    unsigned ends[MAX_GROUPS]; /* of each group, oldest first */
    unsigned groups;
    /* Made, but to the race detector, which did not count the wait. */
    struct group_matmul unseen[MAX_PRODUCTS];
    unsigned unseen_count;
};

static struct products products_of[MAX_THREADS];

static void multiply_group_together(void *const *lanes)
{
    const auto *first = static_cast<const struct group_matmul *>(lanes[0]);
    double left[16][16], right[16][GROUP_COLUMNS];
    for (unsigned k = 0; k < 16; k++) {
        for (unsigned row = 0; row < 16; row++)
            left[row][k] = static_cast<double>(left_number(lanes, row, k));
        for (unsigned j = 0; j < first->columns; j++)
            right[k][j] =
                static_cast<double>(widen(*right_number(first, k, j)));
    }
    for (unsigned lane = 0; lane < LANES; lane++) {
        const auto *own = static_cast<const struct group_matmul *>(lanes[lane]);
        for (unsigned i = 0; i < own->columns / 8; i++)
            for (unsigned e = 0; e < 4; e++) {
                unsigned row = lane / 4 + e / 2 * 8;
                unsigned j = i * 8 + lane % 4 * 2 + e % 2;
                double sum = own->fresh ? 0 : static_cast<double>(own->c[i][e]);
                for (unsigned k = 0; k < 16; k++)
                    sum += left[row][k] * right[k][j];
                own->c[i][e] = static_cast<float>(sum);
            }
    }
}

/* `rows` of a panel; their copies are published. */
static void check_rows(const uint16_t *at, unsigned rows)
{
    auto from = reinterpret_cast<uintptr_t>(at) & ~uintptr_t{127};
    check_published(from, from + 128 * rows);
}

/* Tells the race detector that the product begins, or is done.  Who reads what does not
 * matter to it, but that all is. */
static void read_all(const struct group_matmul *of, enum race_access how)
{
    const bool turned = of->turned;
    const unsigned rows = turned ? 16 : of->columns;
    const unsigned lane = lane_of_thread();
    for (unsigned i = lane; i < rows; i += LANES)
        for (unsigned j = 0; j < (turned ? of->columns : 16); j += 8)
            race_access(turned ? right_number(of, i, j)
                               : right_number(of, j, i),
                        16, how, of->caller);
    if (of->shared_a)
        race_access(group_number(of->shared_a +
                                 (of->warp % 4 * 16 + lane / 2) * 64 +
                                 lane % 2 * 8),
                    16, how, of->caller);
}

void emulated_multiply_group(float (*c)[4], const unsigned *a,
                             const uint16_t *shared_a, const uint16_t *b,
                             unsigned columns, bool turned, bool fresh,
                             unsigned panel)
{
    struct group_matmul own = {
        c,       a,      shared_a, b,     warp_of_thread(),
        columns, turned, fresh,    panel, __builtin_return_address(0)};
    if (columns > GROUP_COLUMNS)
        emulated_wrong("a warpgroup's product is wider than the emulation's");
    check_rows(b, turned ? 16 : columns);
    if (shared_a)
        check_rows(shared_a, 64);
    if (turned && columns > 64)
        check_rows(b + panel, 16);
    read_all(&own, RACE_PRODUCT);
    struct products *all = &products_of[threadIdx.x];
    if (all->count == MAX_PRODUCTS)
        emulated_wrong("more products under way than the emulation holds");
    all->waiting[all->count++] = own;
}

void commit_products()
{
    struct products *own = &products_of[threadIdx.x];
    if (own->groups == MAX_GROUPS)
        emulated_wrong("more groups of products than the emulation holds");
    own->ends[own->groups++] = own->count;
}

/* counts: to the race detector, too, with those before of which that was not so. */
static void see_products(struct products *own, unsigned done, bool counts)
{
    for (unsigned i = 0; i < done && own->unseen_count < MAX_PRODUCTS; i++)
        own->unseen[own->unseen_count++] = own->waiting[i];
    if (!counts)
        return;
    for (unsigned i = 0; i < own->unseen_count; i++)
        read_all(&own->unseen[i], RACE_MULTIPLIED);
    own->unseen_count = 0;
}

void emulated_wait_products(unsigned later, bool counts)
{
    struct products *own = &products_of[threadIdx.x];
    if (own->groups <= later)
        return;
    unsigned groups = own->groups - later, done = own->ends[groups - 1];
    for (unsigned i = 0; i < done; i++)
        emulated_together(&own->waiting[i], multiply_group_together);
    if (RACES_ARE_WATCHED)
        see_products(own, done, counts);
    own->count -= done;
    std::memmove(own->waiting, own->waiting + done,
                 own->count * sizeof own->waiting[0]);
    own->groups = later;
    for (unsigned i = 0; i < later; i++)
        own->ends[i] = own->ends[groups + i] - done;
}

/* ---- A matrix turned in its registers ---- */

struct turning {
    unsigned two, turned;
};

static void turn_together(void *const *lanes)
{
    for (unsigned lane = 0; lane < LANES; lane++) {
        unsigned value[2], row = lane / 4;
        for (unsigned e = 0; e < 2; e++) {
            unsigned from = (2 * (lane % 4) + e) * 4 + row / 2;
            const auto *its = static_cast<const struct turning *>(lanes[from]);
            value[e] = its->two >> row % 2 * 16 & 0xFFFFu;
        }
        static_cast<struct turning *>(lanes[lane])->turned =
            value[0] | value[1] << 16;
    }
}

unsigned turn_matrix(unsigned two)
{
    struct turning own = {two, 0};
    emulated_together(&own, turn_together);
    return own.turned;
}

/* ---- Copies ---- */

struct copy {
    void *to;
    const void *from;
    unsigned bytes;
};

/* Of a thread: the copies that are not made yet, in groups. */
struct copies {
    struct copy waiting[MAX_COPIES];
    unsigned count;
    unsigned ends[MAX_GROUPS]; /* of each group, oldest first */
    unsigned groups;
};

static struct copies copies_of[MAX_THREADS];

static void add_copy(void *shared, const void *global, unsigned bytes,
                     const void *caller)
{
    struct copies *own = &copies_of[threadIdx.x];
    if (reinterpret_cast<uintptr_t>(shared) % bytes ||
        reinterpret_cast<uintptr_t>(global) % bytes ||
        !emulated_is_shared(shared, bytes) || emulated_is_shared(global, bytes))
        emulated_wrong("an asynchronous copy is misaligned, or not from "
                       "global to shared memory");
    if (own->count == MAX_COPIES)
        emulated_wrong("more copies under way than the emulation holds");
    own->waiting[own->count++] = {shared, global, bytes};
    race_access(global, bytes, RACE_READ, caller);
    race_access(shared, bytes, RACE_COPY, caller);
}

void copy_16(void *shared, const void *global)
{
    add_copy(shared, global, 16, __builtin_return_address(0));
}

void copy_4(void *shared, const void *global)
{
    add_copy(shared, global, 4, __builtin_return_address(0));
}

void end_copies()
{
    struct copies *own = &copies_of[threadIdx.x];
    if (own->groups == MAX_GROUPS)
        emulated_wrong("more groups of copies than the emulation holds");
    own->ends[own->groups++] = own->count;
}

/* counts: to the race detector, too. */
void emulated_wait_copies(unsigned later, bool counts)
{
    struct copies *own = &copies_of[threadIdx.x];
    if (own->groups <= later)
        return;
    unsigned groups = own->groups - later, done = own->ends[groups - 1];
    struct unpublished *unpublished = &unpublished_of[threadIdx.x];
    for (unsigned i = 0; i < done; i++) {
        const struct copy *c = &own->waiting[i];
        std::memcpy(c->to, c->from, c->bytes);
        if (unpublished->count < MAX_COPIES)
            unpublished->at[unpublished->count++] = c->to;
        if (counts)
            race_access(c->to, c->bytes, RACE_COPIED,
                        __builtin_return_address(0));
    }
    own->count -= done;
    std::memmove(own->waiting, own->waiting + done,
                 own->count * sizeof own->waiting[0]);
    own->groups = later;
    for (unsigned i = 0; i < later; i++)
        own->ends[i] = own->ends[groups + i] - done;
}

void emulated_begin_copies()
{
    for (unsigned t = 0; t < blockDim.x; t++) {
        copies_of[t].count = copies_of[t].groups = 0;
        products_of[t].count = products_of[t].groups = 0;
        products_of[t].unseen_count = 0;
        unpublished_of[t].count = 0;
    }
}

void emulated_end_copies()
{
    for (unsigned t = 0; t < blockDim.x; t++) {
        if (copies_of[t].count || products_of[t].count)
            emulated_wrong("a block ended with copies or products under way");
        if (products_of[t].unseen_count)
            race_products_left();
    }
}
