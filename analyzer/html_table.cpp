// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyzer/html_table.hpp"

#include <algorithm>
#include <cassert>

#include <fmt/core.h>

namespace perfvigil::analyzer {

HtmlTable& HtmlTable::column(std::string_view title, Kind kind) {
    columns_.push_back({std::string(title), kind});
    return *this;
}

void HtmlTable::row(const std::vector<std::string>& cells) {
    assert(cells.size() == columns_.size());
    body_ += "<tr>";
    for (std::size_t i = 0; i < cells.size(); ++i) {
        body_ += columns_[i].kind == Kind::kNumber ? "<td class=n>" : "<td>";
        body_ += cells[i] + "</td>";
    }
    body_ += "</tr>\n";
}

std::string HtmlTable::render() const {
    std::string head;
    for (const auto& column : columns_) {
        head += column.kind == Kind::kNumber ? "<th class=n>" : "<th>";
        head += column.title + "</th>";
    }
    return "<div class=wide><table><thead><tr>" + head + "</tr></thead>\n<tbody>" + body_ + "</tbody></table></div>\n";
}

std::string html_share(double part, double whole) {
    if (whole <= 0) return "-";
    const double percent = std::clamp(100 * part / whole, 0.0, 100.0);
    return fmt::format("<span class=bar style=\"--w:{:.2f}%\">{:.2f}</span>", percent, percent);
}

std::string html_element(std::string_view tag, std::string_view content) {
    return fmt::format("<{}>{}</{}>\n", tag, content, tag.substr(0, tag.find(' ')));
}

std::string_view report_style() {
    return R"(:root{--ink:#1b1f24;--paper:#fff;--line:#d8dee4;--soft:#f4f6f8;--bar:#f6c99b;--dim:#656d76;--bad:#9a3412}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--paper:#0d1117;--line:#30363d;--soft:#161b22;--bar:#6b4423;
--dim:#8b949e;--bad:#ffb38a}}
body{font:14px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:80rem;margin:1.5rem auto;
padding:0 1rem}
h1{font-size:1.4rem;margin:0}h2{font-size:1.15rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}
h3{font-size:1rem;margin:1.2rem 0 .4rem}
p{margin:.3rem 0}.dim{color:var(--dim)}.alarm{color:var(--bad);font-weight:600}
.wide{overflow:auto;max-height:36rem}thead th{position:sticky;top:0;background:var(--paper)}
table{border-collapse:collapse;font-size:13px}
th{text-align:left;font-weight:600;border-bottom:1px solid var(--line);white-space:nowrap;padding:.15rem .7rem}
td{padding:.1rem .7rem;vertical-align:top}td:not(:last-child){white-space:nowrap}td:last-child{overflow-wrap:anywhere}
tbody tr:nth-child(odd){background:var(--soft)}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}
td code,summary code{font:12.5px/1.5 ui-monospace,monospace}
.bar{display:inline-block;min-width:5rem;padding:0 .2rem;
background:linear-gradient(to left,var(--bar) var(--w),transparent var(--w))}
summary{cursor:pointer;padding:.2rem 0}details{margin:.2rem 0}details[open]{margin-bottom:.8rem}
.sorts th{cursor:pointer}.sorts th[aria-sort]{text-decoration:underline}
figure{margin:0}svg{max-width:100%}
)";
}

std::string_view report_script() {
    return R"(for(const table of document.querySelectorAll("table")){
 table.classList.add("sorts");
 table.querySelectorAll("th").forEach((head,i)=>{
  head.tabIndex=0;
  const sort=()=>{
   const number=head.classList.contains("n");
   const was=head.getAttribute("aria-sort");
   const down=number?was!=="descending":was==="ascending";
   table.querySelectorAll("th").forEach(h=>h.removeAttribute("aria-sort"));
   head.setAttribute("aria-sort",down?"descending":"ascending");
   const key=row=>{const t=row.cells[i].textContent.trim();const n=parseFloat(t);return number?(isNaN(n)?-1:n):t};
   const order=(a,b)=>number?key(b)-key(a):key(a).localeCompare(key(b));
   const rows=[...table.tBodies[0].rows].sort(order);
   if(number!==down)rows.reverse();
   table.tBodies[0].append(...rows);
  };
  head.addEventListener("click",sort);
  head.addEventListener("keydown",e=>{if(e.key==="Enter")sort()});
 });
}
)";
}

}  // namespace perfvigil::analyzer
