/* The operations of HiLS attention: every table against `ref`, and what must hold
 * of them whatever the numbers are. */
#include "tests/unit/support/summaries.h"

/* ---- Every table against ref ---- */

/* The inputs of HiLS attention, host arrays. */
struct hils {
    struct kernel_hils sizes;
    float *q, *qhat, *k, *v, *key, *bias;
    int32_t *position, *landmark;
    size_t queries, keys, summaries; /* floats of q, k, key */
    size_t chosen;                   /* ids */
    size_t means;                    /* of a chunk's keys; 0: summaries */
};

/* Of what a chunk is chosen by, biases aside. */
static size_t chunk_floats(const struct hils *h)
{
    const struct kernel_hils *z = &h->sizes;
    return h->means ? kernel_means_floats(z->hkv, h->means, z->d)
                    : z->hq * z->d;
}

/* Numbers become means. */
static void round_means(struct hils *h)
{
    size_t count = 2 * h->summaries;
    uint16_t *means = mem_alloc((count + 2) * sizeof *means);
    for (size_t i = 0; i < count; i++)
        means[i] = ref_to_bf16(h->key[i % h->summaries] * (i & 1 ? 1 : -1));
    memcpy(h->key, means, h->summaries * sizeof *h->key);
    free(means);
}

/* The last m slots ask; every chunk's last slot is a landmark, or none is; `means` as
 * of struct hils. */
static struct hils make_hils_by(struct bench *b, struct kernel_hils z,
                                bool landmarks, float scale, size_t means)
{
    z.chunks = z.n / z.chunk;
    struct hils h = {.sizes = z,
                     .queries = z.m * z.hq * z.d,
                     .keys = z.n * z.hkv * z.d,
                     .means = means,
                     .chosen = z.m * z.hkv * z.top_k};
    h.summaries = z.chunks * chunk_floats(&h);
    h.q = numbers(b, h.queries, scale);
    h.qhat = numbers(b, h.queries, scale);
    h.k = numbers(b, h.keys, scale);
    h.v = numbers(b, h.keys, 1);
    h.key = numbers(b, h.summaries, scale);
    if (means)
        round_means(&h);
    h.bias = numbers(b, z.chunks * z.hq, 2);
    h.position = mem_alloc(z.m * sizeof *h.position);
    h.landmark = mem_alloc(z.n * sizeof *h.landmark);
    for (size_t i = 0; i < z.m; i++)
        h.position[i] = (int32_t)(z.n - z.m + i);
    for (size_t j = 0; landmarks && j < z.n; j++)
        h.landmark[j] = j % z.chunk == z.chunk - 1;
    return h;
}

static struct hils make_hils(struct bench *b, struct kernel_hils z,
                             bool landmarks, float scale)
{
    return make_hils_by(b, z, landmarks, scale, 0);
}

static void free_hils(struct hils *h)
{
    free(h->q);
    free(h->qhat);
    free(h->k);
    free(h->v);
    free(h->key);
    free(h->bias);
    free(h->position);
    free(h->landmark);
}

/* chosen, out: host arrays of the processor. */
static void run_hils(const struct kernels *table, struct kernel_run *run,
                     const struct hils *h, int32_t *chosen, float *out)
{
    const struct kernel_hils *z = &h->sizes;
    float **keys = host_table(h->key, z->chunks, chunk_floats(h));
    float **biases = host_table(h->bias, z->chunks, z->hq);
    const float *k = h->k, *v = h->v;
    struct kernel_summaries summaries = {
        .keys = keys, .biases = h->means ? NULL : biases, .means = h->means};
    struct kernel_pages pages = one_page(&k, &v, z->n);
    assert_int_equal(table->hils_choose(run, chosen, h->q, h->qhat, &pages,
                                        &summaries, h->position, h->landmark,
                                        z),
                     0);
    assert_int_equal(table->hils_attention(run, out, h->q, h->qhat, &pages,
                                           &summaries, h->position, h->landmark,
                                           chosen, z),
                     0);
    free(keys);
    free(biases);
}

/* What chunks are chosen by on the bench. */
static struct kernel_summaries put_what_is_known(struct bench *b,
                                                 const struct hils *h)
{
    const struct kernel_hils *z = &h->sizes;
    size_t wide = z->hq * z->d;
    if (h->means)
        return (struct kernel_summaries){
            .keys = put_table(b, put(b, h->key, h->summaries), z->chunks,
                              chunk_floats(h)),
            .means = h->means};
    return (struct kernel_summaries){
        .keys = put_table(b, put_summaries(b, h->key, z->chunks, wide),
                          z->chunks, kept_floats(b, wide)),
        .biases =
            put_table(b, put(b, h->bias, z->chunks * z->hq), z->chunks, z->hq),
        .type = b->kept};
}

/* The inputs on the bench, keys and values in pages of one chunk, by slots or by
 * heads. */
struct laid {
    struct kernel_pages pages;
    struct kernel_summaries summaries;
    const float *q, *qhat;
    const int32_t *position, *landmark;
    int32_t *chosen; /* room for a choice */
};

