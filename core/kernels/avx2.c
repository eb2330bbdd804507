/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64 with AVX2 and BMI2: 8 lanes to a vector, permutations for renormalising. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "core/base/bytes.h"
#include "core/kernels/loops.h"
#include "core/kernels/permutations.h"

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt")))

DEFINE_LOOPS

#define INLINE TARGET static inline __attribute__((always_inline))

/*
 * gcc takes the destination of a gather of all lanes for overwritten, but the processor waits for
 * what was in it: for the gather before. It must not know that the mask has all lanes.
 */
INLINE __m256i look_up(const uint32_t *table, __m256i places)
{
	__m256i all = _mm256_set1_epi32(-1);

	__asm__("" : "+x"(all));
	return _mm256_mask_i32gather_epi32(_mm256_setzero_si256(), (const int *)table, places, all,
					   4);
}

INLINE __m256i permutation(const uint8_t table[256][8], unsigned set)
{
	return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)table[set]));
}

/* Decodes one code in each of 8 lanes, into the low bytes of *codes. */
INLINE __m256i decode_8(const uint32_t *slots, unsigned scale_bits, __m256i x,
			const uint8_t *classes, __m256i *codes, const uint8_t **at)
{
	__m256i slot = _mm256_and_si256(x, _mm256_set1_epi32((1 << scale_bits) - 1));
	__m256i low = _mm256_set1_epi32(0xfff);
	__m256i entry, refill, units;
	unsigned set;

	if (classes) {
		__m256i of = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)classes));

		slot = _mm256_or_si256(slot, _mm256_slli_epi32(of, (int)scale_bits));
	}
	entry = look_up(slots, slot);
	*codes = _mm256_and_si256(_mm256_srli_epi32(entry, 12), _mm256_set1_epi32(0xff));
	x = _mm256_mullo_epi32(_mm256_srli_epi32(x, (int)scale_bits), _mm256_srli_epi32(entry, 20));
	x = _mm256_add_epi32(x, _mm256_and_si256(entry, low));
	refill = _mm256_cmpgt_epi32(_mm256_set1_epi32(KERNEL_STATE_LOW), x);
	set = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(refill));
	units = _mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)*at));
	units = _mm256_permutevar8x32_epi32(units, permutation(kernel_handing_out, set));
	units = _mm256_or_si256(_mm256_slli_epi32(x, 16), units);
	*at += 2 * _mm_popcnt_u32(set);
	return _mm256_blendv_epi8(x, units, refill);
}

INLINE size_t decode_lanes(const uint32_t *slots, unsigned scale_bits, unsigned lanes,
			   uint32_t *states, const uint8_t **at, const uint8_t *end,
			   const uint8_t *classes, uint8_t *codes, size_t groups)
{
	__m256i x[KERNEL_LANES_MAX / 8];
	const uint8_t *from = *at;
	size_t g;
	unsigned j;

	for (j = 0; j < lanes / 8; j++)
		x[j] = _mm256_loadu_si256((const __m256i *)(states + 8 * j));
	for (g = 0; g < groups && (size_t)(end - from) >= KERNEL_GROUP_BYTES; g++) {
#pragma GCC unroll 4
		for (j = 0; j < lanes / 8; j += 2) {
			size_t i = g * lanes + 8 * j;
			__m256i a, b;
			__m128i c;

			x[j] = decode_8(slots, scale_bits, x[j], classes ? classes + i : NULL, &a,
					&from);
			x[j + 1] = decode_8(slots, scale_bits, x[j + 1],
					    classes ? classes + i + 8 : NULL, &b, &from);
			a = _mm256_permute4x64_epi64(_mm256_packus_epi32(a, b), 0xd8);
			c = _mm_packus_epi16(_mm256_castsi256_si128(a),
					     _mm256_extracti128_si256(a, 1));
			_mm_storeu_si128((__m128i *)(codes + i), c);
		}
	}
	for (j = 0; j < lanes / 8; j++)
		_mm256_storeu_si256((__m256i *)(states + 8 * j), x[j]);
	*at = from;
	return g;
}

DEFINE_DECODE

/*
 * Encodes one code in each of 8 lanes, with shares of a scale of more than 8 bits. The quotient:
 * states are below 2^31, so quotients are below 2^(31 - scale_bits), at most 2^22. A division of
 * floats is wrong by no more than 2^-23 of that, less than a half; so the nearest whole number is
 * right or 1 too large.
 */
