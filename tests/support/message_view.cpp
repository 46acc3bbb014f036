// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/support/message_view.hpp"

#include <zlib.h>

#include <protozero/pbf_reader.hpp>
#include <stdexcept>

namespace perfvigil::test {

std::string gunzip(std::string_view bytes) {
    z_stream stream{};
    if (inflateInit2(&stream, 15 + 16) != Z_OK) throw std::runtime_error("inflateInit2");
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream.avail_in = static_cast<uInt>(bytes.size());
    std::string out;
    int status = Z_OK;
    while (status == Z_OK) {
        const std::size_t had = out.size();
        out.resize(had + 65536);
        stream.next_out = reinterpret_cast<Bytef*>(out.data() + had);
        stream.avail_out = 65536;
        status = inflate(&stream, Z_NO_FLUSH);
        out.resize(out.size() - stream.avail_out);
    }
    const bool all = stream.avail_in == 0;
    (void)inflateEnd(&stream);
    if (status != Z_STREAM_END || !all) throw std::runtime_error("not one gzip member");
    return out;
}

MessageView::MessageView(std::string_view bytes) {
    protozero::pbf_reader reader(bytes.data(), bytes.size());
    while (reader.next()) {
        Field field;
        field.tag = reader.tag();
        switch (reader.wire_type()) {
            case protozero::pbf_wire_type::varint:
                field.is_number = true;
                field.number = reader.get_uint64();
                break;
            case protozero::pbf_wire_type::fixed64:
                field.is_number = true;
                field.number = reader.get_fixed64();
                break;
            case protozero::pbf_wire_type::length_delimited: field.bytes = reader.get_string(); break;
            default: throw std::runtime_error("an unexpected wire type");
        }
        fields_.push_back(std::move(field));
    }
}

std::uint64_t MessageView::number(std::uint32_t tag) const {
    std::uint64_t value = 0;
    for (const auto& field : fields_) {
        if (field.tag == tag && field.is_number) value = field.number;
    }
    return value;
}

std::string MessageView::text(std::uint32_t tag) const {
    const auto all = texts(tag);
    return all.empty() ? std::string() : all.back();
}

std::vector<std::uint64_t> MessageView::numbers(std::uint32_t tag) const {
    std::vector<std::uint64_t> values;
    for (const auto& field : fields_) {
        if (field.tag != tag) continue;
        if (field.is_number) values.push_back(field.number);
        const char* at = field.bytes.data();
        const char* const end = at + field.bytes.size();
        while (at != end) values.push_back(protozero::decode_varint(&at, end));
    }
    return values;
}

std::vector<std::string> MessageView::texts(std::uint32_t tag) const {
    std::vector<std::string> values;
    for (const auto& field : fields_) {
        if (field.tag == tag && !field.is_number) values.push_back(field.bytes);
    }
    return values;
}

std::vector<MessageView> MessageView::messages(std::uint32_t tag) const {
    std::vector<MessageView> values;
    for (const auto& field : fields_) {
        if (field.tag == tag && !field.is_number) values.emplace_back(field.bytes);
    }
    return values;
}

}  // namespace perfvigil::test
