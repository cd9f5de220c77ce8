// Holds the controller to recorded cycles of the Python controller: test_recorded_cycles FILE...
//
// Prints the largest error of each quantity, over the largest value of its row or one, and fails if one is above 1e-9.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>

#include "@package@/core.hpp"

using namespace @package@;  // NOLINT

namespace
{

constexpr double TOLERANCE = 1e-9;

/// The words of a line, one after the other, or a parameter as it is written down.
class Words
{
public:
  Words() = default;
  explicit Words(const std::string & text) : text_(text)
  {
    std::istringstream in(text);
    words_.assign(std::istream_iterator<std::string>(in), {});
  }

  bool more() const { return at_ < words_.size(); }

  template <typename T = Time>
  T next()
  {
    return static_cast<T>(std::strtod(words_.at(at_++).c_str(), nullptr));  // streams read neither "nan" nor "inf"
  }

  template <typename T>
  T next(T out)
  {
    std::generate(out.begin(), out.end(), [this]() { return next<double>(); });
    return out;
  }

  double as_double() const { return std::strtod(text_.c_str(), nullptr); }
  Time as_int() const { return static_cast<Time>(as_double()); }
  bool as_bool() const { return text_ == "true"; }
  const std::string & as_string() const { return text_; }
  const std::vector<std::string> & as_string_array() const { return words_; }
  std::vector<double> as_double_array() const { return Words(*this).next(std::vector<double>(words_.size())); }

private:
  std::string text_;
  std::vector<std::string> words_;
  std::size_t at_ = 0;
};

class Replay
{
public:
  int run(const char * path)
  {
    std::ifstream file(path);
    check(file.good(), std::string(path) + " cannot be read");
    for (std::string line; ++line_, std::getline(file, line);) {
      const std::string word = line.substr(0, line.find(' '));
      if (word == "settings" || word == "change") {
        configure(word == "change", file);
      } else {
        call(word, Words(line.substr(word.size())));
      }
      for (Event event; core_->reference.take(event);) {
        if (event.status == Status::rejected) {
          refused_ = code_of(event.reason);
        } else if (event.status != Status::released) {
          events_[event.id] = event;
        }
      }
    }
    for (const auto & [what, worst] : worst_) {
      std::printf("%s: %-12s %.3e\n", path, what.c_str(), worst);
      failures_ += worst <= TOLERANCE ? 0 : 1;
    }
    std::printf("%s: %s\n", path, failures_ == 0 ? "ok" : "FAILED");
    return failures_;
  }

private:
  void configure(bool change, std::istream & file)
  {
    std::map<std::string, Words> values;
    for (std::string line; ++line_, std::getline(file, line) && line != "end";) {
      const auto space = std::min(line.find(' '), line.size());
      values[line.substr(0, space)] = Words(line.substr(std::min(space + 1, line.size())));
    }
    const Settings settings = settings_of([&](const std::string & name) { return values.at(name); });
    check(problem_with(settings).empty(), problem_with(settings));
    if (change) {
      core_->change(settings, carrying(settings.payload));
    } else {
      core_ = std::make_unique<Core>(settings);
    }
  }

  void call(const std::string & word, Words x)
  {
    const Time first = x.next();  // the time of most calls
    if (word == "activate" || word == "state") {
      const Vector q = x.next(Vector{}), v = x.next(Vector{});
      const bool measured = x.more();
      const Vector effort = measured ? x.next(Vector{}) : Vector{};
      if (word == "state") {
        core_->update(first, q, v, measured ? &effort : nullptr);
      } else {
        check(core_->activate(first, q, v), "the first state is refused");
      }
    } else if (word == "watch") {
      core_->watch(first);
    } else if (word == "hold") {
      core_->hold(first);
    } else if (word == "wrench") {
      const auto link = x.next<std::size_t>();
      core_->set_external_wrench(link, x.next(std::array<double, 6>{}), first);
    } else if (word.rfind("target_", 0) == 0) {
      aim(word, first, x);
    } else if (word == "trajectory" || word == "point") {
      follow(word == "point", first, x);
    } else if (word == "refused") {
      check(static_cast<int>(refused_) == first, "should be refused with " + std::to_string(first));
    } else if (word == "goal") {
      const auto event = events_.find(static_cast<unsigned long>(first));
      const Time status = x.next() - 1;  // -1: it waits
      const bool same = event == events_.end() ? status < 0 : static_cast<Time>(event->second.status) == status;
      const bool code = status < 0 || static_cast<Time>(code_of(event->second.reason)) == x.next();
      check(same && code, "another result of goal " + std::to_string(first));
    } else {
      expect(static_cast<Mode>(first), x);
    }
  }

