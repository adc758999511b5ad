/* Answers by the engine: side by side, from a beginning read before, and ended
 * by a text. */
#include "tests/unit/support/models.h"

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/answer/extractive.h"
#include "daemon/engine/engine.h"
#include "daemon/engine/engine_prefixes.h"
#include "daemon/engine/stop_sequences.h"

#define MODEL MODELS "memory"
enum { STOP_MS = 20000 };

static struct engine *start(void)
{
    struct engine_options options = {.folder = MODEL};
    struct engine *engine = NULL;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    assert_true(engine_ready(engine, STOP_MS));
    return engine;
}

static void stop(struct engine *engine)
{
    assert_true(engine_stop(engine, clock_ms() + STOP_MS));
}

/* ---- Beginnings that were read before ---- */

enum { MAX_PROMPT = 400 };

/* Reads a prompt in the daemon's way; how much of it was there already. */
static struct session *read_prompt(struct prefixes *prefixes,
                                   struct model *model, bool exact,
                                   const int32_t *ids, size_t count,
                                   size_t *ret_reused)
{
    struct session *session = NULL;
    assert_int_equal(
        prefixes_fork(prefixes, model, exact, ids, count, &session, NULL), 0);
    *ret_reused = session_length(session);
    assert_true(*ret_reused < count);
    for (size_t at = *ret_reused, some; at < count; at += some) {
        some = prefixes_piece(model_facts(model), exact, at);
        some = count - at < some ? count - at : some;
        assert_int_equal(
            session_prefill(session, ids + at, some, NULL, NULL, NULL), 0);
    }
    prefixes_keep(prefixes, model, session, NULL);
    return session;
}

/* The logits of a prompt have the bits that they have without any help. */
static void check_prompt_of(struct prefixes *prefixes, struct model *model,
                            bool exact, const int32_t *ids, size_t count,
                            size_t reused)
{
    struct prefixes none = {.count = 0};
    size_t got, nothing;
    struct session *a = read_prompt(prefixes, model, exact, ids, count, &got);
    struct session *b = read_prompt(&none, model, exact, ids, count, &nothing);
    assert_int_equal(got, reused);
    assert_int_equal(nothing, 0);
    assert_memory_equal(session_logits(a), session_logits(b),
                        model_facts(model)->vocabulary *
                            sizeof *session_logits(a));
    session_close(a);
    session_close(b);
    prefixes_clear(&none);
}

static void check_prompt(struct prefixes *prefixes, struct model *model,
                         const int32_t *ids, size_t count, size_t reused)
{
    check_prompt_of(prefixes, model, false, ids, count, reused);
}

static void the_same_beginning_is_read_once(void **state)
{
    (void)state;
    static const char *const models[] = {"untied",    "olmo3",      "mistral",
                                         "star-qwen", "star-olmo",  "hils-olmo",
                                         "hils-qwen", "hils-memory"};
    int32_t ids[MAX_PROMPT], other[MAX_PROMPT];
    fill_ids(ids, MAX_PROMPT, 60, 1);
    for (size_t m = 0; m < sizeof models / sizeof models[0]; m++) {
        struct model *model = open_kind(models[m], kernels_cpu());
        struct prefixes prefixes = {.count = 0};
        check_prompt(&prefixes, model, ids, 300, 0);
        assert_int_equal(prefixes.count, 1);
        check_prompt(&prefixes, model, ids, 300, 256);
        check_prompt(&prefixes, model, ids, 256, 128);
        check_prompt(&prefixes, model, ids, 257, 256);
        assert_int_equal(prefixes.count, 1);
        /* another question about the same */
        memcpy(other, ids, sizeof ids);
        other[200] ^= 1;
        check_prompt(&prefixes, model, other, 330, 128);
        assert_int_equal(prefixes.count, 2);
        check_prompt(&prefixes, model, ids, 400, 256);
        assert_int_equal(prefixes.count, 2); /* it took the shorter's place */
        check_prompt(&prefixes, model, ids, 400, 384);
        other[0] ^= 1;
        check_prompt(&prefixes, model, other, 128, 0);
        check_prompt(&prefixes, model, other, 127, 0);
        assert_int_equal(prefixes.count, 3);
        prefixes_clear(&prefixes);
        model_close(model);
    }
}

