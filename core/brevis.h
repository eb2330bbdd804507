/* SPDX-License-Identifier: Apache-2.0 */
/**
 * libbrevis: lossless compression of model checkpoints.
 *
 * A safetensors file goes in as a stream of bytes and comes out as an archive in which every tensor
 * is a small typed program that regenerates it bit for bit (docs/FORMAT.md). Any other content is
 * kept as opaque bytes; nothing is ever refused.
 *
 * Conventions of this header:
 *  - Sizes and offsets are in bytes and 64-bit unless a comment says otherwise.
 *  - A function that can fail returns BREVIS_OK (0) or a negative enum brevis_status and describes
 *    the failure in *err, which may be NULL. On failure nothing is returned through out-parameters.
 *    On success what *err holds means nothing.
 *  - Any function that can fail may do so with BREVIS_E_NOMEM, and one that reads an archive's
 *    records with BREVIS_E_IO, _FORMAT, _UNSUPPORTED, _CHECKSUM and _LIMIT, too. Hostile archives
 *    yield these, and nothing worse. Other failures stand with the function.
 *  - Pointers must not be NULL unless a comment allows it. Options may be NULL, which is the same
 *    as a struct of zeros: the defaults. They are read during the call that takes them; only what
 *    a comment says must live longer. Begin with zeros, and set what you need.
 *  - What a function gives through a pointer to a pointer belongs to the caller, who ends it with
 *    the object's own brevis_*_free(), or with free() where a comment says so. Pointers in structs
 *    that describe an object belong to that object.
 *  - The library never prints, keeps no global state but what the processor can do, and never
 *    exits, but for one thing: it aborts if OpenSSL fails in the middle of a digest, after which
 *    nothing could be trusted. One object may be used by one thread at a time; different objects
 *    are independent.
 *  - brevis_*_free(NULL) is allowed.
 *
 * The shared library's soname is libbrevis.so.N, N being the first number of BREVIS_VERSION. Under
 * one soname functions and statuses may be added; structs and functions stay as they are.
 *
 * docs/examples has a program in C and one in C++; build yours with
 * `cc program.c $(pkg-config --cflags --libs libbrevis)`.
 */
#ifndef BREVIS_H
#define BREVIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this header declares is all that the shared library exports. */
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** Version of the library that this header belongs to: MAJOR.MINOR.PATCH. */
#define BREVIS_VERSION "0.1.0"

/** BREVIS_VERSION of the library that runs, which may be a later one. A constant string. */
const char *brevis_version(void);

/** Version of the archive format that this library writes, the only one it reads. */
#define BREVIS_FORMAT_VERSION 1

/** Bytes at the start of a file by which brevis_is_archive() knows an archive. */
#define BREVIS_MAGIC_SIZE 8

#define BREVIS_SHA256_SIZE 32

/**
 * The name of the variant of the inner loops that is in use: "scalar", "avx2", ... The fastest that
 * this processor has, or the one that the environment variable BREVIS_KERNELS names when the
 * library first needs one; a name that is none, or that this processor lacks, is ignored. All yield
 * the same bytes. A constant string.
 */
const char *brevis_kernels(void);

/** How a function ended; struct brevis_error has the words. */
enum brevis_status {
	BREVIS_OK = 0,
	BREVIS_E_IO = -1,          /* a callback failed; whoever owns it knows the reason */
	BREVIS_E_FORMAT = -2,      /* the archive breaks a rule of docs/FORMAT.md */
	BREVIS_E_UNSUPPORTED = -3, /* valid, but of a version or feature this build does not know */
	BREVIS_E_CHECKSUM = -4,    /* decoded, but not to the bytes that were promised */
	BREVIS_E_LIMIT = -5,       /* valid, but beyond a limit of this build */
	BREVIS_E_NOMEM = -6,
	BREVIS_E_USAGE = -7 /* the caller broke a rule of this header */
};

