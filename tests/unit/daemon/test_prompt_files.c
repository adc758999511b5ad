/* Beginnings of prompts that outlive the daemon: the same bits as read anew, and
 * nothing of what is damaged, too much, or changed. */
#include "tests/unit/support/models.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/engine/engine.h"
#include "daemon/engine/engine_prefixes.h"
#include "daemon/engine/prompt_files.h"

enum { COUNT = 400, STOP_MS = 20000 };
static const uint64_t plenty = (uint64_t)1 << 30;
static const struct prompt_section sections[] = {{7, {1, 2}}, {9, {3, 4}}};

static struct prompt_files *open_files(uint64_t max)
{
    struct prompt_files *files = NULL;
    struct err err = {.position = -1};
    if (prompt_files_open(own_folder, max, &files, &err))
        fail_msg("%s", err.message);
    return files;
}

static struct prompt_files_facts facts_of(struct prompt_files *files)
{
    struct prompt_files_facts facts;
    prompt_files_facts(files, &facts);
    return facts;
}

/* ---- One piece ---- */

enum { PIECE = 128, BYTES = 10000 };

static struct prompt_piece piece_of(int32_t *ids, uint64_t seed)
{
    fill_ids(ids, PIECE, 60, seed);
    return (struct prompt_piece){.before = {5, 6}, .ids = ids, .count = PIECE};
}

static void fill_bytes(unsigned char *bytes, uint64_t seed)
{
    for (size_t i = 0; i < BYTES; i++)
        bytes[i] = (unsigned char)unit_random(&seed);
}

static void put(struct prompt_files *files, uint64_t seed)
{
    int32_t ids[PIECE];
    unsigned char bytes[BYTES];
    struct prompt_piece piece = piece_of(ids, seed);
    fill_bytes(bytes, seed);
    assert_int_equal(prompt_files_write(files, &piece, sections, 2, bytes,
                                        sizeof bytes, NULL),
                     0);
}

static int get(struct prompt_files *files, uint64_t seed)
{
    int32_t ids[PIECE];
    unsigned char bytes[BYTES], wanted[BYTES];
    struct prompt_piece piece = piece_of(ids, seed);
    fill_bytes(wanted, seed);
    int code = prompt_files_read(files, &piece, bytes, sizeof bytes, NULL);
    if (!code)
        assert_memory_equal(bytes, wanted, sizeof bytes);
    return code;
}

static void touch(struct prompt_files *files, uint64_t seed)
{
    int32_t ids[PIECE];
    struct prompt_piece piece = piece_of(ids, seed);
    struct hash128 name = prompt_piece_name(&piece);
    prompt_files_touch(files, &name, 1);
}

static void a_piece_comes_back(void **state)
{
    (void)state;
    struct prompt_files *files = open_files(plenty);
    assert_int_equal(get(files, 1), ERR_NOT_FOUND);
    put(files, 1);
    put(files, 1);
    put(files, 2);
    assert_int_equal(facts_of(files).count, 2);
    assert_int_equal(get(files, 1), 0);
    uint64_t bytes = facts_of(files).bytes;
    prompt_files_close(files);
    files = open_files(plenty); /* as a daemon that starts */
    assert_int_equal(facts_of(files).count, 2);
    assert_int_equal(facts_of(files).bytes, bytes);
    assert_int_equal(get(files, 1), 0);
    assert_int_equal(get(files, 2), 0);
    assert_int_equal(get(files, 3), ERR_NOT_FOUND);
    prompt_files_close(files);
}

/* What comes before a piece is part of its name. */
static void another_beginning_is_another_piece(void **state)
{
    (void)state;
    int32_t ids[PIECE];
    struct prompt_piece a = piece_of(ids, 1), b = a;
    b.before.low++;
    assert_false(hash_equal(prompt_piece_name(&a), prompt_piece_name(&b)));
    b = a;
    struct hash128 name = prompt_piece_name(&a);
    assert_true(hash_equal(name, prompt_piece_name(&b)));
    ids[PIECE - 1]++;
    assert_false(hash_equal(name, prompt_piece_name(&b)));
}

