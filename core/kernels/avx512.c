/* SPDX-License-Identifier: Apache-2.0 */
/* x86-64 with AVX-512: 16 lanes to a vector, compress and expand for renormalising. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "core/kernels/loops.h"

#define TARGET __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512vl,avx512dq")))

DEFINE_CUT(16, uint8_t)
DEFINE_CUT(32, uint32_t)
DEFINE_SUM(16)
DEFINE_PACK32

#define INLINE TARGET static inline __attribute__((always_inline))

/* ---- joining -------------------------------------------------------------------- */

/*
 * Joins 32 words of 16 bits. Shifts by as many bits as a word has leave 0, so that rotations by 0
 * need no care; but usually there is either a turn or a rotation, and shifts are what is scarce.
 */
INLINE __m512i join_32(const struct kernel_cut *cut, const uint8_t *codes, __m512i low)
{
	__m512i v = _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)codes));
	__m512i t;

	v = _mm512_add_epi16(v, _mm512_set1_epi16((short)cut->base));
	if (cut->turn) {
		low = _mm512_or_si512(
			low, _mm512_sllv_epi16(v, _mm512_set1_epi16((short)(16 - cut->turn))));
		v = _mm512_srlv_epi16(v, _mm512_set1_epi16((short)cut->turn));
	}
	t = _mm512_or_si512(low, _mm512_sllv_epi16(v, _mm512_set1_epi16((short)cut->low)));
	if (!cut->rotation)
		return t;
	return _mm512_or_si512(
		_mm512_srlv_epi16(t, _mm512_set1_epi16((short)cut->rotation)),
		_mm512_sllv_epi16(t, _mm512_set1_epi16((short)(16 - cut->rotation))));
}

/* Joins 16 words of 32 bits. */
INLINE __m512i join_16(const struct kernel_cut *cut, const uint8_t *codes, __m512i low)
{
	__m512i v = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));
	__m512i u;

	v = _mm512_add_epi32(v, _mm512_set1_epi32((int)cut->base));
	u = _mm512_srlv_epi32(v, _mm512_set1_epi32((int)cut->turn));
	u = _mm512_sllv_epi32(u, _mm512_set1_epi32((int)cut->low));
	v = _mm512_sllv_epi32(v, _mm512_set1_epi32((int)(32 - cut->turn)));
	u = _mm512_or_si512(low, _mm512_or_si512(u, v));
	return _mm512_rorv_epi32(u, _mm512_set1_epi32((int)cut->rotation));
}

INLINE size_t count_escaped_64(const uint8_t *codes)
{
	__mmask64 set = _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(codes), _mm512_set1_epi8(-1));

	return (size_t)_mm_popcnt_u64(set);
}

INLINE __m512i widen_32(const uint8_t *bytes)
{
	return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)bytes));
}

TARGET static size_t join16(const struct kernel_cut *cut, uint16_t *words, const uint8_t *codes,
			    const uint8_t *low, size_t count)
{
	struct kernel_cut c = *cut;
	size_t escaped = 0, i;

	for (i = 0; i + 64 <= count; i += 64) {
		_mm512_storeu_si512(words + i, join_32(&c, codes + i, widen_32(low + i)));
		_mm512_storeu_si512(words + i + 32,
				    join_32(&c, codes + i + 32, widen_32(low + i + 32)));
		escaped += count_escaped_64(codes + i);
	}
	return escaped + kernels_scalar.join16(cut, words + i, codes + i, low + i, count - i);
}

/*
 * How to take packed numbers out of 64 bytes, as many as a vector has words: each quarter's begin
 * with a byte or the half of one. The four bytes from there on, and what follows, are brought into
 * the quarter, then the bytes that each number is in to its place.
 */
struct packed_places {
	__m512i words;
	__m512i second; /* those of the vector after that */
	__m512i bytes;
	__m512i shifts;
	__m512i mask;
};

