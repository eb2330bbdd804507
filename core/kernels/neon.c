/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 64-bit ARM, little-endian: 8 lanes to a step, as two vectors of 32-bit states; tables are looked
 * up lane by lane, as there are no gathers.
 */
#if defined(__AARCH64EL__)

#include <arm_neon.h>

#include "core/base/bytes.h"
#include "core/kernels/loops.h"
#include "core/kernels/permutations.h"

#define TARGET

DEFINE_LOOPS
DEFINE_JOINS

#define INLINE static inline __attribute__((always_inline))

/* 8 lanes. */
struct lanes {
	uint32x4_t low;
	uint32x4_t high;
};

INLINE struct lanes lanes_load(const uint32_t *from)
{
	return (struct lanes){vld1q_u32(from), vld1q_u32(from + 4)};
}

INLINE void lanes_store(uint32_t *to, struct lanes x)
{
	vst1q_u32(to, x.low);
	vst1q_u32(to + 4, x.high);
}

/* A set of lanes from a mask for each, and how many they are. */
struct lane_set {
	unsigned lanes;
	unsigned count;
};

INLINE struct lane_set lane_set_of(uint32x4_t low, uint32x4_t high)
{
	/* Each lane's bit in the sum's low byte, and 1 in its high byte. */
	static const uint16_t weights[8] = {0x101, 0x102, 0x104, 0x108, 0x110, 0x120, 0x140, 0x180};
	uint16x8_t mask = vcombine_u16(vmovn_u32(low), vmovn_u32(high));
	unsigned sum = vaddvq_u16(vandq_u16(mask, vld1q_u16(weights)));

	return (struct lane_set){sum & 0xff, sum >> 8};
}

/* units[i] = units[order[i]]. */
INLINE uint16x8_t permute(uint16x8_t units, const uint8_t order[8])
{
	uint8x8_t first = vshl_n_u8(vld1_u8(order), 1);
	uint8x8_t second = vorr_u8(first, vdup_n_u8(1));
	uint8x16_t bytes = vcombine_u8(vzip1_u8(first, second), vzip2_u8(first, second));

	return vreinterpretq_u16_u8(vqtbl1q_u8(vreinterpretq_u8_u16(units), bytes));
}

/* What table entries of 4 lanes say, where `places` are theirs. */
INLINE uint32x4_t look_up(const uint32_t *table, uint32x4_t places)
{
	uint32x4_t v = vdupq_n_u32(table[vgetq_lane_u32(places, 0)]);

	v = vld1q_lane_u32(table + vgetq_lane_u32(places, 1), v, 1);
	v = vld1q_lane_u32(table + vgetq_lane_u32(places, 2), v, 2);
	return vld1q_lane_u32(table + vgetq_lane_u32(places, 3), v, 3);
}

/* ---- decoding -------------------------------------------------------------------------------- */

/* What 4 states become before they refill. */
INLINE uint32x4_t advance(uint32x4_t x, uint32x4_t entry, unsigned scale_bits)
{
	uint32x4_t low = vdupq_n_u32(0xfff);
	uint32x4_t share = vshrq_n_u32(entry, 20);

	x = vshlq_u32(x, vdupq_n_s32(-(int)scale_bits));
	return vmlaq_u32(vandq_u32(entry, low), x, share);
}

/* Decodes one code in each of 8 lanes. */
INLINE struct lanes decode_8(const uint32_t *slots, unsigned scale_bits, struct lanes x,
			     const uint8_t *classes, uint8_t *codes, const uint8_t **at)
{
	uint32x4_t mask = vdupq_n_u32((1u << scale_bits) - 1);
	uint32x4_t low = vandq_u32(x.low, mask), high = vandq_u32(x.high, mask);
	uint32x4_t refill_low, refill_high;
	struct lane_set set;
	uint16x8_t units;

	if (classes) {
		uint16x8_t of = vmovl_u8(vld1_u8(classes));
		int32x4_t up = vdupq_n_s32((int)scale_bits);

		low = vorrq_u32(low, vshlq_u32(vmovl_u16(vget_low_u16(of)), up));
		high = vorrq_u32(high, vshlq_u32(vmovl_high_u16(of), up));
	}
	low = look_up(slots, low);
	high = look_up(slots, high);
	units = vcombine_u16(vshrn_n_u32(low, 12), vshrn_n_u32(high, 12));
	vst1_u8(codes, vmovn_u16(units));
	x.low = advance(x.low, low, scale_bits);
	x.high = advance(x.high, high, scale_bits);
	refill_low = vcltq_u32(x.low, vdupq_n_u32(KERNEL_STATE_LOW));
	refill_high = vcltq_u32(x.high, vdupq_n_u32(KERNEL_STATE_LOW));
	set = lane_set_of(refill_low, refill_high);
	units = permute(vreinterpretq_u16_u8(vld1q_u8(*at)), kernel_handing_out[set.lanes]);
	*at += 2 * set.count;
	low = vorrq_u32(vshlq_n_u32(x.low, 16), vmovl_u16(vget_low_u16(units)));
	high = vorrq_u32(vshlq_n_u32(x.high, 16), vmovl_high_u16(units));
	x.low = vbslq_u32(refill_low, low, x.low);
	x.high = vbslq_u32(refill_high, high, x.high);
	return x;
}

