#include "cli/output/option_card.h"

#include <stdio.h>
#include <string.h>

#include "cli/output/output.h"

enum { LABEL = 11 /* columns */ };

/* The pieces of a field that follow one another are one line. */
static const cJSON *put_field(struct buf *line, const cJSON *piece)
{
    const char *field = json_get_text(piece, "field", "");
    buf_printf(line, "  %-*s", LABEL - 2, field);
    for (const char *before = "";
         piece && !strcmp(json_get_text(piece, "field", ""), field);
         piece = piece->next, before = " · ")
        buf_printf(line, "%s%s", before, json_get_text(piece, "text", ""));
    return piece;
}

void option_card_print(const struct cli *cli, const cJSON *result)
{
    const cJSON *card = cJSON_GetObjectItemCaseSensitive(result, "card");
    const cJSON *pieces = cJSON_GetObjectItemCaseSensitive(card, "pieces");
    struct buf line = {0};
    if (!card)
        return;
    bool begins = true;
    output_put_quote(
        &line,
        json_get_text(cJSON_GetObjectItemCaseSensitive(card, "name"), "text",
                      ""),
        &begins);
    output_line(cli, &line, "    ");
    for (const cJSON *at = pieces ? pieces->child : NULL; at;) {
        buf_clear(&line);
        at = put_field(&line, at);
        output_line(cli, &line, "           ");
    }
    putchar('\n');
    buf_free(&line);
}
