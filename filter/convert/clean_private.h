/* SPDX-License-Identifier: Apache-2.0 */
/** What the files of clean share: clean.c follows the input, clean_encode.c makes the archive. */
#ifndef FILTER_CLEAN_PRIVATE_H
#define FILTER_CLEAN_PRIVATE_H

#include <sys/stat.h>

#include "filter/convert/earlier.h"
#include "filter/cli/progress.h"
#include "filter/convert/spool.h"

enum stage { STAGE_HEAD, STAGE_ARCHIVE, STAGE_FOLLOW, STAGE_ENCODE };

struct cleaning {
	struct workspace *ws;
	char *path;        /* NULL if unknown */
	const char *label; /* for messages */
	char *work_file;   /* absolute, NULL if there is none */
	struct stat before;
	enum stage stage;
	bool failed; /* and reported */

	uint8_t head[POINTER_SIZE_LIMIT];
	size_t head_len;
	uint64_t size; /* bytes taken so far */
	struct progress progress;

	struct earlier earlier;

	struct brevis_sha256 *sha; /* ARCHIVE and FOLLOW: of the input */

	/* ARCHIVE: the input, in a new object or, in a dry run, a spool */
	struct new_object *raw;
	struct spool *raw_spool;

	uint64_t followed; /* FOLLOW */
	uint8_t *step;

	const struct brevis_archive *known[EARLIER_ARCHIVES]; /* ENCODE */
	struct brevis_encoder *encoder;
	struct new_object *object; /* what it writes; starts with its first byte */
	char why_opaque[256];      /* why an archive's beginning was none */

	char text[POINTER_TEXT_SIZE];
	const void *result;
	size_t result_len;
};

/** Says that it failed, which was reported. Returns -1. */
int cleaning_fail(struct cleaning *c);
int cleaning_fail_nomem(struct cleaning *c);

/** Ends with a pointer. how is what the trace shows. */
int cleaning_answer(struct cleaning *c, const struct pointer *pointer, const char *how);

/** The best guess at the size of the input, for messages about missing room. */
uint64_t cleaning_bytes_expected(const struct cleaning *c);

/**
 * Fails if the work file changed in place while it was read: then what was read is no state that it
 * ever had.
 */
int cleaning_check_unchanged(struct cleaning *c);

/** Enters ENCODE. */
int cleaning_start_encode(struct cleaning *c);
int cleaning_encode(struct cleaning *c, const void *data, size_t len);

/** Sends the first len bytes of a source through the encoder. */
int cleaning_encode_source(struct cleaning *c, const struct brevis_source *source, uint64_t len);

/** Finds the pointer of what was encoded: that of the same content before, or of the new archive.
 */
int cleaning_finish_encode(struct cleaning *c);

#endif
