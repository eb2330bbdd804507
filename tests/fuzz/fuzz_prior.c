/* SPDX-License-Identifier: Apache-2.0 */
/** The file of a prior, which lies in a cache that anything may have damaged. */
#include <string.h>

#include "core/compress/model.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct model model = {0};
	struct model again = {0};
	struct brevis_error err;

	if (model_parse(data, size, &model, &err) == BREVIS_OK) {
		PROPERTY(model.prior || model.codebook);
		PROPERTY(model_parse(model.bytes.data, model.bytes.size, &again, NULL) ==
			 BREVIS_OK);
		PROPERTY(memcmp(model.sha256, again.sha256, sizeof(model.sha256)) == 0);
	} else {
		PROPERTY(err.message[0]);
	}
	model_release(&model);
	model_release(&again);
	return 0;
}
