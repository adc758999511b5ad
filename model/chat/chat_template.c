#include "model/chat/chat_template.h"

#include "base/text.h"
#include "model/chat/template_run_internal.h"

struct chat_template {
    struct arena arena;
    struct node *statements;
};

int chat_template_open(struct slice text, struct chat_template **ret_template,
                       struct err *err)
{
    struct tokens tokens;
    if (text.size > MAX_TEMPLATE_BYTES)
        return err_set(err, ERR_LIMIT, "a chat template of more than %d KiB",
                       MAX_TEMPLATE_BYTES >> 10);
    if (!text_is_utf8(text.data, text.size))
        return err_set(err, ERR_FORMAT, "a chat template that is not UTF-8");
    struct chat_template *opened = mem_alloc(sizeof *opened);
    int rc = template_lex(text, &opened->arena, &tokens, err);
    if (!rc) {
        rc = template_parse(&tokens, &opened->arena, &opened->statements, err);
        free(tokens.items);
    }
    if (rc)
        chat_template_close(opened);
    else
        *ret_template = opened;
    return rc;
}

void chat_template_close(struct chat_template *chat_template)
{
    if (!chat_template)
        return;
    arena_free(&chat_template->arena);
    free(chat_template);
}

/* ---- What a template finds defined ---- */

static struct value text_value(struct run *run, struct slice text)
{
    if (!text.size)
        return value_string(slice_of(""));
    if (!text_is_utf8(text.data, text.size))
        run_fail(run, ERR_FORMAT, "a message is not UTF-8");
    return value_string(text);
}

static struct value message_value(struct run *run,
                                  const struct chat_message *message)
{
    struct dict *dict = dict_new(run);
    dict_put(run, dict, value_string(slice_of("role")),
             text_value(run, message->role));
    dict_put(run, dict, value_string(slice_of("content")),
             text_value(run, message->content));
    return value_dict(dict);
}

static void set_token(struct run *run, const char *name, const char *token)
{
    if (token)
        run_set(run, slice_of(name), value_string(slice_of(token)));
}

static void set_functions(struct run *run)
{
    const struct builtin *one = template_functions;
    for (; one->name; one++)
        if (run->input->now || strcmp(one->name, "strftime_now") != 0)
            run_set(run, slice_of(one->name),
                    (struct value){.kind = VALUE_FUNCTION, .builtin = one});
}

static void set_variables(struct run *run)
{
    const struct chat_input *input = run->input;
    struct list *messages = list_new(run);
    set_functions(run);
    for (size_t i = 0; i < input->message_count && !run->failed; i++)
        list_add(run, messages, message_value(run, &input->messages[i]));
    run_set(run, slice_of("messages"), value_list(VALUE_LIST, messages));
    run_set(run, slice_of("tools"), value_none());
    run_set(run, slice_of("documents"), value_none());
    run_set(run, slice_of("add_generation_prompt"),
            value_boolean(input->add_generation_prompt));
    set_token(run, "bos_token", input->bos_token);
    set_token(run, "eos_token", input->eos_token);
    for (size_t i = 0; i < input->flag_count; i++)
        run_set(run, slice_of(input->flags[i].name),
                value_boolean(input->flags[i].value));
}

int chat_template_render(const struct chat_template *chat_template,
                         const struct chat_input *input, struct buf *out,
                         struct err *err)
{
    struct buf text = {0};
    struct err own = {0};
    struct run run = {
        .err = err ? err : &own, .out = &text, .input = input, .line = 1};
    run.scope = run_scope(&run, NULL);
    set_variables(&run);
    run.scope = run_scope(&run, run.scope);
    execute_all(&run, chat_template->statements);
    if (!run.failed)
        buf_put_slice(out, buf_slice(&text));
    buf_free(&text);
    arena_free(&run.arena);
    return run.failed ? run.err->code : 0;
}