static void the_piece_used_longest_ago_goes(void **state)
{
    (void)state;
    struct prompt_files *files = open_files(plenty);
    put(files, 1);
    uint64_t each = facts_of(files).bytes;
    prompt_files_close(files);
    files = open_files(3 * each + each / 2);
    put(files, 2);
    put(files, 3);
    touch(files, 1);
    put(files, 4);
    assert_int_equal(facts_of(files).evicted, 1);
    assert_int_equal(get(files, 2), ERR_NOT_FOUND);
    assert_int_equal(get(files, 1), 0);
    prompt_files_close(files);
    files = open_files(each + each / 2); /* less room, the same order */
    assert_int_equal(facts_of(files).count, 1);
    assert_int_equal(get(files, 4), 0);
    prompt_files_close(files);
    files = open_files(each / 2);
    assert_int_equal(facts_of(files).count, 0);
    int32_t ids[PIECE];
    unsigned char bytes[BYTES];
    struct prompt_piece piece = piece_of(ids, 5);
    fill_bytes(bytes, 5);
    assert_int_equal(prompt_files_write(files, &piece, sections, 2, bytes,
                                        sizeof bytes, NULL),
                     ERR_LIMIT);
    prompt_files_close(files);
}

static bool not_nine(void *context, const struct prompt_section *section)
{
    *(int *)context += 1;
    return section->node != 9 && section->own.low != 3;
}

/* The one file that is there, as of a clock that was ahead. */
static void stamp_ahead(void)
{
    DIR *all = opendir(own_folder);
    const struct dirent *one;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                {.tv_sec = time(NULL) + 86400}};
    while ((one = readdir(all)))
        if (one->d_name[0] != '.')
            assert_int_equal(utimensat(dirfd(all), one->d_name, times, 0), 0);
    closedir(all);
}

static void a_clock_that_was_ahead_keeps_the_order(void **state)
{
    (void)state;
    struct prompt_files *files = open_files(plenty);
    put(files, 1);
    uint64_t each = facts_of(files).bytes;
    prompt_files_close(files);
    stamp_ahead();
    files = open_files(2 * each + each / 2);
    put(files, 2);
    put(files, 3);
    assert_int_equal(get(files, 1), ERR_NOT_FOUND);
    assert_int_equal(get(files, 2), 0);
    prompt_files_close(files);
}

static void a_changed_section_takes_its_pieces_along(void **state)
{
    (void)state;
    struct prompt_files *files = open_files(plenty);
    int32_t ids[PIECE];
    unsigned char bytes[BYTES];
    int asked = 0;
    struct section_check check = {not_nine, &asked};
    struct prompt_piece piece = piece_of(ids, 2);
    put(files, 1);
    fill_bytes(bytes, 2);
    assert_int_equal(
        prompt_files_write(files, &piece, sections, 1, bytes, BYTES, NULL), 0);
    prompt_files_close(files);
    files = open_files(plenty); /* what they were made of is in them */
    prompt_files_forget(files, &check);
    assert_true(asked > 0);
    assert_int_equal(facts_of(files).changed, 1);
    assert_int_equal(get(files, 1), ERR_NOT_FOUND);
    assert_int_equal(get(files, 2), 0);
    prompt_files_close(files);
}

/* Eight bits a number: within half a step of each group's largest, a third of the
 * bytes, another name; what is no number becomes 0. */
static void pieces_may_be_rounded(void **state)
{
    (void)state;
    enum { FLOATS = 1000, GROUP = 32 };
    float numbers[FLOATS], got[FLOATS];
    int32_t ids[PIECE];
    uint64_t seed = 3;
    struct prompt_files *files = open_files(plenty);
    struct prompt_piece piece = piece_of(ids, 1), whole = piece;
    for (size_t i = 0; i < FLOATS; i++)
        numbers[i] =
            ((float)unit_below(&seed, 2001) - 1000) * (i < 500 ? 1e-3F : 1e3F);
    numbers[40] = NAN;
    memset(numbers + 64, 0, GROUP * sizeof *numbers);
    piece.rounded = true;
    assert_false(
        hash_equal(prompt_piece_name(&piece), prompt_piece_name(&whole)));
    assert_int_equal(prompt_files_write(files, &whole, sections, 2, numbers,
                                        sizeof numbers, NULL),
                     0);
    uint64_t before = facts_of(files).bytes;
    assert_int_equal(prompt_files_write(files, &piece, sections, 2, numbers,
                                        sizeof numbers, NULL),
                     0);
    assert_true(3 * (facts_of(files).bytes - before) < sizeof numbers + 3000);
    assert_int_equal(prompt_files_read(files, &piece, got, sizeof got, NULL),
                     0);
    for (size_t i = 0; i < FLOATS; i++) {
        size_t from = i / GROUP * GROUP;
        float most = 0;
        for (size_t k = from; k < from + GROUP && k < FLOATS; k++)
            if (isfinite(numbers[k]))
                most = fmaxf(most, fabsf(numbers[k]));
        float wanted = isfinite(numbers[i]) ? numbers[i] : 0;
        assert_true(fabsf(got[i] - wanted) <= most / 127 * 0.501F);
    }
    prompt_files_close(files);
}