static void the_one_used_longest_ago_goes(void **state)
{
    (void)state;
    struct model *model = open_kind("untied", kernels_cpu());
    struct prefixes prefixes = {.count = 0};
    int32_t ids[PREFIXES + 1][PREFIX_PIECE + 1];
    size_t reused;
    for (size_t i = 0; i <= PREFIXES; i++) {
        fill_ids(ids[i], PREFIX_PIECE + 1, 60, 100 + i);
        session_close(read_prompt(&prefixes, model, false, ids[i],
                                  PREFIX_PIECE + 1, &reused));
        session_close(read_prompt(&prefixes, model, false, ids[0],
                                  PREFIX_PIECE + 1, &reused));
        assert_int_equal(reused, PREFIX_PIECE);
    }
    assert_int_equal(prefixes.count, PREFIXES);
    session_close(read_prompt(&prefixes, model, false, ids[2], PREFIX_PIECE + 1,
                              &reused));
    assert_int_equal(reused, PREFIX_PIECE);
    session_close(read_prompt(&prefixes, model, false, ids[1], PREFIX_PIECE + 1,
                              &reused));
    assert_int_equal(reused, 0);
    prefixes_clear(&prefixes);
    model_close(model);
}

/* ---- Texts that end an answer ---- */

/* Feeds `text` in pieces of `step` bytes, as tokens come; what is shown. */
static void show(const struct stop_sequences *stops, const char *text,
                 size_t step, struct buf *ret)
{
    size_t size = strlen(text), shown = 0;
    bool found = false;
    for (size_t end = step; !found && shown < size; end += step) {
        struct slice some = {text, end < size ? end : size};
        shown = stop_sequences_look(stops, some, shown, &found);
        if (!found && end >= size)
            break; /* the end: what was held back is no stop */
    }
    buf_put(ret, text, found ? shown : size);
}

