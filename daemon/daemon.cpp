// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/daemon.hpp"

#include <pthread.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <thread>

#include "base/text.hpp"
#include "collector/sample_cost.hpp"
#include "config/config.hpp"
#include "daemon/analysis_desk.hpp"
#include "daemon/analyst.hpp"
#include "daemon/api.hpp"
#include "daemon/board.hpp"
#include "daemon/capture_desk.hpp"
#include "daemon/disk_writer.hpp"
#include "daemon/doors.hpp"
#include "daemon/freeze_desk.hpp"
#include "daemon/hidden.hpp"
#include "daemon/host_examination.hpp"
#include "daemon/live_slice.hpp"
#include "daemon/log.hpp"
#include "daemon/names.hpp"
#include "daemon/notify.hpp"
#include "daemon/sampler.hpp"
#include "daemon/shipper.hpp"
#include "daemon/source.hpp"

namespace perfvigil::daemon {
namespace {

namespace asio = boost::asio;
using boost::system::error_code;

// The service manager hears twice within its limit.
constexpr int kBeatsPerLimit = 2;
// At the end captures on demand get this long to hand over what they recorded, half of it with names.
constexpr auto kCapturesPatience = std::chrono::milliseconds(2000);
constexpr auto kCapturesLook = std::chrono::milliseconds(20);
// At the end names are waited for this long: the daemon has five seconds in all to store its last window.
constexpr int kNamesPatienceMs = 2000;

collector::Degraded capture_trouble(const Error& error) {
    return {"captures", "raw records are not kept: " + error.message,
            "make captures.dir writable and free space there, or set captures.enabled: false; it is tried again every "
            "minute"};
}

collector::Degraded ship_trouble(const Error& error) {
    return {"ship", "windows are not shipped: " + error.message,
            "see the collector at ship.to; windows wait in the store meanwhile, at most ship.waiting of them"};
}

template <class Run>
std::jthread named_thread(const char* name, Run run) {
    return std::jthread([name, run](const std::stop_token& stop) {
        ::pthread_setname_np(::pthread_self(), name);
        run(stop);
    });
}

class Daemon final : private api::Source {
public:
    Daemon(config::Options options, const RunOptions& run)
        : options_(std::move(options)), run_(run), clock_(system_clock()), notifier_(Notifier::from_environment()) {}

    int run() {
        if (auto opened = open(); !opened) {
            log::error("cannot start", {{"why", opened.error().message}});
            return opened.error().code == ErrorCode::kPermission ? kExitNoRights : kExitFailed;
        }
        start_threads();
        doors_.serve(*this);
        watch_signals();
        watch_over();
        board_.state = source_.session != nullptr ? RunState::kRecording : RunState::kReplaying;
        notifier_.ready("profiling " + source_.name);
        log::info("profiling", {{"source", source_.name},
                                {"cpus", source_.session != nullptr ? source_.session->cpus().size() : 0},
                                {"hertz", options_.recording.tuning.frequency},
                                {"version", PERFVIGIL_VERSION}});
        io_.run();
        end_threads();
        return exit_;
    }

private:
    Result<void> open() {
        if (auto opened = doors_.open(); !opened) return opened;
        if (!run_.replay) calibrate();
        auto source = run_.replay ? open_replay(*run_.replay, run_.speed, clock_) : open_kernel(options_, clock_);
        if (!source) return fail(std::move(source.error()));
        source_ = std::move(*source);
        names_ = std::make_unique<Names>(source_,
                                         analyzer::DebuginfodOptions{.urls = options_.symbols.debuginfod,
                                                                     .cache = options_.symbols.debuginfod_directory},
                                         clock_);
        source_.host.text_ranges = text_ranges_of(source_, *names_);
        board_.degraded.set("symbols", names_->symbolizer.degraded());
        hide();
        if (source_.session == nullptr) return {};
        board_.degraded.set("session", source_.session->degraded());
        examination_.emplace(board_.degraded, HostTrials{std::move(tried_), sample_cost_});
        examination_->configure(options_);
        if (auto started = source_.session->start(); !started) return started;
        source_.host.cpu_times = source_.session->host().cpu_times;
        return {};
    }

    void hide() {
        std::vector<std::string> unknown;
        hidden_ = hidden_of(options_, unknown);
        for (const auto& user : unknown) {
            log::warning("there is no such user here, and nothing is excluded for it", {{"exclude.users", user}});
        }
        if (options_.hides() && options_.captures.enabled) {
            log::info("no raw captures are kept, for they would tell what exclude and redact hide");
        }
    }