/**
 * What went wrong, in one printable line without a final newline or period. Names from files are in
 * it with their control characters escaped. Its memory is the caller's.
 */
struct brevis_error {
	enum brevis_status status;
	char message[256]; /* ends with NUL; a longer one is cut */
};

/**
 * Takes the next len bytes of a stream; data is valid during the call only. Called on the thread
 * that called the library. Returns 0, or nonzero to stop with BREVIS_E_IO.
 */
typedef int (*brevis_write_fn)(void *ctx, const void *data, size_t len);

/** Random access to an archive's bytes, from several threads at once. */
struct brevis_source {
	/**
	 * Reads exactly len bytes at offset, which lie within size. Returns 0, or nonzero if that
	 * is not possible, which ends in BREVIS_E_IO. Never NULL.
	 */
	int (*read_at)(void *ctx, void *buf, size_t len, uint64_t offset);
	void *ctx;     /* for read_at; the caller's */
	uint64_t size; /* of the archive */
	/**
	 * All of it, if it is in memory and stays there, unchanged, until the archive is freed:
	 * then records are decoded where they are. Else NULL.
	 */
	const void *bytes;
};

/* ---- digests -------------------------------------------------------------------------------- */

/** An incremental SHA-256, for callers that hash what they pass on, too. */
struct brevis_sha256;

/** Begins a digest. Returns NULL when memory is short. */
struct brevis_sha256 *brevis_sha256_new(void);

/** Adds the next len bytes. Cannot fail. */
void brevis_sha256_update(struct brevis_sha256 *sha, const void *data, size_t len);

/** Writes the digest of all that was added; the object can then only be freed. Cannot fail. */
void brevis_sha256_final(struct brevis_sha256 *sha, uint8_t digest[BREVIS_SHA256_SIZE]);

/** Frees a digest, in whatever state it is. */
void brevis_sha256_free(struct brevis_sha256 *sha);

/** Version of the OpenSSL that computes it, e.g. "3.0.1". A constant string. */
const char *brevis_sha256_library(void);

/* ---- reading archives ----------------------------------------------------------------------- */

/** An opened archive. */
struct brevis_archive;

/** What kind of file an archive restores. */
enum brevis_layout {
	BREVIS_LAYOUT_OPAQUE = 0,      /* no safetensors header */
	BREVIS_LAYOUT_SAFETENSORS = 1, /* exactly a safetensors file */
	BREVIS_LAYOUT_IRREGULAR =
		2 /* a valid header, but the data is shorter or longer than it says */
};

/** What an archive says of itself. The SHA-256 is proven only by decoding all of it. */
struct brevis_archive_info {
	unsigned format_version;
	enum brevis_layout layout;
	uint64_t original_size;
	uint8_t original_sha256[BREVIS_SHA256_SIZE];
	uint64_t archive_size;
	uint64_t pieces;  /* spans of the original, in source order */
	uint64_t records; /* stored records; a piece that repeats an earlier one has none */
	bool has_prior;
	uint8_t prior_sha256[BREVIS_SHA256_SIZE]; /* names the prior that guided the encoder */
};

/** A span of the original file and the record that restores it. */
struct brevis_piece_info {
	uint64_t offset;      /* in the original */
	uint64_t size;        /* in the original */
	uint64_t stored_size; /* of its record; 0 when the piece repeats an earlier record */
	uint64_t record;      /* number of its record, from 0 */
	unsigned word_bits;   /* width of the words its program yields; 0 for opaque bytes */
	uint64_t checksum;    /* XXH3-64 of its original bytes, as its record promises it */
};

/** A tensor as the safetensors header names it. The strings live as long as the archive object. */
struct brevis_tensor_info {
	const char *name;      /* UTF-8 as in the header, may contain any character but NUL */
	const char *dtype;     /* "BF16", "F32", ... as in the header */
	const uint64_t *shape; /* rank numbers, of elements; the first varies slowest */
	size_t rank;           /* 0 for a scalar */
	uint64_t offset;       /* in the original file */
	uint64_t size;         /* in bytes, as the header says; an irregular file may end before */
	uint64_t stored_size;  /* bytes that its own records take in the archive */
};

