/* SPDX-License-Identifier: Apache-2.0 */
/* Packets: limits of their sizes, slow and broken streams. */
#include "filter/convert/pkt_line.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* Feeds bytes into a pipe, in pieces of a few bytes, from another thread. */
struct feed {
	const uint8_t *data;
	size_t len;
	size_t step;
	int fd;
	pthread_t thread;
};

static void *feed_run(void *ctx)
{
	struct feed *feed = ctx;

	while (feed->len) {
		size_t n = feed->len < feed->step ? feed->len : feed->step;
		ssize_t written = write(feed->fd, feed->data, n);

		if (written <= 0)
			break;
		feed->data += written;
		feed->len -= (size_t)written;
	}
	close(feed->fd);
	return NULL;
}

/* Returns a reader of these bytes. */
static struct pkt_reader *feed_start(struct feed *feed, const void *data, size_t len, size_t step,
				     int *read_end)
{
	struct pkt_reader *reader;
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	*feed = (struct feed){data, len, step, ends[1], 0};
	assert_int_equal(pthread_create(&feed->thread, NULL, feed_run, feed), 0);
	*read_end = ends[0];
	reader = pkt_reader_new(ends[0]);
	assert_non_null(reader);
	return reader;
}

static void feed_end(struct feed *feed, struct pkt_reader *reader, int read_end)
{
	close(read_end);
	pthread_join(feed->thread, NULL);
	pkt_reader_free(reader);
}

static void expect(struct pkt_reader *reader, enum pkt_kind kind, const char *text)
{
	const uint8_t *data;
	size_t len;

	assert_int_equal(pkt_read(reader, &data, &len), kind);
	if (kind != PKT_DATA)
		return;
	assert_int_equal(len, strlen(text));
	assert_memory_equal(data, text, len);
}

static void test_read(void **state)
{
	static const char stream[] = "0006a\n0004000Abbbbbb00000008\n\n\n\n0000";
	size_t step;

	(void)state;
	for (step = 1; step < sizeof(stream); step++) {
		struct feed feed;
		int fd;
		struct pkt_reader *reader =
			feed_start(&feed, stream, sizeof(stream) - 1, step, &fd);

		expect(reader, PKT_DATA, "a\n");
		expect(reader, PKT_DATA, "");
		expect(reader, PKT_DATA, "bbbbbb");
		expect(reader, PKT_FLUSH, NULL);
		expect(reader, PKT_DATA, "\n\n\n\n");
		expect(reader, PKT_FLUSH, NULL);
		expect(reader, PKT_END, NULL);
		expect(reader, PKT_END, NULL);
		feed_end(&feed, reader, fd);
	}
}

static void test_broken(void **state)
{
	static const char *const streams[] = {
		"0",    "000",  "00x4", "0001",     "0002", "0003",
		"fff1", "ffff", "0005", "0009abcd", "-001", "git-filter-client\n",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(streams) / sizeof(streams[0]); i++) {
		struct feed feed;
		int fd;
		struct pkt_reader *reader =
			feed_start(&feed, streams[i], strlen(streams[i]), 100, &fd);
		const uint8_t *data;
		size_t len;

		if (pkt_read(reader, &data, &len) != PKT_BROKEN)
			fail_msg("not broken: %s", streams[i]);
		feed_end(&feed, reader, fd);
	}
}

static void test_text(void **state)
{
	static const char stream[] = "0006a\n0005b0004"
				     "0007c\n\n"
				     "0007d\0\n";
	struct feed feed;
	int fd;
	struct pkt_reader *reader = feed_start(&feed, stream, sizeof(stream) - 1, 100, &fd);
	static const char *const expected[] = {"a", "b", "", "c\n"};
	const char *text;
	size_t i;

	(void)state;
	for (i = 0; i < 4; i++) {
		assert_int_equal(pkt_read_text(reader, &text), PKT_DATA);
		assert_string_equal(text, expected[i]);
	}
	assert_int_equal(pkt_read_text(reader, &text), PKT_BROKEN);
	feed_end(&feed, reader, fd);
}

/* What goes out through a writer comes in through a reader, in packets of the largest size. */
struct sender {
	struct pkt_writer *writer;
	const uint8_t *data;
	size_t len;
	size_t step;
	int fd;
};

