#include "daemon/engine/engine_prefixes.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"

/* Sessions, by default. */
static const size_t usual_bytes = (size_t)512 << 20;

size_t prefixes_piece(const struct model_facts *facts, bool exact, size_t at)
{
    const uint64_t max = (uint64_t)1 << 34;
    size_t piece = PREFIX_LONG_PIECE;
    bool chooses = exact || !strcmp(facts->attention, "hils");
    if (facts->pass_tokens >= PREFIX_DEVICE_PIECE)
        return PREFIX_DEVICE_PIECE;
    if (at < PREFIX_LONG_FROM || !chooses)
        return PREFIX_PIECE;
    while (piece > PREFIX_PIECE && facts->parameters > max / piece)
        piece /= 2;
    return piece;
}

/* The last end of a piece that is no more than `length`: long ones begin where
 * one would end if all were long. */
static size_t whole_pieces(const struct model *model, bool exact, size_t length)
{
    size_t piece = prefixes_piece(model_facts(model), exact, length);
    return length / piece * piece;
}

static size_t in_common(const struct session *session, const int32_t *ids,
                        size_t count)
{
    const int32_t *mine = session_ids(session);
    size_t max = session_length(session), same = 0;
    max = max < count ? max : count;
    while (same < max && mine[same] == ids[same])
        same++;
    return same;
}

static void free_item(struct prefix *item)
{
    session_close(item->session);
    free(item->sections);
}

static void remove_at(struct prefixes *p, size_t at)
{
    p->count--;
    memmove(&p->items[at], &p->items[at + 1],
            (p->count - at) * sizeof p->items[0]);
}

static void put_first(struct prefixes *p, struct prefix item)
{
    memmove(&p->items[1], &p->items[0], p->count * sizeof p->items[0]);
    p->items[0] = item;
    p->count++;
}

static bool is_exact(const struct session *session)
{
    return !strcmp(session_attention(session), "exact");
}

static int open_new(const struct prefixes *p, struct model *model, bool exact,
                    struct session **ret, struct err *err)
{
    return exact ? session_open_exact(model, &p->how, ret, err)
                 : session_open(model, ret, err);
}

/* ---- Files ---- */

/* Whether pieces of this session's kind may lie in files. */
static bool are_filed(const struct prefixes *p, struct model *model,
                      const struct session *session)
{
    size_t page = session_page_tokens(session);
    return p->files && model_facts(model)->parameters >= p->min_parameters &&
           page && PREFIX_PIECE % page == 0;
}

static size_t piece_bytes(const struct session *session)
{
    return PREFIX_PIECE / session_page_tokens(session) *
           session_page_bytes(session);
}

/* The piece of this number, of which the names of those before are given. */
static struct prompt_piece piece_at(const struct prefixes *p,
                                    const struct model *model,
                                    const struct session *session,
                                    const int32_t *ids,
                                    const struct hash128 *names, size_t number)
{
    return (struct prompt_piece){
        .before = number ? names[number - 1] : session_kind(session),
        .ids = ids + number * PREFIX_PIECE,
        .count = PREFIX_PIECE,
        .rounded = p->rounded && !strcmp(model_facts(model)->key_type, "f32")};
}

/* Names of the pieces [count] of `ids`. */
static void name_pieces(const struct prefixes *p, const struct model *model,
                        const struct session *session, const int32_t *ids,
                        size_t count, struct hash128 *ret)
{
    struct prompt_piece piece = piece_at(p, model, session, ids, NULL, 0);
    for (size_t i = 0; i < count; i++) {
        piece.before = ret[i] = prompt_piece_name(&piece);
        piece.ids += PREFIX_PIECE;
    }
}

/* Appends the piece of this number; false: it could not be had. */
static bool import_piece(struct prefixes *p, const struct model *model,
                         struct session *session, const int32_t *ids,
                         const struct hash128 *names, size_t number,
                         void *pages)
{
    struct prompt_piece piece = piece_at(p, model, session, ids, names, number);
    return !prompt_files_read(p->files, &piece, pages, piece_bytes(session),
                              NULL) &&
           !session_import(session, piece.ids, piece.count, pages, NULL);
}