INLINE size_t decode_lanes(const uint32_t *slots, unsigned scale_bits, unsigned lanes,
			   uint32_t *states, const uint8_t **at, const uint8_t *end,
			   const uint8_t *classes, uint8_t *codes, size_t groups)
{
	struct lanes x[KERNEL_LANES_MAX / 8];
	const uint8_t *from = *at;
	size_t g;
	unsigned j;

	for (j = 0; j < lanes / 8; j++)
		x[j] = lanes_load(states + 8 * j);
	for (g = 0; g < groups && (size_t)(end - from) >= KERNEL_GROUP_BYTES; g++) {
#pragma GCC unroll 8
		for (j = 0; j < lanes / 8; j++) {
			size_t i = g * lanes + 8 * j;

			x[j] = decode_8(slots, scale_bits, x[j], classes ? classes + i : NULL,
					codes + i, &from);
		}
	}
	for (j = 0; j < lanes / 8; j++)
		lanes_store(states + 8 * j, x[j]);
	*at = from;
	return g;
}

DEFINE_DECODE

/* ---- encoding -------------------------------------------------------------------------------- */

/*
 * What 4 states that have given off their units become, with shares of a scale of more than 8 bits.
 * The quotient: states are below 2^31, so quotients are below 2^(31 - scale_bits), at most 2^22. A
 * division of floats is wrong by no more than 2^-23 of that, less than a half; so the nearest whole
 * number is right or 1 too large.
 */
INLINE uint32x4_t retreat(uint32x4_t x, uint32x4_t entry, uint32x4_t share, unsigned scale_bits)
{
	float32x4_t f = vdivq_f32(vcvtq_f32_u32(x), vcvtq_f32_u32(share));
	uint32x4_t quotient = vcvtnq_u32_f32(f);
	uint32x4_t rest = vmlsq_u32(x, quotient, share);
	uint32x4_t over = vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(rest), 31));

	quotient = vaddq_u32(quotient, over);
	rest = vminq_u32(rest, vaddq_u32(rest, share));
	x = vaddq_u32(vshlq_u32(quotient, vdupq_n_s32((int)scale_bits)), rest);
	return vsraq_n_u32(x, entry, 16);
}

/* Encodes one code in each of 8 lanes, backwards from *to. */
INLINE struct lanes encode_8(struct lanes entries, unsigned scale_bits, struct lanes x,
			     uint8_t **to)
{
	int32x4_t up = vdupq_n_s32(31 - (int)scale_bits);
	uint32x4_t mask = vdupq_n_u32(0xffff);
	uint32x4_t share_low = vandq_u32(entries.low, mask);
	uint32x4_t share_high = vandq_u32(entries.high, mask);
	uint32x4_t full_low = vcgeq_u32(x.low, vshlq_u32(share_low, up));
	uint32x4_t full_high = vcgeq_u32(x.high, vshlq_u32(share_high, up));
	struct lane_set set = lane_set_of(full_low, full_high);
	uint16x8_t units = vcombine_u16(vmovn_u32(x.low), vmovn_u32(x.high));

	/* Lanes that give nothing off leave what lies below the units, which is overwritten. */
	units = permute(units, kernel_giving_off[set.lanes]);
	vst1q_u8(*to - 16, vreinterpretq_u8_u16(units));
	*to -= 2 * set.count;
	x.low = vbslq_u32(full_low, vshrq_n_u32(x.low, 16), x.low);
	x.high = vbslq_u32(full_high, vshrq_n_u32(x.high, 16), x.high);
	x.low = retreat(x.low, entries.low, share_low, scale_bits);
	x.high = retreat(x.high, entries.high, share_high, scale_bits);
	return x;
}

/* What codes are looked up for, those without a share changed. */
INLINE struct lanes shares_of_8(const uint32_t *shares, const uint8_t *classes, uint8_t *codes)
{
	uint32_t entries[8];
	uint16x8_t places = vmovl_u8(vld1_u8(codes));

	if (classes)
		places = vorrq_u16(places, vshll_n_u8(vld1_u8(classes), 8));
	lanes_store(entries, (struct lanes){look_up(shares, vmovl_u16(vget_low_u16(places))),
					    look_up(shares, vmovl_high_u16(places))});
	kernels_mend(shares, classes, codes, entries, 8);
	return lanes_load(entries);
}

