#include "tests/cuda/bench.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

/* Together well under ten minutes. */
static const struct bench_part parts[] = {
    {"decode", 60, bench_part_decode, false},
    {"decode-8b", 60, bench_part_decode_8b, false},
    {"prefill", 60, bench_part_prefill, false},
    {"first", 40, bench_part_first, false},
    {"star", 30, bench_part_star, true},
    {"hici", 40, bench_part_hici, false},
    {"embed", 40, bench_part_embed, false},
    {"products", 20, bench_part_matmuls, false},
    {"attention", 50, bench_part_attention, false},
    {"papers", 30, bench_part_papers, false},
};
enum { PARTS = sizeof parts / sizeof parts[0] };

const struct bench_part *bench_part(size_t i)
{
    return i < PARTS ? &parts[i] : NULL;
}

bool bench_run(struct bench *b, const char *part)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (strcmp(parts[i].name, part) != 0)
            continue;
        b->part = part;
        b->until = b->tiny ? (double)INFINITY
                           : clock_seconds() + fmin(parts[i].seconds, b->most);
        if (!parts[i].alone) { /* while there is memory for it */
            bench_copy_rate(b);
            bench_matmul_rate(b);
        }
        parts[i].run(b);
        return true;
    }
    return false;
}

bool bench_describe(const struct kernels *table, FILE *out)
{
    struct kernel_device device;
    bool there = table->device(&device);
    if (!there || device.lacks) {
        fprintf(out, "FAILED: %s\n", there ? device.lacks : table->lost());
        return false;
    }
    fprintf(out, "%s, compute capability %u.%u, %.1f of %.1f GB free\n",
            device.name, device.major, device.minor, (double)device.free / 1e9,
            (double)device.total / 1e9);
    return true;
}

void bench_begin(struct bench *b, const struct kernels *device, FILE *out)
{
    *b = (struct bench){.device = device,
                        .table = *device,
                        .min = 0.5,
                        .most = (double)INFINITY,
                        .out = out};
}

/* ---- Rows ---- */

void bench_row(const struct bench *b, struct bench_row *row, const char *what,
               const char *shape)
{
    *row = (struct bench_row){.json = json_to(&row->text)};
    json_begin(&row->json, '{');
    json_field_text(&row->json, "part", b->part);
    json_field_text(&row->json, "what", what);
    json_field_text(&row->json, "shape", shape);
}

void bench_number(struct bench_row *row, const char *key, double value,
                  int decimals)
{
    json_field_double(&row->json, key, value, decimals);
}

void bench_goal(const struct bench *b, struct bench_row *row, const char *sense,
                double goal, const char *unit, double value)
{
    bool max = !strcmp(sense, "at most");
    if (b->tiny)
        return;
    buf_printf(&row->goals, "%s{\"goal\":\"%s %g %s\",\"met\":%s}",
               row->goals.size ? "," : "", sense, goal, unit,
               (max ? value <= goal : value >= goal) ? "true" : "false");
}

void bench_bytes(struct bench *b, struct bench_row *row, double bytes,
                 double seconds)
{
    bench_number(row, "GB/s", bytes / seconds * 1e-9, 1);
    bench_number(row, "limit ms", bytes / bench_copy_rate(b) * 1e3, 4);
    bench_number(row, "share of the copy", bytes / seconds / bench_copy_rate(b),
                 3);
}

void bench_operations(struct bench *b, struct bench_row *row, double operations,
                      double seconds)
{
    bench_number(row, "TFLOP/s", operations / seconds * 1e-12, 2);
    bench_number(row, "share of the large product",
                 operations / seconds / bench_matmul_rate(b), 3);
}

int bench_kept(const struct bench *b)
{
    return b->device->bf16_pages ? KERNEL_BF16 : KERNEL_F32;
}

void bench_keys(struct bench_row *row, int type)
{
    json_field_text(&row->json, "keys and values",
                    type == KERNEL_BF16 ? "bf16" : "f32");
}

void bench_say(const struct bench *b, struct bench_row *row)
{
    if (row->goals.size) {
        json_key(&row->json, "goals");
        json_begin(&row->json, '[');
        json_raw(&row->json, buf_slice(&row->goals));
        json_end(&row->json, ']');
    }
    json_end(&row->json, '}');
    fprintf(b->out, "%s\n", row->text.data);
    fflush(b->out);
    buf_free(&row->text);
    buf_free(&row->goals);
}

void bench_leave_out(const struct bench *b, const char *what, const char *shape,
                     const char *format, ...)
{
    struct bench_row row;
    char why[300];
    va_list values;
    va_start(values, format);
    vsnprintf(why, sizeof why, format, values);
    va_end(values);
    bench_row(b, &row, what, shape);
    json_field_text(&row.json, "left out", why);
    bench_say(b, &row);
}

bool bench_fits(const struct bench *b, const char *what, const char *shape,
                double bytes)
{
    struct kernel_device facts;
    if (!b->device->device(&facts) || bytes <= (double)facts.free)
        return true;
    bench_leave_out(
        b, what, shape, "it needs %.1f GB, and %.1f of %.1f GB are free",
        bytes / 1e9, (double)facts.free / 1e9, (double)facts.total / 1e9);
    return false;
}

bool bench_has_time(const struct bench *b, const char *what, const char *shape,
                    double seconds)
{
    double left = b->until - clock_seconds();
    if (seconds <= left)
        return true;
    bench_leave_out(b, what, shape,
                    "it would take about %.0f s, and %.0f s are left", seconds,
                    left > 0 ? left : 0);
    return false;
}

/* ---- PyTorch's ---- */

/* The time in this line, if it is of that shape; else 0. */
static double time_in(const char *line, const char *shape)
{
    cJSON *root = NULL;
    double ms = 0;
    if (json_parse(slice_of(line), &root, NULL))
        return 0;
    if (!strcmp(json_get_text(root, "shape", ""), shape))
        ms = json_get_double(root, "ms", 0);
    cJSON_Delete(root);
    return ms;
}

double bench_sdpa(const struct bench *b, size_t m, size_t n, size_t hq,
                  size_t hkv, size_t d)
{
    char shape[96], line[1000];
    double ms = 0;
    FILE *file = b->sdpa ? fopen(b->sdpa, "r") : NULL;
    if (!file)
        return 0;
    snprintf(shape, sizeof shape,
             "%zu queries, %zu slots, %zu/%zu heads of %zu", m, n, hq, hkv, d);
    while (ms <= 0 && fgets(line, sizeof line, file))
        ms = time_in(line, shape);
    fclose(file);
    return ms;
}
