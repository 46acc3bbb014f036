// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/symbols/symbol_child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "analyzer/symbols/lines_format.hpp"
#include "base/text.hpp"

namespace perfvigil::analyzer {
namespace {

constexpr const char* kProgramName = "perfvigil-symbols";

// posix_spawn's two option objects, freed together.
class SpawnOptions {
public:
    SpawnOptions() {
        ::posix_spawn_file_actions_init(&actions_);
        ::posix_spawnattr_init(&attributes_);
    }
    ~SpawnOptions() {
        ::posix_spawn_file_actions_destroy(&actions_);
        ::posix_spawnattr_destroy(&attributes_);
    }
    SpawnOptions(const SpawnOptions&) = delete;
    SpawnOptions& operator=(const SpawnOptions&) = delete;

    // A group of its own (a terminal's ^C is for the parent), no blocked and no ignored signals, one socket. What the
    // child says goes to our standard error: it speaks only before the sandbox closes.
    void set_up(int socket) {
        for (const int fd : {STDIN_FILENO, STDOUT_FILENO}) {
            ::posix_spawn_file_actions_addopen(&actions_, fd, "/dev/null", O_RDWR, 0);
        }
        ::posix_spawn_file_actions_adddup2(&actions_, socket, kChildSocket);
        sigset_t none;
        sigset_t all;
        sigemptyset(&none);
        sigfillset(&all);
        ::posix_spawnattr_setsigmask(&attributes_, &none);
        ::posix_spawnattr_setsigdefault(&attributes_, &all);
        ::posix_spawnattr_setpgroup(&attributes_, 0);
        ::posix_spawnattr_setflags(&attributes_,
                                   POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    }
    [[nodiscard]] int spawn(const std::string& program, pid_t& pid) const {
        std::string name = kProgramName;
        const std::array<char*, 2> arguments{name.data(), nullptr};
        const std::array<char*, 1> environment{nullptr};
        return ::posix_spawn(&pid, program.c_str(), &actions_, &attributes_, arguments.data(), environment.data());
    }

private:
    posix_spawn_file_actions_t actions_;
    posix_spawnattr_t attributes_;
};

Result<UniqueFd> new_table() {
    const int fd = ::memfd_create("perfvigil-symbols", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return fail_errno(errno, "memfd_create");
    return UniqueFd(fd);
}

// After this nobody can change or shorten the table under us, whoever still holds it.
Result<void> seal(const UniqueFd& table) {
    if (::fcntl(table.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) != 0) {
        return fail(ErrorCode::kInvalid, errno_error(errno, "sealing the symbol table").message);
    }
    return {};
}

Result<MappedFile> seal_and_map(const UniqueFd& table) {
    if (auto sealed = seal(table); !sealed) return fail(std::move(sealed.error()));
    return MappedFile::map(table.get());
}

Result<std::vector<std::byte>> module_question(const std::vector<PlacedSection>& sections) {
    auto question = encode_sections(sections);
    if (sections.size() > kMaxModuleSections || question.size() > kMaxModuleQuestion) {
        return fail(ErrorCode::kInvalid, "a module of too many sections");
    }
    return question;
}

}  // namespace

std::string default_symbol_program() {
    if (const char* named = ::secure_getenv("PERFVIGIL_SYMBOLS"); named != nullptr && *named != '\0') return named;
    std::array<char, 4096> self{};
    const auto size = ::readlink("/proc/self/exe", self.data(), self.size());
    std::string folder(self.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
    folder.erase(folder.rfind('/') + 1);
    std::string program = folder + kProgramName;
    if (::access(program.c_str(), X_OK) == 0) return program;
    return folder + "../libexec/perfvigil/" + kProgramName;
}

SymbolChild::SymbolChild(SymbolChildOptions options, const Clock& clock) : options_(std::move(options)), clock_(clock) {
    if (options_.program.empty()) options_.program = default_symbol_program();
}

SymbolChild::~SymbolChild() { stop(); }

Result<MappedFile> SymbolChild::table_of(const Question& question, int fd) {
    auto table = new_table();
    if (!table) return fail(std::move(table.error()));
    if (auto asked = ask(question, fd, table->get()); !asked) return fail(std::move(asked.error()));
    return seal_and_map(*table);
}

Result<FileSymbols> SymbolChild::read_table(const Question& question, int fd) {
    auto table = table_of(question, fd);
    if (!table) return fail(std::move(table.error()));
    return FileSymbols::from_mapping(std::move(*table));
}

Result<FileUnwind> SymbolChild::read_unwind(int fd) {
    auto table = table_of({.kind = RequestKind::kUnwind}, fd);
    if (!table) return fail(std::move(table.error()));
    return FileUnwind::from_mapping(std::move(*table));
}

Result<FileSymbols> SymbolChild::read_module(int fd, const std::vector<PlacedSection>& sections) {
    const auto question = module_question(sections);
    if (!question) return fail(question.error());
    auto table = new_table();
    if (!table) return fail(std::move(table.error()));
    if (auto written = write_all(table->get(), *question); !written) return fail(std::move(written.error()));
    if (auto asked = ask({.kind = RequestKind::kModule}, fd, table->get()); !asked)
        return fail(std::move(asked.error()));
    auto mapped = seal_and_map(*table);
    if (!mapped) return fail(std::move(mapped.error()));
    return FileSymbols::from_mapping(std::move(*mapped), question->size());
}

Result<UniqueFd> SymbolChild::inflate(int fd) {
    auto made = new_table();
    if (!made) return made;
    if (auto asked = ask({.kind = RequestKind::kInflate}, fd, made->get()); !asked)
        return fail(std::move(asked.error()));
    if (auto sealed = seal(*made); !sealed) return fail(std::move(sealed.error()));
    return made;
}

Result<std::vector<std::string>> SymbolChild::demangled(std::span<const std::string_view> names) {
    std::string question;
    for (const auto name : names) {
        question += name.substr(0, name.find('\0'));  // the table's word, which is not ours
        question += '\0';
    }
    auto table = new_table();
    if (!table) return fail(std::move(table.error()));
    if (auto written = write_all(table->get(), std::as_bytes(std::span(question))); !written) {
        return fail(std::move(written.error()));
    }
    if (auto asked = ask({.kind = RequestKind::kDemangle}, table->get(), table->get()); !asked) {
        return fail(std::move(asked.error()));
    }
    const auto mapped = seal_and_map(*table);
    if (!mapped) return fail(mapped.error());
    std::string_view answer(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
    answer.remove_prefix(std::min(answer.size(), question.size()));
    std::vector<std::string> shown;
    while (!answer.empty() && shown.size() < names.size()) shown.emplace_back(next_piece(answer, '\0'));
    if (shown.size() != names.size()) return fail(ErrorCode::kInvalid, "the answer lacks names");
    return shown;
}

Result<SourceLines> SymbolChild::lines(int fd, std::vector<LinkAddress> addresses) {
    return addresses_answered<SourceLines>(RequestKind::kLines, fd, std::move(addresses), -1);
}

Result<InlinedFrames> SymbolChild::inlined(int fd, std::vector<LinkAddress> addresses, int shared) {
    return addresses_answered<InlinedFrames>(RequestKind::kInlined, fd, std::move(addresses), shared);
}

Result<InlinedFrames> SymbolChild::inlined_in_module(int fd, const std::vector<PlacedSection>& sections,
                                                     const std::vector<RuntimeAddress>& addresses) {
    auto question = module_question(sections);
    if (!question) return fail(std::move(question.error()));
    std::vector<LinkAddress> asked;
    for (const auto address : addresses) asked.push_back(LinkAddress{address.value});
    return addresses_answered<InlinedFrames>(RequestKind::kInlinedInModule, fd, std::move(asked), -1,
                                             std::move(*question));
}

// The question stands at the head of the memfd, the answer behind it.
template <class Answer>
Result<Answer> SymbolChild::addresses_answered(RequestKind kind, int fd, std::vector<LinkAddress> addresses, int shared,
                                               std::vector<std::byte> question) {
    std::ranges::sort(addresses);
    addresses.erase(std::ranges::unique(addresses).begin(), addresses.end());
    if (addresses.size() > kMaxLineAddresses) addresses.resize(kMaxLineAddresses);
    ByteWriter writer(question);
    for (const auto address : addresses) writer.u64(address.value);
    auto table = new_table();
    if (!table) return fail(std::move(table.error()));
    if (auto written = write_all(table->get(), question); !written) return fail(std::move(written.error()));
    if (auto asked = ask({.kind = kind, .shared = shared}, fd, table->get()); !asked)
        return fail(std::move(asked.error()));
    const auto mapped = seal_and_map(*table);
    if (!mapped) return fail(mapped.error());
    const Bytes answer = mapped->bytes();
    if (answer.size() < question.size()) return fail(ErrorCode::kInvalid, "the answer lost its question");
    return Answer::from_bytes(answer.subspan(question.size()), std::move(addresses));
}

// One request, answered into `table`.
Result<void> SymbolChild::ask(const Question& question, int file, int table) {
    if (cancelled()) return fail(ErrorCode::kCancelled, std::string(kProgramName) + ": cancelled");
    if (auto running = ensure_running(); !running) return running;
    Result<void> done = send_request(question, file, table);
    if (done) done = wait_reply();
    if (!done) return fail(std::move(done.error()).at(kProgramName));
    return {};
}

Result<void> SymbolChild::ensure_running() {
    if (pid_ != 0) {
        // It may have been killed between two files (by the OOM killer, say): no fault of the next file.
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == 0) return {};
        pid_ = 0;
        socket_.reset();
    }
    if (clock_.monotonic() < not_before_) return fail(ErrorCode::kBusy, "perfvigil-symbols keeps dying; paused");
    return start();
}

Result<void> SymbolChild::start() {
    std::array<int, 2> pair{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair.data()) != 0) {
        return fail_errno(errno, "socketpair");
    }
    UniqueFd ours(pair[0]);
    UniqueFd theirs(pair[1]);
    // dup2 to itself would keep the close-on-exec flag.
    if (theirs.get() == kChildSocket) {
        UniqueFd other(::fcntl(theirs.get(), F_DUPFD_CLOEXEC, kChildSocket + 1));
        if (!other) return fail_errno(errno, "F_DUPFD_CLOEXEC");
        theirs = std::move(other);
    }
    SpawnOptions spawn;
    spawn.set_up(theirs.get());
    if (const int error = spawn.spawn(options_.program, pid_); error != 0) {
        pid_ = 0;
        return fail_errno(error, options_.program);
    }
    theirs.reset();
    socket_ = std::move(ours);
    ++counters_.started;
    // A child that ends before it saw a file must not be held against the first one.
    const auto ready = wait_answer(options_.start_limit);
    if (ready && ready->reply && ready->reply->id == 0) return {};
    if (!ready && cancelled()) {
        stop();
        return fail(ErrorCode::kCancelled, std::string(kProgramName) + ": cancelled");
    }
    note_death();
    return fail(ErrorCode::kIo, options_.program + ": ended before it was ready, or is another program");
}

Result<void> SymbolChild::send_request(const Question& question, int file, int table) {
    auto text = encode(SymbolRequest{.kind = question.kind,
                                     .id = next_request_,
                                     .max_table_bytes = options_.table_bytes,
                                     .cpu_seconds = options_.cpu_seconds,
                                     .crc = question.crc,
                                     .names = question.names});
    const std::array<int, kMaxRequestDescriptors> fds{file, table, question.shared};
    const std::size_t fds_size = (question.shared < 0 ? kRequestDescriptors : kMaxRequestDescriptors) * sizeof(int);
    alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(fds))> control{};
    iovec part{.iov_base = text.data(), .iov_len = text.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(fds_size);
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds_size);
    std::memcpy(CMSG_DATA(header), fds.data(), fds_size);
    ssize_t sent = 0;
    do sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent >= 0) return {};
    const int error = errno;
    note_death();
    return fail_errno(error, "sendmsg");
}

std::optional<SymbolChild::Answer> SymbolChild::wait_answer(std::chrono::milliseconds limit) const {
    const auto deadline = std::chrono::steady_clock::now() + limit;
    // poll(2) passes over a descriptor of -1.
    std::array<pollfd, 2> waiting{{{.fd = socket_.get(), .events = POLLIN, .revents = 0},
                                   {.fd = options_.cancel_fd, .events = POLLIN, .revents = 0}}};
    int ready = 0;
    do {
        const auto left =
            std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
        ready = ::poll(waiting.data(), waiting.size(), static_cast<int>(std::max<std::int64_t>(left.count(), 0)));
    } while (ready < 0 && errno == EINTR);
    if (ready <= 0 || waiting[0].revents == 0) return std::nullopt;
    std::array<std::byte, kMaxMessage> text{};
    const auto size = ::recv(socket_.get(), text.data(), text.size(), 0);
    if (size <= 0) return Answer{};
    return Answer{decode_reply(Bytes(text).first(static_cast<std::size_t>(size)))};
}

bool SymbolChild::cancelled() const {
    pollfd raised{.fd = options_.cancel_fd, .events = POLLIN, .revents = 0};
    return ::poll(&raised, 1, 0) > 0;
}

Result<void> SymbolChild::wait_reply() {
    const auto answer = wait_answer(options_.time_limit);
    if (!answer && cancelled()) {
        stop();
        return fail(ErrorCode::kCancelled, "cancelled");
    }
    if (!answer) {
        ++counters_.timed_out;
        note_death();
        return fail(ErrorCode::kInvalid, "the file took longer than its time limit");
    }
    const auto& reply = answer->reply;
    if (!reply || reply->id != next_request_) {
        note_death();
        return fail(ErrorCode::kInvalid, "died of the file, or answered nonsense");
    }
    ++next_request_;
    deaths_in_a_row_ = 0;
    ++counters_.files;
    switch (reply->status) {
        case ReplyStatus::kWritten: return {};
        case ReplyStatus::kTooLarge: return fail(ErrorCode::kInvalid, "the symbol table is over its size limit");
        case ReplyStatus::kOtherFile: return fail(ErrorCode::kNotFound, "the file has another checksum");
        case ReplyStatus::kFailed: break;
    }
    return fail(ErrorCode::kInvalid, "the file is damaged, or needs more memory than its limit");
}

void SymbolChild::note_death() {
    stop();
    ++counters_.died;
    ++deaths_in_a_row_;
    // One hostile file must not delay the next good one; a child that cannot live at all must not be started forever.
    if (deaths_in_a_row_ < 2) return;
    auto pause = options_.first_pause;
    for (unsigned i = 2; i < deaths_in_a_row_ && pause < options_.longest_pause; ++i) pause *= 2;
    not_before_ = clock_.monotonic() + std::min(pause, options_.longest_pause);
}

void SymbolChild::stop() {
    socket_.reset();
    if (pid_ == 0) return;
    // Between two files it holds nothing worth a farewell.
    (void)::kill(pid_, SIGKILL);
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
}

}  // namespace perfvigil::analyzer