static void stops_are_found_across_pieces(void **state)
{
    (void)state;
    static const struct {
        const char *text, *shown;
    } cases[] = {{"one END two", "one "},
                 {"one EN two END", "one EN two "},
                 {"EEND", "E"},
                 {"no stop here EN", "no stop here EN"},
                 {"\n\nQuestion: x", ""},
                 {"a\n\nQuest\n\nQuestion:", "a\n\nQuest"},
                 {"aab", "a"},
                 {"", ""}};
    struct slice items[] = {slice_of("END"), slice_of("\n\nQuestion:"),
                            slice_of("ab")};
    struct stop_sequences stops = {items, 3}, none = {NULL, 0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        for (size_t step = 1; step < 14; step++) {
            struct buf got = {0};
            show(&stops, cases[i].text, step, &got);
            if (!slice_is(buf_slice(&got), cases[i].shown))
                fail_msg("'%s' by %zu: '%.*s'", cases[i].text, step,
                         (int)got.size, got.data ? got.data : "");
            buf_clear(&got);
            show(&none, cases[i].text, step, &got);
            assert_true(slice_is(buf_slice(&got), cases[i].text));
            buf_free(&got);
        }
}

/* Not even a part of a stop is shown before it is known to be none. */
static void parts_of_stops_are_held_back(void **state)
{
    (void)state;
    struct slice items[] = {slice_of("stop"), slice_of("top hat")};
    struct stop_sequences stops = {items, 2};
    bool found;
    assert_int_equal(stop_sequences_look(&stops, slice_of("a sto"), 0, &found),
                     2);
    assert_false(found);
    assert_int_equal(
        stop_sequences_look(&stops, slice_of("a stoop"), 2, &found), 7);
    assert_int_equal(
        stop_sequences_look(&stops, slice_of("a top ha"), 0, &found), 2);
    assert_int_equal(
        stop_sequences_look(&stops, slice_of("a stop hat"), 2, &found), 2);
    assert_true(found);
}

/* ---- Side by side ---- */

struct asked {
    struct engine *engine;
    pthread_t thread;
    struct engine_prompt prompt;
    struct engine_answer answer;
    struct buf pieces;
    size_t piece_count;
    int code;
};

static bool take_piece(void *context, struct slice text)
{
    struct asked *asked = context;
    buf_put_slice(&asked->pieces, text);
    asked->piece_count++;
    return true;
}

static void *ask(void *context)
{
    struct asked *asked = context;
    asked->code =
        engine_generate(asked->engine, &asked->prompt, &asked->answer, NULL);
    return NULL;
}

static void prepare(struct asked *asked, struct engine *engine, size_t i)
{
    static const char *const questions[] = {
        "What frees rows?", "How are rows freed? And when?", "vacuum",
        "A row is dead when nobody can see it any more. Who removes it?"};
    *asked = (struct asked){
        .engine = engine,
        .prompt = {.text = slice_of(questions[i % 4]),
                   .max = 30 + i * 3,
                   .sampling = {.temperature = i % 3 ? 0.9 : 0, .seed = i},
                   .piece = take_piece}};
    asked->prompt.context = asked;
}

static void end_asked(struct asked *asked)
{
    buf_free(&asked->answer.text);
    buf_free(&asked->pieces);
}

static void answers_are_the_same_side_by_side(void **state)
{
    (void)state;
    enum { ASKED = 12 }; /* more than are written at once */
    struct engine *engine = start();
    struct asked alone[ASKED], together[ASKED];
    for (size_t i = 0; i < ASKED; i++) {
        prepare(&alone[i], engine, i);
        prepare(&together[i], engine, i);
        ask(&alone[i]);
        assert_int_equal(alone[i].code, 0);
        assert_true(alone[i].answer.tokens > 0);
    }
    for (size_t i = 0; i < ASKED; i++)
        pthread_create(&together[i].thread, NULL, ask, &together[i]);
    for (size_t i = 0; i < ASKED; i++) {
        pthread_join(together[i].thread, NULL);
        assert_int_equal(together[i].code, 0);
        assert_int_equal(together[i].answer.tokens, alone[i].answer.tokens);
        assert_true(slice_equal(buf_slice(&together[i].pieces),
                                buf_slice(&alone[i].pieces)));
        assert_true(slice_equal(buf_slice(&together[i].answer.text),
                                buf_slice(&together[i].pieces)));
        end_asked(&alone[i]);
        end_asked(&together[i]);
    }
    stop(engine);
}

/* Written in one piece it is allowed; *ret_ends: and may end there. */
static bool is_copied(const struct copying_passage *passage, struct slice text,
                      bool *ret_ends)
{
    struct copying *copying = copying_open(passage, 1);
    bool allowed = !text.size || copying_allows(copying, text);
    copying_take(copying, text);
    *ret_ends = copying_may_end(copying);
    copying_close(copying);
    return allowed;
}

/* Random weights, one answer greedy, the others drawn with much heat. */
static void some_answers_only_copy(void **state)
{
    (void)state;
    enum { ASKED = 12 };
    static const char text[] = "Rows are freed. \xC3\xA9t\xC3\xA9 is one. Rows";
    static const struct block block = {.kind = BLOCK_PARAGRAPH,
                                       .text = {text, sizeof text - 1}};
    struct copying_passage passage = {&block, 0, 0, 0, sizeof text - 1};
    struct engine *engine = start();
    struct asked alone[ASKED], together[ASKED];
    size_t whole = 0;
    for (size_t i = 0; i < ASKED; i++) {
        prepare(&alone[i], engine, i);
        prepare(&together[i], engine, i);
        ask(&alone[i]);
        if (i % 2)
            continue;
        together[i].prompt.max = 25;
        together[i].prompt.sampling.temperature = i ? 3 : 0;
        together[i].prompt.copying = copying_open(&passage, 1);
    }
    for (size_t i = 0; i < ASKED; i++)
        pthread_create(&together[i].thread, NULL, ask, &together[i]);
    for (size_t i = 0; i < ASKED; i++) {
        bool ends = false;
        pthread_join(together[i].thread, NULL);
        assert_int_equal(together[i].code, 0);
        struct slice got = buf_slice(&together[i].answer.text);
        if (i % 2)
            assert_true(slice_equal(got, buf_slice(&alone[i].answer.text)));
        else if (!is_copied(&passage, got, &ends))
            fail_msg("'%.*s'", (int)got.size, got.data);
        if (i % 2 == 0 && together[i].answer.ended)
            assert_true(ends);
        if (i % 2 == 0) /* alone none of them would have begun so */
            assert_false(got.size && got.data[got.data[0] == ' '] == 'N');
        whole += ends;
        copying_close(together[i].prompt.copying);
        end_asked(&alone[i]);
        end_asked(&together[i]);
    }
    assert_int_equal(whole, ASKED / 2); /* letter by letter few would be */
    stop(engine);
}

/* ---- What is read before ---- */

enum { DOCUMENT = 700, MAX_ANSWER = 20 };

static struct engine_answer answer_of(struct engine *engine,
                                      const struct engine_prompt *prompt)
{
    struct engine_answer answer;
    assert_int_equal(engine_generate(engine, prompt, &answer, NULL), 0);
    return answer;
}

/* Ids before the text are as good as their text there; `alone` finds nothing that
 * was read before, and leaves nothing to be found. */
static void ids_may_come_before_the_text(void **state)
{
    (void)state;
    struct engine *engine = start();
    struct ids ids = {0};
    struct buf text = {0};
    for (int i = 0; i < 16; i++)
        buf_put_text(&text, "Vacuum frees rows that nobody sees. ");
    assert_int_equal(engine_tokens(engine, buf_slice(&text), &ids, NULL), 0);
    struct engine_prompt prompt = {.before = ids.items,
                                   .before_count = ids.count,
                                   .text = slice_of("\n\nWhat frees rows?"),
                                   .max = MAX_ANSWER,
                                   .alone = true};
    struct engine_answer first = answer_of(engine, &prompt);
    buf_put_text(&text, "\n\nWhat frees rows?");
    struct engine_prompt whole = {.text = buf_slice(&text), .max = MAX_ANSWER};
    struct engine_answer second = answer_of(engine, &whole);
    assert_int_equal(first.reused_tokens, 0);
    assert_int_equal(second.reused_tokens, 0);
    assert_int_equal(first.prompt_tokens, second.prompt_tokens);
    assert_true(slice_equal(buf_slice(&first.text), buf_slice(&second.text)));
    struct engine_answer third = answer_of(engine, &prompt);
    struct engine_answer fourth = answer_of(engine, &whole);
    assert_int_equal(third.reused_tokens, 0);
    assert_true(fourth.reused_tokens >= PREFIX_PIECE);
    assert_true(first.first_ms > 0 && first.first_ms <= first.total_ms);
    buf_free(&first.text);
    buf_free(&second.text);
    buf_free(&third.text);
    buf_free(&fourth.text);
    buf_free(&text);
    ids_free(&ids);
    stop(engine);
}

/* A manual's text may name special tokens, but is none; what was there before it
 * stays. */
static void special_tokens_of_a_text_are_left_out(void **state)
{
    (void)state;
    enum { BEGIN = 600, END = 0 };
    struct engine *engine = start();
    struct ids ids = {0};
    ids_put(&ids, BEGIN);
    assert_int_equal(
        engine_tokens(engine, slice_of("Vacuum<|begin|> frees<|endoftext|>"),
                      &ids, NULL),
        0);
    assert_true(ids.count > 2);
    assert_int_equal(ids.items[0], BEGIN);
    for (size_t i = 1; i < ids.count; i++)
        assert_true(ids.items[i] != BEGIN && ids.items[i] != END);
    ids_free(&ids);
    stop(engine);
}

/* The engine reads in pieces what the model reads at once, and answers as the
 * session does. */
static void what_is_remembered_comes_before_the_text(void **state)
{
    (void)state;
    struct engine *engine = start();
    struct model *model = open_kind("memory", kernels_cpu());
    size_t width = model_facts(model)->width, count, same, made;
    struct hmt *hmt = NULL, *plain = NULL;
    struct ids asked = {0};
    struct session *session = NULL;
    int32_t ids[DOCUMENT * 3];
    fill_ids(ids, DOCUMENT * 3, 60, 8);
    assert_int_equal(engine_read(engine, ids, DOCUMENT * 3, NULL, &hmt, NULL),
                     0);
    assert_int_equal(hmt_open(model, &(struct hmt_options){0}, &plain, NULL),
                     0);
    assert_int_equal(hmt_read(plain, model, ids, DOCUMENT * 3, NULL, NULL), 0);
    const float *want = hmt_memories(plain, &count);
    const float *got = hmt_memories(hmt, &same);
    assert_int_equal(count, (DOCUMENT * 3 + 255) / 256);
    assert_int_equal(same, count);
    check_near("memories", got, want, count * width, 1e-5);

    struct engine_prompt prompt = {
        .text = slice_of("What frees rows?"), .hmt = hmt, .max = MAX_ANSWER};
    struct engine_answer answer = answer_of(engine, &prompt);
    assert_int_equal(engine_tokens(engine, prompt.text, &asked, NULL), 0);
    assert_int_equal(hmt_session(plain, model, asked.items, asked.count, NULL,
                                 &session, NULL),
                     0);
    assert_int_equal(
        session_prefill(session, asked.items, asked.count, NULL, NULL, NULL),
        0);
    struct answer written = {.max = MAX_ANSWER};
    struct generate_options options = {.max = MAX_ANSWER};
    assert_int_equal(
        session_generate(session, &options, take_token, &written, &made, NULL),
        0);
    struct buf text = {0};
    tokenizer_decode(model_tokenizer(model), written.ids, made, false, &text);
    assert_int_equal(answer.tokens, made);
    assert_int_equal(answer.prompt_tokens, asked.count);
    assert_int_equal(answer.reused_tokens, 0);
    assert_true(slice_equal(buf_slice(&answer.text), buf_slice(&text)));
    buf_free(&text);
    buf_free(&answer.text);
    ids_free(&asked);
    session_close(session);
    hmt_close(plain);
    hmt_close(hmt);
    model_close(model);
    stop(engine);
}

/* A long answer that another one is asked beside. */
struct beside {
    struct asked *other;
    bool started;
    atomic_bool answered;
};

static void *ask_beside(void *context)
{
    struct beside *beside = context;
    ask(beside->other);
    atomic_store(&beside->answered, true);
    return NULL;
}

static bool until_answered(void *context, struct slice text)
{
    struct beside *beside = context;
    (void)text;
    if (!beside->started)
        pthread_create(&beside->other->thread, NULL, ask_beside, beside);
    beside->started = true;
    usleep(2000);
    return !atomic_load(&beside->answered);
}

static void a_short_answer_need_not_wait(void **state)
{
    (void)state;
    struct engine *engine = start();
    struct asked first, second;
    prepare(&first, engine, 1);
    prepare(&second, engine, 2);
    struct beside beside = {.other = &second};
    first.prompt.max = 400;
    first.prompt.piece = until_answered;
    first.prompt.context = &beside;
    ask(&first);
    assert_true(atomic_load(&beside.answered));
    pthread_join(second.thread, NULL);
    assert_int_equal(first.code, 0);
    assert_int_equal(second.code, 0);
    assert_true(first.answer.tokens < 400 && !first.answer.ended);
    end_asked(&first);
    end_asked(&second);
    stop(engine);
}

struct cancelling {
    atomic_bool cancel;
    size_t pieces;
};

static bool cancel_soon(void *context, struct slice text)
{
    struct cancelling *cancelling = context;
    (void)text;
    if (++cancelling->pieces == 3)
        atomic_store(&cancelling->cancel, true);
    return true;
}

/* One is cancelled at its third piece; the other does not notice. */
static void each_is_cancelled_alone(void **state)
{
    (void)state;
    struct engine *engine = start();
    struct asked alone, kept, ended;
    struct cancelling cancelling = {.pieces = 0};
    prepare(&alone, engine, 3);
    prepare(&kept, engine, 3);
    prepare(&ended, engine, 5);
    alone.prompt.max = kept.prompt.max = ended.prompt.max = 200;
    ended.prompt.cancel = &cancelling.cancel;
    ended.prompt.piece = cancel_soon;
    ended.prompt.context = &cancelling;
    ask(&alone);
    pthread_create(&kept.thread, NULL, ask, &kept);
    pthread_create(&ended.thread, NULL, ask, &ended);
    pthread_join(kept.thread, NULL);
    pthread_join(ended.thread, NULL);
    assert_int_equal(ended.code, ERR_CANCELLED);
    assert_int_equal(cancelling.pieces, 3);
    assert_int_equal(kept.code, 0);
    assert_true(slice_equal(buf_slice(&kept.answer.text),
                            buf_slice(&alone.answer.text)));
    end_asked(&alone);
    end_asked(&kept);
    stop(engine);
}

static void the_end_ends_all(void **state)
{
    (void)state;
    enum { ASKED = 10 };
    struct engine *engine = start();
    struct asked asked[ASKED];
    for (size_t i = 0; i < ASKED; i++) {
        prepare(&asked[i], engine, i);
        asked[i].prompt.max = 400;
        asked[i].prompt.sampling.temperature = 2;
        pthread_create(&asked[i].thread, NULL, ask, &asked[i]);
    }
    usleep(3000);
    engine_cancel(engine);
    for (size_t i = 0; i < ASKED; i++) {
        pthread_join(asked[i].thread, NULL);
        assert_true(!asked[i].code || asked[i].code == ERR_CANCELLED ||
                    asked[i].code == ERR_MODEL);
        end_asked(&asked[i]);
    }
    stop(engine);
}

/* What an answer has in its middle ends the next one before it. */
static void a_stop_text_ends_an_answer(void **state)
{
    (void)state;
    struct engine *engine = start();
    struct asked whole, cut;
    prepare(&whole, engine, 4);
    prepare(&cut, engine, 4);
    ask(&whole);
    struct slice text = buf_slice(&whole.answer.text);
    assert_true(text.size > 12);
    struct slice stops[] = {{text.data + text.size / 2, 5}, slice_of("\1\2\3")};
    cut.prompt.stops = stops;
    cut.prompt.stop_count = 2;
    ask(&cut);
    assert_int_equal(cut.code, 0);
    assert_true(cut.answer.ended);
    assert_true(cut.answer.tokens < whole.answer.tokens);
    char *first = memmem(text.data, text.size, stops[0].data, stops[0].size);
    struct slice wanted = {text.data, (size_t)(first - text.data)};
    assert_true(slice_equal(buf_slice(&cut.answer.text), wanted));
    assert_true(slice_equal(buf_slice(&cut.pieces), wanted));
    end_asked(&whole);
    end_asked(&cut);
    stop(engine);
}

static void prompts_are_reused(void **state)
{
    (void)state;
    struct engine *engine = start();
    struct asked first, again;
    struct buf text = {0};
    for (int i = 0; i < 12; i++)
        buf_printf(&text, "[%d] A vacuum frees dead rows. ", i);
    prepare(&first, engine, 1);
    prepare(&again, engine, 1);
    first.prompt.text = again.prompt.text = buf_slice(&text);
    ask(&first);
    ask(&again);
    assert_int_equal(first.code, 0);
    assert_int_equal(first.answer.reused_tokens, 0);
    assert_true(again.answer.reused_tokens >= PREFIX_PIECE);
    assert_int_equal(again.answer.reused_tokens,
                     (first.answer.prompt_tokens - 1) / PREFIX_PIECE *
                         PREFIX_PIECE);
    assert_true(slice_equal(buf_slice(&first.answer.text),
                            buf_slice(&again.answer.text)));
    assert_memory_equal(&first.answer.mean_log, &again.answer.mean_log,
                        sizeof first.answer.mean_log);
    end_asked(&first);
    end_asked(&again);
    buf_free(&text);
    stop(engine);
}

/* The model with a longer context, in the test's own folder. */
static void make_long(void)
{
    char command[700];
    snprintf(command, sizeof command,
             "cp " MODEL "/model.safetensors '%s' && sed -i -E "
             "'s/(\"max_position_embeddings\": *)[0-9]+/\\116384/' "
             "'%s/config.json'",
             own_folder, own_folder);
    assert_int_equal(system(command), 0);
}

static bool enough(void *context, struct slice text)
{
    (void)context;
    (void)text;
    return false;
}

static void attention_is_chosen_by_length(void **state)
{
    (void)state;
    static const struct {
        bool exact;
        size_t max, from;
        const char *attention;
    } cases[] = {{true, 4200, 0, "exact"},
                 {true, 40, 0, "full"},
                 {true, 40, 30, "exact"},
                 {true, 4200, 5000, "full"},
                 {false, 4200, 0, "full"}};
    make_long();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct engine_options options = {.folder = own_folder,
                                         .exact = cases[i].exact,
                                         .exact_from = cases[i].from};
        struct engine *engine = NULL;
        struct asked asked;
        assert_int_equal(engine_start(&options, &engine, NULL), 0);
        prepare(&asked, engine, 0);
        asked.prompt.max = cases[i].max;
        asked.prompt.piece = enough;
        ask(&asked);
        assert_int_equal(asked.code, 0);
        assert_string_equal(asked.answer.attention, cases[i].attention);
        end_asked(&asked);
        stop(engine);
    }
}

