/* Environments whose body is a macro, \BODY: \NewEnviron of the package environ
 * (environ.dtx, 1.1), \collect@body of amsmath in its place. */
#include "indexer/parse/latex/tex/tex.h"

static void add_group(struct tokens *list, struct token place,
                      const struct tokens *content)
{
    place.cat = CAT_BEGIN;
    tokens_add(list, place);
    tokens_add_all(list, content->items, content->count);
    place.cat = CAT_END;
    tokens_add(list, place);
}

/* Is the argument that \begin or \end takes this one's name?  Both stay in
 * `ret`. */
static bool reads_name(struct tex *tex, struct token call, struct slice name,
                       struct tokens *ret)
{
    struct tokens list = {0};
    struct buf text = {0};
    tex_read_argument(tex, &list);
    tex_write_tokens(tex, &list, &text);
    bool same = slice_equal(buf_slice(&text), name);
    tokens_add(ret, call);
    add_group(ret, call, &list);
    tokens_free(&list);
    buf_free(&text);
    return same;
}

/* Up to the \end{name} that ends it, which is read next. */
static void read_body(struct tex *tex, struct slice name, struct tokens *ret)
{
    size_t nested = 0;
    unsigned abandoned = tex->abandon_count;
    while (tex->abandon_count == abandoned && ret->count < MAX_STORED) {
        struct token token = tex_next(tex);
        if (tex_at_end(tex, token))
            return;
        if (token_is(token, CAT_NAME, tex->begin)) {
            nested += reads_name(tex, token, name, ret);
        } else if (token_is(token, CAT_NAME, tex->end)) {
            struct tokens end = {0};
            if (reads_name(tex, token, name, &end) && !nested--) {
                tex_push(tex, end);
                return;
            }
            tokens_add_all(ret, end.items, end.count);
            tokens_free(&end);
        } else {
            tokens_add(ret, token);
        }
    }
}

/* \lectern@body{name}{\BODY}{code}body\end{name} */
static void run_body(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct buf name = {0};
    struct tokens called = {0}, code = {0};
    struct macro macro = {0};
    (void)command;
    (void)call;
    tex_read_text(tex, &name);
    tex_read_argument(tex, &called);
    tex_read_argument(tex, &code);
    read_body(tex, buf_slice(&name), &macro.body);
    if (called.count && called.items[0].cat == CAT_NAME)
        define_macro(tex, called.items[0].value, macro);
    tokens_free(&macro.body);
    tokens_free(&called);
    tex_push(tex, code);
    buf_free(&name);
}

/* \NewEnviron{name}[n][default]{code}[code at the end]: as \newenvironment{name}
 * [n][default]{\lectern@body{name}{code}}{}. */
static void run_new(struct tex *tex, const struct command *command,
                    struct token call)
{
    struct tokens name = {0}, optional = {0}, code = {0}, list = {0};
    (void)command;
    tex_read_argument(tex, &name);
    call.cat = CAT_NAME;
    call.value = tex_symbol_of(tex, "newenvironment");
    tokens_add(&list, call);
    add_group(&list, call, &name);
    for (int i = 0; i < 2 && tex_read_optional(tex, &optional); i++) {
        struct token bracket = call;
        bracket.cat = CAT_OTHER;
        bracket.value = '[';
        tokens_add(&list, bracket);
        tokens_add_all(&list, optional.items, optional.count);
        bracket.value = ']';
        tokens_add(&list, bracket);
        tokens_free(&optional);
        optional = (struct tokens){0};
    }
    tex_read_argument(tex, &code);
    if (tex_read_optional(tex, &optional))
        tokens_add_all(&code, optional.items, optional.count);
    struct tokens begin = {0}, end = {0}, body = {0};
    call.value = tex_symbol_of(tex, "lectern@body");
    tokens_add(&begin, call);
    add_group(&begin, call, &name);
    call.value = tex->body_name;
    tokens_add(&body, call);
    add_group(&begin, call, &body);
    tokens_free(&body);
    add_group(&begin, call, &code);
    add_group(&list, call, &begin);
    add_group(&list, call, &end);
    tokens_free(&begin);
    tokens_free(&name);
    tokens_free(&optional);
    tokens_free(&code);
    tex_push(tex, list);
}

/* \environbodyname\other: what \BODY is called in those that follow. */
static void run_body_name(struct tex *tex, const struct command *command,
                          struct token call)
{
    struct tokens name = {0};
    (void)command;
    (void)call;
    tex_read_argument(tex, &name);
    if (name.count && name.items[0].cat == CAT_NAME)
        tex->body_name = name.items[0].value;
    tokens_free(&name);
}

static const struct command commands[] = {
    {"environbodyname", run_body_name, NULL, 0, NULL},
    {"NewEnviron", run_new, NULL, 0, NULL},
    {"RenewEnviron", run_new, NULL, 0, NULL},
    {"lectern@body", run_body, NULL, 0, NULL},
};

void environ_add(struct tex *tex)
{
    tex_add_commands(tex, commands, sizeof commands / sizeof *commands,
                     MEANING_COMMAND, false);
    tex->body_name = tex_symbol_of(tex, "BODY");
}
