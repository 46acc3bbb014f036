// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/fd.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>

namespace perfvigil {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) != -1; }

class TemporaryFile : public testing::Test {
protected:
    TemporaryFile() : path_(testing::TempDir() + "fd_test." + std::to_string(::getpid())) {}
    ~TemporaryFile() override {
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
    }
    void write(std::string_view text) {
        auto fd = open_file(path_, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        ASSERT_TRUE(fd) << fd.error().message;
        ASSERT_TRUE(write_all(fd->get(), std::as_bytes(std::span(text))));
    }
    std::string path_;
};

std::array<UniqueFd, 2> make_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(UniqueFd, ClosesOnceAndOnlyWhatItOwns) {
    auto [reader, writer] = make_pipe();
    const int first = reader.get();
    const int second = writer.get();

    UniqueFd moved(std::move(reader));
    EXPECT_FALSE(reader);  // NOLINT(bugprone-use-after-move): what a move leaves behind is promised
    EXPECT_EQ(moved.get(), first);
    moved = std::move(writer);
    EXPECT_FALSE(is_open(first));
    EXPECT_TRUE(is_open(second));

    const int released = moved.release();
    EXPECT_FALSE(moved);
    moved.reset();
    EXPECT_TRUE(is_open(released));
    UniqueFd(released).reset();
    EXPECT_FALSE(is_open(second));
}

TEST_F(TemporaryFile, IsReadWholeUpToTheLimit) {
    const std::string text(40000, 'x');
    write(text);
    EXPECT_EQ(*read_file(path_), text);
    EXPECT_EQ(*read_file(path_, text.size()), text);
    const auto over = read_file(path_, text.size() - 1);
    ASSERT_FALSE(over);
    EXPECT_EQ(over.error().code, ErrorCode::kExhausted);
    EXPECT_TRUE(over.error().message.starts_with(path_));
}

TEST_F(TemporaryFile, IsMapped) {
    write("abc");
    auto file = MappedFile::open(path_);
    ASSERT_TRUE(file);
    ASSERT_EQ(file->bytes().size(), 3U);
    EXPECT_EQ(file->bytes()[1], std::byte{'b'});

    MappedFile other;
    other = std::move(*file);
    EXPECT_TRUE(file->bytes().empty());
    EXPECT_EQ(other.bytes()[2], std::byte{'c'});
}

TEST_F(TemporaryFile, EmptyMapsToNothing) {
    write("");
    const auto file = MappedFile::open(path_);
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->bytes().empty());
}

TEST_F(TemporaryFile, MissingIsNamed) {
    for (const Error& error :
         {read_file(path_).error(), MappedFile::open(path_).error(), open_file(path_, 0).error()}) {
        EXPECT_EQ(error.code, ErrorCode::kNotFound);
        EXPECT_EQ(error.message, path_ + ": No such file or directory");
    }
}

TEST_F(TemporaryFile, IsClosedOnExec) {
    write("x");
    const auto fd = open_file(path_, O_RDONLY);
    ASSERT_TRUE(fd);
    EXPECT_EQ(::fcntl(fd->get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(WriteAll, SaysWhatTheSystemSaid) {
    const auto ends = make_pipe();
    const std::array<std::byte, 4> bytes{};
    const auto result = write_all(ends[0].get(), bytes);  // the end for reading
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().error_number, EBADF);
    EXPECT_TRUE(write_all(ends[1].get(), bytes));
}

TEST(ReadFd, ReadsAPipeToItsEnd) {
    auto [reader, writer] = make_pipe();
    ASSERT_TRUE(write_all(writer.get(), std::as_bytes(std::span(std::string_view("hello")))));
    writer.reset();
    EXPECT_EQ(*read_fd(reader.get(), 100), "hello");
}

}  // namespace
}  // namespace perfvigil