/**
 * True if the first len bytes of a file are an archive's beginning: the first BREVIS_MAGIC_SIZE of
 * them decide, fewer are none. It may still be damaged, or of a version that cannot be read.
 */
bool brevis_is_archive(const void *data, size_t len);

/**
 * Opens an archive: reads and checks its beginning, index and end, and decodes no record.
 * The struct is copied; its callback, and what ctx points to, must stay usable until the archive is
 * freed. Memory: about 48 bytes for each piece.
 *
 * Fails with BREVIS_E_FORMAT if this is no archive or a damaged one, BREVIS_E_CHECKSUM if its index
 * is damaged, BREVIS_E_UNSUPPORTED if a later version of the library wrote it, and BREVIS_E_IO.
 */
int brevis_archive_open(const struct brevis_source *source, struct brevis_archive **out,
			struct brevis_error *err);

/** Frees an archive and what describes it. The source remains the caller's. */
void brevis_archive_free(struct brevis_archive *archive);

/**
 * Tells what an archive says of itself without opening it: its beginning, index and end are read
 * and checked, in four reads at most, and nothing of what lies between. For archives that are far
 * away: it costs a few KB, whatever their size. Fails as brevis_archive_open does. The source is
 * not needed afterwards.
 */
int brevis_archive_peek(const struct brevis_source *source, struct brevis_archive_info *out,
			struct brevis_error *err);

/** What an opened archive says of itself. It lives as long as the archive object. */
const struct brevis_archive_info *brevis_archive_info(const struct brevis_archive *archive);

/** Describes piece number i < info->pieces; BREVIS_E_USAGE if there is none. Reads nothing. */
int brevis_archive_piece(const struct brevis_archive *archive, uint64_t i,
			 struct brevis_piece_info *out, struct brevis_error *err);

/**
 * Number of the first piece that begins at or after offset in the original, by bisection; the
 * number of pieces if there is none. Reads nothing.
 */
uint64_t brevis_archive_piece_at(const struct brevis_archive *archive, uint64_t offset);

/**
 * Loads the names, types and shapes of the tensors (none for opaque content) and says how many
 * there are. Reads and decodes the pieces of the header when it is called first, and costs nothing
 * after that. Memory: a few times that of the header.
 */
int brevis_archive_load_tensors(struct brevis_archive *archive, uint64_t *count,
				struct brevis_error *err);

/**
 * Describes tensor number i, in the order of their data, after brevis_archive_load_tensors:
 * BREVIS_E_USAGE before, and if there is none of that number. Reads nothing.
 */
int brevis_archive_tensor(const struct brevis_archive *archive, uint64_t i,
			  struct brevis_tensor_info *out, struct brevis_error *err);

/**
 * Gives the program of piece i in the paper's notation, as a NUL-terminated string that the caller
 * frees with free(). Pieces of opaque bytes read "bytes". Reads the piece's record;
 * BREVIS_E_USAGE if there is no such piece.
 */
int brevis_archive_program(const struct brevis_archive *archive, uint64_t i, char **text,
			   struct brevis_error *err);

/** A node of a program; the nodes of a program come in prefix order, parents before children. */
struct brevis_node_info {
	const char *op;  /* "lit", "merge", ... */
	unsigned depth;  /* 1 for the root */
	unsigned arity;  /* children */
	unsigned width;  /* of a word it yields, in bits */
	uint64_t count;  /* words it yields */
	uint64_t bytes;  /* it takes in the archive, without its children */
	char detail[80]; /* its parameters in the paper's notation, e.g. "1,10,5"; "" if none */
};

