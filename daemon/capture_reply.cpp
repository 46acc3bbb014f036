// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_reply.hpp"

#include <boost/json.hpp>

#include "analyzer/profile/codec.hpp"
#include "analyzer/report.hpp"
#include "base/text.hpp"
#include "daemon/protocol.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
using Format = CaptureRequest::Format;

template <class Number>
void append_little_endian(std::string& out, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) out += static_cast<char>((number >> (8 * i)) & 0xffU);
}

std::string_view characters(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class StreamedFile final : public collector::CaptureFile {
public:
    explicit StreamedFile(CaptureReply& reply) : reply_(reply) {}

    Result<void> append(std::vector<std::byte> bytes) override {
        auto sent = write_at(size_, bytes);
        size_ += bytes.size();
        return sent;
    }
    Result<void> write_at(std::uint64_t offset, std::vector<std::byte> bytes) override {
        if (reply_.bytes(offset, bytes)) return {};
        return fail(ErrorCode::kExhausted, "the caller takes the capture's bytes more slowly than they come");
    }
    Result<void> commit() override { return {}; }
    const std::string& path() const override { return name_; }

private:
    CaptureReply& reply_;
    std::uint64_t size_ = 0;
    std::string name_ = "capture";
};

}  // namespace

bool CaptureReply::frame(char kind, std::string_view head, std::string_view payload) {
    std::string bytes;
    bytes.reserve(protocol::frame::kHeadSize + head.size() + payload.size());
    bytes += kind;
    append_little_endian(bytes, static_cast<std::uint32_t>(head.size() + payload.size()));
    bytes += head;
    bytes += payload;
    return stream_->push(bytes);
}

void CaptureReply::event(std::string_view name, json::object fields) {
    if (format_ != Format::kStream) return;
    fields[protocol::field::kEvent] = name;
    (void)frame(protocol::frame::kEvent, json::serialize(fields), {});
}

bool CaptureReply::bytes(std::uint64_t offset, Bytes bytes) {
    std::string place;
    append_little_endian(place, offset);
    return frame(protocol::frame::kBytes, place, characters(bytes));
}

void CaptureReply::profile(const analyzer::Profile& profile) {
    if (format_ == Format::kText) {
        (void)stream_->push(analyzer::report_text(profile, {}));
    } else if (format_ == Format::kJson) {
        (void)stream_->push(analyzer::report_json(profile, {.top = 0}) + "\n");
    } else {
        const auto encoded = analyzer::encode_profile(profile);
        if (format_ == Format::kStream)
            (void)frame(protocol::frame::kProfile, {}, characters(encoded));
        else
            (void)stream_->push(characters(encoded));
    }
}

void CaptureReply::failure(const std::string& why) {
    if (format_ == Format::kText) (void)stream_->push("no capture: " + escape(why) + "\n");
    if (format_ == Format::kJson) {
        (void)stream_->push(json::serialize(json::object{{protocol::field::kError, escape(why)}}) + "\n");
    }
}

void CaptureReply::end() { stream_->end(); }

std::unique_ptr<collector::CaptureFile> streamed_file(CaptureReply& reply) {
    return std::make_unique<StreamedFile>(reply);
}

}  // namespace perfvigil::daemon