/* Goes on from files with what the session has not read of the first of `ids`,
 * less than all of them. */
static void go_on_from_files(struct prefixes *p, struct model *model,
                             bool exact, const int32_t *ids, size_t count,
                             struct session *session)
{
    size_t from = session_length(session) / PREFIX_PIECE, at = from;
    size_t most = count ? (count - 1) / PREFIX_PIECE : 0;
    if (!are_filed(p, model, session) || from >= most)
        return;
    struct hash128 *names = mem_alloc(most * sizeof *names);
    name_pieces(p, model, session, ids, most, names);
    while (at < most && prompt_files_has(p->files, names[at]))
        at++;
    size_t end = whole_pieces(model, exact, at * PREFIX_PIECE) / PREFIX_PIECE;
    void *pages = end > from ? malloc(piece_bytes(session)) : NULL;
    for (at = from; pages && at < end; at++)
        if (!import_piece(p, model, session, ids, names, at, pages))
            break;
    free(pages);
    session_rewind(session,
                   whole_pieces(model, exact, session_length(session)));
    at = session_length(session) / PREFIX_PIECE;
    if (at > from) {
        prompt_files_touch(p->files, names, at);
        p->counts.from_files++;
        p->counts.in_files += (at - from) * PREFIX_PIECE;
    }
    free(names);
}

static int file_piece(struct prefixes *p, const struct model *model,
                      struct prefix *item, size_t number, struct err *err)
{
    const int32_t *ids = session_ids(item->session);
    struct hash128 *names = mem_alloc((number + 1) * sizeof *names);
    name_pieces(p, model, item->session, ids, number + 1, names);
    struct prompt_piece piece =
        piece_at(p, model, item->session, ids, names, number);
    size_t size = piece_bytes(item->session);
    void *pages = malloc(size);
    int code = pages ? session_export(item->session, number * PREFIX_PIECE,
                                      PREFIX_PIECE, pages, err)
                     : err_set(err, ERR_LIMIT, "no memory for a piece");
    if (!code && !prompt_files_has(p->files, names[number]))
        code = prompt_files_write(p->files, &piece, item->sections, item->count,
                                  pages, size, err);
    prompt_files_touch(p->files, names, number + 1);
    free(pages);
    free(names);
    return code;
}

/* More pieces of one prompt than there is room for would push each other out. */
static bool have_room(struct prefixes *p, size_t pieces)
{
    struct prompt_files_facts facts;
    prompt_files_facts(p->files, &facts);
    return !facts.count ||
           pieces <= facts.max_bytes / (facts.bytes / facts.count + 1);
}

bool prefixes_file_one(struct prefixes *p, struct model *model)
{
    struct err err = {.position = -1};
    for (size_t i = 0; i < p->count; i++) {
        struct prefix *item = &p->items[i];
        if (item->filed >= item->tokens || !are_filed(p, model, item->session))
            continue;
        if (!have_room(p, item->filed / PREFIX_PIECE + 1)) {
            item->tokens = item->filed;
            continue;
        }
        if (file_piece(p, model, item, item->filed / PREFIX_PIECE, &err)) {
            log_warn("a prompt is not kept on the disk: %s", err.message);
            item->tokens = item->filed;
        } else {
            item->filed += PREFIX_PIECE;
        }
        return true;
    }
    return false;
}

/* ---- Sessions ---- */

/* The session that has most in common, in whole pieces; count: none. */
static size_t best_of(const struct prefixes *p, struct model *model, bool exact,
                      const int32_t *ids, size_t count, size_t *ret_tokens)
{
    size_t best = p->count, longest = 0;
    for (size_t i = 0; count && i < p->count; i++) {
        size_t same = in_common(p->items[i].session, ids, count - 1);
        if (same <= longest || is_exact(p->items[i].session) != exact)
            continue;
        longest = same;
        best = i;
    }
    *ret_tokens = whole_pieces(model, exact, longest);
    return *ret_tokens ? best : p->count;
}

