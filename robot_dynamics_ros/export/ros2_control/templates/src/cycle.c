#include "@package@/@prefix@_cycle.h"

#include <string.h>

static const double nothing[@size_of_nothing@];

static void @prefix@_cycle_inverse_dynamics(const @prefix@_robot *robot, const double *q, const double *v, const double *a, double *efforts)
{
    @prefix@_inverse_dynamics(&robot->numbers, q, v, a, nothing, efforts);
}

static void @prefix@_cycle_gravity_forces(const @prefix@_robot *robot, const double *q, double *efforts)
{
    @prefix@_gravity_forces(&robot->numbers, q, efforts);
}

static void @prefix@_cycle_bias_forces(const @prefix@_robot *robot, const double *q, const double *v, double *efforts)
{
    @prefix@_bias_forces(&robot->numbers, q, v, nothing, efforts);
}

static void @prefix@_cycle_mass_matrix(const @prefix@_robot *robot, const double *q, double *inertia)
{
    @prefix@_mass_matrix(&robot->numbers, q, inertia);
}

static void @prefix@_cycle_gravity_that_the_robot_adds(const @prefix@_robot *robot, const double *q, double *efforts)
{
    @prefix@_gravity_forces(&robot->unloaded, q, efforts);
}

static void @prefix@_cycle_bias_that_the_robot_adds(const @prefix@_robot *robot, const double *q, const double *v, double *efforts)
{
    @prefix@_bias_forces(&robot->unloaded, q, v, nothing, efforts);
}

static void @prefix@_cycle_efforts_of_wrenches(const @prefix@_robot *robot, const double *q, const double *external, double *efforts)
{
    double pushed[@n@];
    @prefix@_bias_forces(&robot->numbers, q, nothing, nothing, efforts);
    @prefix@_bias_forces(&robot->numbers, q, nothing, external, pushed);
    for (int i = 0; i < @n@; ++i) {
        efforts[i] -= pushed[i];
    }
}

static void @prefix@_cycle_forward_dynamics(const @prefix@_robot *robot, const double *q, const double *v, const double *net, double *wrench_acceleration)
{
    @prefix@_forward_dynamics(&robot->numbers, q, v, net, nothing, wrench_acceleration);
}

static void @prefix@_cycle_wrenches_under_load(const @prefix@_robot *robot, const double *q, const double *v, const double *wrench_acceleration, const double *external, double *efforts, double *wrenches)
{
    (void)efforts;
    @prefix@_joint_wrenches(&robot->numbers, q, v, wrench_acceleration, external, wrenches);
}

@task_kernels@@definitions@
@memories@
void @prefix@_attach(double body[10], const double placement[12], const double payload[10])
{
@attach@
}

@halves_of_laws@
static const struct { /* a law: its halves, the rows of its gains p, i, d, -1: it has none, and what it asks for */
    void (*before)(@law_inputs@);
    void (*after)(@law_inputs@);
    int rows[3];
    int is_own; /* evaluated by whoever runs the cycle */
    int uses_gravity, uses_inertia, uses_motion, uses_motion_of_reference, tracks, inverts;
} laws[@law_count@][@friction_count@] = {
@table_of_laws@
};

void @prefix@_use_law(@prefix@_cycle_memory *p, int law, int friction, const double *const gains[3])
{
    const int *const rows = laws[law][friction].rows;
    p->law_before = laws[law][friction].before;
    p->law_after = laws[law][friction].after;
    p->own_law[0] = laws[law][friction].is_own;
    p->uses_gravity[0] = laws[law][friction].uses_gravity;
    p->uses_inertia[0] = laws[law][friction].uses_inertia;
    p->uses_motion[0] = laws[law][friction].uses_motion;
    p->uses_motion_of_reference[0] = laws[law][friction].uses_motion_of_reference;
    p->tracks[0] = laws[law][friction].tracks;
    p->inverts[0] = laws[law][friction].inverts;
    p->rubs[0] = friction > 0;
    p->first_trust[0] = friction > 0 ? @prefix@_cycle_initial.first_trust[0] : 0.0;
    for (int k = 0; k < 3; ++k) {
        if (rows[k] >= 0) {
            memcpy(p->gains + @n@ * rows[k], gains[k], @n@ * sizeof(double));
        }
    }
    @prefix@_cycle_begin_law(p, rows[1] >= 0 ? gains[1] : nothing);
}