/* ---- Damage ---- */

static void the_only_path(char path[600])
{
    DIR *all = opendir(own_folder);
    const struct dirent *entry;
    path[0] = '\0';
    while ((entry = readdir(all)))
        if (strstr(entry->d_name, ".kv"))
            snprintf(path, 600, "%s/%.300s", own_folder, entry->d_name);
    closedir(all);
    assert_true(path[0]);
}

static void alter(const char *path, off_t at)
{
    unsigned char byte;
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, &byte, 1, at), 1);
    byte ^= 0x10;
    assert_int_equal(pwrite(fd, &byte, 1, at), 1);
    close(fd);
}

/* The number in the file's magic. */
static void put_version(const char *path, char version)
{
    char magic[8];
    int fd = open(path, O_RDWR);
    assert_true(fd >= 0);
    assert_int_equal(pread(fd, magic, sizeof magic, 0), sizeof magic);
    assert_memory_equal(magic, "lectkv2\n", sizeof magic);
    assert_int_equal(pwrite(fd, &version, 1, 6), 1);
    close(fd);
}

/* Each of many bytes, while the daemon runs and before it starts. */
static void a_damaged_piece_is_thrown_away(void **state)
{
    (void)state;
    char path[600];
    struct stat stat_;
    struct prompt_files *files = open_files(plenty);
    put(files, 1);
    the_only_path(path);
    assert_int_equal(stat(path, &stat_), 0);
    for (off_t at = 0; at < stat_.st_size; at += at < 700 ? 7 : 997) {
        uint64_t before = facts_of(files).damaged;
        alter(path, at);
        assert_int_equal(get(files, 1), ERR_FORMAT);
        assert_int_equal(facts_of(files).damaged, before + 1);
        assert_int_equal(facts_of(files).bytes, 0);
        assert_true(access(path, F_OK) != 0);
        put(files, 1);
        assert_int_equal(get(files, 1), 0);
    }
    assert_int_equal(truncate(path, stat_.st_size - 1), 0);
    prompt_files_close(files);
    files = open_files(plenty);
    assert_int_equal(facts_of(files).damaged, 1);
    assert_int_equal(facts_of(files).count, 0);
    put(files, 1);
    alter(path, 30); /* in its header */
    prompt_files_close(files);
    files = open_files(plenty);
    assert_int_equal(facts_of(files).damaged, 1);
    prompt_files_close(files);
}

/* One of another version, whole as it may be. */
static void a_piece_of_another_version_is_thrown_away(void **state)
{
    (void)state;
    char path[600];
    struct prompt_files *files = open_files(plenty);
    put(files, 1);
    prompt_files_close(files);
    the_only_path(path);
    put_version(path, '1');
    files = open_files(plenty);
    assert_int_equal(facts_of(files).damaged, 1);
    assert_int_equal(facts_of(files).count, 0);
    assert_true(access(path, F_OK) != 0);
    prompt_files_close(files);
}

/* ---- Prompts ---- */

static struct session *read_prompt(struct prefixes *p, struct model *model,
                                   bool exact, const int32_t *ids, size_t count,
                                   size_t *ret_reused)
{
    struct session *session = NULL;
    struct prefix_origin origin = {sections, 2, count - 10};
    assert_int_equal(prefixes_fork(p, model, exact, ids, count, &session, NULL),
                     0);
    *ret_reused = session_length(session);
    for (size_t at = *ret_reused, some; at < count; at += some) {
        some = prefixes_piece(model_facts(model), exact, at);
        some = count - at < some ? count - at : some;
        assert_int_equal(
            session_prefill(session, ids + at, some, NULL, NULL, NULL), 0);
    }
    prefixes_keep(p, model, session, &origin);
    return session;
}

/* The logits of a prompt of which so much comes from elsewhere have the bits of one
 * that is read, and so have those of the next token. */
