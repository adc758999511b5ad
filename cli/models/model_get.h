/* `lectern model get`: the catalogue, and the download by lectern-get. */
#ifndef CLI_MODELS_MODEL_GET_H
#define CLI_MODELS_MODEL_GET_H

#include "cli/cli.h"

/* Gets the model of a name of the catalogue into the data folder, unless it is there;
 * NULL: prints the catalogue.  ERR_USAGE: no such name; lectern-get's errors. */
int model_get(struct cli *cli, const char *name, struct err *err);

#endif
