#include "daemon/answer/card_answer.h"

#include <string.h>

/* A piece that stands whole in its file, or nothing. */
static int quote_piece(const struct call *call, struct answer *card,
                       const struct passage *piece, struct err *err)
{
    struct err why = {.position = -1};
    int code = answer_cite(call, card, piece, CITE_VERIFIED, false, &why);
    if (answer_is_lost(code)) {
        *err = why;
        return code;
    }
    if (!code && card->citations[card->count - 1].status == CITE_REPAIRED)
        quote_free(&card->citations[--card->count].quote);
    return 0;
}

/* Of a title that lists several names, which stand apart in the file, the first. */
static int quote_title(const struct call *call, struct answer *card,
                       const struct passage *title, struct err *err)
{
    struct passage first = *title;
    int code = quote_piece(call, card, title, err);
    const char *comma = memmem(title->text.data, title->text.size, ", ", 2);
    if (code || card->count || !comma)
        return code;
    first.text.size = (size_t)(comma - title->text.data);
    return quote_piece(call, card, &first, err);
}

int card_answer(const struct call *call, const struct snapshot *snapshot,
                const struct route_result *route, const char *question,
                struct answer *ret, struct err *err)
{
    struct passages pieces;
    struct answer card = {.fresh = true};
    int code = card_of(snapshot, route, question, &pieces, err);
    if (code)
        return code;
    if (pieces.count > 1)
        code = quote_title(call, &card, &pieces.items[0], err);
    for (size_t i = 1; i < pieces.count && card.count && !code; i++)
        code = quote_piece(call, &card, &pieces.items[i], err);
    /* The citations' texts are the quotes': the passages' go. */
    for (size_t i = 0; i < card.count; i++)
        card.citations[i].passage.text = (struct slice){0};
    passages_free(&pieces);
    if (code || card.count < 2)
        answer_free(&card);
    *ret = card;
    return code;
}

static void put_piece(struct json *json, const struct citation *piece)
{
    const struct passage *passage = &piece->passage;
    json_field_string(json, "text", buf_slice(&piece->quote.text));
    json_field_string(json, "file",
                      passage->view->outline->files[passage->block.file]);
    json_key(json, "span");
    result_span(json, piece->quote.span);
    json_field_text(json, "status", cite_status_name(piece->status));
}

void card_put(struct json *json, const struct answer *card)
{
    if (!card->count)
        return;
    const struct passage *title = &card->citations[0].passage;
    json_key(json, "card");
    json_begin(json, '{');
    result_node_id(json, "node", title->view, title->node);
    json_field_text(json, "manual", title->view->manual.name);
    json_key(json, "name");
    json_begin(json, '{');
    put_piece(json, &card->citations[0]);
    json_end(json, '}');
    json_key(json, "pieces");
    json_begin(json, '[');
    for (size_t i = 1; i < card->count; i++) {
        const struct citation *piece = &card->citations[i];
        json_begin(json, '{');
        json_field_text(json, "field",
                        card_field_names[(int)piece->passage.score]);
        put_piece(json, piece);
        json_end(json, '}');
    }
    json_end(json, ']');
    json_end(json, '}');
}
