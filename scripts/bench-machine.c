/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <lz4.h>
#include <openssl/crypto.h>
#include <zlib.h>
#include <zstd.h>

#include "core/brevis.h"
#include "scripts/bench-machine.h"

double bench_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Copies the value of the first line of /proc/cpuinfo that begins with key. */
static void cpu_line(const char *key, char *value, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[8192];

	*value = '\0';
	while (f && !*value && fgets(line, sizeof(line), f)) {
		const char *colon = strchr(line, ':');

		if (colon && strncmp(line, key, strlen(key)) == 0)
			snprintf(value, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
	}
	if (f)
		fclose(f);
	value[strcspn(value, "\n")] = '\0';
}

void bench_print_machine(void)
{
	static const char *const features[] = {"avx2", "avx512bw", "sha_ni", "asimd", "sha2"};
	char model[256], flags[8192];
	struct utsname os = {0};
	double load = 0;

	cpu_line("model name", model, sizeof(model));
	cpu_line("flags", flags, sizeof(flags));
	if (!*flags)
		cpu_line("Features", flags, sizeof(flags));
	uname(&os);
	if (getloadavg(&load, 1) != 1)
		load = 0;
	printf("- machine: %s, %ld processors, %s", *model ? model : "unknown processor",
	       sysconf(_SC_NPROCESSORS_ONLN), os.machine);
	for (char *word = strtok(flags, " "); word; word = strtok(NULL, " "))
		for (size_t i = 0; i < sizeof(features) / sizeof(*features); i++)
			if (strcmp(word, features[i]) == 0)
				printf(" %s", word);
	printf("; %s %s; load %.1f at the start\n", os.sysname, os.release, load);
	printf("- versions: brevis %s, zstd %s, lz4 %s, zlib %s, %s; compiler %s\n", BREVIS_VERSION,
	       ZSTD_versionString(), LZ4_versionString(), zlibVersion(),
	       OpenSSL_version(OPENSSL_VERSION), __VERSION__);
}