static struct laid lay(struct bench *b, const struct hils *h, bool by_head)
{
    const struct kernel_hils *z = &h->sizes;
    return (struct laid){
        .pages = {.keys =
                      lay_pages(b, h->k, z->n, z->hkv, z->d, z->chunk, by_head),
                  .values =
                      lay_pages(b, h->v, z->n, z->hkv, z->d, z->chunk, by_head),
                  .slots = z->chunk,
                  .type = b->kept,
                  .by_head = by_head},
        .summaries = put_what_is_known(b, h),
        .q = put(b, h->q, h->queries),
        .qhat = put(b, h->qhat, h->queries),
        .position = put_i32(b, h->position, z->m),
        .landmark = h->landmark ? put_i32(b, h->landmark, z->n) : NULL,
        .chosen = put_i32(b, NULL, h->chosen)};
}

/* Their choice; mine: a host array. */
static bool choose(struct bench *b, const struct hils *h, const struct laid *at,
                   int32_t *mine)
{
    return done(b, "hils_choose",
                b->table->hils_choose(&b->run, at->chosen, at->q, at->qhat,
                                      &at->pages, &at->summaries, at->position,
                                      at->landmark, &h->sizes)) &&
           !b->table->download(&b->run, mine, at->chosen,
                               h->chosen * sizeof *mine);
}

/* The same on the bench. */
static void check_hils(struct bench *b, const struct hils *h,
                       const int32_t *chosen, const float *expected,
                       bool by_head)
{
    const struct kernel_hils *z = &h->sizes;
    int32_t *choice = mem_alloc(h->chosen * sizeof *choice);
    float *host = poisoned(h->queries);
    const struct laid at = lay(b, h, by_head);
    const int32_t *right = put_i32(b, chosen, h->chosen);
    float *out = put(b, NULL, h->queries);
    if (choose(b, h, &at, choice))
        check_same(b->label, "hils_choose", choice, chosen,
                   h->chosen * sizeof *choice);
    if (done(b, "hils_attention",
             b->table->hils_attention(&b->run, out, at.q, at.qhat, &at.pages,
                                      &at.summaries, at.position, at.landmark,
                                      right, z)))
        check_attention(b, "hils_attention", out, expected, h->queries,
                        z->m * z->hq / z->hkv);
    if (on_processor(b)) {
        b->table->hils_choose(&alone, choice, at.q, at.qhat, &at.pages,
                              &at.summaries, at.position, at.landmark, z);
        b->table->hils_attention(&alone, host, at.q, at.qhat, &at.pages,
                                 &at.summaries, at.position, at.landmark, right,
                                 z);
        check_same(b->label, "hils on one thread", out, host,
                   h->queries * sizeof *host);
        check_same(b->label, "hils's choice on one thread", at.chosen, choice,
                   h->chosen * sizeof *choice);
    }
    settle(b, "hils");
    free(choice);
    free(host);
}

static void drive_hils_of(struct bench *b, struct kernel_hils sizes,
                          bool landmarks, float scale, bool by_head,
                          size_t means)
{
    struct hils h = make_hils_by(b, sizes, landmarks, scale, means);
    int32_t *chosen = mem_alloc(h.chosen * sizeof *chosen);
    float *expected = poisoned(h.queries);
    keep(b, h.k, h.keys);
    keep(b, h.v, h.keys);
    if (!means)
        keep(b, h.key, h.summaries);
    run_hils(ref, &alone, &h, chosen, expected);
    check_hils(b, &h, chosen, expected, by_head);
    free(chosen);
    free(expected);
    free_hils(&h);
}

/* m, n, chunks (counted later), hq, hkv, d, chunk, window, top_k */
static const struct kernel_hils hils_sizes[] = {
    {1, 1, 0, 1, 1, 1, 2, 1, 1, false, false},
    {30, 30, 0, 2, 1, 5, 3, 2, 2, false, false},
    {7, 66, 0, 6, 2, 33, 8, 19, 3, false, false},
    {90, 90, 0, 3, 3, 16, 8, 16, 40, false, false},
    {12, 500, 0, 8, 2, 64, 64, 100, 2, false, false},
    {1, 700, 0, 16, 1, 130, 7, 64, 32, false, false},
    {5, 700, 0, 4, 4, 300, 16, 200, 5, false, false},
    {100, 400, 0, 4, 2, 20, 4, 9, 3, false, false}, /* several tiles */
    {9, 300, 0, 8, 2, 96, 64, 70, 3, false, false},
    {21, 200, 0, 4, 1, 128, 20, 40, 5, false, false},
    {3, 300, 0, 4, 2, 24, 70, 80, 2, false, false},
    {2, 2900, 0, 4, 2, 8, 2, 20, 16, false, false}, /* many candidates, */
    {2, 1100, 0, 2, 1, 4, 2, 9, 300, false, false}, /* many chosen */
    /* Many queries and candidates: */
    {33, 2900, 0, 4, 2, 64, 4, 20, 16, false, false},
    {150, 1100, 0, 3, 1, 24, 2, 30, 5, false, false}};