/**
 * Describes the nodes of the program of piece i: *count of them, none for opaque bytes. Free *nodes
 * with free(); it is NULL if there are none. Reads the piece's record; BREVIS_E_USAGE if there is
 * no such piece.
 */
int brevis_archive_nodes(const struct brevis_archive *archive, uint64_t i,
			 struct brevis_node_info **nodes, size_t *count, struct brevis_error *err);

/** How to decode; NULL or zeros are the defaults. */
struct brevis_decode_options {
	unsigned threads; /* workers, at most 256; 0 means one for each processor. With more than
			     one, digests have threads of their own beside them */

	/**
	 * For measuring: the original's SHA-256 is not computed; records are proven by their
	 * checksums alone.
	 */
	bool codec_only;

	/**
	 * NULL, or room for all of the original (original_size bytes), which is restored there
	 * instead of being written: workers decode most tensors right to their places. On failure
	 * its content is undefined.
	 */
	void *memory;
};

/**
 * Restores the original, front to back, through write. Every record is checked before its bytes are
 * passed on, and the original's size and SHA-256 at the end: only BREVIS_OK means that what was
 * written is the whole original. With write == NULL, and no options->memory, the archive is only
 * verified.
 * BREVIS_E_CHECKSUM: a record, or the whole, is not what was promised. BREVIS_E_IO: write or the
 * source's read_at has said so.
 * Memory, whatever the archive's size: at most 110 MiB with one worker; with several, 140 MiB and
 * 85 MiB for each.
 */
int brevis_archive_decode(const struct brevis_archive *archive,
			  const struct brevis_decode_options *options, brevis_write_fn write,
			  void *ctx, struct brevis_error *err);

/**
 * Restores a span of the original, front to back, through write: size bytes at offset, which may be
 * none. Every piece that the span touches is decoded whole and proven by its checksum before its
 * bytes are passed on; the original's SHA-256 is not computed. Of the options (or NULL) only
 * threads counts. Opaque bytes may be chained (docs/FORMAT.md): then decoding begins where their
 * chain begins, up to all of the archive earlier. BREVIS_E_USAGE if the span does not lie within
 * the original. Memory as for brevis_archive_decode, less what a digest takes.
 */
int brevis_archive_read(const struct brevis_archive *archive, uint64_t offset, uint64_t size,
			const struct brevis_decode_options *options, brevis_write_fn write,
			void *ctx, struct brevis_error *err);

/* ---- reading headers ------------------------------------------------------------------------ */

/** The header of a safetensors file, as it lies there or in an archive: all that it says. */
struct brevis_header;

/** An entry of __metadata__. The strings are UTF-8, end with NUL, and may hold more of these. */
struct brevis_metadata_info {
	const char *key;
	size_t key_size; /* in bytes, without the final NUL */
	const char *value;
	size_t value_size;
};

/**
 * Reads the header of a file that is no archive, by the rules by which archives are made. A file
 * that breaks them, or has no header, is no failure: it is BREVIS_LAYOUT_OPAQUE and has no tensors.
 * So is one whose header is longer than 6 MiB, or has more than 65,536 entries of metadata: it is
 * not looked into. The source is not used any more afterwards. Memory: up to three times that of
 * the header.
 */
int brevis_header_read(const struct brevis_source *source, struct brevis_header **out,
		       struct brevis_error *err);

/** The same for what an archive restores; reads and decodes the pieces of the header.
 * BREVIS_E_FORMAT if the archive says that there is one, and it is none. */
int brevis_archive_header(const struct brevis_archive *archive, struct brevis_header **out,
			  struct brevis_error *err);

/** Frees a header and the strings that describe it. */
void brevis_header_free(struct brevis_header *header);

/** What an archive of the file says of its layout, if its header is not too large to be read here.
 */
enum brevis_layout brevis_header_layout(const struct brevis_header *header);

/** Bytes before the first tensor's data; 0 for opaque content. */
uint64_t brevis_header_size(const struct brevis_header *header);