/* Of the whole of a text behind which a question stands; what was kept is not gone on
 * from. */
static struct engine_answer answer_behind(struct engine *engine,
                                          const struct ids *before, bool alone)
{
    struct engine_prompt prompt = {.before = before->items,
                                   .before_count = before->count,
                                   .text = slice_of("\n\nWhat frees rows?"),
                                   .max = MAX_ANSWER,
                                   .alone = alone};
    struct engine_answer answer = answer_of(engine, &prompt);
    assert_int_equal(answer.reused_tokens, 0);
    return answer;
}

/* What is chosen, and from where on, is the engine's to say for a text that is read alone,
 * too. */
static void a_text_alone_is_chosen_from_as_others(void **state)
{
    (void)state;
    make_long();
    const struct session_exact how[] = {{.all = true, .window = 8},
                                        {.top_k = 64, .window = 4096}};
    struct engine_answer alone[2], among[2];
    for (size_t i = 0; i < 2; i++) {
        struct engine_options options = {.folder = own_folder,
                                         .exact = true,
                                         .exact_from = 1,
                                         .how = how[i]};
        struct engine *engine = NULL;
        struct ids ids = {0};
        struct buf text = {0};
        assert_int_equal(engine_start(&options, &engine, NULL), 0);
        for (int s = 0; s < 16; s++)
            buf_put_text(&text, "Vacuum frees rows that nobody sees. ");
        assert_int_equal(engine_tokens(engine, buf_slice(&text), &ids, NULL),
                         0);
        alone[i] = answer_behind(engine, &ids, true);
        among[i] = answer_behind(engine, &ids, false);
        assert_string_equal(alone[i].attention, "exact");
        assert_true(
            slice_equal(buf_slice(&alone[i].text), buf_slice(&among[i].text)));
        buf_free(&text);
        ids_free(&ids);
        stop(engine);
    }
    assert_false(
        slice_equal(buf_slice(&alone[0].text), buf_slice(&alone[1].text)));
    for (size_t i = 0; i < 2; i++) {
        buf_free(&alone[i].text);
        buf_free(&among[i].text);
    }
}

