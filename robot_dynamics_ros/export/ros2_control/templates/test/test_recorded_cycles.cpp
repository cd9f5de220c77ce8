// Holds the controller to recorded cycles of the Python controller: test_recorded_cycles FILE...
//
// Prints the largest error of each quantity, over the largest value of its row or one, and fails if one is above 1e-9.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "@package@/core.hpp"

using namespace @package@;  // NOLINT

namespace
{

constexpr double TOLERANCE = 1e-9;

double number(std::istream & in)
{
  std::string word;
  if (!(in >> word)) {
    throw std::runtime_error("a number is missing");
  }
  return std::strtod(word.c_str(), nullptr);
}

Time integer(std::istream & in)
{
  Time value = 0;
  if (!(in >> value)) {
    throw std::runtime_error("an integer is missing");
  }
  return value;
}

template <typename T>
void fill(std::istream & in, T & out)
{
  for (auto & x : out) {
    x = number(in);
  }
}

/// A parameter, as it is written down.
struct Value
{
  std::string text;

  double as_double() const { return std::strtod(text.c_str(), nullptr); }
  bool as_bool() const { return text == "true"; }
  const std::string & as_string() const { return text; }
  std::vector<std::string> as_string_array() const
  {
    std::istringstream in(text);
    return {std::istream_iterator<std::string>(in), {}};
  }
  std::vector<double> as_double_array() const
  {
    std::istringstream in(text);
    return {std::istream_iterator<double>(in), {}};
  }
};

Settings read_settings(std::istream & file, long & number_of_line)
{
  std::map<std::string, Value> values;
  for (std::string line; ++number_of_line, std::getline(file, line) && line != "end";) {
    const auto space = std::min(line.find(' '), line.size());
    values[line.substr(0, space)] = {line.substr(std::min(space + 1, line.size()))};
  }
  const Settings s = settings_of([&](const std::string & name) { return values.at(name); });
  if (const std::string problem = problem_with(s); !problem.empty()) {
    throw std::runtime_error(problem);
  }
  return s;
}

class Replay
{
public:
  int run(const char * path)
  {
    std::ifstream file(path);
    std::string line;
    if (!file) {
      std::printf("%s: cannot be read\n", path);
      return 1;
    }
    while (std::getline(file, line)) {
      ++line_;
      std::istringstream in(line);
      std::string word;
      in >> word;
      if (word == "settings" || word == "change") {
        const Settings settings = read_settings(file, line_);
        if (word == "settings") {
          core_ = std::make_unique<Core>(settings);
        } else {
          core_->change(settings, carrying(settings.payload));
        }
      } else {
        call(word, in);
      }
      drain();
    }
    for (const auto & x : worst_) {
      std::printf("%s: %-12s %.3e\n", path, x.first.c_str(), x.second);
      failures_ += x.second <= TOLERANCE ? 0 : 1;
    }
    std::printf("%s: %s\n", path, failures_ == 0 ? "ok" : "FAILED");
    return failures_;
  }

private:
  void call(const std::string & word, std::istream & in)
  {
    if (word == "activate") {
      const Time t = integer(in);
      Vector q{}, v{};
      fill(in, q);
      fill(in, v);
      check(core_->activate(t, q, v), "the first state is refused");
    } else if (word == "state") {
      const Time t = integer(in);
      const bool with_effort = integer(in) != 0;
      Vector q{}, v{}, effort{};
      fill(in, q);
      fill(in, v);
      if (with_effort) {
        fill(in, effort);
      }
      core_->update(t, q, v, with_effort ? &effort : nullptr);
    } else if (word == "watch") {
      core_->watch(integer(in));
    } else if (word == "expect") {
      std::string mode;
      in >> mode;
      check(mode == name_of(core_->mode), "mode is " + std::string(name_of(core_->mode)) + ", expected " + mode);
      compare(in, core_->command, "command");
      compare(in, core_->effort, "effort");
      compare(in, core_->wrenches, "wrenches");
      compare(in, core_->external, "external");
      compare(in, core_->q_d, "position");
      compare(in, core_->v_d, "velocity");
      compare(in, core_->a_d, "acceleration");
    } else if (word == "hold") {
      core_->hold(integer(in));
    } else if (word == "wrench") {
      const auto link = static_cast<std::size_t>(integer(in));
      std::array<double, 6> wrench{};
      fill(in, wrench);
      core_->set_external_wrench(link, wrench, integer(in));
    } else if (word == "trajectory" || word == "point") {
      follow(word == "trajectory", in);
    } else if (word == "refused") {
      const auto code = static_cast<int>(integer(in));
      check(refused_ && code == refused_code_, "should be refused with " + std::to_string(code));
      refused_ = false;
    } else if (word == "goal") {
      const auto id = static_cast<unsigned long>(integer(in));
      std::string status;
      in >> status;
      const auto code = static_cast<int>(integer(in));
      const auto found = goals_.find(id);
      const bool waits = status == "waiting" && found == goals_.end();
      check(
        waits || (found != goals_.end() && status == name_of(found->second.status) &&
                  code == static_cast<int>(code_of(found->second.reason))),
        "goal " + std::to_string(id) + " should be " + status + ", and is " +
          (found == goals_.end() ? "waiting" : name_of(found->second.status)));
    } else if (!word.empty()) {
      throw std::runtime_error("unknown word " + word);
    }
  }

