/* SPDX-License-Identifier: Apache-2.0 */
/** An entry of the map of known content: whatever stands in the file, it names a pointer or none.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "filter/objects/known.h"
#include "tests/fuzz/fuzz.h"

#define ORIGINAL_SIZE 4096

static const uint8_t original[BREVIS_SHA256_SIZE];
static char place[] = "/tmp/fuzz-map-XXXXXX";
static char entry[128];
static struct known *known;

static void remove_place(void)
{
	char path[128];

	unlink(entry);
	snprintf(path, sizeof(path), "%s/brevis/known/%d", place, ORIGINAL_SIZE);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/brevis/known", place);
	rmdir(path);
	snprintf(path, sizeof(path), "%s/brevis", place);
	rmdir(path);
	rmdir(place);
	known_free(known);
}

/* An entry as the program writes it; the input then takes its place. */
static void make_place(void)
{
	struct pointer pointer = {.size = 1};
	char name[OID_HEX_SIZE + 1];

	digest_to_hex(original, name);
	strcpy(pointer.oid, name);
	PROPERTY(mkdtemp(place));
	known = known_new(place);
	PROPERTY(known);
	known_add(known, ORIGINAL_SIZE, original, &pointer);
	snprintf(entry, sizeof(entry), "%s/brevis/known/%d/%s", place, ORIGINAL_SIZE, name);
	PROPERTY(access(entry, F_OK) == 0);
	atexit(remove_place);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct pointer found, listed[4];
	size_t count;
	bool there;
	int fd;

	if (!known)
		make_place();
	fd = open(entry, O_WRONLY | O_TRUNC | O_CLOEXEC);
	PROPERTY(fd >= 0 && write(fd, data, size) == (ssize_t)size && close(fd) == 0);
	there = known_find(known, ORIGINAL_SIZE, original, &found);
	count = known_of_size(known, ORIGINAL_SIZE, listed, 4);
	PROPERTY(count == there);
	PROPERTY(!there || pointer_equal(&found, &listed[0]));
	PROPERTY(!known_find(known, ORIGINAL_SIZE + 1, original, &found));
	return 0;
}