static void check_prompt(struct prefixes *p, struct model *model, bool exact,
                         const int32_t *ids, size_t count, size_t reused)
{
    struct prefixes none = {.how = p->how};
    size_t got, nothing, size = model_facts(model)->vocabulary * sizeof(float);
    struct session *a = read_prompt(p, model, exact, ids, count, &got);
    struct session *b = read_prompt(&none, model, exact, ids, count, &nothing);
    assert_int_equal(got, reused);
    assert_memory_equal(session_logits(a), session_logits(b), size);
    assert_int_equal(session_prefill(a, ids, 1, NULL, NULL, NULL), 0);
    assert_int_equal(session_prefill(b, ids, 1, NULL, NULL, NULL), 0);
    assert_memory_equal(session_logits(a), session_logits(b), size);
    session_close(a);
    session_close(b);
    prefixes_clear(&none);
}

static size_t file_all(struct prefixes *p, struct model *model)
{
    size_t count = 0;
    while (prefixes_file_one(p, model))
        count++;
    return count;
}

/* Of two chunks before a token's own, which it sees. */
static const struct session_exact narrow = {
    .top_k = 1, .window = 1, .rerank = SESSION_RERANKED};

static void check_restart(const char *kind, bool exact, bool int8)
{
    int32_t ids[COUNT];
    fill_ids(ids, COUNT, 60, 1);
    struct model *model = open_keeping(kind, kernels_cpu(), exact, int8);
    struct prompt_files *files = open_files(plenty);
    struct prefixes p = {.files = files, .how = narrow};
    check_prompt(&p, model, exact, ids, 330, 0);
    assert_int_equal(file_all(&p, model),
                     2); /* 320 tokens are not the asker's */
    prefixes_clear(&p);
    model_close(model);
    prompt_files_close(files);
    model = open_keeping(kind, kernels_cpu(), exact, int8);
    p = (struct prefixes){.files = files = open_files(plenty), .how = narrow};
    check_prompt(&p, model, exact, ids, 400, 256);
    assert_int_equal(p.counts.in_files, 256);
    check_prompt(&p, model, exact, ids, 257, 256);
    assert_int_equal(p.counts.in_memory, 256);
    prefixes_clear(&p);
    ids[130]++;
    check_prompt(&p, model, exact, ids, 300, 128);
    prefixes_clear(&p);
    model_close(model);
    prompt_files_close(files);
    unit_folder_remove(own_folder);
}

static void a_prompt_survives_a_restart(void **state)
{
    (void)state;
    check_restart("untied", false, false);
    check_restart("olmo3", false, false);
    check_restart("qwen2", false, false);
    check_restart("untied", true, false);
    check_restart("llama2", true, false);
    check_restart("llama2", false, true);
    check_restart("llama2", true, true);
}

/* The tokens that a prompt is answered with. */
static void answer(struct prefixes *p, struct model *model, const int32_t *ids,
                   size_t reused, int32_t tokens[8])
{
    size_t got;
    struct session *s = read_prompt(p, model, true, ids, 390, &got);
    assert_int_equal(got, reused);
    for (size_t i = 0; i < 8; i++) {
        tokens[i] = session_top_k(s);
        assert_int_equal(session_prefill(s, &tokens[i], 1, NULL, NULL, NULL),
                         0);
    }
    session_close(s);
}

/* Rounded in the file or in memory: what chunks are chosen by is made of the keys that
 * come back, and the answer is the one that a daemon gives that went on. */
static void an_answer_by_choice_survives_rounding(void **state)
{
    (void)state;
    for (int int8 = 0; int8 < 2; int8++) {
        int32_t ids[COUNT], before[8], after[8];
        fill_ids(ids, COUNT, 60, 2);
        struct model *model = open_keeping("llama2", kernels_cpu(), true, int8);
        struct prompt_files *files = open_files(plenty);
        struct prefixes p = {.files = files, .how = narrow, .rounded = true};
        answer(&p, model, ids, 0, before);
        assert_int_equal(file_all(&p, model), 2);
        prefixes_clear(&p);
        model_close(model);
        prompt_files_close(files);
        model = open_keeping("llama2", kernels_cpu(), true, int8);
        p.files = files = open_files(plenty);
        answer(&p, model, ids, 256, after);
        assert_memory_equal(after, before, sizeof before);
        prefixes_clear(&p);
        model_close(model);
        prompt_files_close(files);
        unit_folder_remove(own_folder);
    }
}

