/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/cli/progress.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/base/escape.h"
#include "filter/objects/clock.h"
#include "filter/cli/progress_text.h"

/* Nothing is shown of work that is done before that. */
#define DELAY_MS 1000

/* From one line to the next: on a terminal, and in a file that will be read later. */
#define INTERVAL_MS       200
#define INTERVAL_LINES_MS 1000

/* The estimate of the share saved wants so many bytes: the encoder holds back a tenth of it. */
#define ESTIMATE_BYTES 256000000

/* Where the terminal does not tell its width. */
#define COLUMNS_UNKNOWN 80

#define CLEAR_LINE "\r\033[K"

enum mode {
	MODE_UNKNOWN,
	MODE_OFF,
	MODE_TERMINAL, /* one line, written over again and again */
	MODE_LINES     /* line after line */
};

uint64_t (*progress_clock)(void) = clock_ms;

/* All of this belongs to who holds the lock. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static enum mode mode;
static enum { CHOICE_NONE, CHOICE_ON, CHOICE_OFF } choice;
static bool forced_by_config;
static struct progress *owner; /* whose line it is */
static bool line_stands;       /* on the terminal */

/* ---- whether there is anything to show ------------------------------------------------------- */

static bool is_word(const char *text, const char *const *words)
{
	for (; *words; words++)
		if (strcasecmp(text, *words) == 0)
			return true;
	return false;
}

/* What an environment variable says: 1 yes, 0 no, -1 nothing. */
static int environment_says(const char *name)
{
	static const char *const yes[] = {"1", "true", "yes", "on", "t", NULL};
	static const char *const no[] = {"0", "false", "no", "off", "f", NULL};
	const char *text = getenv(name);

	if (!text)
		return -1;
	return is_word(text, yes) ? 1 : is_word(text, no) ? 0 : -1;
}

static enum mode find_mode(void)
{
	const char *term = getenv("TERM");
	int own = environment_says("GIT_BREVIS_PROGRESS");
	/* A dumb terminal cannot clear its line. */
	bool terminal = isatty(STDERR_FILENO) == 1 && (!term || strcmp(term, "dumb") != 0);
	bool forced =
		own == 1 || environment_says("GIT_LFS_FORCE_PROGRESS") == 1 || forced_by_config;
	bool off = own == 0;

	if (choice != CHOICE_NONE) {
		forced = choice == CHOICE_ON;
		off = choice == CHOICE_OFF;
	}
	if (off)
		return MODE_OFF;
	if (terminal)
		return MODE_TERMINAL;
	return forced ? MODE_LINES : MODE_OFF;
}

static enum mode current_mode(void)
{
	if (mode == MODE_UNKNOWN)
		mode = find_mode();
	return mode;
}

void progress_choose(const struct progress_choice *chosen)
{
	pthread_mutex_lock(&lock);
	choice = chosen->off ? CHOICE_OFF : chosen->on ? CHOICE_ON : CHOICE_NONE;
	mode = MODE_UNKNOWN;
	pthread_mutex_unlock(&lock);
}

void progress_force(bool forced)
{
	pthread_mutex_lock(&lock);
	forced_by_config = forced;
	mode = MODE_UNKNOWN;
	pthread_mutex_unlock(&lock);
}

bool progress_is_wanted(void)
{
	bool wanted;

	pthread_mutex_lock(&lock);
	wanted = current_mode() != MODE_OFF;
	pthread_mutex_unlock(&lock);
	return wanted;
}

static uint64_t delay_ms(void)
{
	const char *text = getenv("GIT_PROGRESS_DELAY");
	unsigned long seconds;
	char *end;

	if (!text || *text < '0' || *text > '9')
		return DELAY_MS;
	seconds = strtoul(text, &end, 10);
	return *end || seconds > 1000000 ? DELAY_MS : (uint64_t)seconds * 1000;
}

/* ---- the line -------------------------------------------------------------------------------- */

