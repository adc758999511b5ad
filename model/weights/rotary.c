#include "model/weights/rotary.h"

#include <math.h>
#include <string.h>

#include "model/json_members.h"

static const char *const kinds[] = {[ROTARY_PLAIN] = "default",
                                    [ROTARY_LINEAR] = "linear",
                                    [ROTARY_LLAMA3] = "llama3",
                                    [ROTARY_YARN] = "yarn"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static const double PI = 3.14159265358979323846;

/* ---- Reading ---- */

/* "rope_type", or "type" as it was called once. */
static int take_kind(const cJSON *object, int *ret, struct err *err)
{
    static const char *const names[] = {"rope_type", "type"};
    int found = -1;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *text = NULL;
        int code = member_text(object, names[i], &text, err), kind = 0;
        if (code)
            return code;
        if (!text)
            continue;
        while (kind < KINDS && strcmp(text, kinds[kind]) != 0)
            kind++;
        if (kind == KINDS)
            return err_set(err, ERR_FORMAT,
                           "rope_type \"%.60s\" is not supported", text);
        if (found >= 0 && found != kind)
            return err_set(err, ERR_FORMAT,
                           "two rope types that differ: %s and %s",
                           kinds[found], text);
        found = kind;
    }
    *ret = found >= 0 ? found : ROTARY_PLAIN;
    return 0;
}

static int check_whole(const cJSON *object, struct err *err)
{
    double part = 1;
    int code = member_number(object, "partial_rotary_factor", &part, err);
    if (!code && part != 1)
        code =
            err_set(err, ERR_FORMAT, "partial_rotary_factor is not supported");
    return code;
}

/* A positive number; NaN in *ret: it must be there. */
static int take_positive(const cJSON *object, const char *name, int kind,
                         double *ret, struct err *err)
{
    int code = member_number(object, name, ret, err);
    if (!code && isnan(*ret))
        code = err_set(err, ERR_FORMAT, "rope_type \"%s\" has no \"%s\"",
                       kinds[kind], name);
    if (!code && (!(*ret > 0) || !isfinite(*ret)))
        code = member_not(err, name, "positive");
    return code;
}

static double yarn_magnitude(double factor, double scale)
{
    return factor <= 1 ? 1 : 0.1 * scale * log(factor) + 1;
}

static int take_yarn(const cJSON *object, struct rotary *r, struct err *err)
{
    double scale = 0, all = 0;
    r->high = 32;
    r->low = 1;
    r->truncate = true;
    int code = take_positive(object, "beta_fast", r->kind, &r->high, err);
    if (!code)
        code = take_positive(object, "beta_slow", r->kind, &r->low, err);
    if (!code)
        code = member_bool(object, "truncate", &r->truncate, err);
    if (!code)
        code = member_number(object, "mscale", &scale, err);
    if (!code)
        code = member_number(object, "mscale_all_dim", &all, err);
    r->attention = yarn_magnitude(r->factor, 1);
    if (scale != 0 && all != 0)
        r->attention =
            yarn_magnitude(r->factor, scale) / yarn_magnitude(r->factor, all);
    if (!code)
        code = take_positive(object, "attention_factor", r->kind, &r->attention,
                             err);
    return code;
}

static int take_llama3(const cJSON *object, struct rotary *r, struct err *err)
{
    r->low = r->high = NAN;
    int code = take_positive(object, "low_freq_factor", r->kind, &r->low, err);
    if (!code)
        code =
            take_positive(object, "high_freq_factor", r->kind, &r->high, err);
    if (!code && !(r->low < r->high))
        code = err_set(err, ERR_FORMAT,
                       "\"low_freq_factor\" is not below "
                       "\"high_freq_factor\"");
    return code;
}

/* What one object says, in place of what *r has. */
static int take_object(const cJSON *object, const char *name, struct rotary *r,
                       struct err *err)
{
    if (!object)
        return 0;
    if (!cJSON_IsObject(object))
        return member_not(err, name, "an object");
    int code = take_kind(object, &r->kind, err);
    if (!code)
        code = check_whole(object, err);
    if (!code)
        code = take_positive(object, "rope_theta", r->kind, &r->theta, err);
    if (code || r->kind == ROTARY_PLAIN)
        return code;
    r->factor = NAN;
    code = take_positive(object, "factor", r->kind, &r->factor, err);
    if (!code)
        code = take_positive(object, "original_max_position_embeddings",
                             r->kind, &r->trained, err);
    if (!code && r->kind == ROTARY_YARN)
        code = take_yarn(object, r, err);
    if (!code && r->kind == ROTARY_LLAMA3)
        code = take_llama3(object, r, err);
    return code;
}