enum { HILS_SIZES = sizeof hils_sizes / sizeof hils_sizes[0] };

/* Means of a chunk of so many slots. */
static size_t means_for(size_t chunk)
{
    return chunk % 8 == 0 ? 8 : chunk % 2 == 0 ? 2 : 1;
}

/* Queries asked one by one get what they get together. */
static void tiles_do_not_matter(void **state)
{
    (void)state;
    for (size_t i = 0; i < HILS_SIZES; i++)
        for (int way = 0; way < 3; way++) {
            struct bench b = {.table = kernels_cpu(), .random = 31 + i};
            struct kernel_hils z = hils_sizes[i];
            z.exact = way;
            z.m = z.n < 40 ? z.n : 40;
            struct hils h =
                make_hils_by(&b, z, !way, 1, way > 1 ? means_for(z.chunk) : 0);
            size_t row = z.hq * z.d, ids = z.hkv * z.top_k;
            int32_t *chosen = mem_alloc(h.chosen * sizeof *chosen);
            int32_t *own = mem_alloc(ids * sizeof *own);
            float *out = poisoned(h.queries), *one = poisoned(row);
            run_hils(b.table, &b.run, &h, chosen, out);
            for (size_t m = 0; m < z.m; m++) {
                struct hils single = h;
                single.sizes.m = 1;
                single.q += m * row;
                single.qhat += m * row;
                single.position += m;
                run_hils(b.table, &b.run, &single, own, one);
                check_same("cpu", "choice of one", own, chosen + m * ids,
                           ids * sizeof *own);
                check_error("one query", one, out + m * row, row, 1e-5);
            }
            free(chosen);
            free(own);
            free(out);
            free(one);
            free_hils(&h);
        }
}

/* Heads whose lists are as long as a tile has room for, and differ: all but the
 * nearly equal are chosen as the oracle does. */
static void long_lists_are_joined(void **state)
{
    (void)state;
    enum { TOP_K = 4096, NEARLY_EQUAL = 2 };
    struct kernel_hils z = {1, 60000, 0, 4, 1, 4, 1, 1, TOP_K, true, false};
    struct bench b = {.table = kernels_cpu(), .random = 71};
    struct hils h = make_hils(&b, z, false, 1);
    int32_t *chosen = mem_alloc(h.chosen * sizeof *chosen);
    int32_t *expected = mem_alloc(h.chosen * sizeof *expected);
    float *out = poisoned(h.queries);
    run_hils(kernels_ref(), &alone, &h, expected, out);
    run_hils(b.table, &alone, &h, chosen, out);
    size_t alike = 0;
    for (size_t i = 0, j = 0; i < TOP_K; i++) {
        assert_true(chosen[i] > (i ? chosen[i - 1] : -1));
        while (j < TOP_K && expected[j] < chosen[i])
            j++;
        alike += j < TOP_K && expected[j] == chosen[i];
    }
    assert_true(alike >= TOP_K - NEARLY_EQUAL);
    free(chosen);
    free(expected);
    free(out);
    free_hils(&h);
}

/* Of many that are worth the same the first are chosen, whoever looks. */
static void drive_hils_ties(struct bench *b, size_t m)
{
    struct kernel_hils z = {m, 2900, 0, 4, 2, 8, 2, 20, 16, true, false};
    struct hils h = make_hils(b, z, true, 1);
    int32_t *chosen = mem_alloc(h.chosen * sizeof *chosen);
    float *expected = poisoned(h.queries);
    memset(h.key, 0, h.summaries * sizeof *h.key);
    for (size_t i = 0; i < h.sizes.chunks * z.hq; i++)
        h.bias[i] = i / z.hq % 700 == 699; /* two of them, far apart */
    keep(b, h.k, h.keys);
    keep(b, h.v, h.keys);
    run_hils(ref, &alone, &h, chosen, expected);
    assert_int_equal(chosen[0], 0);
    assert_int_equal(chosen[15], 1399);
    check_hils(b, &h, chosen, expected, true);
    free(chosen);
    free(expected);
    free_hils(&h);
}

/* Score of chunk c in query i's head, a head a key-value head; *ret_slack: what
 * rounding the summary to bf16 may move it by, 2^-9 of each number. */
static double score_of_chunk(const struct hils *h, size_t i, size_t head,
                             size_t c, double *ret_slack)
{
    const struct kernel_hils *z = &h->sizes;
    const float *q = h->qhat + (i * z->hq + head) * z->d;
    const float *key = h->key + (c * z->hq + head) * z->d;
    double sum = 0, all = 0;
    for (size_t l = 0; l < z->d; l++) {
        sum += (double)q[l] * (double)key[l];
        all += fabs((double)q[l] * (double)key[l]);
    }
    *ret_slack = (all * 0x1p-9 + 1e-5 * all) / sqrt((double)z->d);
    return sum / sqrt((double)z->d) + (double)h->bias[c * z->hq + head];
}