/* A model that knows no end of an answer; it ends where nothing may follow. */
static void a_copy_ends_without_a_stop(void **state)
{
    (void)state;
    make_long();
    char command[400];
    snprintf(command, sizeof command,
             "sed -i 's/\"eos_token_id\": 0/\"eos_token_id\": null/' "
             "'%s/config.json'",
             own_folder);
    assert_int_equal(system(command), 0);
    struct engine_options options = {.folder = own_folder};
    struct engine *engine = NULL;
    struct asked asked;
    assert_int_equal(engine_start(&options, &engine, NULL), 0);
    prepare(&asked, engine, 0);
    asked.prompt.max = 90;
    asked.prompt.copying = copying_open(NULL, 0);
    ask(&asked);
    assert_int_equal(asked.code, 0);
    assert_true(
        slice_is(buf_slice(&asked.answer.text), " Not in these passages."));
    assert_true(asked.answer.ended);
    copying_close(asked.prompt.copying);
    end_asked(&asked);
    stop(engine);
}

/* HiLS's choice takes more stack than these threads would have. */
static void the_limits_of_the_process_do_not_matter(void **state)
{
    pthread_attr_t usual, small;
    assert_int_equal(pthread_getattr_default_np(&usual), 0);
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 512 << 10);
    assert_int_equal(pthread_setattr_default_np(&small), 0);
    attention_is_chosen_by_length(state);
    assert_int_equal(pthread_setattr_default_np(&usual), 0);
    pthread_attr_destroy(&small);
    pthread_attr_destroy(&usual);
}

