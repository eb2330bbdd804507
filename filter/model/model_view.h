/* SPDX-License-Identifier: Apache-2.0 */
/**
 * The content of a model wherever it is: a file as it is, an archive, or what a pointer stands for;
 * in the work tree, anywhere else, or in a revision. It is seen as a safetensors file: a header,
 * tensors by name, bytes that are read by range, in bounded memory. Of objects only those that are
 * in the local store are read; nothing is ever downloaded.
 */
#ifndef FILTER_MODEL_VIEW_H
#define FILTER_MODEL_VIEW_H

#include "core/base/buffer.h"
#include "filter/convert/convert.h"

struct model_view;

/** Bytes before a header's text: its length. */
#define MODEL_PREFIX 8

/**
 * Opens a file: one that is a pointer stands for its object, an archive for what it restores. label
 * names it in messages and is copied; NULL: the file's name. ws may have no repository and must
 * outlive the view. If the object of a pointer is not here the view has no content
 * (model_view_is_here) and that is no failure. Reports and returns -1 on one: what cannot be read,
 * or is damaged.
 */
int model_view_open_file(const struct workspace *ws, const char *file, const char *label,
			 struct model_view **out);

/** The same for a file of the work tree, by its path from the top; no symbolic link is followed. */
int model_view_open_work(const struct workspace *ws, const char *path, const char *label,
			 struct model_view **out);

/** The same for the blob that git knows by this name: REVISION:PATH, :PATH, or in hex. A large one
 * is copied to a file without a name beside the local objects. */
int model_view_open_blob(const struct workspace *ws, const char *name, const char *label,
			 struct model_view **out);

/** NULL is allowed. */
void model_view_free(struct model_view *view);

const char *model_view_label(const struct model_view *view);

/** The pointer that led to the content, or NULL: it was there itself. */
const struct pointer *model_view_pointer(const struct model_view *view);

/** False if its object is not here: then only label and pointer are known. */
bool model_view_is_here(const struct model_view *view);

/** Reports that it is not here, and what brings it. Returns -1. */
int model_view_report_missing(const struct model_view *view);

/** Opaque content has size and SHA-256, and no header or tensors. A header that is larger than any
 * model's (brevis_header_read) counts as none: such content is opaque, too. */
enum brevis_layout model_view_layout(const struct model_view *view);
uint64_t model_view_size(const struct model_view *view);

/** SHA-256 of the content in hex: as its archive or its pointer promises it, else computed. Reports
 * and returns -1 on failure. */
int model_view_sha256(struct model_view *view, char hex[OID_HEX_SIZE + 1]);

/** True if that costs nothing. */
bool model_view_is_promised(const struct model_view *view);

/** Bytes of the header, with the 8 that say its length; 0 for opaque content. */
uint64_t model_view_header_size(const struct model_view *view);

/** What the header says; NULL if the content is not here. Lives with the view. */
const struct brevis_header *model_view_header(const struct model_view *view);

size_t model_view_tensors(const struct model_view *view);

/** Tensor i, in the order of their data. Lives with the view. */
const struct brevis_tensor_info *model_view_tensor(const struct model_view *view, size_t i);

/** Bytes of a tensor that are really there: an irregular file may end before it does. */
uint64_t model_view_present(const struct model_view *view, const struct brevis_tensor_info *tensor);

/** True if both tensors have the same bytes by the checksums of their archives; false if they do
 * not, or that cannot be told without decoding. Nobody who merges should believe it: a checksum of
 * 64 bits can be forged. */
bool model_view_same_tensor(const struct model_view *a, const struct brevis_tensor_info *of_a,
			    const struct model_view *b, const struct brevis_tensor_info *of_b);

/** XXH3-64 of a tensor's present bytes as its archive promises it, if that can be told without
 * decoding. */
bool model_view_checksum(const struct model_view *view, const struct brevis_tensor_info *tensor,
			 uint64_t *checksum);

/**
 * Hands size bytes of the content at offset to write, in order, decoded by several threads. Returns
 * 0, 1 if write failed, or -1 after reporting that the bytes cannot be read.
 */
int model_view_read(struct model_view *view, uint64_t offset, uint64_t size, brevis_write_fn write,
		    void *ctx);

/**
 * Reads len bytes of the content at offset. Made for going through it in small steps: the piece
 * that was decoded last, at most 16 MiB, is kept. Reports and returns -1 on failure.
 */
int model_view_read_at(struct model_view *view, void *buf, size_t len, uint64_t offset);

#endif
