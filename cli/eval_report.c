#include "cli/eval_report.h"

#include <stdio.h>

void report_field_score(struct json *json, const char *key,
                        const struct score *score)
{
    json_key(json, key);
    json_begin(json, '{');
    json_field_double(json, "value", score->mean, 4);
    json_field_double(json, "low", score->low, 4);
    json_field_double(json, "high", score->high, 4);
    json_end(json, '}');
}

void report_field_times(struct json *json, const double ms[2])
{
    json_key(json, "ms");
    json_begin(json, '{');
    json_field_double(json, "median", ms[0], 3);
    json_field_double(json, "p95", ms[1], 3);
    json_end(json, '}');
}

void report_print_score(const char *name, const struct score *score)
{
    if (score->count)
        printf("  %-22s %6.4f  (%6.4f to %6.4f)\n", name, score->mean,
               score->low, score->high);
}

void report_print_times(const double ms[2])
{
    printf("  %-22s %.1f ms, 95 %% within %.1f ms\n", "median time", ms[0],
           ms[1]);
}