/* Pieces of 128 tokens, then long ones. */
static void a_long_beginning_is_read_once(void **state)
{
    (void)state;
    enum { LONG = PREFIX_LONG_FROM + PREFIX_LONG_PIECE };
    int32_t *ids = mem_alloc((LONG + 300) * sizeof *ids);
    struct prefixes prefixes = {.count = 0};
    make_long();
    struct model *model = open_at(own_folder, kernels_cpu(), true, true);
    fill_ids(ids, LONG + 300, model_facts(model)->vocabulary, 7);
    check_prompt_of(&prefixes, model, true, ids, LONG + 300, 0);
    check_prompt_of(&prefixes, model, true, ids, LONG - 1, PREFIX_LONG_FROM);
    check_prompt_of(&prefixes, model, true, ids, LONG + 200, LONG);
    prefixes_clear(&prefixes);
    model_close(model);
    free(ids);
}

/* By a model's size, what it reads and where. */
static void only_what_chooses_is_read_in_long_pieces(void **state)
{
    (void)state;
    static const struct {
        uint64_t parameters;
        const char *attention;
        bool exact;
        size_t at, piece;
    } cases[] = {{7400000, "full", true, 8192, 2048},
                 {7400000, "full", true, 8191, 128},
                 {7400000, "full", false, 100000, 128},
                 {7400000, "hils", false, 8192, 2048},
                 {1 << 23, "full", true, 8192, 2048},
                 {(1 << 23) + 1, "full", true, 8192, 1024},
                 {596000000, "full", true, 8192, 128},
                 {UINT64_MAX, "hils", false, 8192, 128}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct model_facts facts = {.parameters = cases[i].parameters,
                                    .attention = cases[i].attention};
        assert_int_equal(prefixes_piece(&facts, cases[i].exact, cases[i].at),
                         cases[i].piece);
        facts.pass_tokens = PREFIX_DEVICE_PIECE;
        assert_int_equal(prefixes_piece(&facts, cases[i].exact, cases[i].at),
                         PREFIX_DEVICE_PIECE);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_beginning_is_read_once),
        cmocka_unit_test(the_one_used_longest_ago_goes),
        cmocka_unit_test(stops_are_found_across_pieces),
        cmocka_unit_test(parts_of_stops_are_held_back),
        cmocka_unit_test(answers_are_the_same_side_by_side),
        cmocka_unit_test(some_answers_only_copy),
        cmocka_unit_test(ids_may_come_before_the_text),
        cmocka_unit_test(special_tokens_of_a_text_are_left_out),
        cmocka_unit_test(what_is_remembered_comes_before_the_text),
        cmocka_unit_test(a_short_answer_need_not_wait),
        cmocka_unit_test(each_is_cancelled_alone),
        cmocka_unit_test(the_end_ends_all),
        cmocka_unit_test(a_stop_text_ends_an_answer),
        cmocka_unit_test(prompts_are_reused),
        cmocka_unit_test_setup_teardown(a_copy_ends_without_a_stop,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(attention_is_chosen_by_length,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_text_alone_is_chosen_from_as_others,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(the_limits_of_the_process_do_not_matter,
                                        make_model_folder, remove_folder),
        cmocka_unit_test_setup_teardown(a_long_beginning_is_read_once,
                                        make_model_folder, remove_folder),
        cmocka_unit_test(only_what_chooses_is_read_in_long_pieces),
    };
    return cmocka_run_group_tests(tests, make_pool, end_pool);
}
