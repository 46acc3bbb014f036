// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/capture_reply.hpp"

#include <utility>

#include <fmt/format.h>
#include <boost/json.hpp>

#include "analyzer/profile/codec.hpp"
#include "analyzer/report.hpp"
#include "base/text.hpp"
#include "daemon/capture_files.hpp"
#include "daemon/protocol.hpp"
#include "daemon/store_files.hpp"

namespace perfvigil::daemon {
namespace {

namespace json = boost::json;
using Format = CaptureRequest::Format;

template <class Number>
void append_little_endian(std::string& out, Number number) {
    for (std::size_t i = 0; i < sizeof number; ++i) out += static_cast<char>((number >> (8 * i)) & 0xffU);
}

std::string_view characters(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

class ReplyToCaller final : public CaptureReply {
public:
    ReplyToCaller(std::shared_ptr<CaptureStream> stream, Format format) : stream_(std::move(stream)), format_(format) {}

    void event(std::string_view name, json::object fields) override {
        if (format_ != Format::kStream) return;
        fields[protocol::field::kEvent] = name;
        (void)frame(protocol::frame::kEvent, json::serialize(fields), {});
    }
    Result<std::unique_ptr<collector::CaptureFile>> file() override;
    void profile(const analyzer::Profile& profile) override {
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
    void failure(const std::string& why) override {
        if (format_ == Format::kText) (void)stream_->push("no capture: " + escape(why) + "\n");
        if (format_ == Format::kJson) {
            (void)stream_->push(json::serialize(json::object{{protocol::field::kError, escape(why)}}) + "\n");
        }
    }
    void end() override { stream_->end(); }

    // Of the capture file; false: the caller does not take them.
    [[nodiscard]] bool bytes(std::uint64_t offset, Bytes bytes) {
        std::string place;
        append_little_endian(place, offset);
        return frame(protocol::frame::kBytes, place, characters(bytes));
    }

private:
    bool frame(char kind, std::string_view head, std::string_view payload) {
        std::string bytes;
        bytes.reserve(protocol::frame::kHeadSize + head.size() + payload.size());
        bytes += kind;
        append_little_endian(bytes, static_cast<std::uint32_t>(head.size() + payload.size()));
        bytes += head;
        bytes += payload;
        return stream_->push(bytes);
    }

    std::shared_ptr<CaptureStream> stream_;
    Format format_;
};

// A capture file whose bytes go to the caller, who writes it.
class StreamedFile final : public collector::CaptureFile {
public:
    explicit StreamedFile(ReplyToCaller& reply) : reply_(reply) {}

    Result<void> append(std::vector<std::byte> bytes) override {
        auto sent = write_at(size_, bytes);
        size_ += bytes.size();
        return sent;
    }
    Result<void> write_at(std::uint64_t offset, std::vector<std::byte> bytes) override {
        if (reply_.bytes(offset, bytes)) return {};
        return fail(ErrorCode::kCancelled, "the caller takes the capture's bytes more slowly than they come");
    }
    Result<void> commit() override { return {}; }
    const std::string& path() const override { return name_; }

private:
    ReplyToCaller& reply_;
    std::uint64_t size_ = 0;
    std::string name_ = "capture";
};

Result<std::unique_ptr<collector::CaptureFile>> ReplyToCaller::file() { return std::make_unique<StreamedFile>(*this); }

class ReplyToFolder final : public CaptureReply {
public:
    ReplyToFolder(std::string folder, std::string name, std::function<void(std::string)> done)
        : folder_(std::move(folder)), name_(std::move(name)), done_(std::move(done)) {}

    void event(std::string_view name, json::object fields) override {
        const auto number = [&](std::string_view key) {
            const auto* value = fields.if_contains(key);
            return value != nullptr && value->is_number() ? value->to_number<double>() : 0;
        };
        const auto text = [&](std::string_view key) {
            const auto* value = fields.if_contains(key);
            return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
        };
        if (name == protocol::event::kRecorded) {
            numbers_ = fmt::format("{:.0f} samples, {:.0f} lost in {:.1f} s", number(protocol::field::kSamples),
                                   number(protocol::field::kLost), number(protocol::field::kElapsedSeconds));
        } else if (name == protocol::event::kEnd) {
            result_ = text(protocol::field::kResult);
            if (const auto why = text(protocol::field::kMessage); !why.empty()) result_ += ": " + why;
        }
    }
    Result<std::unique_ptr<collector::CaptureFile>> file() override {
        return collector::create_capture_file(folder_ + "/" + name_ + std::string(kCaptureSuffix));
    }
    void profile(const analyzer::Profile& profile) override {
        const auto written = write_profile(folder_, name_, analyzer::encode_profile(profile));
        if (!written) trouble_ = "; its profile is not kept: " + escape(written.error().message);
    }
    void failure(const std::string&) override {}
    void end() override { done_(result_ + (numbers_.empty() ? "" : "; " + numbers_) + trouble_); }

private:
    std::string folder_;
    std::string name_;
    std::function<void(std::string)> done_;
    std::string numbers_;
    std::string result_;
    std::string trouble_;
};

}  // namespace

std::unique_ptr<CaptureReply> reply_to_caller(std::shared_ptr<CaptureStream> stream, Format format) {
    return std::make_unique<ReplyToCaller>(std::move(stream), format);
}

std::unique_ptr<CaptureReply> reply_to_folder(std::string folder, std::string name,
                                              std::function<void(std::string)> done) {
    return std::make_unique<ReplyToFolder>(std::move(folder), std::move(name), std::move(done));
}

}  // namespace perfvigil::daemon