/** How many tensors the header names. */
uint64_t brevis_header_tensors(const struct brevis_header *header);

/**
 * Describes tensor number i, in the order of their data, as brevis_archive_tensor does; nothing of
 * it is stored. The strings live as long as the header. BREVIS_E_USAGE if there is no such tensor.
 */
int brevis_header_tensor(const struct brevis_header *header, uint64_t i,
			 struct brevis_tensor_info *out, struct brevis_error *err);

/** The place, from 0, of tensor number i in the order in which the header lists them. */
uint64_t brevis_header_place(const struct brevis_header *header, uint64_t i);

/** True if tensors have fields beyond dtype, shape and data_offsets, which nothing here tells. */
bool brevis_header_has_more(const struct brevis_header *header);

/** How many entries __metadata__ has. */
uint64_t brevis_header_metadata_count(const struct brevis_header *header);

/** Describes entry number i, in the header's order; a key may come twice. The strings live as long
 * as the header. BREVIS_E_USAGE if there is no such entry. */
int brevis_header_metadata(const struct brevis_header *header, uint64_t i,
			   struct brevis_metadata_info *out, struct brevis_error *err);

/* ---- writing archives ----------------------------------------------------------------------- */

/** How hard to search for small programs. Each is never larger than the one before. */
enum brevis_preset {
	BREVIS_PRESET_DEFAULT = 0,
	BREVIS_PRESET_FAST,
	BREVIS_PRESET_BEST /* slow, in decoding too */
};

/**
 * Where priors are kept from one archive to the next of the same family: checkpoints whose tensors
 * have the same names, dtypes and shapes, but for numbers in names. A prior is learned from a
 * sample of a checkpoint; it makes the search find small programs sooner. It is a cache: without
 * it, or with a damaged one, a new one is learned.
 */
struct brevis_prior_store {
	/**
	 * Looks for a prior: the one named by `preferred` (NULL: none), else the one last kept for
	 * the family. Gives its bytes, for free(), or returns nonzero.
	 */
	int (*load)(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		    const uint8_t preferred[BREVIS_SHA256_SIZE], void **data, size_t *size);
	/** Keeps a prior under its SHA-256, as the family's latest. Failure costs time only. */
	void (*save)(void *ctx, const uint8_t family[BREVIS_SHA256_SIZE],
		     const uint8_t sha256[BREVIS_SHA256_SIZE], const void *data, size_t size);
	void *ctx;
};

/** Where the prior of an archive came from. */
enum brevis_prior_origin {
	BREVIS_PRIOR_NONE = 0,   /* not needed, or not wanted by the preset */
	BREVIS_PRIOR_LOADED,     /* from the store */
	BREVIS_PRIOR_CALIBRATED, /* learned from this checkpoint */
	BREVIS_PRIOR_REPLACED    /* learned, because the one in the store was damaged */
};

/** How to encode; NULL or zeros are the defaults. */
struct brevis_encode_options {
	unsigned threads; /* as for decoding; never changes the bytes */
	enum brevis_preset preset;
	const struct brevis_prior_store *priors; /* or NULL; must outlive the encoder */

	/**
	 * Archives of earlier revisions, most likely first. Their records are reused for tensors
	 * that did not change. While the input equals the beginning of one of them, nothing is
	 * compressed and nothing written. Array and archives must outlive the encoder.
	 * A record that is taken over was decoded and compared with the input. But as long as the
	 * input only equals an archive, what that says of itself is believed: see same_as.
	 */
	const struct brevis_archive *const *known;
	size_t known_count;

	/**
	 * SHA-256 of the original (BREVIS_SHA256_SIZE bytes), if the caller computes it anyhow;
	 * read in brevis_encoder_finish. NULL: the encoder computes it.
	 */
	const uint8_t *original_sha256;