  void aim(const std::string & word, Time now, Words & x)
  {
    const bool accepted = x.next<int>() != 0;
    bool done = false;
    if (word == "target_path") {
      ToolPath path;
      path.in_link = x.next<int>() != 0;
      path.with_twists = x.next<int>() != 0;
      for (auto count = x.next<std::size_t>(); count > 0; --count) {
        const auto time = x.next<double>();
        const auto pose = x.next(std::array<double, 7>{});
        path.add(time, pose, x.next(std::array<double, 6>{}));
      }
      done = core_->target_path(path, now);
    } else {
      const Time stamp = x.next();
      const bool in_link = x.next<int>() != 0;
      if (word == "target_pose") {
        done = core_->target_pose(checked_pose(x.next(std::array<double, 7>{})), in_link, stamp, now);
      } else if (word == "target_twist") {
        done = core_->target_twist(x.next(std::array<double, 6>{}), in_link, stamp, now);
      } else {
        done = core_->target_wrench(x.next(std::array<double, 6>{}), in_link, stamp, now);
      }
    }
    check(done == accepted, word + (accepted ? " is refused" : " should be refused"));
  }

  void follow(bool single, Time now, Words & x)
  {
    const auto id = x.next<unsigned long>();
    const Time stamp = x.next();
    std::vector<std::string> names(x.next<std::size_t>());
    std::generate(names.begin(), names.end(), [&]() { return joint_names[x.next<std::size_t>()]; });
    std::vector<Point> points(x.next<std::size_t>());
    for (Point & point : points) {
      point.time_from_start = x.next();
      for (auto & field : point.fields) {
        field = x.next(std::vector<double>(x.next<std::size_t>()));
      }
    }
    refused_ = Code::successful;
    try {
      motions_.push_back(make_motion(names, points, stamp, now, core_->settings(), single));
      motions_.back()->id = id;
      single ? core_->stream(*motions_.back(), now) : core_->adopt(motions_.back().get(), now);
    } catch (const Rejected & error) {
      refused_ = core_->follows() ? error.code : Code::invalid_goal;
    }
  }

  void expect(Mode mode, Words & x)
  {
    const auto & c = core_->cycle;
    check(mode == core_->mode(), std::string("mode is ") + name_of(core_->mode()) + ", expected " + name_of(mode));
    compare(x, c.command, N, "command");
    compare(x, c.effort, N, "effort");
    compare(x, c.wrenches, 6 * N, "wrenches");
    compare(x, core_->observer.effort, N, "external");
    compare(x, c.reference, N, "position");
    compare(x, c.reference + N, N, "velocity");
    compare(x, c.reference + 2 * N, N, "acceleration");
    if (x.more()) {
      core_->see_tool();
      compare(x, core_->task.seen_pose, 7, "tool_pose");
      compare(x, core_->task.seen_twist, 6, "tool_twist");
      compare(x, core_->task.seen_error, 6, "tool_error");
    }
  }

  void compare(Words & x, const double * got, std::size_t size, const char * what)
  {
    const auto expected = x.next(std::vector<double>(size));
    double scale = 1.0, & worst = worst_[what];
    for (const double y : expected) {
      scale = std::fmax(scale, std::fabs(y));
    }
    for (std::size_t i = 0; i < size; ++i) {
      const double off = std::fabs(got[i] - expected[i]) / scale;
      if (!(off <= TOLERANCE) && worst <= TOLERANCE) {
        std::printf("line %ld: %s[%zu] is %.17g, expected %.17g\n", line_, what, i, got[i], expected[i]);
      }
      worst = off <= worst ? worst : off;  // takes a NaN, too
    }
  }

  void check(bool good, const std::string & text)
  {
    if (!good) {
      ++failures_;
      std::printf("line %ld: %s\n", line_, text.c_str());
    }
  }

  std::unique_ptr<Core> core_;
  std::vector<std::unique_ptr<Motion>> motions_;
  std::map<std::string, double> worst_;
  std::map<unsigned long, Event> events_;
  Code refused_ = Code::successful;
  int failures_ = 0;
  long line_ = 0;
};

}  // namespace

int main(int argc, char ** argv)
{
  int failures = argc > 1 ? 0 : 1;
  for (int k = 1; k < argc; ++k) {
    failures += Replay().run(argv[k]);
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
