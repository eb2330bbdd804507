/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/diff/diff_report.h"

bool diff_is_unknown(const struct diff_file *file)
{
	for (int i = 0; i < 2; i++) {
		const struct diff_side *side = &file->sides[i];

		if (side->name && (!side->view || !model_view_is_here(side->view)))
			return true;
	}
	return false;
}

bool diff_is_same_object(const struct diff_file *file)
{
	const struct pointer *pointers[2];

	for (int i = 0; i < 2; i++) {
		const struct model_view *view = file->sides[i].view;

		pointers[i] = view ? model_view_pointer(view) : NULL;
		if (!pointers[i])
			return false;
	}
	return pointer_equal(pointers[0], pointers[1]);
}

void diff_report_missing(const struct diff_file *file)
{
	for (int i = 0; i < 2; i++) {
		const struct model_view *view = file->sides[i].view;

		if (view && !model_view_is_here(view))
			model_view_report_missing(view);
	}
}