INLINE struct packed_places packed_places(unsigned bits, unsigned width)
{
	struct packed_places p;
	unsigned quarter = 128 / width * bits, i;
	uint32_t words[16];
	uint8_t bytes[64], shifts[64];

	for (i = 0; i < 16; i++)
		words[i] = i / 4 * quarter / 32 + i % 4;
	for (i = 0; i < 64; i++) {
		unsigned bit = i / (width / 8) * bits, first = i / 16 * quarter / 32 * 4;

		bytes[i] = (uint8_t)(bit / 8 - first + i % (width / 8));
		shifts[i] = i % (width / 8) ? 0 : bit % 8;
	}
	p.words = _mm512_loadu_si512(words);
	p.second = _mm512_add_epi32(p.words, _mm512_set1_epi32((int)bits));
	p.bytes = _mm512_loadu_si512(bytes);
	p.shifts = _mm512_loadu_si512(shifts);
	p.mask = width == 16 ? _mm512_set1_epi16((short)((1u << bits) - 1))
			     : _mm512_set1_epi32((1 << bits) - 1);
	return p;
}

INLINE __m512i place_bytes(const struct packed_places *p, __m512i words, __m512i packed)
{
	return _mm512_shuffle_epi8(_mm512_permutexvar_epi32(words, packed), p->bytes);
}

/* Joins 64 words of 16 bits. */
INLINE void join_64_short(const struct kernel_join *join, const struct packed_places *p,
			  const uint8_t *codes, size_t i)
{
	__m512i packed = _mm512_loadu_si512(join->low + i / 8 * join->bits);
	__m512i a = place_bytes(p, p->words, packed);
	__m512i b = place_bytes(p, p->second, packed);
	uint16_t *words = (uint16_t *)join->words + i;

	a = _mm512_and_si512(_mm512_srlv_epi16(a, p->shifts), p->mask);
	b = _mm512_and_si512(_mm512_srlv_epi16(b, p->shifts), p->mask);
	_mm512_storeu_si512(words, join_32(&join->cut, codes + i, a));
	_mm512_storeu_si512(words + 32, join_32(&join->cut, codes + i + 32, b));
}

/* Joins 64 words of 32 bits. */
INLINE void join_64_long(const struct kernel_join *join, const struct packed_places *p,
			 const uint8_t *codes, size_t i)
{
	size_t end = i + 64;

	for (; i < end; i += 16) {
		__m512i packed = _mm512_loadu_si512(join->low + i / 8 * join->bits);
		__m512i low = place_bytes(p, p->words, packed);

		low = _mm512_and_si512(_mm512_srlv_epi32(low, p->shifts), p->mask);
		_mm512_storeu_si512((uint32_t *)join->words + i,
				    join_16(&join->cut, codes + i, low));
	}
}

/* ---- rANS ------------------------------------------------------------------------------------ */

#define DOWN (_MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)

/*
 * gcc takes the destination of a gather of all lanes for overwritten, but the processor waits for
 * what was in it: for the gather before. It must not know that the mask has all lanes. (Without
 * optimisation the intrinsic is a macro, which warns of itself.)
 */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
INLINE __m512i look_up(const uint32_t *table, __m512i places)
{
	unsigned all = 0xffff;

	__asm__("" : "+r"(all));
	return _mm512_mask_i32gather_epi32(_mm512_setzero_si512(), (__mmask16)all, places, table,
					   4);
}
#pragma GCC diagnostic pop

/* Decodes one code in each of 16 lanes: the slots found hold them. */
INLINE __m512i decode_16(const uint32_t *slots, unsigned scale_bits, __m512i x,
			 const uint8_t *classes, __m512i *found, const uint8_t **at)
{
	__m512i mask = _mm512_set1_epi32((1 << scale_bits) - 1);
	__m512i shift = _mm512_set1_epi32((int)scale_bits);
	__m512i of, slot, entry, units;
	__mmask16 refill;

	if (classes) {
		of = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)classes));
		of = _mm512_sllv_epi32(of, shift);
		slot = _mm512_ternarylogic_epi32(x, mask, of, 0xea); /* (x & mask) | of */
	} else {
		slot = _mm512_and_si512(x, mask);
	}
	entry = look_up(slots, slot);
	*found = entry;
	x = _mm512_mullo_epi32(_mm512_srlv_epi32(x, shift), _mm512_srli_epi32(entry, 20));
	x = _mm512_add_epi32(x, _mm512_and_si512(entry, _mm512_set1_epi32(0xfff)));
	refill = _mm512_cmplt_epu32_mask(x, _mm512_set1_epi32(KERNEL_STATE_LOW));
	units = _mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)*at));
	units = _mm512_maskz_expand_epi32(refill, units);
	*at += 2 * _mm_popcnt_u32(refill);
	return _mm512_mask_or_epi32(x, refill, _mm512_slli_epi32(x, 16), units);
}

