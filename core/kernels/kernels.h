/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The inner loops that every byte passes through, in one variant for each kind of processor. All
 * variants yield the same bytes; tests cross each with each.
 *
 * Kernels check nothing and allocate nothing: callers see to the preconditions that are stated
 * here.
 *
 * Codes are words of at most 8 bits that rANS codes in 16 or 64 lanes (docs/FORMAT.md, "rANS"); a
 * group is one code for each lane. Each code has a class, whose table is used: classes is NULL
 * where there is one table only, else it has a byte for each code.
 */
#ifndef CORE_KERNELS_KERNELS_H
#define CORE_KERNELS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KERNEL_LANES_MAX 64

/** Shares of the kernels' tables add up to at most 1 << this. */
#define KERNEL_SCALE_MAX 12

/** A state's lower bound; its upper one is 1 << 31. */
#define KERNEL_STATE_LOW (UINT32_C(1) << 15)

/** Bytes that a group of that many lanes reads or writes, at most. */
#define KERNEL_GROUP_BYTES ((size_t)2 * KERNEL_LANES_MAX)

/** What decoding finds at a slot: the share on top, which is wanted first. */
static inline uint32_t kernel_slot(uint32_t code, uint32_t share, uint32_t bias)
{
	return share << 20 | code << 12 | bias;
}

/** Bytes behind packed numbers that must be there for kernels. */
#define KERNEL_PACKED_SLACK 16

/**
 * How words are cut into codes and low bits: rotated left, their lowest `low` bits off, what is
 * above those turned (rotated left as a number of its own), `base` off that; what is not less than
 * `codes` then is code 255.
 */
struct kernel_cut {
	unsigned rotation; /* less than the words' width */
	unsigned low;      /* 1 to 8 of 16-bit words, 1 to 24 of 32-bit words */
	uint32_t base;
	unsigned codes; /* at most 255 */
	unsigned turn;  /* 0 or 1 */
};

/** What becomes of codes as soon as they are decoded: with packed low bits, words. */
struct kernel_join {
	struct kernel_cut cut;
	const uint8_t *low; /* of the first code */
	unsigned bits;      /* that low bits take where they are packed: 1 to 8, or to 24 */
	void *words;
	size_t escaped; /* by how many codes of 255 this grows */
};

/** Behind the low bits of the last group so many bytes can be read. */
#define KERNEL_LOW_SLACK 64

struct kernels {
	const char *name;

	/**
	 * Decodes up to `groups` groups from *at on, as long as KERNEL_GROUP_BYTES bytes are left
	 * before `end`, whatever the lanes; reads nothing from there on. slots: kernel_slot() of
	 * each slot, 1 << scale_bits of them for each class, where the bias is the slot's place in
	 * its code's share, so that a code that has all slots of a scale of 12 bits cannot be told.
	 * States are below 1 << 31, as they are left. Moves *at on; returns the groups done.
	 */
	size_t (*decode)(const uint32_t *slots, unsigned scale_bits, unsigned lanes,
			 uint32_t *states, const uint8_t **at, const uint8_t *end,
			 const uint8_t *classes, uint8_t *codes, size_t groups);

	/**
	 * The same in 64 lanes, followed by unpack8 and join16 of the codes, or by unpack32 and
	 * join32. Where states mostly wait for tables that is faster than one after another.
	 */
	size_t (*decode16)(const uint32_t *slots, unsigned scale_bits, uint32_t *states,
			   const uint8_t **at, const uint8_t *end, const uint8_t *classes,
			   uint8_t *codes, size_t groups, struct kernel_join *join);
	size_t (*decode32)(const uint32_t *slots, unsigned scale_bits, uint32_t *states,
			   const uint8_t **at, const uint8_t *end, const uint8_t *classes,
			   uint8_t *codes, size_t groups, struct kernel_join *join);

	/**
	 * Encodes groups from the last to the first, backwards from `to`. May write to all of the
	 * 2 * lanes * groups bytes below. shares: start << 16 | share for each code, 256 of them
	 * for each class. A code that occurs and has no share there is changed to 255, which then
	 * must have one. States are from KERNEL_STATE_LOW on and below 1 << 31, as they are left.
	 * Returns where what it wrote begins.
	 */
	uint8_t *(*encode)(const uint32_t *shares, unsigned scale_bits, unsigned lanes,
			   uint32_t *states, uint8_t *to, const uint8_t *classes, uint8_t *codes,
			   size_t groups);

	/** Cuts words, those with code 255 too. Returns how many of these there are. */
	size_t (*cut16)(const struct kernel_cut *cut, const uint16_t *words, uint8_t *codes,
			uint8_t *low, size_t count);
	size_t (*cut32)(const struct kernel_cut *cut, const uint32_t *words, uint8_t *codes,
			uint32_t *low, size_t count);

	/**
	 * The inverse. Returns how many codes are 255. base + 255 is a word above `low` bits, and
	 * so these stay what they are in words with any code.
	 */
	size_t (*join16)(const struct kernel_cut *cut, uint16_t *words, const uint8_t *codes,
			 const uint8_t *low, size_t count);
	size_t (*join32)(const struct kernel_cut *cut, uint32_t *words, const uint8_t *codes,
			 const uint32_t *low, size_t count);

	/**
	 * Packs groups of 8 numbers of 1 to 8 `bits`, all others of which are 0, into `bits` bytes
	 * a group, the first number lowest; 8 - bits bytes more may be written behind the last one.
	 * unpack8 reads as many more.
	 */
	void (*pack8)(uint8_t *out, const uint8_t *numbers, unsigned bits, size_t groups);
	void (*unpack8)(uint8_t *numbers, const uint8_t *in, unsigned bits, size_t groups);

	/**
	 * The same with numbers of 1 to 24 bits. KERNEL_PACKED_SLACK bytes more may be written
	 * behind the last group, and be read there.
	 */
	void (*pack32)(uint8_t *out, const uint32_t *numbers, unsigned bits, size_t groups);
	void (*unpack32)(uint32_t *numbers, const uint8_t *in, unsigned bits, size_t groups);

	/**
	 * Adds the field of `mask` above `shift` of each of `rows` times `length` words to the sum
	 * of its row and of its place in the row. Fields are below 1 << 12, and no sum overflows.
	 */
	void (*sum8)(const uint8_t *words, size_t rows, size_t length, unsigned shift,
		     uint32_t mask, uint32_t *row_sums, uint32_t *place_sums);
	void (*sum16)(const uint16_t *words, size_t rows, size_t length, unsigned shift,
		      uint32_t mask, uint32_t *row_sums, uint32_t *place_sums);
};

/**
 * The fastest variant that this processor has and that passed a test against the scalar one, which
 * is made on first use; or the one that the environment variable BREVIS_KERNELS names, if it is
 * one of those.
 */
const struct kernels *kernels(void);

/** All variants that this build and this processor have, the scalar one first; NULL at the end. */
const struct kernels *const *kernels_available(void);

/** True if the variant agrees with the scalar one on what the self-test tries. */
bool kernels_agree(const struct kernels *variant);

#endif
