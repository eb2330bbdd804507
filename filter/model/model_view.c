/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/model/model_view.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "filter/model/model_source.h"
#include "filter/cli/report.h"
#include "filter/stream.h"

struct model_view {
	const struct workspace *ws;
	struct model_source source;
	struct brevis_archive *archive; /* NULL: it is no archive */
	struct brevis_header *header;   /* NULL: it is not here */
	uint64_t size;
	char sha256[OID_HEX_SIZE + 1]; /* once it was computed */
	struct brevis_tensor_info *tensors;
	size_t count;

	/* The piece that was decoded last. */
	struct buffer piece;
	uint64_t piece_offset;
};

/* ---- failures -------------------------------------------------------------------------------- */

/* Reports content that cannot be read: of an object, fsck knows more. */
static int fail(const struct model_view *view, const struct brevis_error *err)
{
	const struct model_source *source = &view->source;
	const char *cause = err->message;
	const char *help = "see `git brevis verify`";

	if (err->status == BREVIS_E_NOMEM)
		return report_error("%s: out of memory", source->label);
	if (err->status == BREVIS_E_IO && source->file.failure)
		cause = source->file.failure == ENODATA ? "it became shorter while it was read"
							: strerror(source->file.failure);
	if (err->status == BREVIS_E_UNSUPPORTED || err->status == BREVIS_E_LIMIT)
		help = "a newer git-brevis may restore it";
	else if (source->has_pointer)
		help = "`git brevis fsck` and then `git brevis pull` replace it";
	else if (!view->archive)
		help = "make it a file that can be read";
	if (source->has_pointer)
		return report_error("%s: its object %.12s cannot be read: %s; %s", source->label,
				    source->pointer.oid, cause, help);
	return report_error("%s cannot be read: %s; %s", source->label, cause, help);
}

/* ---- opening --------------------------------------------------------------------------------- */

static int load_tensors(struct model_view *view, struct brevis_error *err)
{
	int status = BREVIS_OK;

	view->count = (size_t)brevis_header_tensors(view->header);
	view->tensors = calloc(view->count + 1, sizeof(*view->tensors));
	if (!view->tensors) {
		*err = (struct brevis_error){BREVIS_E_NOMEM, "out of memory"};
		return BREVIS_E_NOMEM;
	}
	for (size_t i = 0; i < view->count && status == BREVIS_OK; i++)
		status = brevis_header_tensor(view->header, i, &view->tensors[i], err);
	return status;
}

static int look_inside(struct model_view *view, struct brevis_error *err)
{
	const struct brevis_source *source = &view->source.file.source;
	int status;

	view->size = source->size;
	if (view->source.file.is_archive) {
		status = brevis_archive_open(source, &view->archive, err);
		if (status != BREVIS_OK)
			return status;
		view->size = brevis_archive_info(view->archive)->original_size;
		status = brevis_archive_header(view->archive, &view->header, err);
	} else {
		status = brevis_header_read(source, &view->header, err);
	}
	return status == BREVIS_OK ? load_tensors(view, err) : status;
}

static struct model_view *view_new(const struct workspace *ws)
{
	struct model_view *view = calloc(1, sizeof(*view));

	if (!view) {
		report_error("out of memory");
		return NULL;
	}
	view->ws = ws;
	view->source.file.fd = -1;
	return view;
}

/* Ends an opening whose source was found, or not (rc). */
static int finish(struct model_view *view, int rc, struct model_view **out)
{
	struct brevis_error err = {.message = ""};

	if (rc == 0 && view->source.is_here && look_inside(view, &err) != BREVIS_OK)
		rc = fail(view, &err);
	if (rc == 0)
		*out = view;
	else
		model_view_free(view);
	return rc;
}

int model_view_open_file(const struct workspace *ws, const char *file, const char *label,
			 struct model_view **out)
{
	struct model_view *view = view_new(ws);

	if (!view)
		return -1;
	return finish(view, model_source_file(&view->source, ws, file, label), out);
}

int model_view_open_work(const struct workspace *ws, const char *path, const char *label,
			 struct model_view **out)
{
	struct model_view *view = view_new(ws);