int prefixes_fork(struct prefixes *p, struct model *model, bool exact,
                  const int32_t *ids, size_t count, struct session **ret,
                  struct err *err)
{
    size_t tokens, best = best_of(p, model, exact, ids, count, &tokens);
    int code;
    p->counts.prompts++;
    p->counts.tokens += count;
    if (best == p->count) {
        code = open_new(p, model, exact, ret, err);
    } else {
        struct prefix from = p->items[best];
        remove_at(p, best);
        put_first(p, from);
        code = session_fork(from.session, tokens, ret, err);
        p->counts.from_memory += !code;
        p->counts.in_memory += code ? 0 : tokens;
    }
    if (!code)
        go_on_from_files(p, model, exact, ids, count, *ret);
    return code;
}

/* Whether some other has read all that `session` has, or is about to. */
static bool is_covered(struct prefixes *p, const struct session *session,
                       size_t length)
{
    for (size_t i = 0; i < p->count; i++)
        if (is_exact(p->items[i].session) == is_exact(session) &&
            in_common(p->items[i].session, session_ids(session), length) ==
                length)
            return true;
    return false;
}

/* Drops those that `session` continues. */
static void drop_beginnings(struct prefixes *p, const struct session *session)
{
    for (size_t i = p->count; i-- > 0;) {
        struct session *item = p->items[i].session;
        size_t length = session_length(item);
        if (is_exact(item) != is_exact(session) ||
            in_common(item, session_ids(session), session_length(session)) <
                length)
            continue;
        free_item(&p->items[i]);
        remove_at(p, i);
    }
}

size_t prefixes_bytes(const struct prefixes *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->count; i++)
        bytes += session_bytes(p->items[i].session);
    return bytes;
}

size_t prefixes_most(const struct prefixes *p)
{
    return p->max_bytes ? p->max_bytes : usual_bytes;
}

static struct prefix make_item(struct session *kept,
                               const struct prefix_origin *origin)
{
    struct prefix item = {.session = kept};
    if (!origin || !origin->tokens)
        return item;
    size_t length = session_length(kept);
    size_t tokens = origin->tokens < length ? origin->tokens : length;
    item.tokens = tokens / PREFIX_PIECE * PREFIX_PIECE;
    item.count = origin->count;
    item.sections = mem_alloc((item.count + 1) * sizeof *item.sections);
    if (item.count)
        memcpy(item.sections, origin->sections,
               item.count * sizeof *item.sections);
    return item;
}

void prefixes_keep(struct prefixes *p, struct model *model,
                   struct session *session, const struct prefix_origin *origin)
{
    size_t length =
        whole_pieces(model, is_exact(session), session_length(session));
    struct session *kept;
    if (!length || is_covered(p, session, length) ||
        session_fork(session, length, &kept, NULL))
        return; /* what cannot be kept will be read again */
    drop_beginnings(p, kept);
    if (p->count == PREFIXES)
        free_item(&p->items[--p->count]);
    put_first(p, make_item(kept, origin));
    while (p->count && prefixes_bytes(p) > prefixes_most(p))
        free_item(&p->items[--p->count]);
}

static bool stands(const struct prefix *item, const struct section_check *check)
{
    for (size_t i = 0; i < item->count; i++)
        if (!check->stands(check->context, &item->sections[i]))
            return false;
    return true;
}

void prefixes_forget(struct prefixes *p, const struct section_check *check)
{
    for (size_t i = p->count; i-- > 0;) {
        if (stands(&p->items[i], check))
            continue;
        free_item(&p->items[i]);
        remove_at(p, i);
    }
    if (p->files)
        prompt_files_forget(p->files, check);
}

void prefixes_clear(struct prefixes *p)
{
    while (p->count)
        free_item(&p->items[--p->count]);
}