/* Rounded ones come back near what they were, and are not taken for whole ones. */
static void a_rounded_prompt_is_near(void **state)
{
    (void)state;
    int32_t ids[COUNT];
    size_t got;
    fill_ids(ids, COUNT, 60, 1);
    struct model *model = open_kind("untied", kernels_cpu());
    size_t vocabulary = model_facts(model)->vocabulary;
    struct prompt_files *files = open_files(plenty);
    struct prefixes p = {.files = files, .rounded = true};
    struct session *first = read_prompt(&p, model, false, ids, 330, &got);
    assert_int_equal(file_all(&p, model), 2);
    prefixes_clear(&p);
    struct session *again = read_prompt(&p, model, false, ids, 330, &got);
    assert_int_equal(got, 256);
    check_near("rounded", session_logits(again), session_logits(first),
               vocabulary, 2e-2);
    assert_true(memcmp(session_logits(again), session_logits(first),
                       vocabulary * sizeof(float)) != 0);
    prefixes_clear(&p);
    p.rounded = false;
    check_prompt(&p, model, false, ids, 330, 0);
    session_close(first);
    session_close(again);
    prefixes_clear(&p);
    model_close(model);
    prompt_files_close(files);
}

/* Of a prompt that is too long the beginning is kept. */
static void what_has_no_room_is_left(void **state)
{
    (void)state;
    int32_t ids[COUNT];
    fill_ids(ids, COUNT, 60, 1);
    struct model *model = open_kind("untied", kernels_cpu());
    struct prompt_files *files = open_files(plenty);
    struct prefixes p = {.files = files};
    check_prompt(&p, model, false, ids, 150, 0);
    assert_int_equal(file_all(&p, model), 1);
    uint64_t each = facts_of(files).bytes;
    prefixes_clear(&p);
    prompt_files_close(files);
    p = (struct prefixes){.files = files = open_files(each * 5 / 2)};
    check_prompt(&p, model, false, ids, 400, 128);
    assert_int_equal(file_all(&p, model), 2); /* one is there already */
    assert_int_equal(facts_of(files).count, 2);
    assert_int_equal(facts_of(files).evicted, 0);
    prefixes_clear(&p);
    check_prompt(&p, model, false, ids, 400, 256);
    prefixes_clear(&p);
    model_close(model);
    prompt_files_close(files);
}

/* A piece that is damaged is read anew, and what follows it with it. */
static void a_damaged_piece_is_read_anew(void **state)
{
    (void)state;
    int32_t ids[COUNT];
    fill_ids(ids, COUNT, 60, 1);
    struct model *model = open_kind("untied", kernels_cpu());
    struct prompt_files *files = open_files(plenty);
    struct prefixes p = {.files = files};
    check_prompt(&p, model, false, ids, 150, 0);
    file_all(&p, model);
    prefixes_clear(&p);
    char path[600];
    the_only_path(path);
    alter(path, 2000);
    check_prompt(&p, model, false, ids, 400, 0);
    assert_int_equal(facts_of(files).damaged, 1);
    assert_int_equal(file_all(&p, model), 3);
    prefixes_clear(&p);
    check_prompt(&p, model, false, ids, 400, 384);
    prefixes_clear(&p);
    prompt_files_close(files);
    model_close(model);
}

/* Neither models that read fast, nor what cannot lie elsewhere, nor what was asked. */
static void not_all_is_filed(void **state)
{
    (void)state;
    int32_t ids[COUNT];
    fill_ids(ids, COUNT, 60, 1);
    struct prompt_files *files = open_files(plenty);
    static const char *const others[] = {"star-qwen", "hils-qwen"};
    for (size_t i = 0; i < 2; i++) {
        struct model *model = open_kind(others[i], kernels_cpu());
        struct prefixes p = {.files = files};
        check_prompt(&p, model, false, ids, 300, 0);
        assert_int_equal(file_all(&p, model), 0);
        prefixes_clear(&p);
        model_close(model);
    }
    struct model *model = open_kind("untied", kernels_cpu());
    struct prefixes p = {.files = files, .min_parameters = 1 << 30};
    check_prompt(&p, model, false, ids, 300, 0);
    assert_int_equal(file_all(&p, model), 0);
    prefixes_clear(&p);
    p.min_parameters = 0;
    check_prompt(&p, model, false, ids, 137, 0); /* 127 are not the asker's */
    assert_int_equal(file_all(&p, model), 0);
    assert_int_equal(facts_of(files).count, 0);
    prefixes_clear(&p);
    model_close(model);
    prompt_files_close(files);
}