	if (!view)
		return -1;
	return finish(view, model_source_work(&view->source, ws, path, label), out);
}

int model_view_open_blob(const struct workspace *ws, const char *name, const char *label,
			 struct model_view **out)
{
	struct model_view *view = view_new(ws);

	if (!view)
		return -1;
	return finish(view, model_source_blob(&view->source, ws, name, label), out);
}

void model_view_free(struct model_view *view)
{
	if (!view)
		return;
	brevis_archive_free(view->archive);
	brevis_header_free(view->header);
	buffer_release(&view->piece);
	free(view->tensors);
	model_source_close(&view->source);
	free(view);
}

/* ---- what it is ------------------------------------------------------------------------------ */

const char *model_view_label(const struct model_view *view)
{
	return view->source.label;
}

const struct pointer *model_view_pointer(const struct model_view *view)
{
	return view->source.has_pointer ? &view->source.pointer : NULL;
}

bool model_view_is_here(const struct model_view *view)
{
	return view->source.is_here;
}

int model_view_report_missing(const struct model_view *view)
{
	if (!view->ws->repository)
		return report_error("%s is a pointer, and its object is in a repository that we "
				    "are not in; go there and try again",
				    view->source.label);
	return report_error("%s: its object %.12s is not here; `git brevis pull` downloads that of "
			    "a file, `git lfs fetch` those of a revision",
			    view->source.label, view->source.pointer.oid);
}

enum brevis_layout model_view_layout(const struct model_view *view)
{
	return view->header ? brevis_header_layout(view->header) : BREVIS_LAYOUT_OPAQUE;
}

uint64_t model_view_size(const struct model_view *view)
{
	return view->size;
}

bool model_view_is_promised(const struct model_view *view)
{
	return view->archive || view->source.has_pointer;
}

int model_view_sha256(struct model_view *view, char hex[OID_HEX_SIZE + 1])
{
	struct brevis_error err = {BREVIS_E_IO, "out of memory"};
	uint8_t sha256[BREVIS_SHA256_SIZE];

	if (view->archive) {
		digest_to_hex(brevis_archive_info(view->archive)->original_sha256, hex);
		return 0;
	}
	if (view->source.has_pointer && view->size) {
		memcpy(hex, view->source.pointer.oid, OID_HEX_SIZE + 1);
		return 0;
	}
	if (!*view->sha256 && source_digest(&view->source.file.source, sha256) != 0)
		return fail(view, &err);
	if (!*view->sha256)
		digest_to_hex(sha256, view->sha256);
	memcpy(hex, view->sha256, sizeof(view->sha256));
	return 0;
}

size_t model_view_tensors(const struct model_view *view)
{
	return view->count;
}

const struct brevis_tensor_info *model_view_tensor(const struct model_view *view, size_t i)
{
	return &view->tensors[i];
}

uint64_t model_view_present(const struct model_view *view, const struct brevis_tensor_info *tensor)
{
	if (tensor->offset >= view->size)
		return 0;
	return tensor->size < view->size - tensor->offset ? tensor->size
							  : view->size - tensor->offset;
}

/* ---- checksums of an archive ----------------------------------------------------------------- */

/* Goes through the pieces that lie side by side in both: the same checksums at the same places. */
bool model_view_same_tensor(const struct model_view *a, const struct brevis_tensor_info *of_a,
			    const struct model_view *b, const struct brevis_tensor_info *of_b)
{
	uint64_t size = model_view_present(a, of_a);
	struct brevis_piece_info x, y;
	uint64_t at = 0, i, j;

	if (!a->archive || !b->archive || size != model_view_present(b, of_b))
		return false;
	i = brevis_archive_piece_at(a->archive, of_a->offset);
	j = brevis_archive_piece_at(b->archive, of_b->offset);
	for (; at < size; at += x.size) {
		if (brevis_archive_piece(a->archive, i++, &x, NULL) != BREVIS_OK ||
		    brevis_archive_piece(b->archive, j++, &y, NULL) != BREVIS_OK)
			return false;
		if (x.offset != of_a->offset + at || y.offset != of_b->offset + at ||
		    x.size != y.size || x.checksum != y.checksum)
			return false;
	}
	return at == size;
}

