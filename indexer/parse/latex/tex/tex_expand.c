/* Commands that expand, but conditionals. */
#include <stdlib.h>

#include "base/text.h"
#include "indexer/parse/latex/tex/tex.h"

static void run_csname(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf name = {0};
    uint32_t stop = tex_symbol_of(tex, "endcsname");
    unsigned abandoned = tex->abandon_count;
    (void)command;
    for (;;) {
        struct token token = tex_next_expanded(tex);
        if (token_is(token, CAT_NAME, stop) || tex_at_end(tex, token))
            break;
        if (token_is(token, CAT_NAME, tex->par) ||
            tex->abandon_count != abandoned || name.size > 1000) {
            tex_report(tex, call, "\\csname without \\endcsname");
            buf_free(&name);
            return;
        }
        tex_write_token(tex, token, &name);
    }
    call.value = tex_symbol(tex, buf_slice(&name));
    call.cat = CAT_NAME;
    call.flags |= TOKEN_MADE | TOKEN_NAMED;
    buf_free(&name);
    tex_unread(tex, call);
}

static void run_nameuse(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct buf name = {0};
    (void)command;
    tex_read_text(tex, &name);
    call.value = tex_symbol(tex, buf_slice(&name));
    call.flags |= TOKEN_MADE;
    buf_free(&name);
    tex_unread(tex, call);
}

/* Chains of it, \expandafter\expandafter..., are as long as a document makes
 * them: those that stand side by side are taken at once. */
static void run_expandafter(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct tokens kept = {0};
    uint32_t self = call.value;
    struct token token;
    (void)command;
    for (;;) {
        tokens_add(&kept, tex_next(tex));
        token = tex_next(tex);
        if (!token_is(token, CAT_NAME, self) || kept.count > 1000)
            break;
    }
    if (tex_is_expandable(tex, token))
        tex_expand(tex, token);
    else
        tex_unread(tex, token);
    while (kept.count)
        tex_unread(tex, kept.items[--kept.count]);
    tokens_free(&kept);
}

static void run_noexpand(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct token token = tex_next(tex);
    (void)command;
    (void)call;
    token.flags |= TOKEN_FROZEN;
    tex_unread(tex, token);
}

/* What \meaning says of a macro, which is as long as that and counts so; false: it is
 * too long. */
static bool put_meaning(struct tex *tex, const struct macro *macro,
                        struct buf *ret)
{
    size_t count = macro->body.count;
    if (count > MAX_STORED / 8)
        return false;
    tex->steps += count;
    tex->burst += count / 16;
    buf_put_text(ret, "macro:->");
    tex_write_tokens(tex, &macro->body, ret);
    return true;
}

static void run_string(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct buf text = {0};
    struct tokens list = {0};
    if (command->value == 1) { /* \detokenize */
        tex_read_argument(tex, &list);
        tex_write_tokens(tex, &list, &text);
    } else {
        struct token token = tex_next(tex);
        const struct meaning *meaning =
            token.cat == CAT_NAME ? tex_meaning(tex, token) : NULL;
        if (command->value != 2 || !meaning || /* \meaning */
            meaning->kind != MEANING_MACRO ||
            !put_meaning(tex, meaning->macro, &text))
            tex_write_token(tex, token, &text);
        if (!(token.flags & TOKEN_MADE))
            call = token;
    }
    tex_push_text(tex, buf_slice(&text), call);
    tokens_free(&list);
    buf_free(&text);
}

static void run_unexpanded(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct tokens list = {0};
    (void)call;
    (void)command;
    tex_read_argument(tex, &list);
    tex_push_frozen(tex, list);
}

/* Takes `before`'s arguments and keeps the one numbered `value`. */
static void run_choose(struct tex *tex, const struct command *command,
                       struct token call)
{
    struct tokens kept = {0}, other = {0};
    int count = command->text[0] - '0';
    (void)call;
    for (int i = 1; i <= count; i++)
        tex_read_argument(tex, i == command->value ? &kept : &other);
    tokens_free(&other);
    tex_push(tex, kept);
}

/* ---- One of two ---- */

/* Pushes the first or the second of two arguments. */
void expand_choose(struct tex *tex, bool first)
{
    struct tokens one = {0}, two = {0};
    tex_read_argument(tex, &one);
    tex_read_argument(tex, &two);
    tokens_free(first ? &two : &one);
    tex_push(tex, first ? one : two);
}

static void run_ifundefined(struct tex *tex, const struct command *command,
                            struct token call)
{
    struct buf name = {0};
    (void)call;
    tex_read_text(tex, &name);
    uint32_t symbol = tex_find_symbol(tex, buf_slice(&name));
    bool none = symbol == UINT32_MAX ||
                tex->symbols[symbol].meaning.kind == MEANING_NONE;
    buf_free(&name);
    expand_choose(tex, none == (command->value != 0));
}