INLINE __m256i encode_8(__m256i entry, unsigned scale_bits, __m256i x, uint8_t **to)
{
	__m256i share = _mm256_and_si256(entry, _mm256_set1_epi32(0xffff));
	__m256i limit = _mm256_slli_epi32(share, (int)(31 - scale_bits));
	__m256i full = _mm256_cmpgt_epi32(x, _mm256_sub_epi32(limit, _mm256_set1_epi32(1)));
	unsigned set = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(full));
	__m256i units, quotient, rest;

	/* Lanes that give nothing off leave what lies below the units, which is overwritten. */
	units = _mm256_and_si256(x, _mm256_set1_epi32(0xffff));
	units = _mm256_permutevar8x32_epi32(units, permutation(kernel_giving_off, set));
	_mm_storeu_si128((__m128i *)(*to - 16),
			 _mm_packus_epi32(_mm256_castsi256_si128(units),
					  _mm256_extracti128_si256(units, 1)));
	*to -= 2 * _mm_popcnt_u32(set);
	x = _mm256_blendv_epi8(x, _mm256_srli_epi32(x, 16), full);
	quotient =
		_mm256_cvtps_epi32(_mm256_div_ps(_mm256_cvtepi32_ps(x), _mm256_cvtepi32_ps(share)));
	rest = _mm256_sub_epi32(x, _mm256_mullo_epi32(quotient, share));
	quotient = _mm256_add_epi32(quotient, _mm256_srai_epi32(rest, 31));
	rest = _mm256_min_epu32(rest, _mm256_add_epi32(rest, share));
	x = _mm256_add_epi32(_mm256_slli_epi32(quotient, (int)scale_bits), rest);
	return _mm256_add_epi32(x, _mm256_srli_epi32(entry, 16));
}

/* What codes are looked up for, those without a share changed. */
INLINE __m256i shares_of_8(const uint32_t *shares, const uint8_t *classes, uint8_t *codes)
{
	__m256i code = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes));
	__m256i entry, none;
	uint32_t entries[8];

	if (classes) {
		__m256i of = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)classes));

		code = _mm256_or_si256(code, _mm256_slli_epi32(of, 8));
	}
	entry = look_up(shares, code);
	none = _mm256_cmpeq_epi32(_mm256_slli_epi32(entry, 16), _mm256_setzero_si256());
	if (__builtin_expect(_mm256_testz_si256(none, none), 1))
		return entry;
	_mm256_storeu_si256((__m256i *)entries, entry);
	kernels_mend(shares, classes, codes, entries, 8);
	return _mm256_loadu_si256((const __m256i *)entries);
}

INLINE uint8_t *encode_lanes(const uint32_t *shares, unsigned scale_bits, unsigned lanes,
			     uint32_t *states, uint8_t *to, const uint8_t *classes, uint8_t *codes,
			     size_t groups)
{
	__m256i x[KERNEL_LANES_MAX / 8];
	unsigned j;

	for (j = 0; j < lanes / 8; j++)
		x[j] = _mm256_loadu_si256((const __m256i *)(states + 8 * j));
	while (groups-- > 0) {
#pragma GCC unroll 8
		for (j = lanes / 8; j-- > 0;) {
			size_t i = groups * lanes + 8 * j;
			__m256i entry =
				shares_of_8(shares, classes ? classes + i : NULL, codes + i);

			x[j] = encode_8(entry, scale_bits, x[j], &to);
		}
	}
	for (j = 0; j < lanes / 8; j++)
		_mm256_storeu_si256((__m256i *)(states + 8 * j), x[j]);
	return to;
}

/* Only short literals have scales of 8 bits. */
DEFINE_ENCODE(9)

TARGET void kernels_pack8_bmi2(uint8_t *out, const uint8_t *numbers, unsigned bits, size_t groups)
{
	uint64_t mask = ((UINT64_C(1) << bits) - 1) * UINT64_C(0x0101010101010101);
	size_t g;

	for (g = 0; g < groups; g++, out += bits)
		store_le64(out, _pext_u64(load_le64(numbers + 8 * g), mask));
}

TARGET void kernels_unpack8_bmi2(uint8_t *numbers, const uint8_t *in, unsigned bits, size_t groups)
{
	uint64_t mask = ((UINT64_C(1) << bits) - 1) * UINT64_C(0x0101010101010101);
	size_t g;

	for (g = 0; g < groups; g++, in += bits)
		store_le64(numbers + 8 * g, _pdep_u64(load_le64(in), mask));
}

/* Eight numbers: two quarters of 16 bytes, in each of which are four. */
TARGET static void unpack32(uint32_t *numbers, const uint8_t *in, unsigned bits, size_t groups)
{
	__m256i mask = _mm256_set1_epi32((1 << bits) - 1);
	uint8_t places[32];
	uint32_t shifts[8];
	__m256i place, shift;
	size_t g;
	unsigned i, j;

	for (i = 0; i < 8; i++) {
		unsigned first = i < 4 ? 0 : 4 * bits / 8 * 8;
		unsigned bit = i * bits - first;

		for (j = 0; j < 4; j++)
			places[4 * i + j] = (uint8_t)(bit / 8 + j);
		shifts[i] = bit % 8;
	}
	place = _mm256_loadu_si256((const __m256i *)places);
	shift = _mm256_loadu_si256((const __m256i *)shifts);
	for (g = 0; g < groups; g++, in += bits) {
		__m256i v =
			_mm256_loadu2_m128i((const __m128i *)(in + bits / 2), (const __m128i *)in);

		v = _mm256_srlv_epi32(_mm256_shuffle_epi8(v, place), shift);
		_mm256_storeu_si256((__m256i *)(numbers + 8 * g), _mm256_and_si256(v, mask));
	}
}

