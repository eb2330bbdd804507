// SPDX-License-Identifier: Apache-2.0
//
// Compresses a file in memory with libbrevis, restores it, and compares; then names its tensors:
//
//   c++ -std=c++17 -o roundtrip roundtrip.cc $(pkg-config --cflags --libs libbrevis)
//   ./roundtrip model.safetensors
//
// Exit code: 0 if the restored bytes are the file's, or 1 with a line on standard error.
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <brevis.h>

namespace
{

using Bytes = std::vector<char>;

struct Deleter {
	void operator()(brevis_encoder *encoder) const
	{
		brevis_encoder_free(encoder);
	}
	void operator()(brevis_archive *archive) const
	{
		brevis_archive_free(archive);
	}
};
using Encoder = std::unique_ptr<brevis_encoder, Deleter>;
using Archive = std::unique_ptr<brevis_archive, Deleter>;

void check(int status, const brevis_error &error)
{
	if (status != BREVIS_OK)
		throw std::runtime_error(error.message);
}

// The library is C: no exception may pass through it, so what is thrown here becomes a status.
int append(void *ctx, const void *data, size_t len) noexcept
try {
	auto *out = static_cast<Bytes *>(ctx);
	auto *begin = static_cast<const char *>(data);
	out->insert(out->end(), begin, begin + len);
	return 0;
} catch (const std::bad_alloc &) {
	return -1;
}

int read_at(void *ctx, void *buf, size_t len, uint64_t offset) noexcept
{
	std::memcpy(buf, static_cast<const Bytes *>(ctx)->data() + offset, len);
	return 0;
}

Bytes compress(const Bytes &original)
{
	Bytes archive;
	brevis_error error;
	brevis_encoder *raw = nullptr;
	check(brevis_encoder_new(nullptr, append, &archive, &raw, &error), error);
	Encoder encoder(raw);
	check(brevis_encoder_write(encoder.get(), original.data(), original.size(), &error), error);
	brevis_encode_summary summary;
	check(brevis_encoder_finish(encoder.get(), &summary, &error), error);
	return archive;
}

Archive open(Bytes &bytes)
{
	brevis_source source{};
	source.read_at = read_at;
	source.ctx = &bytes;
	source.size = bytes.size();
	source.bytes = bytes.data();
	brevis_error error;
	brevis_archive *raw = nullptr;
	check(brevis_archive_open(&source, &raw, &error), error);
	return Archive(raw);
}

Bytes restore(const brevis_archive *archive)
{
	Bytes original(brevis_archive_info(archive)->original_size);
	brevis_decode_options options{};
	options.memory = original.data();
	brevis_error error;
	check(brevis_archive_decode(archive, &options, nullptr, nullptr, &error), error);
	return original;
}

void list_tensors(brevis_archive *archive)
{
	uint64_t count = 0;
	brevis_error error;
	check(brevis_archive_load_tensors(archive, &count, &error), error);
	for (uint64_t i = 0; i < count; i++) {
		brevis_tensor_info tensor;
		check(brevis_archive_tensor(archive, i, &tensor, &error), error);
		std::cout << tensor.name << ' ' << tensor.dtype << ' ' << tensor.size << " -> "
			  << tensor.stored_size << '\n';
	}
}

} // namespace

int main(int argc, char **argv)
try {
	if (argc != 2)
		throw std::runtime_error("usage: roundtrip FILE");
	std::ifstream in(argv[1], std::ios::binary);
	if (!in)
		throw std::runtime_error(std::string(argv[1]) + ": cannot be opened");
	const Bytes original{std::istreambuf_iterator<char>(in), {}};
	Bytes bytes = compress(original);
	Archive archive = open(bytes);
	if (restore(archive.get()) != original)
		throw std::runtime_error("the restored bytes differ");
	list_tensors(archive.get());
	std::cout << original.size() << " bytes became " << bytes.size() << '\n';
	return 0;
} catch (const std::exception &e) {
	std::cerr << "roundtrip: " << e.what() << '\n';
	return 1;
}