static void changed_sections_are_forgotten(void **state)
{
    (void)state;
    int32_t ids[COUNT];
    int asked = 0;
    struct section_check check = {not_nine, &asked};
    fill_ids(ids, COUNT, 60, 1);
    struct model *model = open_kind("untied", kernels_cpu());
    struct prompt_files *files = open_files(plenty);
    struct prefixes p = {.files = files};
    check_prompt(&p, model, false, ids, 300, 0);
    file_all(&p, model);
    assert_int_equal(facts_of(files).count, 2);
    prefixes_forget(&p, &check);
    assert_int_equal(p.count, 0);
    assert_int_equal(facts_of(files).count, 0);
    check_prompt(&p, model, false, ids, 300, 0);
    prefixes_clear(&p);
    model_close(model);
    prompt_files_close(files);
}

/* ---- The engine ---- */

static atomic_bool changed;

static bool stands(void *context, const struct prompt_section *section)
{
    (void)context;
    return section->node != 9 || !atomic_load(&changed);
}

static struct engine *start(struct prompt_files *files)
{
    struct engine_options options = {.folder = MODELS "memory",
                                     .prompt_files = files,
                                     .check = {stands, NULL}};
    struct engine *engine = NULL;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    assert_true(engine_ready(engine, STOP_MS));
    return engine;
}

static struct engine_answer ask(struct engine *engine, const char *question)
{
    struct buf text = {0};
    struct err err = {.position = -1};
    for (int i = 0; i < 18; i++)
        buf_printf(&text, "[%d] A vacuum frees dead rows. ", i);
    buf_put_text(&text, question);
    struct engine_prompt prompt = {.text = buf_slice(&text),
                                   .max = 8,
                                   .sections = sections,
                                   .section_count = 2,
                                   .asked = strlen(question)};
    struct engine_answer answer;
    if (engine_generate(engine, &prompt, &answer, &err))
        fail_msg("%s", err.message);
    buf_free(&text);
    return answer;
}

static void wait_for_files(struct prompt_files *files, size_t count)
{
    for (int i = 0; i < STOP_MS && facts_of(files).count != count; i++)
        usleep(1000);
    assert_int_equal(facts_of(files).count, count);
}

/* Questions share what was read, before and after a restart, until the section
 * changes; the answers are the same. */
static void answers_go_on_after_a_restart(void **state)
{
    (void)state;
    struct prompt_files *files = open_files(plenty);
    struct engine *engine = start(files);
    atomic_store(&changed, false);
    struct engine_answer first = ask(engine, "What frees rows?");
    size_t pieces = (first.prompt_tokens - 8) / PREFIX_PIECE;
    assert_true(pieces > 0);
    wait_for_files(files, pieces);
    assert_true(engine_stop(engine, clock_ms() + STOP_MS));
    engine = start(files);
    struct engine_answer again = ask(engine, "What frees rows?");
    assert_int_equal(first.reused_tokens, 0);
    assert_int_equal(again.reused_tokens, pieces * PREFIX_PIECE);
    assert_true(slice_equal(buf_slice(&first.text), buf_slice(&again.text)));
    assert_memory_equal(&first.mean_log, &again.mean_log, sizeof(double));
    struct engine_prompts prompts;
    engine_prompts(engine, &prompts);
    assert_int_equal(prompts.counts.from_files, 1);
    assert_int_equal(prompts.counts.in_files, pieces * PREFIX_PIECE);
    assert_int_equal(prompts.count, 1);
    assert_true(prompts.bytes > 0);
    atomic_store(&changed, true);
    engine_sections_changed(engine);
    wait_for_files(files, 0);
    struct engine_answer last = ask(engine, "What frees rows?");
    assert_int_equal(last.reused_tokens, 0);
    buf_free(&first.text);
    buf_free(&again.text);
    buf_free(&last.text);
    assert_true(engine_stop(engine, clock_ms() + STOP_MS));
    prompt_files_close(files);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_model_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_piece_comes_back),
        TEST(another_beginning_is_another_piece),
        TEST(the_piece_used_longest_ago_goes),
        TEST(a_clock_that_was_ahead_keeps_the_order),
        TEST(a_changed_section_takes_its_pieces_along),
        TEST(pieces_may_be_rounded),
        TEST(a_damaged_piece_is_thrown_away),
        TEST(a_piece_of_another_version_is_thrown_away),
        TEST(a_prompt_survives_a_restart),
        TEST(an_answer_by_choice_survives_rounding),
        TEST(a_rounded_prompt_is_near),
        TEST(what_has_no_room_is_left),
        TEST(a_damaged_piece_is_read_anew),
        TEST(not_all_is_filed),
        TEST(changed_sections_are_forgotten),
        TEST(answers_go_on_after_a_restart),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
