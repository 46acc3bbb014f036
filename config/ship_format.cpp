// SPDX-License-Identifier: GPL-2.0-or-later
#include "config/ship_format.hpp"

namespace perfvigil::config {

Parsed<std::string> ShipTargetFormat::parse(std::string_view text) const {
    if (text.empty()) return std::string();
    if (text.starts_with('/')) return PathFormat{}.parse(text);
    if (parse_ship_url(text)) return std::string(text);
    if (text.starts_with("https://")) {
        return refuse("there is no TLS here",
                      "write http:// and the address of a collector on this host, which sends on");
    }
    if (text.starts_with("http://")) {
        return refuse("\"" + escape(text) + "\" is no address with a port: names are not resolved here",
                      "write one such as http://127.0.0.1:4318/v1development/profiles");
    }
    return refuse("\"" + escape(text) + "\" is neither a folder nor a URL",
                  "write /an/absolute/folder or http://127.0.0.1:4318/v1development/profiles");
}

Parsed<ShipFormat> ShipFormatFormat::parse(std::string_view text) const {
    if (text == "pprof") return ShipFormat::kPprof;
    if (text == "otlp") return ShipFormat::kOtlp;
    return refuse("\"" + escape(text) + "\" is not known", "write pprof or otlp");
}

}  // namespace perfvigil::config
