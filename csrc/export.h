/* Marks the wrappers, the only symbols the library shows: everything else is hidden. */
#ifndef IEZ_EXPORT_H
#define IEZ_EXPORT_H

#define IEZ_EXPORT __attribute__((visibility("default")))

#endif