/* Of query i's and head's chunks those not chosen in f32 as well; each scores no less
 * in f32 than the lowest that is, but by what rounding moves the two. */
static size_t chosen_otherwise(const struct hils *h, size_t i, size_t head,
                               const int32_t *mine, const int32_t *whole)
{
    size_t top_k = h->sizes.top_k, others = 0;
    double lowest = INFINITY, most = 0, slack;
    for (size_t k = 0; k < top_k; k++)
        lowest =
            fmin(lowest, score_of_chunk(h, i, head, (size_t)whole[k], &slack));
    for (size_t c = 0; c < h->sizes.chunks; c++) {
        score_of_chunk(h, i, head, c, &slack);
        most = fmax(most, slack);
    }
    for (size_t k = 0; k < top_k; k++) {
        bool there = false;
        for (size_t o = 0; o < top_k; o++)
            there = there || whole[o] == mine[k];
        double its = score_of_chunk(h, i, head, (size_t)mine[k], &slack);
        if (!(its >= lowest - 2 * most))
            fail_msg("chunk %d scores %g, not %g", (int)mine[k], its, lowest);
        others += !there;
    }
    return others;
}

/* Summaries in bf16 against a reference with those that were not rounded: few and many
 * queries choose the same chunks but for such as are nearly equal. */
static void drive_rounded_choice(struct bench *b, size_t m)
{
    struct kernel_hils z = {m, 2200, 0, 4, 4, 64, 4, 20, 16, false, false};
    struct hils h = make_hils(b, z, true, 4);
    size_t others = 0;
    int32_t *whole = mem_alloc(h.chosen * sizeof *whole);
    int32_t *mine = mem_alloc(h.chosen * sizeof *mine);
    float *out = poisoned(h.queries);
    run_hils(ref, &alone, &h, whole, out);
    const struct laid at = lay(b, &h, true);
    assert_true(choose(b, &h, &at, mine));
    for (size_t row = 0; row < z.m * z.hkv; row++)
        others += chosen_otherwise(&h, row / z.hkv, row % z.hkv,
                                   mine + row * z.top_k, whole + row * z.top_k);
    if (others > h.chosen / 100)
        fail_msg("%s: %zu of %zu chosen otherwise", b->label, others, h.chosen);
    settle(b, "rounded choice");
    free(whole);
    free(mine);
    free(out);
    free_hils(&h);
}

/* By emulation, which takes its time, half of the kinds of memory: of each size
 * and way one that is aligned and one that is not, one of bf16 and one of f32. */
static bool is_excluded(const struct bench *b, size_t turn)
{
    const char *reason;
    bool bf16 = b->kept == KERNEL_BF16;
    return b->table == kernels_emulated(&reason) &&
           (turn + b->shift + bf16) % 2;
}

/* So many chunks that they are weighed in larger groups, unless many are chosen; and
 * queries that are not all asked about at once. */
static void drive_many_chunks(struct bench *b)
{
    enum { FEW_SCORES = 200000 };
    static const struct kernel_hils many = {33, 8600, 0, 2,     1,    8,
                                            2,  20,   5, false, false},
                                    more_chosen = {33, 8600, 0,  2,     1,    8,
                                                   2,  20,   40, false, false},
                                    batches = {150, 1100, 0, 3,     1,    24,
                                               2,   30,   5, false, false};
    drive_hils_of(b, many, true, 1, true, 0);
    drive_hils_of(b, more_chosen, true, 1, true, 0);
    emulated_max_scores(FEW_SCORES);
    drive_hils_of(b, batches, true, 1, true, 0);
    emulated_max_scores(0);
}

static void drive_hils(struct bench *b)
{
    static const struct {
        bool exact, softmax1, landmarks;
        float scale;
        bool means;
    } ways[] = {{false, false, true, 1, false}, {true, false, false, 1, false},
                {false, true, true, 4, false},  {true, true, true, 4, false},
                {true, false, false, 1, true},  {true, false, false, 4, true}};
    for (size_t i = 0; i < HILS_SIZES; i++)
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++) {
            struct kernel_hils z = hils_sizes[i];
            z.exact = ways[w].exact;
            z.softmax1 = ways[w].softmax1;
            bool by_head = (i + w / 2) % 2; /* each size both */
            if (!is_excluded(b, i + w))
                drive_hils_of(b, z, ways[w].landmarks, ways[w].scale, by_head,
                              ways[w].means ? means_for(z.chunk) : 0);
        }
    drive_hils_ties(b, 2);
    drive_hils_ties(b, 40);
    if (b->kept == KERNEL_F32)
        return;
    drive_rounded_choice(b, 2);
    drive_rounded_choice(b, 32);
    drive_many_chunks(b);
}

