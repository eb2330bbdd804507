/* SPDX-License-Identifier: Apache-2.0 */
/* The priors kept beside the objects: what comes back, and how little damage there matters. */
#include "filter/convert/priors.h"

#include <fcntl.h>

#include "filter/objects/pointer.h"
#include "tests/unit/sandbox.h"
#include "tests/unit/sha256_of.h"

static const char ONE[] = "the first prior";
static const char TWO[] = "the second prior, which is longer";

/* A family, or any other name. */
static const uint8_t *name_of(uint8_t n)
{
	static uint8_t names[256][BREVIS_SHA256_SIZE];

	memset(names[n], n, BREVIS_SHA256_SIZE);
	return names[n];
}

/* The file of a prior, or with family set that of a family; in a static buffer. */
static const char *path_of(const char *text)
{
	static char path[128];
	uint8_t digest[BREVIS_SHA256_SIZE];
	char hex[OID_HEX_SIZE + 1];

	sha256_of(text, strlen(text), digest);
	digest_to_hex(digest, hex);
	snprintf(path, sizeof(path), "lfs/brevis/priors/%s", hex);
	return path;
}

static const char *family_path(uint8_t n)
{
	static char path[128];
	char hex[OID_HEX_SIZE + 1];

	digest_to_hex(name_of(n), hex);
	snprintf(path, sizeof(path), "lfs/brevis/families/%s", hex);
	return path;
}

static void save(struct priors *priors, uint8_t family, const char *text)
{
	const struct brevis_prior_store *store = priors_begin(priors, false);
	uint8_t digest[BREVIS_SHA256_SIZE];

	sha256_of(text, strlen(text), digest);
	store->save(store->ctx, name_of(family), digest, text, strlen(text));
}

/* True if the store gives exactly this text; of none (NULL), that it gives nothing. preferred is
 * the text of the prior that is asked for, or NULL. */
static bool loads(struct priors *priors, uint8_t family, const char *preferred, const char *text)
{
	const struct brevis_prior_store *store = priors_begin(priors, false);
	uint8_t digest[BREVIS_SHA256_SIZE];
	void *data;
	size_t size;
	bool equal;

	if (preferred)
		sha256_of(preferred, strlen(preferred), digest);
	if (store->load(store->ctx, name_of(family), preferred ? digest : NULL, &data, &size) != 0)
		return !text;
	equal = text && size == strlen(text) && memcmp(data, text, size) == 0;
	free(data);
	return equal;
}

/* What the trace says of an archive whose prior came from there. The trace goes to a file that the
 * environment named when the program began. */
static void assert_traced(struct priors *priors, enum brevis_prior_origin origin,
			  const char *expected)
{
	struct brevis_encode_summary summary = {.prior = origin, .prior_sha256 = {0xab, 0xcd}};
	const char *trace = getenv("GIT_BREVIS_TRACE");
	char *text;

	assert_int_equal(truncate(trace, 0), 0);
	priors_trace(priors, "clean", "a file", &summary);
	text = get_text(trace);
	assert_string_equal(text, expected);
	free(text);
}

#define TRACED(what) "git-brevis: trace: clean a file: prior " what "\n"

static void test_round_trip(void **state)
{
	struct priors *priors = priors_new("lfs");

	(void)state;
	assert_true(loads(priors, 1, NULL, NULL));
	assert_true(loads(priors, 1, ONE, NULL));
	assert_int_equal(access("lfs", F_OK), -1); /* looking creates nothing */
	save(priors, 1, ONE);
	assert_true(loads(priors, 1, NULL, ONE));
	assert_true(loads(priors, 2, NULL, NULL));
	assert_true(loads(priors, 2, ONE, ONE)); /* by its own name */
	save(priors, 1, TWO);
	assert_true(loads(priors, 1, NULL, TWO)); /* the latest one */
	assert_true(loads(priors, 1, ONE, ONE));  /* unless another is preferred */
	assert_true(loads(priors, 1, "not there", TWO));
	save(priors, 2, ONE);
	assert_true(loads(priors, 2, NULL, ONE));
	assert_file(path_of(ONE), ONE);
	save(priors, 1, TWO); /* once more changes nothing */
	assert_true(loads(priors, 1, NULL, TWO));
	sh("test $(ls lfs/brevis/priors lfs/brevis/families | grep -cE '^[0-9a-f]{64}$') = 4");
	sh("test $(find lfs -type f | wc -l) = 4"); /* no temporary file is left */
	assert_traced(priors, BREVIS_PRIOR_NONE, TRACED("none"));
	assert_traced(priors, BREVIS_PRIOR_LOADED, TRACED("loaded abcd00000000"));
	assert_traced(priors, BREVIS_PRIOR_CALIBRATED, TRACED("calibrated abcd00000000"));
	assert_traced(NULL, BREVIS_PRIOR_CALIBRATED, TRACED("calibrated abcd00000000"));
	priors_free(priors);
	priors_free(NULL);
	assert_null(priors_begin(NULL, false));
}