/* A line that cannot be written is no reason to stop. */
static void put(const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(STDERR_FILENO, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static void clear_line(void)
{
	if (line_stands)
		put(CLEAR_LINE, strlen(CLEAR_LINE));
	line_stands = false;
}

/* Asked each time: the user may have changed it. The last column stays free, since some terminals
 * go to the next line once it is written. */
static size_t terminal_columns(void)
{
	struct winsize size;

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return COLUMNS_UNKNOWN - 1;
	return size.ws_col - 1u;
}

/* A job in the background does not write over what the user is typing. */
static bool is_in_background(void)
{
	pid_t foreground = tcgetpgrp(STDERR_FILENO);

	return foreground >= 0 && foreground != getpgrp();
}

static uint64_t measure_rate(struct progress *p, uint64_t now, uint64_t done)
{
	size_t oldest = p->sample_count < PROGRESS_SAMPLES ? 0 : p->sample_count % PROGRESS_SAMPLES;
	const struct progress_sample since = p->samples[oldest];
	uint64_t ms = now - since.ms;

	p->samples[p->sample_count++ % PROGRESS_SAMPLES] = (struct progress_sample){now, done};
	if (!ms)
		return 0;
	/* In this order it does not overflow. */
	return (done - since.done) / ms * 1000 + (done - since.done) % ms * 1000 / ms;
}

/* Both ends of the estimate leave out about as much as the encoder holds back. */
static void estimate_share(struct progress *p, struct progress_facts *facts)
{
	uint64_t stored = atomic_load(&p->stored);

	if (!stored)
		return;
	if (!p->base_stored) {
		p->base_done = facts->done;
		p->base_stored = stored;
	}
	if (facts->done - p->base_done < ESTIMATE_BYTES)
		return;
	facts->original = facts->done - p->base_done;
	facts->stored = stored - p->base_stored;
	facts->is_estimate = true;
}

static void collect_facts(struct progress *p, uint64_t now, struct progress_facts *facts)
{
	*facts = (struct progress_facts){.what = p->what,
					 .name = p->name,
					 .number = p->number,
					 .count = p->count,
					 .total = p->total,
					 .done = atomic_load(&p->done),
					 .original = p->share_original,
					 .stored = p->share_stored};
	facts->rate = measure_rate(p, now, facts->done);
	if (!facts->original)
		estimate_share(p, facts);
}

/* Writes the line. The caller holds the lock. */
static void draw(struct progress *p, uint64_t now)
{
	const size_t clear = strlen(CLEAR_LINE);
	bool is_terminal = current_mode() == MODE_TERMINAL;
	struct progress_facts facts;
	char line[sizeof(CLEAR_LINE) + PROGRESS_TEXT_SIZE];

	atomic_store(&p->next_ms, now + (is_terminal ? INTERVAL_MS : INTERVAL_LINES_MS));
	collect_facts(p, now, &facts);
	p->told = facts.done;
	if (is_terminal && is_in_background())
		return;
	memcpy(line, CLEAR_LINE, clear);
	progress_text(line + clear, &facts, is_terminal ? terminal_columns() : PROGRESS_COLUMNS);
	if (is_terminal) {
		put(line, strlen(line));
		line_stands = true;
		return;
	}
	strcat(line, "\n");
	put(line + clear, strlen(line) - clear);
}

/* ---- the work -------------------------------------------------------------------------------- */

/* Names come from strangers. */
static void set_name(struct progress *p, const char *name)
{
	size_t size = ESCAPE_GROWTH * strlen(name) + 1;
	char *text = malloc(size);

	p->name[0] = '\0';
	if (!text)
		return;
	escape_text(text, size, name);
	progress_text_shorten(p->name, sizeof(p->name), text, PROGRESS_COLUMNS);
	free(text);
}

void progress_begin(struct progress *p, const char *what, const char *name, uint64_t total)
{
	memset(p, 0, sizeof(*p));
	pthread_mutex_lock(&lock);
	if (!owner && current_mode() != MODE_OFF) {
		uint64_t now = progress_clock();

		owner = p;
		p->is_shown = true;
		p->what = what;
		p->total = total;
		set_name(p, name);
		p->samples[p->sample_count++].ms = now;
		atomic_store(&p->next_ms, now + delay_ms());
	}
	pthread_mutex_unlock(&lock);
}

void progress_file(struct progress *p, const char *name, size_t number, size_t count)
{
	if (!p->is_shown)
		return;
	pthread_mutex_lock(&lock);
	set_name(p, name);
	p->number = number;
	p->count = count;
	pthread_mutex_unlock(&lock);
}

void progress_number(struct progress *p, size_t number)
{
	if (!p->is_shown)
		return;
	pthread_mutex_lock(&lock);
	p->number = number;
	pthread_mutex_unlock(&lock);
}

/* Writes the line if it is time for it. Who finds another thread writing leaves it to that. */
static void tick(struct progress *p)
{
	uint64_t now = progress_clock();

	if (now < atomic_load(&p->next_ms) || pthread_mutex_trylock(&lock) != 0)
		return;
	draw(p, now);
	pthread_mutex_unlock(&lock);
}

void progress_add(struct progress *p, uint64_t bytes)
{
	if (!p->is_shown)
		return;
	atomic_fetch_add(&p->done, bytes);
	tick(p);
}

void progress_stored(struct progress *p, uint64_t bytes)
{
	if (!p->is_shown)
		return;
	atomic_fetch_add(&p->stored, bytes);
	tick(p);
}

void progress_share(struct progress *p, uint64_t original, uint64_t stored)
{
	if (!p->is_shown)
		return;
	pthread_mutex_lock(&lock);
	p->share_original = original;
	p->share_stored = stored;
	pthread_mutex_unlock(&lock);
}

void progress_step(struct progress *p, const char *what)
{
	bool has_begun;

	if (!p->is_shown)
		return;
	pthread_mutex_lock(&lock);
	p->what = what;
	/* What is done now may take long without a byte being counted. */
	has_begun = p->sample_count > 1;
	if (has_begun)
		draw(p, progress_clock());
	pthread_mutex_unlock(&lock);
	if (!has_begun)
		tick(p);
}

void progress_end(struct progress *p)
{
	if (!p->is_shown)
		return;
	pthread_mutex_lock(&lock);
	/* Who reads it later wants to know how it went on after the last full second. */
	if (mode == MODE_LINES && p->sample_count > 1 && p->told != atomic_load(&p->done))
		draw(p, progress_clock());
	clear_line();
	owner = NULL;
	p->is_shown = false;
	pthread_mutex_unlock(&lock);
}

void progress_pause(void)
{
	pthread_mutex_lock(&lock);
	clear_line();
}

void progress_resume(void)
{
	pthread_mutex_unlock(&lock);
}

int progress_write(void *progress, const void *data, size_t len)
{
	(void)data;
	progress_add(progress, len);
	return 0;
}

static int read_counted(void *ctx, void *buf, size_t len, uint64_t offset)
{
	const struct progress_source *source = ctx;
	int result = source->inner->read_at(source->inner->ctx, buf, len, offset);

	if (result == 0)
		progress_add(source->progress, len);
	return result;
}

struct brevis_source progress_source(struct progress_source *source)
{
	return (struct brevis_source){read_counted, source, source->inner->size, NULL};
}
