/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/description.h"

#include <inttypes.h>
#include <string.h>

#include "core/brevis.h"
#include "filter/remote/json_tree.h"
#include "filter/remote/store.h"

#define FORMAT "git-brevis store"

#define AS_TEXT(X)  AS_TEXT_(X)
#define AS_TEXT_(X) #X

const char description_text[] =
	"{\"format\":\"" FORMAT "\",\"version\":" AS_TEXT(STORE_VERSION) "}\n";

int description_check(const void *data, size_t len, const char *name, struct fault *fault)
{
	struct json_tree tree;
	int status = json_tree_parse(&tree, data, len);
	const char *format = json_tree_string(json_tree_member(tree.root, "format"));
	uint64_t version = 0;
	int rc = 0;

	if (format && strcmp(format, FORMAT) == 0)
		json_tree_whole_number(json_tree_member(tree.root, "version"), &version);
	if (status == BREVIS_E_NOMEM)
		rc = fault_nomem(fault);
	else if (!version)
		rc = fault_set(fault, FAULT_UNSUPPORTED,
			       "give the store a place of its own; git brevis store init makes one",
			       STORE_DESCRIPTION " of %s describes no store of git-brevis", name);
	else if (version > STORE_VERSION)
		rc = fault_set(fault, FAULT_UNSUPPORTED, "update git-brevis",
			       "%s was made by a newer git-brevis (version %" PRIu64 ")", name,
			       version);
	json_tree_release(&tree);
	return rc;
}