/* Spoils a prior's file by a shell command that knows it as $f; then it must be ignored, told, and
 * not stand in the way of a good one. */
static void check_damage(const char *command)
{
	struct priors *priors = priors_new("lfs");

	save(priors, 1, TWO);
	save(priors, 1, ONE);
	setenv("f", path_of(ONE), 1);
	sh(command);
	assert_true(loads(priors, 1, ONE, NULL));
	assert_traced(priors, BREVIS_PRIOR_CALIBRATED, TRACED("replaced (damaged) abcd00000000"));
	assert_traced(priors, BREVIS_PRIOR_LOADED, TRACED("loaded abcd00000000"));
	assert_true(loads(priors, 1, NULL, NULL)); /* now it is gone: no damage any more */
	assert_traced(priors, BREVIS_PRIOR_CALIBRATED, TRACED("calibrated abcd00000000"));
	assert_true(loads(priors, 1, TWO, TWO)); /* others are not harmed */
	save(priors, 1, ONE);
	assert_true(loads(priors, 1, NULL, ONE));
	assert_int_equal(access(path_of(ONE), R_OK), 0);
	priors_free(priors);
	sh("rm -rf lfs");
}

static void test_damage(void **state)
{
	(void)state;
	check_damage("printf 'The first prior' >$f");
	check_damage("printf 'the first prio' >$f");
	check_damage("printf 'the first prior!' >$f");
	check_damage(": >$f");
	check_damage("head -c 1048577 /dev/zero >$f"); /* larger than any prior */
	check_damage("mv $f other; ln -s $PWD/other $f");
	assert_int_equal(access("other", F_OK), 0); /* only the link was removed */
	check_damage("rm $f; ln -s nowhere $f");
	check_damage("rm $f; mkfifo $f");
	/* A sound prior under the name of another one. */
	check_damage("cp $(ls -d lfs/brevis/priors/* | grep -vF $f) $f");
}

static void test_directory_in_place(void **state)
{
	struct priors *priors = priors_new("lfs");

	(void)state;
	save(priors, 1, ONE);
	assert_int_equal(unlink(path_of(ONE)), 0);
	assert_int_equal(mkdir(path_of(ONE), 0777), 0);
	assert_true(loads(priors, 1, NULL, NULL));
	save(priors, 1, ONE); /* cannot be; must not matter */
	assert_true(loads(priors, 1, NULL, NULL));
	save(priors, 1, TWO);
	assert_true(loads(priors, 1, NULL, TWO));
	priors_free(priors);
}

/* The preferred prior is damaged: the family's latest serves, and nothing had to be learned. */
static void test_damaged_preferred(void **state)
{
	struct priors *priors = priors_new("lfs");

	(void)state;
	save(priors, 1, ONE);
	save(priors, 1, TWO);
	put_text(path_of(ONE), "spoiled");
	assert_true(loads(priors, 1, ONE, TWO));
	assert_int_equal(access(path_of(ONE), F_OK), -1);
	priors_free(priors);
}

static void test_damaged_family(void **state)
{
	static const char *const texts[] = {
		"", "x\n", "0123456789abcdef",
		("../../../../../../../../../../../../../../../../../../"
		 "etc/passwd\n")};
	struct priors *priors = priors_new("lfs");

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		save(priors, 1, ONE);
		assert_true(loads(priors, 1, NULL, ONE));
		put_text(family_path(1), texts[i]);
		assert_true(loads(priors, 1, NULL, NULL));
		assert_traced(priors, BREVIS_PRIOR_CALIBRATED,
			      TRACED("replaced (damaged) abcd00000000"));
		assert_int_equal(access(family_path(1), F_OK), -1);
	}
	save(priors, 1, ONE);
	assert_int_equal(unlink(family_path(1)), 0);
	assert_int_equal(symlink("/etc/passwd", family_path(1)), 0);
	assert_true(loads(priors, 1, NULL, NULL));
	save(priors, 1, ONE);
	assert_true(loads(priors, 1, NULL, ONE));
	/* A link that save meets is replaced, and nothing written through it. */
	put_text("outside", "untouched");
	assert_int_equal(unlink(family_path(1)), 0);
	assert_int_equal(symlink("../../../outside", family_path(1)), 0);
	save(priors, 1, TWO);
	assert_file("outside", "untouched");
	assert_true(loads(priors, 1, NULL, TWO));
	priors_free(priors);
}

