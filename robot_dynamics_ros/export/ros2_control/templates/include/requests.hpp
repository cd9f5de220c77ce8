// What other threads want of the control cycle.

#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>

#include "@package@/core.hpp"
#include "realtime_tools/lock_free_queue.hpp"

namespace @package@
{

/// Other threads put requests in, and delete them later; the cycle takes them out, and waits for nobody.
class Requests
{
public:
  using Request = std::function<void(Core &, Time)>;

  /// False: too many wait.
  bool push(Request request)
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const unsigned long taken = taken_; deleted_ != taken; ++deleted_) {
      requests_.pop_front();
    }
    requests_.push_back(std::move(request));
    const bool pushed = queue_.push(&requests_.back());
    if (!pushed) {
      requests_.pop_back();
    }
    return pushed;
  }

  /// Do what is wanted; to be called in the cycle.
  void take(Core & core, Time t)
  {
    for (Request * request = nullptr; queue_.pop(request); ++taken_) {
      (*request)(core, t);
    }
  }

  /// Forget all; the cycle must not run.
  void clear()
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Request * request = nullptr; queue_.pop(request);) {
    }
    requests_.clear();
    deleted_ = taken_;
  }

private:
  std::deque<Request> requests_;  // the oldest may have been taken
  realtime_tools::LockFreeSPSCQueue<Request *, 64> queue_;
  std::mutex mutex_;  // of those who put requests in
  std::atomic<unsigned long> taken_{0};
  unsigned long deleted_ = 0;
};

}  // namespace @package@