/* Joins 16 words of 16 bits. */
INLINE __m256i join_16(const struct kernel_cut *cut, const uint8_t *codes, const uint8_t *low)
{
	__m256i v = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)codes));
	__m256i t = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)low));
	__m256i u;

	v = _mm256_add_epi16(v, _mm256_set1_epi16((short)cut->base));
	u = _mm256_srl_epi16(v, _mm_cvtsi32_si128((int)cut->turn));
	u = _mm256_sll_epi16(u, _mm_cvtsi32_si128((int)cut->low));
	v = _mm256_sll_epi16(v, _mm_cvtsi32_si128((int)(16 - cut->turn)));
	t = _mm256_or_si256(t, _mm256_or_si256(u, v));
	return _mm256_or_si256(_mm256_srl_epi16(t, _mm_cvtsi32_si128((int)cut->rotation)),
			       _mm256_sll_epi16(t, _mm_cvtsi32_si128((int)(16 - cut->rotation))));
}

INLINE size_t count_escaped_32(const uint8_t *codes)
{
	__m256i v = _mm256_loadu_si256((const __m256i *)codes);

	v = _mm256_cmpeq_epi8(v, _mm256_set1_epi8(-1));
	return (size_t)_mm_popcnt_u32((unsigned)_mm256_movemask_epi8(v));
}

/* Shifts by as many bits as a word has leave 0, so that rotations by 0 need no care. */
TARGET static size_t join16(const struct kernel_cut *cut, uint16_t *words, const uint8_t *codes,
			    const uint8_t *low, size_t count)
{
	struct kernel_cut c = *cut;
	size_t escaped = 0, i;

	for (i = 0; i + 32 <= count; i += 32) {
		__m256i a = join_16(&c, codes + i, low + i);
		__m256i b = join_16(&c, codes + i + 16, low + i + 16);

		_mm256_storeu_si256((__m256i *)(words + i), a);
		_mm256_storeu_si256((__m256i *)(words + i + 16), b);
		escaped += count_escaped_32(codes + i);
	}
	return escaped + kernels_scalar.join16(cut, words + i, codes + i, low + i, count - i);
}

/* Joins 8 words of 32 bits. */
INLINE __m256i join_8(const struct kernel_cut *cut, const uint8_t *codes, const uint32_t *low)
{
	__m256i v = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)codes));
	__m256i t = _mm256_loadu_si256((const __m256i *)low);
	__m256i u;

	v = _mm256_add_epi32(v, _mm256_set1_epi32((int)cut->base));
	u = _mm256_srlv_epi32(v, _mm256_set1_epi32((int)cut->turn));
	u = _mm256_sllv_epi32(u, _mm256_set1_epi32((int)cut->low));
	v = _mm256_sllv_epi32(v, _mm256_set1_epi32((int)(32 - cut->turn)));
	t = _mm256_or_si256(t, _mm256_or_si256(u, v));
	return _mm256_or_si256(_mm256_srlv_epi32(t, _mm256_set1_epi32((int)cut->rotation)),
			       _mm256_sllv_epi32(t, _mm256_set1_epi32((int)(32 - cut->rotation))));
}

TARGET static size_t join32(const struct kernel_cut *cut, uint32_t *words, const uint8_t *codes,
			    const uint32_t *low, size_t count)
{
	struct kernel_cut c = *cut;
	size_t escaped = 0, i, j;

	for (i = 0; i + 32 <= count; i += 32) {
		for (j = i; j < i + 32; j += 8)
			_mm256_storeu_si256((__m256i *)(words + j), join_8(&c, codes + j, low + j));
		escaped += count_escaped_32(codes + i);
	}
	return escaped + kernels_scalar.join32(cut, words + i, codes + i, low + i, count - i);
}

DEFINE_DECODE_JOINED(kernels_unpack8_bmi2)

bool kernels_avx2_supported(void)
{
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
	    !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
		return false;
	return kernel_permutations_fill();
}

const struct kernels kernels_avx2 = {
	.name = "avx2",
	.decode = decode,
	.decode16 = decode16,
	.decode32 = decode32,
	.encode = encode,
	.cut16 = cut16,
	.cut32 = cut32,
	.join16 = join16,
	.join32 = join32,
	.pack8 = kernels_pack8_bmi2,
	.unpack8 = kernels_unpack8_bmi2,
	.pack32 = pack32,
	.unpack32 = unpack32,
	.sum8 = sum8,
	.sum16 = sum16,
};

#endif