static void test_oversized(void **state)
{
	struct priors *priors = priors_new("lfs");
	char *text = malloc(PRIOR_SIZE_LIMIT + 2);

	(void)state;
	assert_non_null(text);
	memset(text, 'x', PRIOR_SIZE_LIMIT + 1);
	text[PRIOR_SIZE_LIMIT + 1] = '\0';
	save(priors, 1, text);
	assert_int_equal(access("lfs", F_OK), -1);
	text[PRIOR_SIZE_LIMIT] = '\0'; /* the largest one */
	save(priors, 1, text);
	assert_true(loads(priors, 1, NULL, text));
	free(text);
	priors_free(priors);
}

/* A dry run reads, but neither keeps nor removes anything. */
static void test_read_only_use(void **state)
{
	struct priors *priors = priors_new("lfs");
	const struct brevis_prior_store *store = priors_begin(priors, true);
	uint8_t digest[BREVIS_SHA256_SIZE];
	void *data;
	size_t size;

	(void)state;
	sha256_of(ONE, strlen(ONE), digest);
	store->save(store->ctx, name_of(1), digest, ONE, strlen(ONE));
	assert_int_equal(access("lfs", F_OK), -1);
	save(priors, 1, ONE);
	put_text(path_of(ONE), "spoiled");
	store = priors_begin(priors, true);
	assert_int_not_equal(store->load(store->ctx, name_of(1), digest, &data, &size), 0);
	assert_file(path_of(ONE), "spoiled");
	assert_true(loads(priors, 1, ONE, NULL));
	assert_int_equal(access(path_of(ONE), F_OK), -1);
	priors_free(priors);
}

/* Places where nothing can be read, made or written. */
static void test_no_place(void **state)
{
	struct priors *priors = priors_new("lfs");

	(void)state;
	put_text("lfs", "a file in its place");
	save(priors, 1, ONE);
	assert_true(loads(priors, 1, ONE, NULL));
	sh("rm lfs; mkdir -p lfs/brevis; : >lfs/brevis/families");
	save(priors, 1, ONE);
	assert_true(loads(priors, 1, NULL, NULL));
	assert_true(loads(priors, 1, ONE, ONE)); /* its own name is enough */
	sh("rm -rf lfs; mkdir -p lfs/brevis; : >lfs/brevis/priors");
	save(priors, 1, ONE);
	assert_true(loads(priors, 1, ONE, NULL));
	priors_free(priors);
}

static void test_permissions(void **state)
{
	struct priors *priors = priors_new("lfs");

	(void)state;
	save(priors, 1, ONE);
	/* Root may do anything: do it as somebody else. */
	if (geteuid() == 0) {
		sh("chown -R 65534 .");
		assert_int_equal(seteuid(65534), 0);
	}
	sh("chmod 500 lfs/brevis/priors lfs/brevis/families lfs/brevis");
	save(priors, 1, TWO);
	assert_true(loads(priors, 1, TWO, ONE)); /* what is there is of use */
	sh("chmod 000 lfs/brevis/priors");
	assert_true(loads(priors, 1, NULL, NULL));
	sh("chmod 700 lfs/brevis/priors");
	assert_int_equal(chmod(path_of(ONE), 0), 0);
	assert_true(loads(priors, 1, NULL, NULL));
	assert_int_equal(chmod(path_of(ONE), 0600), 0);
	assert_true(loads(priors, 1, NULL, ONE)); /* it was not taken for damaged */
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
	priors_free(priors);
}

int main(void)
{
	static char trace[] = "/tmp/brevis-unit-trace-XXXXXX";
	const struct CMUnitTest tests[] = {
		SANDBOX_TEST(test_round_trip),         SANDBOX_TEST(test_damage),
		SANDBOX_TEST(test_directory_in_place), SANDBOX_TEST(test_damaged_preferred),
		SANDBOX_TEST(test_damaged_family),     SANDBOX_TEST(test_oversized),
		SANDBOX_TEST(test_read_only_use),      SANDBOX_TEST(test_no_place),
		SANDBOX_TEST(test_permissions),
	};
	int fd = mkstemp(trace);
	int failed;

	if (fd < 0)
		return 1;
	close(fd);
	setenv("GIT_BREVIS_TRACE", trace, 1);
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(trace);
	return failed;
}