/* \bgroup is a brace by another name. */
static bool is_wanted(const struct tex *tex, struct token wanted,
                      struct token token)
{
    if (token.cat == CAT_BEGIN && wanted.cat == CAT_NAME)
        return slice_is(tex->symbols[wanted.value].name, "bgroup");
    return token.cat == wanted.cat && token.value == wanted.value;
}

static void run_ifnextchar(struct tex *tex, const struct command *command,
                           struct token call)
{
    struct token wanted = {.cat = CAT_OTHER, .value = '*'};
    struct tokens one = {0}, two = {0};
    (void)call;
    if (!command->value)
        wanted = tex_next_solid(tex);
    tex_read_argument(tex, &one);
    tex_read_argument(tex, &two);
    struct token token = tex_next_solid(tex);
    bool same = is_wanted(tex, wanted, token);
    if (!same || !command->value)
        tex_unread(tex, token);
    tokens_free(same ? &two : &one);
    tex_push(tex, same ? one : two);
}

static void run_novalue(struct tex *tex, const struct command *command,
                        struct token call)
{
    struct tokens list = {0};
    (void)call;
    tex_read_argument(tex, &list);
    bool none =
        list.count == 1 && token_is(list.items[0], CAT_NAME, tex->no_value);
    bool found = command->value & 4 ? !list.count || none
                 : command->value & 8
                     ? list.count && list.items[0].cat == CAT_NAME &&
                           slice_is(tex->symbols[list.items[0].value].name,
                                    "BooleanTrue")
                     : none;
    if (command->value & 16)
        found = !found;
    tokens_free(&list);
    if (command->value & 1) { /* only the true branch is there */
        struct tokens branch = {0};
        tex_read_argument(tex, &branch);
        if (found)
            tex_push(tex, branch);
        else
            tokens_free(&branch);
    } else {
        expand_choose(tex, found);
    }
}

/* \@ifmtarg{x}{it is blank}{it is not}, \@ifnotmtarg{x}{it is not blank} of
 * the package ifmtarg. */
static void run_if_empty(struct tex *tex, const struct command *command,
                         struct token call)
{
    struct tokens list = {0}, branch = {0};
    bool empty = true;
    (void)call;
    tex_read_argument(tex, &list);
    for (size_t i = 0; i < list.count; i++)
        empty &= list.items[i].cat == CAT_SPACE;
    tokens_free(&list);
    if (!command->value) {
        expand_choose(tex, empty);
        return;
    }
    tex_read_argument(tex, &branch);
    if (!empty)
        tex_push(tex, branch);
    else
        tokens_free(&branch);
}

/* TeX's change letters as they stand, LaTeX's what they stand for. */
enum { CASE_UPPER = 1, CASE_EXPANDED = 2 };

static void run_case(struct tex *tex, const struct command *command,
                     struct token call)
{
    struct tokens list = {0};
    bool upper = command->value & CASE_UPPER;
    (void)call;
    struct token open = tex_next_solid(tex);
    if (open.cat == CAT_BEGIN && command->value & CASE_EXPANDED) {
        tex_read_expanded(tex, &list);
    } else {
        tex_unread(tex, open);
        tex_read_argument(tex, &list);
    }
    for (size_t i = 0; i < list.count; i++) {
        struct token *token = &list.items[i];
        bool plain = token->cat == CAT_LETTER || token->cat == CAT_OTHER;
        if (plain && upper && token->value >= 'a' && token->value <= 'z')
            token->value -= 32;
        else if (plain && !upper && token->value < 0x80)
            token->value = text_lower(token->value);
    }
    tex_push(tex, list);
}

enum part { PART_FOLDER, PART_BASE, PART_NAME, PART_ENDING, PART_PATH };

/* currfile's \currfiledir, \currfilebase and kin: of the file that is read. */
static void run_current_file(struct tex *tex, const struct command *command,
                             struct token call)
{
    struct slice path = {"", 0};
    if (tex->top_file)
        path = tex->files[tex->inputs[tex->top_file - 1].file].path;
    size_t name = path.size, end;
    while (name && path.data[name - 1] != '/')
        name--;
    for (end = path.size; end > name && path.data[end - 1] != '.';)
        end--;
    size_t base = end > name ? end - 1 : path.size;
    end = end > name ? end : path.size;
    struct slice part = path;
    switch (command->value) {
    case PART_FOLDER: part.size = name; break;
    case PART_BASE: part = (struct slice){path.data + name, base - name}; break;
    case PART_NAME:
        part = (struct slice){path.data + name, path.size - name};
        break;
    case PART_ENDING:
        part = (struct slice){path.data + end, path.size - end};
        break;
    default: break;
    }
    tex_push_text(tex, part, call);
}