/* The codes of 4 times 16 slots: each into another byte of 32 bits, then those bytes together. */
INLINE __m512i codes_of_64(const __m512i *found)
{
	const __m512i bytes = _mm512_broadcast_i32x4(
		_mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15));
	const __m512i quarters =
		_mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
	__m512i v = _mm512_srli_epi32(found[0], 12);

	v = _mm512_mask_blend_epi8(0x2222222222222222, v, _mm512_srli_epi32(found[1], 4));
	v = _mm512_mask_blend_epi8(0x4444444444444444, v, _mm512_slli_epi32(found[2], 4));
	v = _mm512_mask_blend_epi8(0x8888888888888888, v, _mm512_slli_epi32(found[3], 12));
	return _mm512_permutexvar_epi32(quarters, _mm512_shuffle_epi8(v, bytes));
}

/* width: 0, or that of the words which codes of 64 lanes are joined to. */
INLINE size_t decode_and_join(const uint32_t *slots, unsigned scale_bits, unsigned lanes,
			      uint32_t *states, const uint8_t **at, const uint8_t *end,
			      const uint8_t *classes, uint8_t *codes, size_t groups, unsigned width,
			      struct kernel_join *join)
{
	struct kernel_join to = width ? *join : (struct kernel_join){.bits = 1};
	struct packed_places places = packed_places(to.bits, width ? width : 16);
	__m512i x[KERNEL_LANES_MAX / 16], found[KERNEL_LANES_MAX / 16];
	const uint8_t *from = *at;
	size_t g;
	unsigned j;

	for (j = 0; j < lanes / 16; j++)
		x[j] = _mm512_loadu_si512(states + 16 * j);
	for (g = 0; g < groups && (size_t)(end - from) >= KERNEL_GROUP_BYTES; g++) {
		size_t i = g * lanes;

#pragma GCC unroll 4
		for (j = 0; j < lanes / 16; j++)
			x[j] = decode_16(slots, scale_bits, x[j],
					 classes ? classes + i + 16 * j : NULL, &found[j], &from);
		if (lanes == 64)
			_mm512_storeu_si512(codes + i, codes_of_64(found));
		else
			_mm_storeu_si128((__m128i *)(codes + i),
					 _mm512_cvtepi32_epi8(_mm512_srli_epi32(found[0], 12)));
		if (width == 16)
			join_64_short(&to, &places, codes, i);
		else if (width == 32)
			join_64_long(&to, &places, codes, i);
		to.escaped += width ? count_escaped_64(codes + i) : 0;
	}
	for (j = 0; j < lanes / 16; j++)
		_mm512_storeu_si512(states + 16 * j, x[j]);
	if (width)
		join->escaped = to.escaped;
	*at = from;
	return g;
}

INLINE size_t decode_lanes(const uint32_t *slots, unsigned scale_bits, unsigned lanes,
			   uint32_t *states, const uint8_t **at, const uint8_t *end,
			   const uint8_t *classes, uint8_t *codes, size_t groups)
{
	return decode_and_join(slots, scale_bits, lanes, states, at, end, classes, codes, groups, 0,
			       NULL);
}

DEFINE_DECODE

#define DEFINE_DECODE_AT_ONCE(WIDTH)                                                               \
	TARGET static size_t decode##WIDTH(                                                        \
		const uint32_t *slots, unsigned scale_bits, uint32_t *states, const uint8_t **at,  \
		const uint8_t *end, const uint8_t *classes, uint8_t *codes, size_t groups,         \
		struct kernel_join *join)                                                          \
	{                                                                                          \
		if (classes)                                                                       \
			return decode_and_join(slots, scale_bits, 64, states, at, end, classes,    \
					       codes, groups, WIDTH, join);                        \
		return decode_and_join(slots, scale_bits, 64, states, at, end, NULL, codes,        \
				       groups, WIDTH, join);                                       \
	}