INLINE uint8_t *encode_lanes(const uint32_t *shares, unsigned scale_bits, unsigned lanes,
			     uint32_t *states, uint8_t *to, const uint8_t *classes, uint8_t *codes,
			     size_t groups)
{
	struct lanes x[KERNEL_LANES_MAX / 8];
	unsigned j;

	for (j = 0; j < lanes / 8; j++)
		x[j] = lanes_load(states + 8 * j);
	while (groups-- > 0) {
#pragma GCC unroll 8
		for (j = lanes / 8; j-- > 0;) {
			size_t i = groups * lanes + 8 * j;
			struct lanes entries =
				shares_of_8(shares, classes ? classes + i : NULL, codes + i);

			x[j] = encode_8(entries, scale_bits, x[j], &to);
		}
	}
	for (j = 0; j < lanes / 8; j++)
		lanes_store(states + 8 * j, x[j]);
	return to;
}

/* Only short literals have scales of 8 bits. */
DEFINE_ENCODE(9)

/* ---- packing --------------------------------------------------------------------------------- */

/* Joins neighbours in each half, as the scalar variant does in a word: two groups at once. */
#define FOLD(V, MASK, LANE, BITS)                                                                  \
	vorrq_u64(vandq_u64(V, vdupq_n_u64(MASK)),                                                 \
		  vshlq_u64(vandq_u64(vshrq_n_u64(V, LANE), vdupq_n_u64(MASK)),                    \
			    vdupq_n_s64((int64_t)(BITS))))

#define SPREAD(V, MASK, LANE, BITS)                                                                \
	vorrq_u64(vandq_u64(V, MASK),                                                              \
		  vshlq_n_u64(vandq_u64(vshlq_u64(V, vdupq_n_s64(-(int64_t)(BITS))), MASK), LANE))

static void pack8(uint8_t *out, const uint8_t *numbers, unsigned bits, size_t groups)
{
	size_t g;

	for (g = 0; g + 2 <= groups; g += 2, out += 2 * bits) {
		uint64x2_t v = vreinterpretq_u64_u8(vld1q_u8(numbers + 8 * g));

		v = FOLD(v, UINT64_C(0x00ff00ff00ff00ff), 8, bits);
		v = FOLD(v, UINT64_C(0x0000ffff0000ffff), 16, 2 * bits);
		v = FOLD(v, UINT64_C(0x00000000ffffffff), 32, 4 * bits);
		store_le64(out, vgetq_lane_u64(v, 0));
		store_le64(out + bits, vgetq_lane_u64(v, 1));
	}
	kernels_scalar.pack8(out, numbers + 8 * g, bits, groups - g);
}

static void unpack8(uint8_t *numbers, const uint8_t *in, unsigned bits, size_t groups)
{
	uint64_t low = (UINT64_C(1) << bits) - 1;
	uint64x2_t one = vdupq_n_u64(low * UINT64_C(0x0001000100010001));
	uint64x2_t two = vdupq_n_u64((low << bits | low) * UINT64_C(0x0000000100000001));
	uint64x2_t four = vdupq_n_u64(((UINT64_C(1) << 4 * bits) - 1));
	size_t g;

	for (g = 0; g + 2 <= groups; g += 2, in += 2 * bits) {
		uint64x2_t v =
			vcombine_u64(vcreate_u64(load_le64(in)), vcreate_u64(load_le64(in + bits)));

		v = SPREAD(v, four, 32, 4 * bits);
		v = SPREAD(v, two, 16, 2 * bits);
		v = SPREAD(v, one, 8, bits);
		vst1q_u8(numbers + 8 * g, vreinterpretq_u8_u64(v));
	}
	kernels_scalar.unpack8(numbers + 8 * g, in, bits, groups - g);
}

static void unpack32(uint32_t *numbers, const uint8_t *in, unsigned bits, size_t groups)
{
	kernels_scalar.unpack32(numbers, in, bits, groups);
}

DEFINE_DECODE_JOINED(unpack8)

bool kernels_neon_supported(void)
{
	/* All these processors have NEON. */
	return kernel_permutations_fill();
}

const struct kernels kernels_neon = {
	.name = "neon",
	.decode = decode,
	.decode16 = decode16,
	.decode32 = decode32,
	.encode = encode,
	.cut16 = cut16,
	.cut32 = cut32,
	.join16 = join16,
	.join32 = join32,
	.pack8 = pack8,
	.unpack8 = unpack8,
	.pack32 = pack32,
	.unpack32 = unpack32,
	.sum8 = sum8,
	.sum16 = sum16,
};

#endif