static const struct command expanding[] = {
    {"csname", run_csname, NULL, 0, NULL},
    {"@nameuse", run_nameuse, NULL, 0, NULL},
    {"csuse", run_nameuse, NULL, 0, NULL},
    {"currfiledir", run_current_file, NULL, PART_FOLDER, NULL},
    {"currfileabsdir", run_current_file, NULL, PART_FOLDER, NULL},
    {"currfilebase", run_current_file, NULL, PART_BASE, NULL},
    {"currfilename", run_current_file, NULL, PART_NAME, NULL},
    {"currfileext", run_current_file, NULL, PART_ENDING, NULL},
    {"currfilepath", run_current_file, NULL, PART_PATH, NULL},
    {"currfileabspath", run_current_file, NULL, PART_PATH, NULL},
    {"expandafter", run_expandafter, NULL, 0, NULL},
    {"noexpand", run_noexpand, NULL, 0, NULL},
    {"string", run_string, NULL, 0, NULL},
    {"meaning", run_string, NULL, 2, NULL},
    {"detokenize", run_string, NULL, 1, NULL},
    {"unexpanded", run_unexpanded, NULL, 0, NULL},
    {"@firstofone", run_choose, NULL, 1, "1"},
    {"@gobble", run_choose, NULL, 2, "1"},
    {"@gobbletwo", run_choose, NULL, 3, "2"},
    {"@gobblefour", run_choose, NULL, 5, "4"},
    {"@firstoftwo", run_choose, NULL, 1, "2"},
    {"@secondoftwo", run_choose, NULL, 2, "2"},
    {"@ifundefined", run_ifundefined, NULL, 1, NULL},
    {"ifcsundef", run_ifundefined, NULL, 1, NULL},
    {"ifcsdef", run_ifundefined, NULL, 0, NULL},
    {"pgfutil@ifnextchar", run_ifnextchar, NULL, 0, NULL},
    {"@ifnextchar", run_ifnextchar, NULL, 0, NULL},
    {"kernel@ifnextchar", run_ifnextchar, NULL, 0, NULL},
    {"@ifstar", run_ifnextchar, NULL, 1, NULL},
    {"IfNoValueTF", run_novalue, NULL, 0, NULL},
    {"IfNoValueT", run_novalue, NULL, 1, NULL},
    {"IfNoValueF", run_novalue, NULL, 17, NULL},
    {"IfValueTF", run_novalue, NULL, 16, NULL},
    {"IfValueT", run_novalue, NULL, 17, NULL},
    {"IfValueF", run_novalue, NULL, 1, NULL},
    {"IfBlankTF", run_novalue, NULL, 4, NULL},
    {"IfBooleanTF", run_novalue, NULL, 8, NULL},
    {"IfBooleanT", run_novalue, NULL, 9, NULL},
    {"IfBooleanF", run_novalue, NULL, 25, NULL},
    {"@ifmtarg", run_if_empty, NULL, 0, NULL},
    {"@ifnotmtarg", run_if_empty, NULL, 1, NULL},
    {"uppercase", run_case, NULL, CASE_UPPER, NULL},
    {"lowercase", run_case, NULL, 0, NULL},
    {"MakeUppercase", run_case, NULL, CASE_UPPER | CASE_EXPANDED, NULL},
    {"MakeLowercase", run_case, NULL, CASE_EXPANDED, NULL},
    {"MakeTextUppercase", run_case, NULL, CASE_UPPER | CASE_EXPANDED, NULL},
    {"MakeTextLowercase", run_case, NULL, CASE_EXPANDED, NULL},
};

/* \def\strip@prefix#1>{}, LaTeX's own, which cuts off what \meaning says first. */
static void define_strip(struct tex *tex)
{
    struct macro macro = {.is_short = true};
    struct token token = {.cat = CAT_MATCH, .value = 1, .file = UINT16_MAX};
    tokens_add(&macro.pattern, token);
    token.cat = CAT_OTHER;
    token.value = '>';
    tokens_add(&macro.pattern, token);
    define_macro(tex, tex_symbol_of(tex, "strip@prefix"), macro);
    tokens_free(&macro.pattern);
}

void expand_add(struct tex *tex)
{
    define_strip(tex);
    tex_define_text(tex, "empty", "");
    tex_define_text(tex, "@empty", "");
    tex_add_commands(tex, expanding, sizeof expanding / sizeof *expanding,
                     MEANING_EXPANDS, true);
}