DEFINE_DECODE_AT_ONCE(16)
DEFINE_DECODE_AT_ONCE(32)

/* The entries of 16 codes. */
INLINE __m512i find_entries(const uint32_t *shares, const uint8_t *classes, const uint8_t *codes)
{
	__m512i code = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)codes));

	if (classes) {
		__m512i of = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)classes));

		code = _mm512_or_si512(code, _mm512_slli_epi32(of, 8));
	}
	return look_up(shares, code);
}

/* Turns those of 16 codes that have no share into 255. */
TARGET __attribute__((noinline, cold)) static void escape_16(uint8_t *codes, __m512i shares)
{
	_mm_mask_storeu_epi8(codes, _mm512_testn_epi32_mask(shares, shares), _mm_set1_epi8(-1));
}

/* The same, with the entries that they have then, if there are any. */
INLINE void find_escaped(const uint32_t *shares, const uint8_t *classes, uint8_t *codes,
			 unsigned vectors, __m512i *entries)
{
	const __m512i mask = _mm512_set1_epi32(0xffff);
	__m512i least = mask;
	unsigned j;

	for (j = 0; j < vectors; j++) {
		entries[j] =
			find_entries(shares, classes ? classes + 16 * j : NULL, codes + 16 * j);
		least = _mm512_min_epu32(least, _mm512_and_si512(entries[j], mask));
	}
	if (__builtin_expect(_mm512_testn_epi32_mask(least, least) == 0, 1))
		return;
	for (j = 0; j < vectors; j++) {
		escape_16(codes + 16 * j, _mm512_and_si512(entries[j], mask));
		entries[j] =
			find_entries(shares, classes ? classes + 16 * j : NULL, codes + 16 * j);
	}
}

/*
 * Encodes one code in each of 16 lanes. The quotient: states are below 2^31, so quotients are below
 * 2^(31 - scale_bits), at most 2^21: DEFINE_ENCODE leaves smaller scales to others. As floats
 * rounded towards 0, state and quotient lose less than 2^-23 each, of a quotient less than 1
 * together. So it is right or 1 too small.
 */
INLINE __m512i encode_16(__m512i entry, unsigned scale_bits, __m512i x, uint8_t **to)
{
	__m512i scale = _mm512_set1_epi32((int)scale_bits);
	__m512i share = _mm512_and_si512(entry, _mm512_set1_epi32(0xffff));
	__m512i others = _mm512_sub_epi32(_mm512_set1_epi32(1 << scale_bits), share);
	__m512i limit = _mm512_sllv_epi32(share, _mm512_set1_epi32((int)(31 - scale_bits)));
	__mmask16 full = _mm512_cmpge_epu32_mask(x, limit), more;
	unsigned n = (unsigned)_mm_popcnt_u32(full);
	__m512i quotient, rest;

	*to -= 2 * n;
	_mm256_mask_storeu_epi16(*to, (__mmask16)_bzhi_u32(0xffff, n),
				 _mm512_cvtepi32_epi16(_mm512_maskz_compress_epi32(full, x)));
	x = _mm512_mask_srli_epi32(x, full, x, 16);
	quotient = _mm512_cvttps_epi32(_mm512_div_round_ps(_mm512_cvt_roundepi32_ps(x, DOWN),
							   _mm512_cvtepi32_ps(share), DOWN));
	rest = _mm512_sub_epi32(x, _mm512_mullo_epi32(quotient, share));
	more = _mm512_cmpge_epi32_mask(rest, share);
	x = _mm512_add_epi32(rest, _mm512_srli_epi32(entry, 16));
	x = _mm512_add_epi32(x, _mm512_sllv_epi32(quotient, scale));
	return _mm512_mask_add_epi32(x, more, x, others);
}

