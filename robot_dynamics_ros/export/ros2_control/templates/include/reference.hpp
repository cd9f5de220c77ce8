// Where the arm should be: what each joint follows, the goals that belong to it, and what ends them.
//
// Everything here runs in the control cycle and allocates nothing. Trajectories come in as `Motion`s made outside, and
// go out again through `released` when no joint needs them any more.

#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "@package@/motion.hpp"

namespace @package@
{

enum class Status { active, succeeded, aborted, preempted, canceled, rejected };

enum class Reason
{
  none,
  path_tolerance,
  goal_tolerance,
  replaced,
  streamed,
  held,
  restarted,
  stale,
  deactivated,
  fault,
  collision,
  law_changed,
  too_late,  ///< all points are in the past
  step,      ///< the first point is too far away for the time given
  busy,      ///< too many trajectories are waiting
  not_following,
  velocity_sign,
  overspeed,
};

/// A reason, in words.
const char * text_of(Reason reason);

/// What became of a goal.
struct Event
{
  unsigned long id = 0;
  Status status = Status::active;
  Code code = Code::successful;
  Reason reason = Reason::none;
  std::size_t joint = 0;
  bool velocity = false;  ///< whether `error` is one of velocity
  double error = 0.0, tolerance = 0.0, late = 0.0;
};

/// A sentence about an event; not for the control cycle.
std::string text_of(const Event & event);

/// A list of fixed size, first in, first out.
template <typename T, std::size_t SIZE>
class Fixed
{
public:
  bool push(const T & x)
  {
    if (count_ == SIZE) {
      return false;
    }
    items_[(first_ + count_++) % SIZE] = x;
    return true;
  }
  bool pop(T & x)
  {
    if (count_ == 0) {
      return false;
    }
    x = items_[first_];
    first_ = (first_ + 1) % SIZE;
    --count_;
    return true;
  }
  std::size_t size() const { return count_; }

private:
  std::array<T, SIZE> items_{};
  std::size_t first_ = 0, count_ = 0;
};

/// The references of all joints.
class Reference
{
public:
  static constexpr std::size_t WAITING = 8;              ///< trajectories whose time has not come
  static constexpr std::size_t ALIVE = N + WAITING + 2;  ///< trajectories that can be in use at once

  explicit Reference(const Settings & settings);

  /// Decelerate from (q, v) at t and hold where that ends; open goals end with `status`.
  void stop_from(Time t, const Vector & q, const Vector & v, Status status, Code code, Reason reason);

  /// Follow a motion from its stamp on. False (with an event that says why): it is not taken, and still the caller's.
  bool adopt(Motion * motion, Time now);

  /// Follow one set-point of `motion` (one point), go on with its velocity, stop if no other follows in time. The motion
  /// stays the caller's.
  bool stream(const Motion & point, Time now);

  /// The polynomials that the joints follow at t, in powers of the time since t: (6, N) and, for efforts, (2, N).
  /// @returns when one of them is over, or a motion begins.
  Time load(Time t, double * piece, double * effort) const;

  /// The active goal is reached.
  void reached();

  /// The active goal ends at t, since an error exceeds a tolerance of its path or, `late`, of the goal itself.
  void violated(Time t, bool late, std::size_t joint, bool velocity, double error, double tolerance);

  /// Let motions begin whose time has come.
  void begin_due(Time t);

  struct Goal
  {
    bool open = false;
    unsigned long id = 0;
    Time end = 0;
    Tolerances tolerances;
  };
  const Goal & goal() const { return active_; }  ///< the active one, if it is open
  bool streaming() const { return streaming_; }
  bool has_goal() const { return active_.open || waiting_count_ > 0; }
  bool moving(Time t) const { return t < end_ || has_goal(); }
  /// Whether a trajectory with efforts was followed since the last stop.
  bool with_effort() const { return with_effort_; }

  Fixed<Event, 64> events;             ///< to be emptied by the caller
  Fixed<Motion *, ALIVE> released;     ///< to be deleted by the caller, outside the control cycle
  std::size_t lost_events = 0;

  Vector deceleration;  ///< of a stop

private:
  struct Piece
  {
    Time begin = 0;
    Polynomial p;
  };
  struct Track  ///< what one joint follows
  {
    std::array<Piece, 4> own{};
    std::size_t count = 1;
    Motion * motion = nullptr;  ///< its segments stand before the last own piece
    std::size_t column = 0, first = 0;
    Time begin = 0;  ///< of the motion
    double turns = 0.0;
  };
  struct Waiting
  {
    Motion * motion = nullptr;
    Time begin = 0, start = 0;
    std::size_t first = 0;
    std::array<bool, N> joints{};
    bool goal = true;
  };
  struct Sample
  {
    double q, v, a, effort;
  };

  static Piece active(const Track & track, Time t, Time & end);
  static Sample at(const Track & track, Time t);
  void stop(Track & track, Time t, std::size_t i, double q, double v, std::size_t piece) const;
  void leave(Track & track);
  void install(const Waiting & w);
  void close(Status status, Code code, Reason reason);
  void tell(unsigned long id, Status status, Code code = Code::successful, Reason reason = Reason::none);
  bool near_enough(const Motion & m, std::size_t point, std::size_t column, double from, Time within);
  void drop(std::size_t k);
  void release_use(Motion * motion);
  void find_end(bool all);

  double max_step_;
  Time stream_timeout_;
  std::array<Track, N> tracks_{};
  std::array<Waiting, WAITING> waiting_{};
  std::size_t waiting_count_ = 0, alive_ = 0;
  Goal active_;
  bool streaming_ = false, with_effort_ = false;
  Time end_ = 0;
};

}  // namespace @package@