static const char *const layers[2] = {"full_attention", "sliding_attention"};

/* `rope_parameters` by kinds of layers. */
static int take_kinds(const cJSON *object, struct rotary ret[2],
                      struct err *err)
{
    int code = 0;
    for (size_t i = 0; i < 2 && !code; i++)
        code = take_object(member_find(object, layers[i]), layers[i], &ret[i],
                           err);
    return code;
}

static const char *object_within(const cJSON *object)
{
    const cJSON *item;
    cJSON_ArrayForEach (item, object)
        if (cJSON_IsObject(item))
            return item->string;
    return NULL;
}

/* Both objects may be there: then they must say the same. */
static int check_same(const cJSON *a, const cJSON *b, struct rotary x,
                      struct err *err)
{
    struct rotary y = x;
    if (!a || !b)
        return 0;
    int code = take_object(a, "rope_parameters", &x, err);
    if (!code)
        code = take_object(b, "rope_scaling", &y, err);
    if (!code && x.kind != y.kind)
        code = err_set(err, ERR_FORMAT,
                       "\"rope_parameters\" and \"rope_scaling\" that differ: "
                       "%s and %s",
                       kinds[x.kind], kinds[y.kind]);
    if (!code && (x.theta < y.theta || x.theta > y.theta))
        code = err_set(err, ERR_FORMAT,
                       "two \"rope_theta\" that differ: %g and %g", x.theta,
                       y.theta);
    return code;
}

int rotary_from(const cJSON *root, double theta, size_t context, bool by_kind,
                struct rotary ret[2], struct err *err)
{
    const cJSON *parameters = member_find(root, "rope_parameters");
    const cJSON *scaling = member_find(root, "rope_scaling");
    const char *within = object_within(parameters);
    struct rotary r = {.theta = theta,
                       .factor = 1,
                       .trained = (double)context,
                       .attention = 1};
    int code = take_positive(root, "rope_theta", ROTARY_PLAIN, &r.theta, err);
    if (!code)
        code = check_whole(root, err);
    if (!code && within && !by_kind)
        return err_set(err, ERR_FORMAT,
                       "\"rope_parameters\" for each type of layer (\"%.60s\") "
                       "is not supported",
                       within);
    ret[0] = ret[1] = r;
    if (!code && (member_find(parameters, layers[0]) ||
                  member_find(parameters, layers[1])))
        return take_kinds(parameters, ret, err);
    if (!code)
        code = check_same(parameters, scaling, r, err);
    if (!code)
        code = take_object(scaling, "rope_scaling", &ret[0], err);
    if (!code)
        code = take_object(parameters, "rope_parameters", &ret[0], err);
    if (by_kind)
        ret[1].theta = ret[0].theta;
    else
        ret[1] = ret[0];
    return code;
}

/* ---- Frequencies ---- */

/* The pair that turns so often over the trained positions. */
static double pair_of(const struct rotary *r, size_t d, double turns)
{
    return (double)d * log(r->trained / (turns * 2 * PI)) / (2 * log(r->theta));
}

/* How much of a pair's frequency stays as it is: 1 for the fast ones. */
static double yarn_share(const struct rotary *r, size_t d, size_t pair)
{
    double low = pair_of(r, d, r->high), high = pair_of(r, d, r->low);
    if (r->truncate) {
        low = floor(low);
        high = ceil(high);
    }
    low = fmax(low, 0);
    high = fmin(high, (double)d - 1);
    if (!(low < high) && !(low > high))
        high += 0.001;
    double ramp = ((double)pair - low) / (high - low);
    return 1 - fmin(fmax(ramp, 0), 1);
}

static double llama3_share(const struct rotary *r, double frequency)
{
    double turns = r->trained * frequency / (2 * PI);
    return fmin(fmax((turns - r->low) / (r->high - r->low), 0), 1);
}

void rotary_frequencies(const struct rotary *r, size_t d, double *ret)
{
    for (size_t i = 0; i < d / 2; i++) {
        double frequency = pow(r->theta, -2.0 * (double)i / (double)d);
        double share = 0;
        if (r->kind == ROTARY_LLAMA3)
            share = llama3_share(r, frequency);
        if (r->kind == ROTARY_YARN)
            share = yarn_share(r, d, i);
        ret[i] = r->kind == ROTARY_PLAIN
                     ? frequency
                     : frequency * share + frequency / r->factor * (1 - share);
        if (i > 0 && ret[i] < r->min)
            ret[i] = 0;
    }
}
