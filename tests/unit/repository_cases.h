/* SPDX-License-Identifier: Apache-2.0 */
/** What the unit tests of the repository share. */
#ifndef TESTS_UNIT_REPOSITORY_CASES_H
#define TESTS_UNIT_REPOSITORY_CASES_H

#include "tests/unit/sandbox.h"

#include "core/base/buffer.h"
#include "filter/git/repository.h"

#define OID_A "1111111111111111111111111111111111111111111111111111111111111111"
#define OID_B "2222222222222222222222222222222222222222222222222222222222222222"
#define TEXT(oid, size)                                                                            \
	"version https://git-lfs.github.com/spec/v1\noid sha256:" oid "\nsize " size "\n"

static inline struct repository *open_here(void)
{
	struct repository *repository = NULL;

	assert_int_equal(repository_open(&repository), 0);
	return repository;
}

/** A repository with pointers put in as they are: no filter is configured. */
static inline void make_files(void)
{
	sh("git init -q -b main .");
	put_text(".gitattributes", "[attr]big filter=brevis\n*.st big\nraw/** -filter\n");
	put_text("a.st", TEXT(OID_A, "10"));
	sh("mkdir raw sub && cp a.st raw/r.st && printf 'old form' >sub/c.st && ln -s a.st l.st && "
	   "cp a.st plain.txt && chmod +x a.st && git add . && git commit -qm one");
}

#endif
