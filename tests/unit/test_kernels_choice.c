/* SPDX-License-Identifier: Apache-2.0 */
/* Which variant is used, and that the self-test finds what is wrong with one. */
#include "tests/unit/support.h"

#include <sys/wait.h>
#include <unistd.h>

#include "core/kernels/kernels.h"

/* ---- the choice ------------------------------------------------------------------------------ */

/* The name of what a process of its own uses that has this in its environment. */
static void name_with(const char *wanted, char *name, size_t size)
{
	int pipes[2], status;
	pid_t child;
	ssize_t got;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		size_t len;

		if (wanted)
			setenv("BREVIS_KERNELS", wanted, 1);
		else
			unsetenv("BREVIS_KERNELS");
		len = strlen(kernels()->name);
		_exit(write(pipes[1], kernels()->name, len) == (ssize_t)len ? 0 : 1);
	}
	close(pipes[1]);
	got = read(pipes[0], name, size - 1);
	close(pipes[0]);
	assert_true(got > 0);
	name[got] = 0;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Before anything in this process asks for kernels: the choice is made once. */
static void test_environment(void **state)
{
	static const char *const others[] = {"", "sse2", "avx", "Scalar", "scalar "};
	static const char *const variants[] = {"scalar", "avx2", "avx512", "neon"};
	char names[sizeof(variants) / sizeof(variants[0])][32];
	char usual[32], name[32];
	const struct kernels *const *k;
	size_t i;

	(void)state;
	name_with(NULL, usual, sizeof(usual));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		name_with(others[i], name, sizeof(name));
		assert_string_equal(name, usual);
	}
	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++)
		name_with(variants[i], names[i], sizeof(names[i]));
	assert_string_equal(names[0], "scalar");
	for (i = 0; i < sizeof(variants) / sizeof(variants[0]); i++) {
		for (k = kernels_available(); *k && strcmp((*k)->name, variants[i]) != 0;)
			k++;
		assert_string_equal(names[i], *k ? variants[i] : usual);
	}
}

static void test_available(void **state)
{
	const struct kernels *const *k = kernels_available();
	const struct kernels *last = NULL;
	bool chosen = false;

	(void)state;
	assert_string_equal((*k)->name, "scalar");
	for (; *k; k++) {
		print_message("# variant: %s\n", (*k)->name);
		assert_true(kernels_agree(*k));
		chosen |= *k == kernels();
		last = *k;
	}
	assert_true(chosen);
	assert_ptr_equal(kernels(), kernels());
	/* What is set for these tests holds for this process too. */
	if (!getenv("BREVIS_KERNELS"))
		assert_ptr_equal(kernels(), last);
#if defined(__aarch64__)
	assert_string_equal(last->name, "neon");
#endif
}

/* ---- variants that are wrong ----------------------------------------------------------------- */

/* The scalar variant, one function of which does otherwise in one respect. */

static const struct kernels *right;

/* How the function that is broken goes wrong, 0 to 7; nothing else is a fault. */
static unsigned fault;

static bool is_fault(unsigned number)
{
	return fault == number;
}

static size_t broken_decode(const uint32_t *slots, unsigned scale_bits, unsigned lanes,
			    uint32_t *states, const uint8_t **at, const uint8_t *end,
			    const uint8_t *classes, uint8_t *codes, size_t groups)
{
	size_t done;

	if (is_fault(0))
		classes = NULL;
	if (is_fault(1))
		end -= 2;
	if (is_fault(2))
		end += 2;
	done = right->decode(slots, scale_bits, lanes, states, at, end, classes, codes, groups);
	if (is_fault(3))
		codes[groups * lanes - 1] ^= 1;
	if (is_fault(4))
		states[lanes - 1] ^= 1;
	if (is_fault(5))
		*at += 2;
	if (is_fault(6))
		done--;
	if (is_fault(7) && lanes == 16 && classes && scale_bits == 12)
		codes[0] ^= 0x80;
	return done;
}

