/* What an answer says of one option, above its passages. */
#ifndef CLI_OUTPUT_OPTION_CARD_H
#define CLI_OUTPUT_OPTION_CARD_H

#include "cli/cli.h"

/* Prints the member `card` of a result, if there is one. */
void option_card_print(const struct cli *cli, const cJSON *result);

#endif