/* No queries, no chunks: nothing is touched. */
static void drive_nothing(struct bench *b)
{
    struct kernel_hils z = {
        .n = 4, .hq = 2, .hkv = 1, .d = 3, .chunk = 2, .window = 1, .top_k = 2};
    float *x = put(b, NULL, 24);
    int32_t *chosen = put_i32(b, NULL, 4);
    struct kernel_pages pages = {.keys = put_table(b, x, 1, 1), .slots = 4};
    struct kernel_summaries summaries = {.keys = put_table(b, x, 1, 1),
                                         .biases = put_table(b, x, 1, 1)};
    pages.values = pages.keys;
    struct kernel_summaries means = {.keys = summaries.keys, .means = 2};
    done(
        b, "chunk_summary",
        b->table->chunk_summary(&b->run, &summaries, &pages, 0, 0, 8, 2, 1, 3));
    done(b, "chunk_means",
         b->table->chunk_means(&b->run, &means, &pages, 0, 0, 8, 1, 3));
    done(b, "hils_choose",
         b->table->hils_choose(&b->run, chosen, x, x, &pages, &summaries, NULL,
                               NULL, &z));
    done(b, "hils_attention",
         b->table->hils_attention(&b->run, x, x, x, &pages, &summaries, NULL,
                                  NULL, chosen, &z));
    done(b, "star_attention",
         b->table->star_attention(&b->run, x, x, &pages, x, 0, 4, 2, 1, 3, 2,
                                  1));
    float *host = mem_alloc(24 * sizeof *host), *expected = poisoned(24);
    b->table->download(&b->run, host, x, 24 * sizeof *host);
    assert_memory_equal(host, expected, 24 * sizeof *host);
    b->table->download(&b->run, host, chosen, 4 * sizeof *host);
    assert_memory_equal(host, expected, 4 * sizeof *host);
    settle(b, "nothing");
    free(host);
    free(expected);
}

DRIVE_PAGES(hils)
DRIVE(nothing)

/* ---- What must hold ---- */

/* Whichever allocation fails: what asks for less chooses the same. */
static void choices_go_on_with_less_memory(void **state)
{
    (void)state;
    enum { ALLOCATIONS = 11 };
    const char *reason = NULL;
    struct bench b = {
        .table = kernels_emulated(&reason), .random = 7, .kept = KERNEL_BF16};
    struct kernel_hils z = {32, 1100, 0, 1, 1, 8, 2, 20, 4, false, false};
    if (!b.table)
        return;
    struct hils h = make_hils(&b, z, true, 1);
    keep(&b, h.key, h.summaries);
    int32_t *expected = mem_alloc(h.chosen * sizeof *expected);
    int32_t *mine = mem_alloc(h.chosen * sizeof *mine);
    const struct laid at = lay(&b, &h, true);
    assert_true(choose(&b, &h, &at, expected));
    for (unsigned i = 0; i < ALLOCATIONS; i++) {
        snprintf(b.label, sizeof b.label, "allocation %u", i);
        emulated_fail(EMULATED_NO_MEMORY, i);
        assert_true(choose(&b, &h, &at, mine));
        check_same(b.label, "hils_choose", mine, expected,
                   h.chosen * sizeof *mine);
    }
    settle(&b, "less memory");
    free(expected);
    free(mine);
    free_hils(&h);
}

/* Launches of the choice of top_k by 32 queries among 550 chunks. */
static size_t launches_of(const struct kernels *table, size_t top_k)
{
    struct bench b = {.table = table, .random = 7, .kept = KERNEL_BF16};
    struct kernel_hils z = {32, 1100, 0, 1, 1, 8, 2, 20, top_k, false, false};
    struct hils h = make_hils(&b, z, true, 1);
    int32_t *mine = mem_alloc(h.chosen * sizeof *mine);
    const struct laid at = lay(&b, &h, true);
    size_t before = emulated_launches();
    assert_true(choose(&b, &h, &at, mine));
    size_t ret = emulated_launches() - before;
    settle(&b, "launches");
    free(mine);
    free_hils(&h);
    return ret;
}

/* More than a list has room for some times over are not looked for by lists, which would
 * all overflow. */
static void lists_are_of_few(void **state)
{
    (void)state;
    const char *reason = NULL;
    const struct kernels *table = kernels_emulated(&reason);
    if (!table)
        return;
    size_t by_lists = launches_of(table, 4), by_scores = launches_of(table, 65);
    assert_true(by_scores < by_lists);
    assert_int_equal(launches_of(table, 64), by_lists);
    assert_int_equal(launches_of(table, 300), by_scores);
}

/* exact with all candidates is full attention, softmax1 aside. */
static void all_chunks_are_full_attention(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++)
        for (size_t i = 0; i < HILS_SIZES; i++) {
            struct bench b = {.table = table_at(t), .random = 11 + i};
            struct kernel_hils z = hils_sizes[i];
            z.exact = true;
            z.top_k = z.n;
            struct hils h = make_hils(&b, z, false, 1);
            int32_t *chosen = mem_alloc(h.chosen * sizeof *chosen);
            float *out = poisoned(h.queries), *full = poisoned(h.queries);
            run_hils(b.table, &b.run, &h, chosen, out);
            attention_over(b.table, &b.run, full, h.q, h.k, h.v, z.m, z.n, z.hq,
                           z.hkv, z.d);
            check_error("exact and full", out, full, h.queries, 1e-5);
            h.sizes.exact = false; /* and surrogate weights are not */
            run_hils(b.table, &b.run, &h, chosen, out);
            if (chosen[h.chosen - z.top_k] >= 0)
                assert_true(case_error(out, full, h.queries) > 1e-3);
            free(chosen);
            free(out);
            free(full);
            free_hils(&h);
        }
}

