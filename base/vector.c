#include "base/vector.h"

#include <math.h>

double vector_unit(float *vector, size_t width)
{
    double sum = 0;
    for (size_t i = 0; i < width; i++)
        sum += (double)vector[i] * (double)vector[i];
    double length = sqrt(sum);
    for (size_t i = 0; i < width && length > 0; i++)
        vector[i] = (float)((double)vector[i] / length);
    return length;
}

bool vector_is_zero(const float *vector, size_t width)
{
    size_t i = 0;
    while (i < width && !(vector[i] < 0) && !(vector[i] > 0))
        i++;
    return i == width;
}
