#ifndef WAYMARK_VERIFIED_MAP_H
#define WAYMARK_VERIFIED_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// A part of a file that is mapped read-only, and that is compared with its checksums before any of it can be read.
///
/// Its pages are protected until then. The handler of SIGSEGV verifies a unit, which is some blocks, when it is first
/// read, and makes it readable. A unit that is damaged ends the process: the handler can't return to a search that has no
/// values to read. So does SIGBUS, which the system raises where the file was made shorter, or the disk can't be read. The
/// file is removed before, so that the next start does not use it.
///
/// A system call that is given a protected address fails with EFAULT instead: read the bytes before.
struct waymark_map;

/// The number of bytes of a block, which has a CRC-32 (ITU-T V.42). The last one may be shorter.
enum { waymark_map_block_size = 64 << 10 };

/// A Boolean value that indicates whether units are verified when they are first read, which requires Linux. Elsewhere
/// the caller verifies all of them.
extern const bool waymark_map_protects;

/// Maps a part of a file, and returns `NULL` with `errno` set if it can't be mapped.
///
/// @param file a descriptor that is open until the mapping is destroyed
/// @param path the path of the file, which is copied
/// @param offset a multiple of the size of a block
/// @param length at least 1
/// @param checksums the checksums of the blocks, which are copied; `NULL` if the process has written the file
struct waymark_map *waymark_map_create(
    int file, const char *path, size_t offset, size_t length, const uint32_t *checksums);

/// Ends a mapping that no thread reads.
void waymark_map_destroy(struct waymark_map *map);

const void *waymark_map_start(const struct waymark_map *map);

size_t waymark_map_unit_count(const struct waymark_map *map);

/// Verifies a unit and makes it readable. Returns `NULL`, or the reason why it can't be used.
const char *waymark_map_verify(struct waymark_map *map, size_t unit);

/// Verifies the units that were not read yet, in order; one that can't be used ends the process.
void waymark_map_verify_rest(struct waymark_map *map);

#endif
