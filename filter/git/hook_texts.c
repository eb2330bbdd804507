/* SPDX-License-Identifier: Apache-2.0 */
/* Written by scripts/make-hook-texts from hooks/. */
#include "filter/git/hook_files.h"

/* clang-format off */
const struct hook_text hook_texts[HOOK_COUNT] = {
	{"pre-push",
	 "#!/bin/sh\n"
	 "# SPDX-License-Identifier: Apache-2.0\n"
	 "# Put here by `git brevis install`: looks at what is to be pushed, then has Git LFS upload it.\n"
	 "# Should git-lfs say \"Hook already exists\": it does, this one calls it; nothing is to be done.\n"
	 "refs=$(cat)\n"
	 "if command -v git-brevis >/dev/null 2>&1; then\n"
	 "\tprintf '%s\\n' \"$refs\" | git brevis hook pre-push \"$@\" || exit\n"
	 "fi\n"
	 "command -v git-lfs >/dev/null 2>&1 || {\n"
	 "\techo >&2 \"git-lfs was not found on your PATH, so the objects of this push would stay behind.\"\n"
	 "\techo >&2 \"Install git-lfs, or delete the hook $0 if this repository needs it no more.\"\n"
	 "\texit 2\n"
	 "}\n"
	 "printf '%s\\n' \"$refs\" | git lfs pre-push \"$@\"\n"
	},
	{"post-checkout",
	 "#!/bin/sh\n"
	 "# SPDX-License-Identifier: Apache-2.0\n"
	 "# Put here by `git brevis install`: runs Git LFS's hook, then git-brevis's.\n"
	 "# Should git-lfs say \"Hook already exists\": it does, this one calls it; nothing is to be done.\n"
	 "if command -v git-lfs >/dev/null 2>&1; then\n"
	 "\tgit lfs post-checkout \"$@\"\n"
	 "fi\n"
	 "if command -v git-brevis >/dev/null 2>&1; then\n"
	 "\tgit brevis hook post-checkout \"$@\"\n"
	 "fi\n"
	},
	{"post-merge",
	 "#!/bin/sh\n"
	 "# SPDX-License-Identifier: Apache-2.0\n"
	 "# Put here by `git brevis install`: runs Git LFS's hook, then git-brevis's.\n"
	 "# Should git-lfs say \"Hook already exists\": it does, this one calls it; nothing is to be done.\n"
	 "if command -v git-lfs >/dev/null 2>&1; then\n"
	 "\tgit lfs post-merge \"$@\"\n"
	 "fi\n"
	 "if command -v git-brevis >/dev/null 2>&1; then\n"
	 "\tgit brevis hook post-merge \"$@\"\n"
	 "fi\n"
	},
	{"post-commit",
	 "#!/bin/sh\n"
	 "# SPDX-License-Identifier: Apache-2.0\n"
	 "# Put here by `git brevis install`: runs Git LFS's hook. git-brevis has nothing to do here.\n"
	 "# Should git-lfs say \"Hook already exists\": it does, this one calls it; nothing is to be done.\n"
	 "if command -v git-lfs >/dev/null 2>&1; then\n"
	 "\tgit lfs post-commit \"$@\"\n"
	 "fi\n"
	},
};