#define DEFINE_BROKEN_DECODE(BITS, WIDEST)                                                         \
	static size_t broken_decode##BITS(const uint32_t *slots, unsigned scale_bits,              \
					  uint32_t *states, const uint8_t **at,                    \
					  const uint8_t *end, const uint8_t *classes,              \
					  uint8_t *codes, size_t groups, struct kernel_join *join) \
	{                                                                                          \
		size_t done;                                                                       \
                                                                                                   \
		if (is_fault(0))                                                                   \
			classes = NULL;                                                            \
		if (is_fault(1))                                                                   \
			end -= KERNEL_GROUP_BYTES;                                                 \
		if (is_fault(2))                                                                   \
			join->cut.turn = 0;                                                        \
		done = right->decode##BITS(slots, scale_bits, states, at, end, classes, codes,     \
					   groups, join);                                          \
		if (is_fault(3))                                                                   \
			codes[0] ^= 1;                                                             \
		if (is_fault(4))                                                                   \
			states[63] ^= 1;                                                           \
		if (is_fault(5))                                                                   \
			join->escaped--;                                                           \
		if (is_fault(6) && join->bits == (WIDEST))                                         \
			((uint##BITS##_t *)join->words)[1] ^= 0x80;                                \
		if (is_fault(7) && join->bits == 3)                                                \
			*at += 2;                                                                  \
		return done;                                                                       \
	}

DEFINE_BROKEN_DECODE(16, 8)
DEFINE_BROKEN_DECODE(32, 24)

static uint8_t *broken_encode(const uint32_t *shares, unsigned scale_bits, unsigned lanes,
			      uint32_t *states, uint8_t *to, const uint8_t *classes, uint8_t *codes,
			      size_t groups)
{
	uint8_t before[6 * KERNEL_LANES_MAX];
	uint8_t *begin;

	assert_true(groups * lanes <= sizeof(before));
	memcpy(before, codes, groups * lanes);
	if (is_fault(0))
		classes = NULL;
	begin = right->encode(shares, scale_bits, lanes, states, to, classes, codes, groups);
	if (is_fault(1))
		begin[0] ^= 1;
	if (is_fault(2))
		to[-1] ^= 0x80;
	if (is_fault(3))
		states[lanes - 1] ^= 1;
	if (is_fault(4))
		begin += 2;
	if (is_fault(5) && scale_bits == 9)
		states[0]++;
	/* Codes without a share are coded as others, but do not change. */
	if (is_fault(6))
		memcpy(codes, before, groups * lanes);
	if (is_fault(7) && lanes == 16 && classes)
		states[0] ^= 1;
	return begin;
}

#define DEFINE_BROKEN_WORDS(BITS, LOW)                                                             \
	static size_t broken_cut##BITS(const struct kernel_cut *cut, const uint##BITS##_t *words,  \
				       uint8_t *codes, LOW *low, size_t count)                     \
	{                                                                                          \
		size_t escaped = right->cut##BITS(cut, words, codes, low, count), i;               \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			if (is_fault(0) && codes[i] == 254)                                        \
				codes[i] = 255;                                                    \
			if (is_fault(1) && codes[i] == 255)                                        \
				low[i] = (LOW)(low[i] ^ 1);                                        \
		}                                                                                  \
		if (is_fault(2))                                                                   \
			codes[count - 1] = 0;                                                      \
		if (is_fault(3))                                                                   \
			low[count - 1]++;                                                          \
		if (is_fault(4))                                                                   \
			codes[0] ^= 1;                                                             \
		if (is_fault(5) && cut->low == 1)                                                  \
			low[1]++;                                                                  \
		if (is_fault(6) && cut->rotation == 0)                                             \
			codes[0] ^= 1;                                                             \
		return escaped + is_fault(7);                                                      \
	}                                                                                          \
                                                                                                   \
	static size_t broken_join##BITS(const struct kernel_cut *cut, uint##BITS##_t *words,       \
					const uint8_t *codes, const LOW *low, size_t count)        \
	{                                                                                          \
		size_t escaped = right->join##BITS(cut, words, codes, low, count), i;              \
                                                                                                   \
		for (i = 0; i < count; i++) {                                                      \
			if (is_fault(0) && codes[i] == 254)                                        \
				words[i]++;                                                        \
			if (is_fault(1) && codes[i] == 0)                                          \
				words[i]++;                                                        \
		}                                                                                  \
		for (i = 0; i < count && codes[i] == 255;)                                         \
			i++;                                                                       \
		if (is_fault(2))                                                                   \
			words[i] = (uint##BITS##_t)(words[i] ^ (uint##BITS##_t)1 << (BITS - 1));   \
		if (is_fault(3))                                                                   \
			words[i]++;                                                                \
		for (i = count; i-- > 0 && codes[i] == 255;)                                       \
			;                                                                          \
		if (is_fault(4))                                                                   \
			words[i]++;                                                                \
		if (is_fault(5) && cut->rotation == 0)                                             \
			words[i]++;                                                                \
		if (is_fault(6))                                                                   \
			return escaped - 1;                                                        \
		return escaped + is_fault(7);                                                      \
	}

DEFINE_BROKEN_WORDS(16, uint8_t)
DEFINE_BROKEN_WORDS(32, uint32_t)

/* Here the fault is the width that goes wrong. */

static void broken_pack8(uint8_t *out, const uint8_t *numbers, unsigned bits, size_t groups)
{
	right->pack8(out, numbers, bits, groups);
	if (is_fault(bits - 1))
		out[bits * groups - 1] ^= 0x80;
}

static void broken_unpack8(uint8_t *numbers, const uint8_t *in, unsigned bits, size_t groups)
{
	right->unpack8(numbers, in, bits, groups);
	if (is_fault(bits - 1))
		numbers[8 * groups - 1] ^= 1;
}

#define DEFINE_BROKEN_SUM(BITS)                                                                    \
	static void broken_sum##BITS(const uint##BITS##_t *words, size_t rows, size_t length,      \
				     unsigned shift, uint32_t mask, uint32_t *row_sums,            \
				     uint32_t *place_sums)                                         \
	{                                                                                          \
		if (is_fault(0))                                                                   \
			shift++;                                                                   \
		if (is_fault(1))                                                                   \
			mask >>= 1;                                                                \
		if (is_fault(2))                                                                   \
			row_sums[0] = 0;                                                           \
		if (is_fault(3))                                                                   \
			place_sums[0] = 0;                                                         \
		right->sum##BITS(words, rows, length, shift, mask, row_sums, place_sums);          \
		if (is_fault(4))                                                                   \
			row_sums[rows - 1]++;                                                      \
		if (is_fault(5))                                                                   \
			place_sums[length - 1]++;                                                  \
		if (is_fault(6))                                                                   \
			row_sums[rows - 1] -= words[rows * length - 1] >> shift & mask;            \
		if (is_fault(7))                                                                   \
			place_sums[0] -= words[0] >> shift & mask;                                 \
	}