INLINE uint8_t *encode_lanes(const uint32_t *shares, unsigned scale_bits, unsigned lanes,
			     uint32_t *states, uint8_t *to, const uint8_t *classes, uint8_t *codes,
			     size_t groups)
{
	__m512i x[KERNEL_LANES_MAX / 16], entries[KERNEL_LANES_MAX / 16];
	unsigned j;

	for (j = 0; j < lanes / 16; j++)
		x[j] = _mm512_loadu_si512(states + 16 * j);
	while (groups-- > 0) {
		size_t i = groups * lanes;

		find_escaped(shares, classes ? classes + i : NULL, codes + i, lanes / 16, entries);
#pragma GCC unroll 4
		for (j = lanes / 16; j-- > 0;)
			x[j] = encode_16(entries[j], scale_bits, x[j], &to);
	}
	for (j = 0; j < lanes / 16; j++)
		_mm512_storeu_si512(states + 16 * j, x[j]);
	return to;
}

DEFINE_ENCODE(10)

/* ---- sums ----------------------------------------------------------------------- */

/* Rows whose sums of places fit into 16 bits. */
#define SHORT_SUM_ROWS 256

/* Of up to 64 words, as bytes. */
INLINE __m512i scales_64(const uint8_t *words, size_t left, unsigned shift, __m512i mask)
{
	__mmask64 some = left < 64 ? ((__mmask64)1 << left) - 1 : ~(__mmask64)0;
	__m512i v = _mm512_maskz_loadu_epi8(some, words);

	return _mm512_and_si512(_mm512_srl_epi16(v, _mm_cvtsi32_si128((int)shift)), mask);
}

/* Adds to the sums of 8 places, of which some may not exist. */
INLINE void add_8(uint32_t *sums, size_t left, __m128i more)
{
	__mmask8 some = (__mmask8)(left < 8 ? (1u << left) - 1 : 0xff);
	__m256i sum = _mm256_maskz_loadu_epi32(some, sums);

	sum = _mm256_add_epi32(sum, _mm256_cvtepu16_epi32(more));
	_mm256_mask_storeu_epi32(sums, some, sum);
}

/* Adds sums of even and odd places to those of up to 64 places. */
INLINE void add_places(uint32_t *sums, size_t left, __m512i even, __m512i odd)
{
	__m128i eights[8];
	size_t i;

	_mm512_storeu_si512(eights, _mm512_unpacklo_epi16(even, odd));
	_mm512_storeu_si512(eights + 4, _mm512_unpackhi_epi16(even, odd));
	/* Each quarter of the first vector has 8 places, that of the second one the next 8. */
	for (i = 0; i < 8 && 8 * i < left; i++)
		add_8(sums + 8 * i, left - 8 * i, eights[i / 2 + i % 2 * 4]);
}

TARGET static void sum_rows(const uint8_t *words, size_t rows, size_t length, unsigned shift,
			    __m512i bits, uint32_t *sums)
{
	size_t r, i;

	for (r = 0; r < rows; r++, words += length) {
		__m512i sum = _mm512_setzero_si512();

		for (i = 0; i < length; i += 64) {
			__m512i v = scales_64(words + i, length - i, shift, bits);

			sum = _mm512_add_epi64(sum, _mm512_sad_epu8(v, _mm512_setzero_si512()));
		}
		sums[r] += (uint32_t)_mm512_reduce_add_epi64(sum);
	}
}

/* Places in columns of 64, so that their sums stay in registers. */
TARGET static void sum_places(const uint8_t *words, size_t rows, size_t length, unsigned shift,
			      __m512i bits, uint32_t *sums)
{
	const __m512i low = _mm512_set1_epi16(0xff);
	size_t r, i;

	for (i = 0; i < length; i += 64) {
		__m512i even = _mm512_setzero_si512(), odd = even;

		for (r = 0; r < rows; r++) {
			__m512i v = scales_64(words + r * length + i, length - i, shift, bits);

			even = _mm512_add_epi16(even, _mm512_and_si512(v, low));
			odd = _mm512_add_epi16(odd, _mm512_srli_epi16(v, 8));
		}
		add_places(sums + i, length - i, even, odd);
	}
}