    // Before anything is recorded: it keeps one CPU busy for a moment.
    void calibrate() {
        tried_ = try_clock(collector::live_kernel(), options_.recording, clock_);
        sample_cost_ = collector::calibrate_sample_cost(clock_);
        const auto micros = std::chrono::duration<double, std::micro>(sample_cost_.value).count();
        if (sample_cost_.assumed) {
            log::info("cost of a sample assumed", {{"microseconds", micros}, {"why", sample_cost_.why}});
        } else {
            log::info("cost of a sample measured", {{"microseconds", micros}});
        }
    }

    void start_threads() {
        if (source_.session != nullptr) {
            desk_.emplace(CaptureDesk::Parts{
                .options = options_,
                .clock = clock_,
                .sample_cost = sample_cost_,
                .use = board_.captures,
                .host = source_.host,
                .hidden = hidden_,
                .has_pmu =
                    [this] {
                        return std::ranges::none_of(board_.degraded.of("session"), [](const auto& one) {
                            return one.reason == "no_pmu" || one.reason == "nohz_full";
                        });
                    },
                .other_ring_bytes = [this] { return board_.recording.value()->ring_bytes; },
                .post = [this](std::function<void()> work) { asio::post(io_, std::move(work)); }});
        }
        const bool captures = options_.captures.enabled && !options_.hides() && source_.session != nullptr;
        sampler_ =
            std::make_unique<Sampler>(Sampler::Parts{.source = *source_.records,
                                                     .session = source_.session,
                                                     .host = source_.host,
                                                     .listener = source_.capture == nullptr ? &names_->opener : nullptr,
                                                     .limits = {.max_stack = options_.recording.tuning.max_stack},
                                                     .queues = queues_,
                                                     .board = board_,
                                                     .clock = clock_,
                                                     .control = control_limits(),
                                                     .configured = options_.recording.tuning,
                                                     .sample_cost = sample_cost_,
                                                     .exclude = hidden_.exclude});
        const auto report = [this](const std::optional<Error>& error) {
            if (error)
                board_.degraded.set("captures", {capture_trouble(*error)});
            else
                board_.degraded.clear("captures");
        };
        if (captures) {
            disk_ = std::make_unique<DiskWriter>(options_.captures.directory, options_.captures.bytes, report);
            limit_captures();
            sampler_->keep_captures(options_.captures, *disk_, report);
            freeze_desk_.emplace(FreezeDesk::Parts{.disk = *disk_,
                                                   .options = options_,
                                                   .clock = clock_,
                                                   .cut = [this] { sampler_->cut_capture(); },
                                                   .captures = *desk_,
                                                   .post = [this](auto work) { asio::post(io_, std::move(work)); }});
        }
        analyst_ = std::make_unique<Analyst>(Analyst::Parts{.options = options_,
                                                            .symbolizer = names_->symbolizer,
                                                            .host = source_.host,
                                                            .surroundings = surroundings(),
                                                            .queues = queues_,
                                                            .board = board_,
                                                            .clock = clock_,
                                                            .sample_cost = sample_cost_,
                                                            .replay = source_.session == nullptr});
        if (!options_.ship.to.empty() && source_.session != nullptr) begin_shipping();
        analyst_thread_ = named_thread("analyst", [this](const std::stop_token& stop) {
            analyst_->run(stop);
            analyst_ended_.raise();
        });
        sampler_thread_ = named_thread("sampler", [this](const std::stop_token& stop) {
            auto outcome = sampler_->run(stop);
            asio::post(io_, [this, outcome = std::move(outcome)] { on_source_end(outcome); });
        });
    }

    void begin_shipping() {
        shipper_ = std::make_unique<Shipper>(
            Shipper::Parts{.options = options_.ship,
                           .store_directory = options_.store.directory,
                           .catalog = [this] { return analyst_->catalog(); },
                           .target = make_ship_target(options_.ship, options_.store.free_bytes),
                           .clock = clock_,
                           .report =
                               [this](const std::optional<Error>& error) {
                                   if (error)
                                       board_.degraded.set("ship", {ship_trouble(*error)});
                                   else
                                       board_.degraded.clear("ship");
                               }});
    }

    void limit_captures() {
        disk_->set_budget(options_.captures.bytes);
        disk_->set_keep(options_.captures.keep);
        disk_->set_frozen_budget(options_.captures.frozen_bytes);
        disk_->set_free_limit(options_.store.free_bytes);
    }

    ControlLimits control_limits() const {
        return {.rings_total = options_.recording.rings_total_bytes,
                .budget = options_.budget.cpu,
                .page_size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))};
    }

