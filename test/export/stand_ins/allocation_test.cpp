// Counts calls of operator new between two points of a program.

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

#include "arm_controller/core.hpp"

using namespace arm_controller;  // NOLINT

namespace
{
long allocations = 0;
}

void * operator new(std::size_t size)
{
  ++allocations;
  if (void * p = std::malloc(size)) {
    return p;
  }
  throw std::bad_alloc();
}
void operator delete(void * p) noexcept { std::free(p); }
void operator delete(void * p, std::size_t) noexcept { std::free(p); }

int main()
{
  Settings settings;
  settings.cycle.wrench_source[0] = static_cast<Time>(index_of(WRENCH_SOURCES, "differentiated"));
  std::fill_n(settings.collision.threshold, N, 1e-3);
  settings.collision_reaction = Reaction::hold;
  std::fill_n(settings.cycle.effort_rate, N, 100.0);
  Core core(settings);
  const std::vector<std::string> names(joint_names.begin(), joint_names.end());
  std::vector<std::unique_ptr<Motion>> motions;
  for (int k = 0; k < 20; ++k) {
    std::vector<Point> points(5);
    for (std::size_t i = 0; i < points.size(); ++i) {
      points[i].time_from_start = static_cast<Time>(i + 1) * 10000000;
      points[i].fields[0].assign(N, 0.01 * static_cast<double>(i));
    }
    motions.push_back(make_motion(names, points, k % 3 == 2 ? 1000000000 + k * 20000000 : 0, 0, settings));
  }
  const auto point = make_motion(names, {{0, {std::vector<double>(N, 0.0)}}}, 0, 0, settings, true);
  Settings other = settings;
  other.p.fill(50.0);
  other.payload.link = 0;
  other.payload.body[0] = 1.0;
  const Parameters loaded = carrying(other.payload);
  Settings soft = settings;
  soft.law = Law::cartesian_impedance;
  ToolPath path;
  for (int k = 1; k < 5; ++k) {
    path.add(0.01 * k, {0.3, 0.0, 0.3 + 0.001 * k, 0.0, 0.0, 0.0, 1.0}, {});
  }
  const long before = allocations;
  Time t = 1000000000;
  Vector q{}, v{};
  core.activate(t, q, v);
  std::size_t next = 0, adopted = 0, released = 0;
  const Rows rows{};
  for (int k = 0; k < 600; ++k) {
    t += k % 100 == 99 ? 200000000 : 1000000;
    if (k % 25 == 0 && next < motions.size()) {
      adopted += core.adopt(motions[next++].get(), t) ? 1 : 0;  // one whose time is over is refused
    }
    if (k % 60 == 50) {
      core.stream(*point, t);
    }
    if (k % 150 == 75) {
      core.change(k % 300 == 75 ? other : settings, k % 300 == 75 ? loaded : arm_default_parameters);
      core.hold(t);
    }
    if (k % 50 == 35) {
      core.target_path(path, t);
    } else if (k % 20 == 15) {
      core.target_pose({0.3, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0}, k % 40 == 15, 0, t);
    } else if (k % 20 == 18) {
      core.target_twist({0.0, 0.1, 0.0, 0.01, 0.0, 0.01}, true, 0, t);
    }
    if (k == 400) {
      core.change(soft, arm_default_parameters);
    } else if (k > 400) {
      core.target_wrench({0.0, 0.1, 0.0, 1.0, 0.0, 1.0}, true, 0, t);
      core.see_tool();
    }
    core.set_external_wrench(0, {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}, t);
    core.update(t, q, v, nullptr, k % 100 == 11 ? &rows : nullptr);
    core.watch(t);
    std::copy_n(core.cycle.reference, N, q.begin());
    std::copy_n(core.cycle.reference + N, N, v.begin());
    q[0] += 0.01 * std::sin(k);
    v[0] += k % 40 == 0 ? 100.0 : 0.0;
    if (k % 70 == 0) {
      q[0] = NAN;
    }
    for (Event event; core.reference.take(event);) {
      released += event.status == Status::released ? 1 : 0;
    }
  }
  core.deactivate();
  for (Event event; core.reference.take(event);) {
    released += event.status == Status::released ? 1 : 0;
  }
  const long after = allocations;
  if (after != before || adopted < 5 || released != adopted) {
    std::printf("%ld allocations, %zu trajectories, %zu released\n", after - before, adopted, released);
    return EXIT_FAILURE;
  }
  std::printf("ok\n");
  return EXIT_SUCCESS;
}