DEFINE_BROKEN_SUM(8)
DEFINE_BROKEN_SUM(16)

static void check_rejected(const struct kernels *broken, const char *function)
{
	fault = UINT32_MAX;
	assert_true(kernels_agree(broken));
	for (fault = 0; fault < 8; fault++) {
		if (kernels_agree(broken))
			fail_msg("%s: fault %u is not found", function, fault);
	}
}

#define CHECK_REJECTED(FUNCTION)                                                                   \
	do {                                                                                       \
		struct kernels broken = *right;                                                    \
                                                                                                   \
		broken.FUNCTION = broken_##FUNCTION;                                               \
		check_rejected(&broken, #FUNCTION);                                                \
	} while (0)

static void test_wrong_variants(void **state)
{
	(void)state;
	right = kernels_available()[0];
	CHECK_REJECTED(decode);
	CHECK_REJECTED(decode16);
	CHECK_REJECTED(decode32);
	CHECK_REJECTED(encode);
	CHECK_REJECTED(cut16);
	CHECK_REJECTED(cut32);
	CHECK_REJECTED(join16);
	CHECK_REJECTED(join32);
	CHECK_REJECTED(pack8);
	CHECK_REJECTED(unpack8);
	CHECK_REJECTED(sum8);
	CHECK_REJECTED(sum16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment),
		cmocka_unit_test(test_available),
		cmocka_unit_test(test_wrong_variants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
