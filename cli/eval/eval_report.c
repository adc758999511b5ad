#include "cli/eval/eval_report.h"

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

static void put_interval(struct json *json, const char *key,
                         const struct score *score)
{
    json_key(json, key);
    json_begin(json, '[');
    json_double(json, score->low, 3);
    json_double(json, score->high, 3);
    json_end(json, ']');
}

void report_field_times(struct json *json, const char *key,
                        const struct score ms[2])
{
    json_key(json, key);
    json_begin(json, '{');
    json_field_double(json, "median", ms[0].mean, 3);
    json_field_double(json, "p95", ms[1].mean, 3);
    put_interval(json, "median_interval", &ms[0]);
    put_interval(json, "p95_interval", &ms[1]);
    json_end(json, '}');
}

void report_print_score(const char *name, const struct score *score)
{
    if (score->count)
        printf("  %-22s %6.4f  (%6.4f to %6.4f)\n", name, score->mean,
               score->low, score->high);
}

void report_print_times(const char *name, const struct score ms[2])
{
    if (!ms[0].count)
        return;
    printf("  %-22s %.1f ms (%.1f to %.1f), 95 %% within %.1f ms (%.1f to "
           "%.1f)\n",
           name, ms[0].mean, ms[0].low, ms[0].high, ms[1].mean, ms[1].low,
           ms[1].high);
}
