/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What stands in the place of an object: nothing, something else, or what its name promises, an
 * archive that restores or an original as git-lfs stores it. Nothing is moved or downloaded. Any
 * thread may judge.
 */
#ifndef FILTER_JUDGEMENT_H
#define FILTER_JUDGEMENT_H

#include "filter/cli/progress.h"
#include "filter/objects/object_store.h"

enum verdict {
	VERDICT_GOOD = 0,
	VERDICT_MISSING,      /* it is not here */
	VERDICT_DAMAGED,      /* its bytes are not those that its name stands for */
	VERDICT_MISMATCHED,   /* they are, but the pointer gives another size */
	VERDICT_UNRESTORABLE, /* they are, but do not restore what they promise */
	VERDICT_UNREADABLE    /* nobody knows: it is the system's, or this version's, fault */
};

struct judgement {
	enum verdict verdict;
	bool is_archive;
	uint64_t original_size; /* what it restores, if it is good; of an original its own size */
	char why[sizeof(((struct brevis_error *)0)->message)]; /* "" if it is good or missing */
	const char *remedy;                                    /* unless it is good */
};

/** The verdict in one word, for scripts. */
const char *verdict_word(enum verdict verdict);

/** Bytes that judgement_text needs at most. */
#define JUDGEMENT_TEXT 400

/** Writes what is wrong, "object OID is damaged: WHY", without the remedy; returns text. */
const char *judgement_text(const struct judgement *judgement, const struct pointer *pointer,
			   char text[JUDGEMENT_TEXT]);

/** Reports what is wrong with the object of a file, which it names if it is there, and the remedy.
 * Returns -1. */
int judgement_report(const struct judgement *judgement, const struct object_store *store,
		     const char *path, const struct pointer *pointer);

/**
 * Opens the object of a pointer, if it has the right size. Else returns -1 with the judgement, for
 * which nothing but its size was looked at.
 */
int object_open(struct object_file *file, const struct object_store *store,
		const struct pointer *pointer, struct judgement *out);

/** Judges by that alone whether it is here. */
void object_look(const struct object_store *store, const struct pointer *pointer,
		 struct judgement *out);

/** Judges an object by its hash alone. Bytes that are read count as progress. */
void object_judge_name(const struct object_file *file, const struct pointer *pointer,
		       struct progress *progress, struct judgement *out);

/**
 * Judges an object by all that it can tell: it is hashed, and decoded by threads workers if it is
 * an archive. Progress is counted in the object's bytes, once.
 */
void object_judge(const struct object_file *file, const struct pointer *pointer, unsigned threads,
		  struct progress *progress, struct judgement *out);

/**
 * Judges an object that could not be read, decoded or, if it is no archive, be what its name says,
 * by the error of that. An archive that decodes to nothing good is hashed, to tell whether it was
 * stored so.
 */
void object_judge_failure(const struct object_file *file, const struct pointer *pointer,
			  const struct brevis_error *err, struct judgement *out);

/** The same as object_judge for an object that is still to be found. */
void object_judge_stored(const struct object_store *store, const struct pointer *pointer,
			 unsigned threads, struct progress *progress, struct judgement *out);

#endif
