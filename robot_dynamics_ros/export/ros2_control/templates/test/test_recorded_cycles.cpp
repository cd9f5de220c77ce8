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

/// The next number or word of a line. Streams read neither "nan" nor "inf".
template <typename T = Time>
T next(std::istream & in)
{
  std::string word;
  if (!(in >> word)) {
    throw std::runtime_error("a number is missing");
  }
  return std::is_same_v<T, double> ? static_cast<T>(std::strtod(word.c_str(), nullptr))
                                   : static_cast<T>(std::strtoll(word.c_str(), nullptr, 10));
}

template <typename T>
T & fill(std::istream & in, T & out)
{
  for (double & x : out) {
    x = next<double>(in);
  }
  return out;
}

/// A parameter, as it is written down.
struct Value
{
  std::string text;

  template <typename T>
  std::vector<T> list() const
  {
    std::istringstream in(text);
    return {std::istream_iterator<T>(in), {}};
  }
  double as_double() const { return std::strtod(text.c_str(), nullptr); }
  bool as_bool() const { return text == "true"; }
  const std::string & as_string() const { return text; }
  std::vector<std::string> as_string_array() const { return list<std::string>(); }
  std::vector<double> as_double_array() const { return list<double>(); }
};

class Replay
{
public:
  int run(const char * path)
  {
    std::ifstream file(path);
    check(file.good(), std::string(path) + " cannot be read");
    for (std::string line; ++line_, std::getline(file, line);) {
      std::istringstream in(line);
      std::string word;
      in >> word;
      if (word == "settings" || word == "change") {
        configure(word == "change", file);
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
  void configure(bool change, std::istream & file)
  {
    std::map<std::string, Value> values;
    for (std::string line; ++line_, std::getline(file, line) && line != "end";) {
      const auto space = std::min(line.find(' '), line.size());
      values[line.substr(0, space)] = {line.substr(std::min(space + 1, line.size()))};
    }
    const Settings settings = settings_of([&](const std::string & name) { return values.at(name); });
    check(problem_with(settings).empty(), problem_with(settings));
    if (change) {
      core_->change(settings, carrying(settings.payload));
    } else {
      core_ = std::make_unique<Core>(settings);
    }
  }

  void call(const std::string & word, std::istream & in)
  {
    Vector q{}, v{}, effort{};
    if (word == "activate") {
      const Time t = next(in);
      fill(in, q);
      check(core_->activate(t, q, fill(in, v)), "the first state is refused");
    } else if (word == "state") {
      const Time t = next(in);
      const bool with_effort = next(in) != 0;
      fill(in, q);
      fill(in, v);
      core_->update(t, q, v, with_effort ? &fill(in, effort) : nullptr);
    } else if (word == "watch") {
      core_->watch(next(in));
    } else if (word == "expect") {
      const auto & c = core_->cycle;
      std::string mode;
      in >> mode;
      check(mode == name_of(core_->mode), "mode is " + std::string(name_of(core_->mode)) + ", expected " + mode);
      compare(in, c.command, N, "command");
      compare(in, c.effort, N, "effort");
      compare(in, c.wrenches, 6 * N, "wrenches");
      compare(in, core_->observer.effort, N, "external");
      compare(in, c.reference, N, "position");
      compare(in, c.reference + N, N, "velocity");
      compare(in, c.reference + 2 * N, N, "acceleration");
    } else if (word == "hold") {
      core_->hold(next(in));
    } else if (word == "wrench") {
      const auto link = next<std::size_t>(in);
      std::array<double, 6> wrench{};
      fill(in, wrench);
      core_->set_external_wrench(link, wrench, next(in));
    } else if (word == "trajectory" || word == "point") {
      follow(word == "trajectory", in);
    } else if (word == "refused") {
      const auto code = next<int>(in);
      check(refused_ && code == refused_code_, "should be refused with " + std::to_string(code));
      refused_ = false;
    } else if (word == "goal") {
      const auto goal = goals_.find(next<unsigned long>(in));
      std::string status;
      in >> status;
      const std::string seen = goal == goals_.end() ? "waiting" : name_of(goal->second.status);
      const auto code = next<int>(in), other = seen == "waiting" ? code : static_cast<int>(code_of(goal->second.reason));
      check(status == seen && code == other, "a goal should be " + status + ", and is " + seen);
    } else {
      throw std::runtime_error("unknown word " + word);
    }
  }

  void follow(bool trajectory, std::istream & in)
  {
    const auto id = trajectory ? next<unsigned long>(in) : 0;
    const Time stamp = trajectory ? next(in) : 0, now = next(in);
    std::vector<Point> points(trajectory ? next<std::size_t>(in) : 1);
    std::vector<std::string> names;
    for (std::string name; in >> name && name != ";";) {
      names.push_back(name);
    }
    for (Point & point : points) {
      point.time_from_start = next(in);
      for (auto * field : {&point.positions, &point.velocities, &point.accelerations, &point.effort}) {
        field->resize(next<std::size_t>(in));
        fill(in, *field);
      }
    }
    refused_ = true;
    refused_code_ = static_cast<int>(Code::invalid_goal);
    if (!core_->follows()) {
      return;
    }
    try {
      auto motion = make_motion(names, points, stamp, now, core_->settings(), !trajectory);
      motion->id = id;
      refused_ = !(trajectory ? core_->adopt(motion.get(), now) : core_->stream(*motion, now));
      if (trajectory && !refused_) {
        (void)motion.release();  // the controller gives it back
      }
    } catch (const Rejected & error) {
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

  void compare(std::istream & in, const double * got, std::size_t size, const char * what)
  {
    std::vector<double> expected(size);
    double scale = 1.0, & worst = worst_[what];
    for (const double x : fill(in, expected)) {
      scale = std::fmax(scale, std::fabs(x));
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
