/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Allocations that fail when a test wants them to. The linker wraps them for the tests that include
 * this; the Makefile says for which.
 */
#ifndef TESTS_UNIT_FAILING_MEMORY_H
#define TESTS_UNIT_FAILING_MEMORY_H

#include <limits.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

static atomic_long allowed = LONG_MAX; /* until one fails */
static atomic_long in_use;             /* allocations that were not freed */
static bool for_good;                  /* not only one fails, but all behind it */
static bool is_plenty;                 /* none fails, nor counts */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);

static bool is_refused(void)
{
	long left = is_plenty ? LONG_MAX : atomic_fetch_sub(&allowed, 1);

	return left == 0 || (left < 0 && for_good);
}

static void *counted(void *p)
{
	if (p)
		atomic_fetch_add(&in_use, 1);
	return p;
}

void *__wrap_malloc(size_t size)
{
	return is_refused() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size)
{
	return is_refused() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
	void *p = is_refused() ? NULL : __real_realloc(old, size);

	return old ? p : counted(p);
}

char *__wrap_strdup(const char *text)
{
	return is_refused() ? NULL : counted(__real_strdup(text));
}

void __wrap_free(void *p)
{
	if (p)
		atomic_fetch_sub(&in_use, 1);
	__real_free(p);
}

#endif