    Surroundings surroundings() {
        return {.note_kernel_change = [this] { names_->symbolizer.note_kernel_change(); },
                .no_names = [this] { return names_->symbolizer.degraded(); },
                .symbol_child = [this] { return names_->child.pid(); },
                .dropped_files = [this] { return names_->opener.counters().dropped; },
                .captures = [this]() -> Surroundings::Captures {
                    if (disk_ == nullptr) return {};
                    return {disk_->bytes_on_disk(), disk_->files_on_disk(), disk_->abandoned_files(),
                            sampler_->current_capture(), disk_->frozen_bytes()};
                },
                .on_stored =
                    [this](const std::string& id) {
                        if (shipper_) shipper_->offer(id);
                    },
                .shipped = [this] { return shipper_ ? std::optional(shipper_->counters()) : std::nullopt; },
                .on_window =
                    [this](const analyzer::Profile& profile) {
                        if (examination_) examination_->on_window(profile, clock_.monotonic());
                    },
                .frozen = [this] { return disk_ ? disk_->frozen() : std::make_shared<const std::vector<Frozen>>(); },
                .on_rule =
                    [this](const Firing& firing, Nanoseconds last) {
                        if (freeze_desk_) freeze_desk_->on_rule(firing, last);
                    },
                .captures_beside =
                    [this](WallTime from, WallTime to) {
                        auto notes = desk_ ? desk_->notes(from, to) : std::vector<std::string>();
                        if (freeze_desk_) std::ranges::move(freeze_desk_->notes(from, to), std::back_inserter(notes));
                        return notes;
                    }};
    }

    // In the order of the data, so that nothing that was recorded is lost.
    void end_threads() {
        board_.state = RunState::kStopping;
        if (desk_) desk_->close();
        sampler_thread_.request_stop();
        sampler_thread_.join();
        analyst_thread_.request_stop();
        analyst_ended_.wait(kNamesPatienceMs);
        names_->hurry();
        analyst_thread_.join();
        shipper_.reset();
        disk_.reset();
        log::info("ended", {{"windows", analyst_->catalog()->size()}});
    }

    void on_source_end(const Result<void>& outcome) {
        if (!outcome) {
            log::error("recording broke", {{"why", outcome.error().message}});
            exit_ = kExitFailed;
            return stop();
        }
        if (source_.session != nullptr || board_.state == RunState::kStopping) return;
        board_.state = RunState::kEnded;
        log::info("replay ended; its windows are served until a signal comes", {{"file", source_.name}});
        notifier_.status("replayed " + source_.name);
    }

    void watch_signals() {
        signals_.async_wait([this](const error_code& error, int signal) {
            if (error) return;
            if (signal == SIGHUP) {
                reload();
                return watch_signals();
            }
            log::info("stopping", {{"signal", signal == SIGTERM ? "TERM" : "INT"}});
            stop();
        });
    }

    void stop() {
        board_.state = RunState::kStopping;
        notifier_.stopping();
        doors_.stop_accepting();
        board_.live.close();
        analyses_.close();
        watch_timer_.cancel();
        signals_.cancel();
        sampler_thread_.request_stop();
        if (desk_) desk_->stop();
        let_captures_end(clock_.monotonic());
    }

    // Callers of captures get what was recorded until now, if they take it in time.
    void let_captures_end(MonotonicTime since) {
        const auto waited = clock_.monotonic() - since;
        if (!desk_ || (desk_->idle() && !doors_.streams()) || waited >= kCapturesPatience) {
            doors_.close();
            return io_.stop();
        }
        if (waited >= kCapturesPatience / 2) desk_->hurry();
        captures_timer_.expires_after(kCapturesLook);
        captures_timer_.async_wait([this, since](const error_code&) { let_captures_end(since); });
    }

    void watch_over() {
        if (!notifier_.watchdog()) return;
        watch_timer_.expires_after(
            std::chrono::duration_cast<std::chrono::steady_clock::duration>(*notifier_.watchdog() / kBeatsPerLimit));
        watch_timer_.async_wait([this](const error_code& error) {
            if (error) return;
            const auto why = unhealthy();
            if (why.empty())
                notifier_.alive();
            else
                log::error("watchdog not answered", {{"why", why}});
            watch_over();
        });
    }

    void reload() {
        notifier_.reloading(clock_.monotonic());
        apply_reload();
        notifier_.ready("profiling " + source_.name);
    }

    void apply_reload() {
        if (run_.config_file.empty()) return log::warning("no configuration file to reload");
        const auto loaded = config::load_file(run_.config_file);
        for (const auto& fault : loaded.faults) {
            log::error("configuration", {{"fault", config::to_text(fault, run_.config_file)}});
        }
        if (!loaded.faults.empty()) return log::error("reload refused, the configuration in force is kept");
        const auto changed = config::difference(options_, loaded.options);
        for (const auto key : changed.restart) log::warning("needs a restart to change", {{"key", key}});
        auto next = config::with_live_keys(options_, loaded.options);
        if (auto read = doors_.reload(next.listen); !read)
            return log::error("reload refused", {{"why", read.error().message}});
        // The analyst reads its own copy; nobody else looks at options_ while they change.
        options_ = std::move(next);
        log::set_level(options_.log.level);
        if (examination_) examination_->configure(options_);
        sampler_->configure(options_.recording.tuning, options_.budget.cpu);
        sampler_->set_capture_limits(options_.captures.file_bytes, options_.captures.file_age);
        if (disk_ != nullptr) limit_captures();
        if (desk_) desk_->set_budget(options_.budget.captures);
        analyst_->reload(options_);
        std::string keys;
        for (const auto key : changed.live) keys += (keys.empty() ? "" : ",") + std::string(key);
        log::info("reloaded", {{"changed", keys}});
    }