  void follow(bool trajectory, std::istream & in)
  {
    const unsigned long id = trajectory ? static_cast<unsigned long>(integer(in)) : 0;
    const Time stamp = trajectory ? integer(in) : 0, now = integer(in);
    const auto count = trajectory ? static_cast<std::size_t>(integer(in)) : 1;
    std::vector<std::string> names;
    for (std::string name; in >> name && name != ";";) {
      names.push_back(name);
    }
    std::vector<Point> points(count);
    for (Point & point : points) {
      point.time_from_start = integer(in);
      for (auto * field : {&point.positions, &point.velocities, &point.accelerations, &point.effort}) {
        field->resize(static_cast<std::size_t>(integer(in)));
        fill(in, *field);
      }
    }
    refused_ = !core_->follows();
    refused_code_ = static_cast<int>(Code::invalid_goal);
    try {
      if (refused_) {
        return;
      }
      auto motion = make_motion(names, points, stamp, now, core_->settings(), !trajectory);
      motion->id = id;
      if (!trajectory) {
        refused_ = !core_->stream(*motion, now);
      } else if (core_->adopt(motion.get(), now)) {
        (void)motion.release();  // the controller gives it back
      } else {
        refused_ = true;
      }
    } catch (const Rejected & error) {
      refused_ = true;
      refused_code_ = static_cast<int>(error.code);
    }
  }

  void drain()
  {
    for (Event event; core_ && core_->reference.take(event);) {
      if (event.status == Status::rejected) {
        refused_code_ = static_cast<int>(code_of(event.reason));
      } else {
        goals_[event.id] = event;
      }
    }
    while (const Motion * const motion = core_ ? core_->reference.take_back() : nullptr) {
      delete motion;
    }
  }

  template <typename T>
  void compare(std::istream & in, const T & got, const char * what)
  {
    T expected{};
    fill(in, expected);
    double scale = 1.0, error = 0.0;
    for (std::size_t i = 0; i < got.size(); ++i) {
      scale = std::fmax(scale, std::fabs(expected[i]));
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
      const double off = std::fabs(got[i] - expected[i]) / scale;
      if (!(off <= TOLERANCE) && worst_[what] <= TOLERANCE) {
        std::printf("line %ld: %s[%zu] is %.17g, expected %.17g\n", line_, what, i, got[i], expected[i]);
      }
      error = off <= error ? error : off;  // takes a NaN, too
    }
    double & worst = worst_[what];
    worst = error <= worst ? worst : error;
  }

  void check(bool good, const std::string & text)
  {
    if (!good) {
      ++failures_;
      std::printf("line %ld: %s\n", line_, text.c_str());
    }
  }

  std::unique_ptr<Core> core_;
  std::map<std::string, double> worst_;
  std::map<unsigned long, Event> goals_;
  bool refused_ = false;
  int refused_code_ = 0, failures_ = 0;
  long line_ = 0;
};

}  // namespace

int main(int argc, char ** argv)
{
  int failures = argc > 1 ? 0 : 1;
  for (int k = 1; k < argc; ++k) {
    try {
      failures += Replay().run(argv[k]);
    } catch (const std::exception & error) {
      std::printf("%s: %s\n", argv[k], error.what());
      ++failures;
    }
  }
  return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
