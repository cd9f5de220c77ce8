/*
 * A simulation in C of the three-link arm: nothing of robot_dynamics_ros is linked in, only the exported source.
 *
 * The arm starts bent and at rest, two of its joints are driven by sine waves.  Prints time and joint positions.
 */
#include <math.h>
#include <stdio.h>

#include "three_link.h"

int main(void)
{
    const double h = 1e-3;
    double q[THREE_LINK_NQ] = {0.0, -0.6, 0.9};
    double v[THREE_LINK_NV] = {0.0, 0.0, 0.0};
    int k;

    for (k = 0; k <= 3000; k++) {
        const double t = (double)k * h;
        double tau[THREE_LINK_NV] = {0.0, 0.0, 0.0};
        tau[THREE_LINK_JOINT_JOINT1] = 4.0 * sin(3.0 * t);
        tau[THREE_LINK_JOINT_JOINT2] = -12.0 * cos(2.0 * t);
        if (k % 10 == 0) {
            printf("%.3f %.17g %.17g %.17g\n", t, q[0], q[1], q[2]);
        }
        three_link_step(q, v, tau, h);
    }
    return 0;
}