/* The last query sees neither later slots nor landmarks: what is not a number
 * there changes no bit.  (A value that is none may reach it from a slot that
 * another query sees: 0 times NaN.) */
static void hils_sees_what_it_may(void **state)
{
    (void)state;
    enum { SEEN = 50, LEFT = 20 };
    for (int way = 0; way < 4; way++) {
        struct bench b = {.table = table_at(way & 1), .random = 5};
        struct kernel_hils z = {.m = SEEN + LEFT,
                                .n = SEEN + LEFT,
                                .hq = 4,
                                .hkv = 2,
                                .d = 9,
                                .chunk = 8,
                                .window = 13,
                                .top_k = 2,
                                .exact = way & 2};
        struct hils h = make_hils(&b, z, true, 1);
        int32_t *chosen = mem_alloc(2 * h.chosen * sizeof *chosen);
        float *out = poisoned(h.queries), *again = poisoned(h.queries);
        run_hils(b.table, &b.run, &h, chosen, out);
        for (size_t j = 0; j < z.n; j++)
            for (size_t l = 0; l < z.hkv * z.d; l++)
                if (j >= SEEN || h.landmark[j]) {
                    h.k[j * z.hkv * z.d + l] = NAN;
                    h.v[j * z.hkv * z.d + l] = h.landmark[j] ? NAN : 1e30F;
                }
        run_hils(b.table, &b.run, &h, chosen + h.chosen, again);
        size_t seen = SEEN * z.hq * z.d;
        check_same("hils", "later slots", out, again, seen * sizeof *out);
        check_same("hils", "later slots, chosen", chosen, chosen + h.chosen,
                   SEEN * z.hkv * z.top_k * sizeof *chosen);
        assert_true(isnan(again[h.queries - 1])); /* its own slot was */
        free(chosen);
        free(out);
        free(again);
        free_hils(&h);
    }
}

/* What complete chunks are chosen by: means, or summaries by any proxies. */
static void summarise(struct bench *b, struct hils *h)
{
    const struct kernel_hils *z = &h->sizes;
    struct summary sizes = {z->chunks, z->chunk, z->hq, z->hkv, z->d};
    float *proxy = numbers(b, h->summaries, 1);
    assert_int_equal(h->means ? average_keys(b->table, &b->run, h->key, h->k,
                                             sizes, h->means)
                              : summarise_chunks(b->table, &b->run, h->key,
                                                 h->bias, h->k, proxy, sizes),
                     0);
    free(proxy);
}

/* Prefill of n + 1 slots against prefill of n and one step: the step asks for
 * the last slot alone, with the summaries that were there before it. */
static void hils_step_is_prefill(void **state)
{
    (void)state;
    static const size_t lengths[] = {1,  7,  8,   9,   62,  63,  64, 65,
                                     66, 67, 127, 128, 129, 130, 131};
    for (int way = 0; way < 4; way++)
        for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
            struct bench b = {.table = table_at(way & 1), .random = 3 + i};
            size_t n = lengths[i];
            struct kernel_hils z = {.m = n,
                                    .n = n,
                                    .hq = 4,
                                    .hkv = 2,
                                    .d = 20,
                                    .chunk = n > 9 ? 64 : 4,
                                    .window = 3,
                                    .top_k = 1,
                                    .exact = way & 2};
            struct hils h = make_hils_by(&b, z, false, 1, way & 2 ? 2 : 0);
            float *out = poisoned(h.queries), *last = poisoned(z.hq * z.d);
            int32_t *chosen = mem_alloc(h.chosen * sizeof *chosen);
            summarise(&b, &h);
            run_hils(b.table, &b.run, &h, chosen, out);
            struct hils step = h;
            size_t before = (n - 1) * z.hq * z.d;
            step.sizes.m = 1;
            step.sizes.chunks = (n - 1) / z.chunk;
            step.q += before;
            step.qhat += before;
            step.position += n - 1;
            run_hils(b.table, &b.run, &step, chosen, last);
            check_error("hils step", last, out + before, z.hq * z.d, 1e-5);
            free(out);
            free(last);
            free(chosen);
            free_hils(&h);
        }
}

/* A past chunk's tokens may stand in any order, before its landmark; those of a run,
 * where it has means. */
