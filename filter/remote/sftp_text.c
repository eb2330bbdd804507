/* SPDX-License-Identifier: Apache-2.0 */
#include "filter/remote/sftp_text.h"

#include <string.h>

/* Words of a long entry after its size: month, day, time or year, name. */
#define WORDS_AFTER_SIZE 4

bool sftp_next_line(const char **text, const char *end, const char **line, size_t *len)
{
	const char *line_end;

	if (*text >= end)
		return false;
	line_end = memchr(*text, '\n', (size_t)(end - *text));
	*line = *text;
	*len = (size_t)((line_end ? line_end : end) - *text);
	*text = line_end ? line_end + 1 : end;
	return true;
}

/* Cuts the last word off a line. */
static bool last_word(const char *line, size_t *len, const char **word, size_t *word_len)
{
	size_t end = *len;
	size_t begin;

	while (end && line[end - 1] == ' ')
		end--;
	begin = end;
	while (begin && line[begin - 1] != ' ')
		begin--;
	*word = line + begin;
	*word_len = end - begin;
	*len = begin;
	return end > begin;
}

/* Reads decimal digits and nothing else. */
static bool number(const char *text, size_t len, uint64_t *out)
{
	uint64_t n = 0;

	for (size_t i = 0; i < len; i++) {
		unsigned digit = (unsigned)(text[i] - '0');

		if (digit > 9 || n > (UINT64_MAX - digit) / 10)
			return false;
		n = n * 10 + digit;
	}
	*out = n;
	return len > 0;
}

bool sftp_entry_parse(const char *line, size_t len, struct sftp_entry *out)
{
	const char *word;
	size_t word_len;

	if (len == 0 || line[0] != '-' || !last_word(line, &len, &out->name, &out->name_len))
		return false;
	for (int i = 1; i < WORDS_AFTER_SIZE; i++) {
		if (!last_word(line, &len, &word, &word_len))
			return false;
	}
	return last_word(line, &len, &word, &word_len) && number(word, word_len, &out->size) &&
	       len > 0;
}

struct sftp_resume sftp_resume_plan(uint64_t remote_size, uint64_t part_size, size_t known)
{
	struct sftp_resume plan = {0, 0};
	uint64_t blocks = part_size ? remote_size / part_size : 0;

	if (known == 0 || blocks < known ||
	    remote_size - known * part_size > part_size + SFTP_ON_ITS_WAY)
		return plan;
	plan.offset = remote_size;
	plan.compare = (known - 1) * part_size;
	return plan;
}