	/**
	 * What is given to brevis_encoder_write stays where and as it is until the encoder is
	 * freed: pieces that lie in it as a whole are not copied.
	 */
	bool input_stays;

	/**
	 * The function that takes the archive also reads back what it has written, and fails if
	 * that is something else: then brevis_encoder_check need not do it.
	 */
	bool write_checks;

	/**
	 * Nobody will call the archive by its SHA-256: it is not computed, and zeros in the
	 * summary.
	 */
	bool unnamed;

	/**
	 * For measuring: new records are not decoded again, no digest is computed (those in the
	 * summary and in the archive are zeros), and pieces that repeat are not found.
	 */
	bool codec_only;
};

/** What has become of the input. */
struct brevis_encode_summary {
	uint64_t original_size;
	uint8_t original_sha256[BREVIS_SHA256_SIZE];

	/**
	 * The known archive of exactly this content, or NULL. If set, nothing was written, and the
	 * archive_* members below describe nothing. By its checksums and its digest it is the same;
	 * decode it before you trust that.
	 */
	const struct brevis_archive *same_as;

	/**
	 * The input was compared with a known archive whose records proved to restore something
	 * else. What was written is no archive, the members below describe nothing, and
	 * why_unproven is a line about the cause. Encode the input again without that archive.
	 */
	bool unproven;
	char why_unproven[256];

	uint64_t archive_size;
	uint8_t archive_sha256[BREVIS_SHA256_SIZE]; /* unless options->unnamed */
	enum brevis_layout layout;
	uint64_t records;
	uint64_t records_reused; /* copied from known archives */
	enum brevis_prior_origin prior;
	uint8_t prior_sha256[BREVIS_SHA256_SIZE]; /* unless prior is BREVIS_PRIOR_NONE */
	char note[160]; /* why content is not a plain safetensors file; "" if it is */
};

/** An archive that is being made. */
struct brevis_encoder;

/**
 * Starts an archive that goes to write as it grows, on the calling thread. Every record is decoded
 * and compared with what it was made of before it is written. Memory: about 140 MiB, and 120 MiB
 * for each worker, whatever the input's size.
 * What was written is an archive only after brevis_encoder_finish: write to a temporary file, and
 * give it its name then. write and what ctx points to must stay usable until the encoder is freed.
 */
int brevis_encoder_new(const struct brevis_encode_options *options, brevis_write_fn write,
		       void *ctx, struct brevis_encoder **out, struct brevis_error *err);

/**
 * Adds the next len bytes of the original, in parts of any size; an empty original needs no call.
 * BREVIS_E_IO if write failed, BREVIS_E_USAGE after brevis_encoder_finish. After a failure the
 * encoder can only be freed.
 */
int brevis_encoder_write(struct brevis_encoder *encoder, const void *data, size_t len,
			 struct brevis_error *err);

/**
 * Says that the input has ended, writes what is left of the archive, and fills *summary. Call it
 * once; afterwards the encoder can be checked, and freed. BREVIS_E_IO if write failed,
 * BREVIS_E_USAGE after another failure. Success does not mean that there is an archive if
 * summary->same_as or ->unproven is set.
 */
int brevis_encoder_finish(struct brevis_encoder *encoder, struct brevis_encode_summary *summary,
			  struct brevis_error *err);

/**
 * After brevis_encoder_finish: reads back what was written, and tells whether it is, byte by byte,
 * the archive whose records were proven, and opens as one. BREVIS_E_CHECKSUM if not,
 * BREVIS_E_USAGE if no archive was written (see brevis_encoder_finish) or with
 * options->codec_only. With options->write_checks only its size is compared before it is opened.
 * The source is not needed afterwards.
 */
int brevis_encoder_check(struct brevis_encoder *encoder, const struct brevis_source *written,
			 struct brevis_error *err);

/** Frees an encoder in whatever state it is: what it has written stays where write has put it. */
void brevis_encoder_free(struct brevis_encoder *encoder);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif
#endif