TARGET static void sum8(const uint8_t *words, size_t rows, size_t length, unsigned shift,
			uint32_t mask, uint32_t *row_sums, uint32_t *place_sums)
{
	const __m512i bits = _mm512_set1_epi8((char)(mask & 0xff >> shift));
	size_t n;

	for (; rows; rows -= n, row_sums += n, words += n * length) {
		n = rows < SHORT_SUM_ROWS ? rows : SHORT_SUM_ROWS;
		sum_rows(words, n, length, shift, bits, row_sums);
		sum_places(words, n, length, shift, bits, place_sums);
	}
}

/* How far ahead words are fetched that are used once. */
#define PREFETCH_BYTES 3072

/* The same as the loop of loops.h, which gcc narrows in a roundabout way. */
TARGET static size_t cut16_by_32(const struct kernel_cut *cut, const uint16_t *words,
				 uint8_t *codes, uint8_t *low, size_t count)
{
	const __m128i rotation = _mm_cvtsi32_si128((int)cut->rotation);
	const __m128i back = _mm_cvtsi32_si128((int)(16 - cut->rotation));
	const __m128i shift = _mm_cvtsi32_si128((int)cut->low);
	const __m128i turn = _mm_cvtsi32_si128((int)cut->turn);
	const __m128i turn_back = _mm_cvtsi32_si128((int)(16 - cut->low - cut->turn));
	const __m512i mask = _mm512_set1_epi16((short)((1u << (16 - cut->low)) - 1));
	const __m512i low_mask = _mm512_set1_epi16((short)((1u << cut->low) - 1));
	const __m512i base = _mm512_set1_epi16((short)cut->base);
	const __m512i end = _mm512_set1_epi16((short)cut->codes);
	const __m512i escape = _mm512_set1_epi16(255);
	size_t escaped = 0, i;

	for (i = 0; i + 32 <= count; i += 32) {
		__m512i w = _mm512_loadu_si512(words + i);
		__m512i t =
			_mm512_or_si512(_mm512_sll_epi16(w, rotation), _mm512_srl_epi16(w, back));
		__m512i u = _mm512_srl_epi16(t, shift);
		__m512i v =
			_mm512_or_si512(_mm512_sll_epi16(u, turn), _mm512_srl_epi16(u, turn_back));
		__m512i code = _mm512_sub_epi16(_mm512_and_si512(v, mask), base);
		__mmask32 beyond = _mm512_cmpge_epu16_mask(code, end);

		code = _mm512_mask_mov_epi16(code, beyond, escape);
		_mm256_storeu_si256((__m256i *)(codes + i), _mm512_cvtepi16_epi8(code));
		_mm256_storeu_si256((__m256i *)(low + i),
				    _mm512_cvtepi16_epi8(_mm512_and_si512(t, low_mask)));
		escaped += (size_t)_mm_popcnt_u32(beyond);
		/* Processors look ahead to the end of a page only. */
		_mm_prefetch((const char *)(words + i) + PREFETCH_BYTES, _MM_HINT_T0);
	}
	return escaped + cut16(cut, words + i, codes + i, low + i, count - i);
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

/* ---- the other loops ------------------------------------------------------------------------- */

TARGET static size_t join32(const struct kernel_cut *cut, uint32_t *words, const uint8_t *codes,
			    const uint32_t *low, size_t count)
{
	struct kernel_cut c = *cut;
	size_t escaped = 0, i, j;

	for (i = 0; i + 64 <= count; i += 64) {
		for (j = i; j < i + 64; j += 16)
			_mm512_storeu_si512(words + j,
					    join_16(&c, codes + j, _mm512_loadu_si512(low + j)));
		escaped += count_escaped_64(codes + i);
	}
	return escaped + kernels_scalar.join32(cut, words + i, codes + i, low + i, count - i);
}

bool kernels_avx512_supported(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
	       __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt") &&
	       __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
	       __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
}

const struct kernels kernels_avx512 = {
	.name = "avx512",
	.decode = decode,
	.decode16 = decode16,
	.decode32 = decode32,
	.encode = encode,
	.cut16 = cut16_by_32,
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
