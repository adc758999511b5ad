/* Code that stands in files of its own: \lstinputlisting and its kin.  It is a
 * block of that file, exact, with the lines that the options name. */
#include "indexer/parse/latex/latex_internal.h"

/* What a listing is made of. */
struct listing {
    struct slice name, language;
    int64_t first_line, last_line; /* from 1 on; 0: of the file */
};

/* "[Short]Long", "[{S[0]}]Long": the long one. */
static size_t after_short(const struct tokens *caption)
{
    size_t at = 0, depth = 0;
    if (!caption->count || !token_is(caption->items[0], CAT_OTHER, '['))
        return 0;
    for (; at < caption->count; at++) {
        if (!depth && token_is(caption->items[at], CAT_OTHER, ']'))
            return at + 1;
        depth += caption->items[at].cat == CAT_BEGIN;
        depth -= depth && caption->items[at].cat == CAT_END;
    }
    return 0;
}

static void add_title(struct tex *tex, const struct tokens *title,
                      struct token call, struct tokens *ret)
{
    tex_add_name(tex, "par", call, ret);
    tokens_add_all(ret, title->items, title->count);
    tex_add_name(tex, "par", call, ret);
}

void listings_caption(struct tex *tex, const struct tokens *options,
                      struct token call, struct tokens *ret)
{
    static const char counter[] = "lstlisting";
    struct tokens value = {0}, group = {0};
    if (keys_value(tex, options, "caption", &value)) {
        tex_strip_braces(&value, 0);
        size_t from = after_short(&value);
        call.flags |= TOKEN_MADE;
        tex_add_name(tex, "captionof", call, ret);
        struct token letter = call;
        letter.cat = CAT_LETTER;
        for (const char *at = counter; *at; at++) {
            letter.value = (unsigned char)*at;
            tokens_add(&group, letter);
        }
        tokens_add_group(ret, &group, call);
        group.count = 0;
        tokens_add_all(&group, value.items + from, value.count - from);
        tokens_add_group(ret, &group, call);
    } else if (keys_value(tex, options, "title", &value)) {
        add_title(tex, &value, call, ret);
    }
    if (keys_value(tex, options, "label", &value)) {
        tex_strip_braces(&value, 0);
        tex_add_name(tex, "label", call, ret);
        tokens_add_group(ret, &value, call);
    }
    tokens_free(&value);
    tokens_free(&group);
}

/* Where line `number` begins; the end of the text: there is none. */
static size_t line_at(struct slice text, int64_t number)
{
    size_t at = 0;
    while (--number > 0 && at < text.size) {
        const char *end = memchr(text.data + at, '\n', text.size - at);
        at = end ? (size_t)(end - text.data) + 1 : text.size;
    }
    return at;
}

/* What the document wrote to a file stands where it was written. */
static void put_written(struct document *d, const struct listing *listing,
                        struct token passage)
{
    struct slice text = d->tex.files[passage.file].transcoded.text;
    d->tex.steps += passage.to - passage.from;
    verbatim_put(
        d, (struct slice){text.data + passage.from, passage.to - passage.from},
        listing->language, passage);
}

static void put_listing(struct document *d, const struct listing *listing,
                        struct token call)
{
    struct tex *tex = &d->tex;
    struct token written;
    uint16_t file;
    if (streams_passage(tex, listing->name, &written)) {
        put_written(d, listing, written);
        return;
    }
    if (tex->spent || !inputs_fetch_named(d, listing->name, "", call, &file))
        return;
    struct slice text = tex->files[file].transcoded.text;
    size_t from = line_at(text, listing->first_line);
    size_t to = listing->last_line > 0 ? line_at(text, listing->last_line + 1)
                                       : text.size;
    if (to < from)
        to = from;
    tex->steps += to - from; /* the same file may be shown again and again */
    struct token place = {.cat = CAT_OTHER,
                          .file = file,
                          .from = (uint32_t)from,
                          .to = (uint32_t)to};
    verbatim_put(d, (struct slice){text.data + from, to - from},
                 listing->language, place);
}

