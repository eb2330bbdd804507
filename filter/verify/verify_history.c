/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/verify/verify_history.h"

#include <inttypes.h>
#include <stdio.h>

#include "filter/cli/command.h"
#include "filter/verify/history_proof.h"
#include "filter/cli/json_output.h"
#include "filter/cli/progress.h"
#include "filter/cli/report.h"
#include "filter/cli/text.h"

bool verify_means_history(const struct workspace *ws, char **words, int count)
{
	return count == 0 || (ws->repository && repository_is_history(ws->repository, words[0]));
}

/* ---- what is said ---------------------------------------------------------------------------- */

static void put_finding(struct json_output *json, const struct proven_object *object,
			const struct judgement *judgement)
{
	json_open(json, NULL, '{');
	json_string(json, "oid", object->pointer.oid);
	json_string(json, "name", object->path[0] ? object->path : NULL);
	json_string(json, "finding", verdict_word(judgement->verdict));
	json_string(json, "cause", judgement->why[0] ? judgement->why : NULL);
	json_string(json, "remedy", judgement->remedy);
	json_close(json);
}

static void print_finding(const struct proven_object *object, const struct judgement *judgement)
{
	char text[JUDGEMENT_TEXT];

	print_path(stdout, object->path[0] ? object->path : object->pointer.oid);
	printf(": ");
	print_path(stdout, judgement_text(judgement, &object->pointer, text));
	printf("; %s\n", judgement->remedy);
	fflush(stdout);
}

/* One line on stdout for each finding: they are what was asked for. */
static void found(void *json, const struct proven_object *object, const struct judgement *judgement)
{
	progress_pause();
	if (json)
		put_finding(json, object, judgement);
	else
		print_finding(object, judgement);
	progress_resume();
}

static void print_part(size_t count, const char *what)
{
	if (count)
		printf(", %zu %s", count, what);
}

static size_t count_bad(const struct history_proof *proof)
{
	return proof->missing + proof->damaged + proof->unreadable;
}

/* The last line: a proof of nothing has to show that. */
static void print_result(const struct history_proof *proof, bool is_shallow)
{
	size_t proven = proof->archives + proof->plain;

	printf("git-brevis verify: %zu file%s proven: %zu object%s, %" PRIu64
	       " bytes that restore %" PRIu64,
	       proof->files, proof->files == 1 ? "" : "s", proven, proven == 1 ? "" : "s",
	       proof->stored, proof->original);
	print_part(proof->missing, "missing");
	print_part(proof->damaged, "damaged");
	print_part(proof->unreadable, "unreadable");
	if (proof->unknown)
		printf("; what %zu more objects of git name is not known: they are not in this "
		       "partial clone, or damaged",
		       proof->unknown);
	if (is_shallow)
		printf("; earlier revisions are not in this shallow clone");
	putchar('\n');
}

static void put_result(struct json_output *json, const struct history_proof *proof, bool is_shallow)
{
	json_close(json);
	json_bool(json, "good", !count_bad(proof) && !proof->unknown);
	json_number(json, "files", proof->files);
	json_number(json, "objects", proof->archives + proof->plain);
	json_number(json, "archives", proof->archives);
	json_number(json, "stored_size", proof->stored);
	json_number(json, "original_size", proof->original);
	json_number(json, "missing", proof->missing);
	json_number(json, "damaged", proof->damaged);
	json_number(json, "unreadable", proof->unreadable);
	json_number(json, "unknown", proof->unknown);
	json_bool(json, "shallow", is_shallow);
	json_close(json);
}

/* ---- which revisions ------------------------------------------------------------------------- */

static int add_words(struct history_proof *proof, char **words, int count)
{
	const struct repository *repository = proof->ws->repository;
	int rc = 0;

	for (int i = 0; i < count && rc == 0; i++) {
		if (words[i][0] == '^')
			return report_error("verify: '%s' leaves revisions out of others; write "
					    "such a range as A..B",
					    words[i]);
		if (!repository_is_history(repository, words[i]))
			return report_error("verify: '%s' names no revision, as '%s' does; "
					    "verify files by themselves",
					    words[i], words[0]);
		rc = history_proof_add(proof, words[i]);
	}
	return rc;
}

static int add_all(struct history_proof *proof, char **words, int count, bool all)
{
	if (all)
		return history_proof_add(proof, NULL);
	if (count)
		return add_words(proof, words, count);
	if (!repository_has_head(proof->ws->repository))
		return report_error("verify: there is no commit yet; `git brevis verify --all` "
				    "proves what was added");
	return history_proof_add(proof, "HEAD");
}

int verify_history(const struct workspace *ws, char **words, int count, bool all, bool as_json)
{
	struct history_proof proof = {.ws = ws, .found = found};
	struct json_output *json = NULL;
	bool is_shallow = false;
	int rc = add_all(&proof, words, count, all);

	if (rc == 0 && as_json) {
		json = json_begin();
		rc = json ? 0 : -1;
		proof.ctx = json;
	}
	if (json) {
		json_open(json, NULL, '{');
		json_open(json, "findings", '[');
	}
	if (rc == 0) {
		is_shallow = repository_is_shallow(ws->repository);
		rc = history_proof_run(&proof);
	}
	if (json) {
		put_result(json, &proof, is_shallow);
		rc = json_end(json, rc);
	} else if (rc == 0) {
		print_result(&proof, is_shallow);
	}
	history_proof_release(&proof);
	if (rc < 0)
		return EXIT_FATAL;
	return count_bad(&proof) || proof.unknown ? EXIT_FOUND : EXIT_DONE;
}
