/* SPDX-License-Identifier: Apache-2.0 */
/** Finds the bytes that a file or a blob stands for (model_view.h says what they mean). */
#ifndef FILTER_MODEL_SOURCE_H
#define FILTER_MODEL_SOURCE_H

#include "filter/convert/convert.h"

/** Zero but for file.fd, which is -1, before it is opened; must stay where it is afterwards. */
struct model_source {
	char *label;
	bool has_pointer;
	struct pointer pointer;  /* that led to the file below */
	bool is_here;            /* the file is open */
	struct object_file file; /* as it is, or an archive */
};

/** As model_view_open_file and its like. To be closed whatever they return. */
int model_source_file(struct model_source *source, const struct workspace *ws, const char *file,
		      const char *label);
int model_source_work(struct model_source *source, const struct workspace *ws, const char *path,
		      const char *label);
int model_source_blob(struct model_source *source, const struct workspace *ws, const char *name,
		      const char *label);
void model_source_close(struct model_source *source);

#endif