static void *send_run(void *ctx)
{
	struct sender *sender = ctx;
	size_t at;

	assert_int_equal(pkt_write_text(sender->writer, "status=%s", "success"), 0);
	assert_int_equal(pkt_write_flush(sender->writer), 0);
	for (at = 0; at < sender->len; at += sender->step) {
		size_t n = sender->len - at < sender->step ? sender->len - at : sender->step;

		assert_int_equal(pkt_write(sender->writer, sender->data + at, n), 0);
	}
	assert_int_equal(pkt_write_flush(sender->writer), 0);
	close(sender->fd);
	return NULL;
}

static void round_trip(size_t len, size_t step)
{
	uint8_t *sent = malloc(len + 1);
	uint8_t *got = malloc(len + 1);
	struct pkt_reader *reader;
	struct sender sender;
	const uint8_t *data;
	pthread_t thread;
	size_t at = 0;
	int ends[2];
	size_t n;

	assert_true(sent && got);
	for (n = 0; n < len; n++)
		sent[n] = (uint8_t)(n * 2654435761u >> 13);
	assert_int_equal(pipe(ends), 0);
	sender = (struct sender){pkt_writer_new(ends[1]), sent, len, step, ends[1]};
	assert_int_equal(pthread_create(&thread, NULL, send_run, &sender), 0);
	reader = pkt_reader_new(ends[0]);
	expect(reader, PKT_DATA, "status=success\n");
	expect(reader, PKT_FLUSH, NULL);
	while (pkt_read(reader, &data, &n) == PKT_DATA) {
		/* All packets are full but the last. */
		assert_true(n == PKT_MAX || at + n == len);
		assert_true(n <= len - at);
		memcpy(got + at, data, n);
		at += n;
	}
	assert_int_equal(at, len);
	assert_memory_equal(sent, got, len);
	expect(reader, PKT_END, NULL);
	pthread_join(thread, NULL);
	close(ends[0]);
	pkt_reader_free(reader);
	pkt_writer_free(sender.writer);
	free(sent);
	free(got);
}

static void test_round_trip(void **state)
{
	static const size_t lengths[] = {0,           1,           PKT_MAX - 1,  PKT_MAX,
					 PKT_MAX + 1, 2 * PKT_MAX, 16 * PKT_MAX, 17 * PKT_MAX + 5,
					 5000000};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		round_trip(lengths[i], 1 << 20);
		round_trip(lengths[i], 65537);
		round_trip(lengths[i], 777);
	}
}

static void test_text_limit(void **state)
{
	struct pkt_writer *writer;
	char *text = malloc(PKT_MAX + 1);
	int ends[2];

	(void)state;
	assert_non_null(text);
	memset(text, 'x', PKT_MAX);
	text[PKT_MAX] = '\0';
	assert_int_equal(pipe(ends), 0);
	writer = pkt_writer_new(ends[1]);
	assert_int_equal(pkt_write_text(writer, "%s", text + 1), 0);
	assert_int_equal(pkt_write_text(writer, "%s", text), -1);
	close(ends[0]);
	close(ends[1]);
	pkt_writer_free(writer);
	free(text);
}

/* A reader that is gone is an error that sticks, not a signal. */
static void test_peer_gone(void **state)
{
	static uint8_t large[3 * PKT_MAX];
	struct pkt_writer *writer;
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	writer = pkt_writer_new(ends[1]);
	close(ends[0]);
	assert_int_equal(pkt_write(writer, "abc", 3), 0);
	assert_int_equal(pkt_write_flush(writer), -1);
	assert_int_equal(pkt_write_flush(writer), -1);
	pkt_writer_free(writer);
	/* Content that goes out without being gathered first. */
	writer = pkt_writer_new(ends[1]);
	assert_int_equal(pkt_write(writer, large, sizeof(large)), -1);
	assert_int_equal(errno, EPIPE);
	assert_int_equal(pkt_write(writer, large, sizeof(large)), -1);
	assert_int_equal(pkt_write_flush(writer), -1);
	close(ends[1]);
	pkt_writer_free(writer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_read),       cmocka_unit_test(test_broken),
		cmocka_unit_test(test_text),       cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_text_limit), cmocka_unit_test(test_peer_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