static void chunks_have_no_order(void **state)
{
    (void)state;
    enum { N = 61, CHUNK = 8 };
    for (int way = 0; way < 4; way++) {
        struct bench b = {.table = table_at(way & 1), .random = 21};
        struct kernel_hils z = {.m = 1,
                                .n = N,
                                .hq = 4,
                                .hkv = 2,
                                .d = 12,
                                .chunk = CHUNK,
                                .window = 9,
                                .top_k = 3,
                                .exact = way & 2};
        bool means = way & 2;
        struct hils h = make_hils_by(&b, z, !means, 1, means ? CHUNK / 2 : 0);
        int32_t chosen[6];
        float out[4 * 12], again[4 * 12];
        for (int turn = 0; turn < 2; turn++) {
            b.random = 22; /* the same proxies */
            summarise(&b, &h);
            run_hils(b.table, &b.run, &h, chosen, turn ? again : out);
            size_t row = z.hkv * z.d;
            /* pairs within chunks swap */
            for (size_t j = 0; j < 48; j += 2)
                for (size_t l = 0; l < row && !h.landmark[j + 1]; l++) {
                    float *k = h.k + j * row + l, *v = h.v + j * row + l;
                    float key = k[0], value = v[0];
                    k[0] = k[row];
                    v[0] = v[row];
                    k[row] = key;
                    v[row] = value;
                }
        }
        check_error("swapped tokens", again, out, 48, 1e-5);
        free_hils(&h);
    }
}

/* By hand: q = 0 gives every slot of the window the same weight, and softmax1
 * one share more; equal scores go to the lower chunks. */
static void hils_by_hand(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const struct kernels *table = table_at(t);
        struct kernel_run run = {.step = NULL};
        struct kernel_hils z = {.m = 1,
                                .n = 7,
                                .chunks = 3,
                                .hq = 1,
                                .hkv = 1,
                                .d = 1,
                                .chunk = 2,
                                .window = 1,
                                .top_k = 2};
        float zero[7] = {0}, v[] = {1, 2, 3, 4, 5, 6, 7}, out;
        int32_t position = 6, chosen[2];
        struct hils h = {.sizes = z,
                         .q = zero,
                         .qhat = zero,
                         .k = zero,
                         .v = v,
                         .key = zero,
                         .bias = zero,
                         .position = &position};
        run_hils(table, &run, &h, chosen, &out);
        assert_int_equal(chosen[0], 0);
        assert_int_equal(chosen[1], 1);
        /* the window's 7 and two chunks' means, each with exp(0) */
        static const float wanted[2][2] = {
            {(1.5F + 3.5F + 7) / 3, (1.5F + 3.5F + 7) / 4},
            {17.F / 5, 17.F / 6}};
        for (int way = 0; way < 4; way++) {
            h.sizes.exact = way & 1;
            h.sizes.softmax1 = way & 2;
            run_hils(table, &run, &h, chosen, &out);
            assert_true(fabsf(out - wanted[way & 1][way >> 1]) < 1e-6F);
        }
    }
}

/* By its best run a chunk is chosen whose keys are 0 together, and its mean is that of
 * the run's. */
static void a_run_speaks_for_its_chunk(void **state)
{
    (void)state;
    for (int t = 0; t < 2; t++) {
        const struct kernels *table = table_at(t);
        struct kernel_run run = {.step = NULL};
        const float one[] = {1, 1};
        float k[] = {2, 2, 2, 2, 9, 7, -9, -7, 0, 0}, key[2];
        const uint16_t *mean = (const uint16_t *)key;
        int32_t position[] = {8, 8}, chosen[2];
        float out[2];
        struct hils h = {.sizes = {.m = 1,
                                   .n = 10,
                                   .hq = 1,
                                   .hkv = 1,
                                   .d = 1,
                                   .chunk = 4,
                                   .window = 1,
                                   .top_k = 1,
                                   .exact = true},
                         .means = 2,
                         .q = (float *)(uintptr_t)one,
                         .qhat = (float *)(uintptr_t)one,
                         .k = k,
                         .v = k,
                         .key = key,
                         .bias = key,
                         .position = position};
        for (size_t m = 1; m <= 2; m++) {
            h.sizes.m = m;
            h.sizes.chunks = 2;
            assert_int_equal(average_keys(table, &run, key, k,
                                          (struct summary){2, 4, 1, 1, 1}, 2),
                             0);
            static const float wanted[] = {2, 2, 8, -8};
            for (size_t i = 0; i < 4; i++)
                assert_true(ref_from_bf16(mean[i]) == wanted[i]);
            run_hils(table, &run, &h, chosen, out);
            for (size_t i = 0; i < m; i++)
                assert_int_equal(chosen[i], 1);
        }
    }
}

/* ---- Cases ---- */

static struct tensor tensor_of(const char *name, int type, const void *data,
                               int rank, size_t a, size_t b, size_t c)
{
    struct tensor t = {.name = slice_of(name),
                       .type = type,
                       .rank = rank,
                       .shape = {a, b, c},
                       .data = data};
    t.bytes = tensor_values(&t) * 4;
    return t;
}

/* Runs a case of HiLS attention: one query at slot 3 of 4, chunks of one slot,
 * three candidates with the biases given; `chosen` is what is expected. */
