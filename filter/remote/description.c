/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/description.h"

#include <stdlib.h>
#include <string.h>

#include "filter/remote/json_tree.h"
#include "filter/remote/store.h"

#define FORMAT "git-brevis store"

#define AS_TEXT(X)  AS_TEXT_(X)
#define AS_TEXT_(X) #X

const char description_text[] =
	"{\"format\":\"" FORMAT "\",\"version\":" AS_TEXT(STORE_VERSION) "}\n";

int description_check(const void *data, size_t len, const char *name, struct fault *fault)
{
	const char *format_path[] = {"format", NULL};
	const char *version_path[] = {"version", NULL};
	char *text = strndup(data, len);
	yajl_val tree = text && strlen(text) == len ? json_tree_parse(text) : NULL;
	yajl_val format = tree ? yajl_tree_get(tree, format_path, yajl_t_string) : NULL;
	yajl_val version = tree ? yajl_tree_get(tree, version_path, yajl_t_number) : NULL;
	int rc = 0;

	if (!format || strcmp(format->u.string, FORMAT) != 0 || !version ||
	    !YAJL_IS_INTEGER(version) || YAJL_GET_INTEGER(version) < 1)
		rc = fault_set(fault, FAULT_UNSUPPORTED,
			       "give the store a place of its own; git brevis store init makes one",
			       STORE_DESCRIPTION " of %s describes no store of git-brevis", name);
	else if (YAJL_GET_INTEGER(version) > STORE_VERSION)
		rc = fault_set(fault, FAULT_UNSUPPORTED, "update git-brevis",
			       "%s was made by a newer git-brevis (version %lld)", name,
			       YAJL_GET_INTEGER(version));
	yajl_tree_free(tree);
	free(text);
	return rc;
}