static void read_options(struct document *d, const struct tokens *list,
                         struct listing *listing)
{
    struct slice first = verbatim_option(d, list, "firstline"),
                 last = verbatim_option(d, list, "lastline");
    listing->language = verbatim_language(d, list);
    if (first.size)
        listing->first_line = number_of_text(&d->tex, first);
    if (last.size)
        listing->last_line = number_of_text(&d->tex, last);
}

/* `before`: o options, m the language, a an argument of no account; the name of
 * the file follows. */
static void run_listing(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct document *d = document_of(tex);
    struct listing listing = {.language = {"", 0}};
    struct tokens list = {0}, after = {0};
    struct buf text = {0};
    tex_read_character(tex, '*');
    for (const char *at = command->text; *at; at++) {
        buf_clear(&text);
        if (*at == 'o' && tex_read_optional(tex, &list)) {
            read_options(d, &list, &listing);
            if (command->value)
                listings_caption(tex, &list, call, &after);
        }
        if (*at != 'o')
            tex_read_text(tex, &text);
        if (*at == 'm')
            listing.language = document_keep(d, buf_slice(&text));
    }
    buf_clear(&text);
    tex_read_text(tex, &text);
    listing.name = document_keep(d, buf_slice(&text));
    put_listing(d, &listing, call);
    tex_push(tex, after);
    tokens_free(&list);
    buf_free(&text);
}

static void put_boxed(struct document *d, const struct tokens *options,
                      struct token call)
{
    struct listing listing = {.language = {"", 0}};
    read_options(d, options, &listing);
    struct slice language = verbatim_option(d, options, "minted language");
    if (language.size)
        listing.language = language;
    listing.name = verbatim_option(d, options, "listing file");
    put_listing(d, &listing, call);
}

/* \tcbinputlisting{listing file={..}, title={..}, label=.., ..}: the title is a
 * paragraph before the code. */
static void run_boxed_listing(struct tex *tex, const struct command *command,
                              struct token call)
{
    struct tokens options = {0}, title = {0}, label = {0}, run = {0};
    tex_read_argument(tex, &options);
    bool titled = keys_value(tex, &options, "title", &title);
    bool labelled = keys_value(tex, &options, "label", &label);
    if (command->value || (!titled && !labelled)) {
        put_boxed(document_of(tex), &options, call);
    } else {
        tex_add_name(tex, "par", call, &run);
        tokens_add_all(&run, title.items, title.count);
        if (labelled) {
            tex_strip_braces(&label, 0);
            tex_add_name(tex, "label", call, &run);
            tokens_add_group(&run, &label, call);
        }
        tex_add_name(tex, "par", call, &run);
        tex_add_name(tex, "-listing-", call, &run);
        tokens_add_group(&run, &options, call);
        tex_push(tex, run);
    }
    tokens_free(&options);
    tokens_free(&title);
    tokens_free(&label);
}

static const struct command commands[] = {
    {"lstinputlisting", run_listing, NULL, 1, "o"},
    {"inputminted", run_listing, NULL, 0, "om"},
    {"VerbatimInput", run_listing, NULL, 0, "o"},
    {"BVerbatimInput", run_listing, NULL, 0, "o"},
    {"LVerbatimInput", run_listing, NULL, 0, "o"},
    {"verbatiminput", run_listing, NULL, 0, ""},
    {"verbatimtabinput", run_listing, NULL, 0, "o"},
    {"listinginput", run_listing, NULL, 0, "oa"},
    {"tcbinputlisting", run_boxed_listing, NULL, 0, NULL},
    {"-listing-", run_boxed_listing, NULL, 1, NULL}, /* its title was put */
};

void listings_add(struct document *d)
{
    tex_add_commands(&d->tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
}