static int run_case(const float *bias, int32_t chosen,
                    const char *const (*meta)[2], double *ret_error,
                    struct err *err)
{
    static const float x[] = {1, 1, 1, 1}, zero[] = {0, 0, 0};
    static const int32_t position[] = {3}, landmark[] = {0, 0, 0, 0};
    const struct tensor tensors[] = {
        tensor_of("in.q", TENSOR_F32, x, 3, 1, 1, 1),
        tensor_of("in.qhat", TENSOR_F32, x, 3, 1, 1, 1),
        tensor_of("in.k", TENSOR_F32, x, 3, 4, 1, 1),
        tensor_of("in.v", TENSOR_F32, x, 3, 4, 1, 1),
        tensor_of("in.summary_key", TENSOR_F32, zero, 3, 3, 1, 1),
        tensor_of("in.summary_bias", TENSOR_F32, bias, 2, 3, 1, 0),
        tensor_of("in.position", TENSOR_I32, position, 1, 1, 0, 0),
        tensor_of("in.landmark", TENSOR_I32, landmark, 1, 4, 0, 0),
        tensor_of("out.chosen", TENSOR_I32, &chosen, 3, 1, 1, 1)};
    char *folder = unit_folder();
    char path[300];
    snprintf(path, sizeof path, "%s/case.safetensors", folder);
    struct safetensors *file = NULL;
    struct case_result result = {.count = 0};
    assert_int_equal(safetensors_write(path, tensors,
                                       sizeof tensors / sizeof tensors[0], meta,
                                       NULL),
                     0);
    assert_int_equal(safetensors_open(path, &file, NULL), 0);
    int code = case_run(file, kernels_cpu(), &alone, &result, err);
    if (!code)
        *ret_error = result.outputs[0].error;
    case_free(&result);
    safetensors_close(file);
    unit_folder_remove(folder);
    return code;
}

static void choices_are_judged(void **state)
{
    (void)state;
    static const char *const meta[][2] = {{"op", "hils_attention"},
                                          {"chunk", "1"},
                                          {"window", "1"},
                                          {"top_k", "1"},
                                          {"mode", "exact"},
                                          {"softmax1", "0"},
                                          {NULL, NULL}};
    static const struct {
        float bias[3];
        int32_t chosen;
        double error;
    } cases[] = {{{0, 0, 1}, 2, 0},     {{0, 0, 1}, 0, 1},
                 {{0, 0, 0}, 1, 0},     {{0, 5e-5F, 0}, 0, 0},
                 {{0, 5e-4F, 0}, 0, 1}, {{0, 0, 0}, -1, 1},
                 {{0, 0, 0}, 3, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        double error = -1;
        struct err err = {0};
        if (run_case(cases[i].bias, cases[i].chosen, meta, &error, &err))
            fail_msg("%s", err.message);
        if (error < cases[i].error || error > cases[i].error)
            fail_msg("choice %zu: %g", i, error);
    }
}

static void wrong_parameters_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *says;
    } cases[] = {{"op", "hils", "op is \"hils\""},
                 {"chunk", "0", "chunk is 0, not a whole number from 1"},
                 {"chunk", "1.5", "chunk is 1.5, not a whole"},
                 {"chunk", "eight", "chunk is \"eight\", not a number"},
                 {"window", "", "window is \"\", not a number"},
                 {"window", "nan", "window is \"nan\", not a number"},
                 {"softmax1", NULL, "no softmax1"},
                 {"top_k", "-1", "top_k is -1"},
                 {"top_k", "1e18", "top_k is 1e+18"},
                 {"mode", "Hils", "mode is \"Hils\", not hils or exact"},
                 {"softmax1", "2", "softmax1 is 2"}};
    static const float bias[3] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *meta[][2] = {{"op", "hils_attention"},
                                 {"chunk", "1"},
                                 {"window", "1"},
                                 {"top_k", "1"},
                                 {"mode", "exact"},
                                 {"softmax1", "0"},
                                 {NULL, NULL}};
        struct err err = {0};
        double error;
        for (size_t m = 0; meta[m][0]; m++)
            if (!strcmp(meta[m][0], cases[i].key))
                meta[m][cases[i].value ? 1 : 0] =
                    cases[i].value ? cases[i].value : "none";
        assert_int_equal(
            run_case(bias, 0, (const char *const(*)[2])meta, &error, &err),
            ERR_FORMAT);
        if (!strstr(err.message, cases[i].says))
            fail_msg("%s: %s", cases[i].says, err.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hils),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(tiles_do_not_matter),
        cmocka_unit_test(long_lists_are_joined),
        cmocka_unit_test(choices_go_on_with_less_memory),
        cmocka_unit_test(lists_are_of_few),
        cmocka_unit_test(all_chunks_are_full_attention),
        cmocka_unit_test(hils_sees_what_it_may),
        cmocka_unit_test(hils_step_is_prefill),
        cmocka_unit_test(chunks_have_no_order),
        cmocka_unit_test(hils_by_hand),
        cmocka_unit_test(a_run_speaks_for_its_chunk),
        cmocka_unit_test(choices_are_judged),
        cmocka_unit_test(wrong_parameters_are_named),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
