/* The version that every program of Lectern reports. */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

#define LECTERN_VERSION "0.1.0"

#endif