bool model_view_checksum(const struct model_view *view, const struct brevis_tensor_info *tensor,
			 uint64_t *checksum)
{
	uint64_t size = model_view_present(view, tensor);
	struct brevis_piece_info piece;
	uint64_t i;

	if (!view->archive || !size)
		return false;
	i = brevis_archive_piece_at(view->archive, tensor->offset);
	if (brevis_archive_piece(view->archive, i, &piece, NULL) != BREVIS_OK ||
	    piece.offset != tensor->offset || piece.size != size)
		return false;
	*checksum = piece.checksum;
	return true;
}

/* ---- its bytes ------------------------------------------------------------------------------- */

/* Keeps apart who failed: the archive, or who takes its bytes. */
struct taker {
	brevis_write_fn write;
	void *ctx;
	bool failed;
};

static int take(void *ctx, const void *data, size_t len)
{
	struct taker *taker = ctx;

	taker->failed = taker->write(taker->ctx, data, len) != 0;
	return taker->failed;
}

/* A part of a source, as a source. */
struct part {
	const struct brevis_source *source;
	uint64_t offset;
};

static int read_part(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct part *part = ctx;

	return part->source->read_at(part->source->ctx, buf, len, part->offset + offset);
}

int model_view_read(struct model_view *view, uint64_t offset, uint64_t size, brevis_write_fn write,
		    void *ctx)
{
	const struct brevis_decode_options options = {.threads = view->ws->threads};
	struct taker taker = {write, ctx, false};
	struct brevis_error err = {BREVIS_E_IO, "out of memory"};
	struct part part = {&view->source.file.source, offset};
	struct brevis_source source = {.read_at = read_part, .ctx = &part, .size = size};
	int rc;

	if (view->archive)
		rc = brevis_archive_read(view->archive, offset, size, &options, take, &taker, &err);
	else
		rc = source_copy(&source, size, take, &taker);
	if (rc == 0)
		return 0;
	return taker.failed ? 1 : fail(view, &err);
}

/* Decodes the piece that offset lies in. */
static int load_piece(struct model_view *view, uint64_t offset)
{
	const struct brevis_decode_options options = {.threads = 1};
	struct brevis_error err = {BREVIS_E_USAGE, "the original has no such bytes"};
	struct brevis_piece_info piece = {0};
	uint64_t i = brevis_archive_piece_at(view->archive, offset + 1);
	int status = BREVIS_E_USAGE;

	if (i)
		status = brevis_archive_piece(view->archive, i - 1, &piece, &err);
	buffer_clear(&view->piece);
	if (status == BREVIS_OK)
		status = brevis_archive_read(view->archive, piece.offset, piece.size, &options,
					     stream_keep, &view->piece, &err);
	view->piece_offset = piece.offset;
	if (status == BREVIS_OK)
		return 0;
	buffer_clear(&view->piece);
	return fail(view, &err);
}

int model_view_read_at(struct model_view *view, void *buf, size_t len, uint64_t offset)
{
	const struct brevis_source *source = &view->source.file.source;
	struct brevis_error err = {BREVIS_E_IO, "its bytes could not be read"};
	uint8_t *to = buf;

	if (!view->archive)
		return len && source->read_at(source->ctx, buf, len, offset) != 0 ? fail(view, &err)
										  : 0;
	while (len) {
		uint64_t skip = offset - view->piece_offset;
		size_t n;

		if (offset < view->piece_offset || skip >= view->piece.size) {
			if (load_piece(view, offset) != 0)
				return -1;
			continue;
		}
		n = view->piece.size - (size_t)skip;
		if (n > len)
			n = len;
		memcpy(to, view->piece.data + skip, n);
		to += n;
		offset += n;
		len -= n;
	}
	return 0;
}

/* ---- its header ------------------------------------------------------------------------------ */

const struct brevis_header *model_view_header(const struct model_view *view)
{
	return view->header;
}

uint64_t model_view_header_size(const struct model_view *view)
{
	return view->header ? brevis_header_size(view->header) : 0;
}