    // --- api::Source, on this thread
    std::shared_ptr<const std::string> exposition() override { return board_.metrics.take(clock_.monotonic()); }
    std::string unhealthy() override { return why_unhealthy(board_.pulse(), clock_.monotonic()); }
    std::string not_ready() override { return why_not_ready(board_.pulse(), clock_.monotonic()); }
    std::shared_ptr<const Catalog> catalog() override { return analyst_->catalog(); }
    Result<std::vector<std::byte>> encoded_profile(const Window& window) override {
        return read_window(options_.store.directory, window);
    }
    std::function<Result<std::vector<std::byte>>(const Window&)> profile_reader() override {
        return [directory = options_.store.directory](const Window& window) { return read_window(directory, window); };
    }
    AnalysisDesk& analyses() override { return analyses_; }
    // What was kept before exclude and redact were set is not shown either.
    std::string captures_directory() override { return options_.hides() ? std::string() : options_.captures.directory; }
    Page& page() override { return page_; }
    WebSessions& web_sessions() override { return web_sessions_; }
    LiveFeed& live_feed() override { return board_.live; }
    std::string live_json(const LiveSlices& slices) override {
        return daemon::live_json({.run = started_wall_,
                                  .state = board_.state,
                                  .slice = options_.recording.slice,
                                  .window = options_.analysis.window,
                                  .hostname = source_.host.hostname,
                                  .degraded = board_.degraded.all()},
                                 slices);
    }
    api::Captures* captures() override { return desk_ ? &*desk_ : nullptr; }
    api::Frozen* frozen() override { return freeze_desk_ ? &*freeze_desk_ : nullptr; }
    std::string status_json() override {
        Status status;
        status.state = board_.state;
        status.not_ready = not_ready();
        status.config_file = run_.config_file;
        status.source = source_.name;
        status.hostname = source_.host.hostname;
        status.started = started_wall_;
        status.uptime = clock_.monotonic() - started_;
        status.slice = options_.recording.slice;
        status.window = options_.analysis.window;
        status.store_directory = options_.store.directory;
        status.store_limit = options_.store.bytes;
        status.store_windows = analyst_->catalog()->size();
        status.captures_enabled = disk_ != nullptr;
        status.captures_directory = options_.captures.directory;
        status.captures_limit = options_.captures.bytes;
        status.recording = *board_.recording.value();
        status.degraded = board_.degraded.all();
        return daemon::status_json(status);
    }

    config::Options options_;
    const RunOptions& run_;
    const Clock& clock_;
    Notifier notifier_;
    MonotonicTime started_ = clock_.monotonic();
    WallTime started_wall_ = clock_.wall();
    int exit_ = kExitDone;

    Board board_{options_.recording.slice};
    std::optional<HostExamination> examination_;  // of a host that is recorded
    SliceQueues queues_;
    std::vector<collector::EventProbe> tried_;
    collector::SampleCost sample_cost_ = collector::assumed_sample_cost("a replay takes no samples");
    RunSource source_;
    analyzer::Hidden hidden_;
    std::unique_ptr<Names> names_;
    std::unique_ptr<DiskWriter> disk_;
    std::unique_ptr<Sampler> sampler_;
    std::unique_ptr<Analyst> analyst_;
    std::unique_ptr<Shipper> shipper_;  // reads what the analyst keeps

    std::optional<FreezeDesk> freeze_desk_;
    std::optional<CaptureDesk> desk_;  // outlives the sessions, which hold its streams

    AnalysisDesk analyses_;
    Page page_{default_page_folder()};
    WebSessions web_sessions_;

    asio::io_context io_{1};
    Doors doors_{io_, options_, board_.degraded};
    asio::signal_set signals_{io_, SIGTERM, SIGINT, SIGHUP};
    asio::steady_timer watch_timer_{io_};
    asio::steady_timer captures_timer_{io_};
    WakeEvent analyst_ended_;
    std::jthread analyst_thread_;
    std::jthread sampler_thread_;
};

}  // namespace

int run_daemon(config::Options options, const RunOptions& run) {
    Daemon daemon(std::move(options), run);
    return daemon.run();
}

}  // namespace perfvigil::daemon
