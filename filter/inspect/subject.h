/* SPDX-License-Identifier: Apache-2.0 */
/**
 * What inspect and verify look at: an archive, or the object behind a pointer or behind a path that
 * git tracks.
 */
#ifndef FILTER_SUBJECT_H
#define FILTER_SUBJECT_H

#include "filter/convert/convert.h"

struct subject {
	struct object_file file;
	bool has_pointer; /* it is the object of this pointer */
	struct pointer pointer;
};

/**
 * Opens what name stands for, in this order: a file that is an archive; a file that is a pointer,
 * or a path of the index or HEAD with one: its object. Reports and returns -1 if that is nothing
 * that can be read. subject must stay where it is.
 */
int subject_open(struct subject *subject, const struct workspace *ws, const char *name);
void subject_close(struct subject *subject);

#endif
