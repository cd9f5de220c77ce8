"""The robust stage as plain loops over joints (lists of floats), a prototype of a routine."""

from __future__ import annotations

import math

import numpy as np

from benchmarks.differing_robots.laws import LAWS, BenchLaw


class Robust(BenchLaw):
    own_velocity = True
    v_corner = 100.0  # Hz, of the velocity from positions
    omega_max = 28.0
    margin = 0.28  # omega * T
    zeta = 1.0
    ki_share = 0.3
    adapt = True
    lam = 2e-4
    v_dead = 0.04
    forget = 4.0
    stick = 0.6  # share of the limit per s
    e0 = 2e-3
    band = 3e-3
    v_stuck = 0.02
    assumed = 0.4
    bound = 0.4
    claim = 0.0
    fmax = 0.15
    unwind = 0.6
    v_rest = 0.02
    s0 = 5e-3
    keep = 0.5

    def start(self, q, v):
        n, k = self.n, self.knows
        dt = k.period
        self.dt = dt
        M = np.diag(self.mass(q)).copy()
        size = 0.2 * np.sqrt(np.minimum(self.limit, 100.0) / 100.0)
        self.size = size.tolist()
        self.rotor = (self.assumed * size).tolist()
        fv = min(self.v_corner, 0.2 / dt)
        self.al = 1.0 - math.exp(-2 * math.pi * fv * dt)
        lag = (0.5 * dt + dt * (1.0 - self.al) / self.al) if self.own_velocity else k.velocity_lag
        self.T = k.delay + 0.5 * dt + lag
        self.omega = min(self.omega_max, self.margin / self.T)
        self.nd = round(k.delay / dt)
        self.wh = min(0.5 / self.T, 100.0)  # rad/s corner of the high pass
        self.alh = 1.0 - math.exp(-self.wh * dt)
        z = lambda: [0.0] * n
        self.q1 = list(q)
        self.vf = z()
        self.d = z()
        self.vh1, self.vh2 = z(), z()
        self.u_hist = [[0.0] * n for _ in range(self.nd + 1)]
        self.uf = z()
        self.p1 = z()
        self.p2 = z()
        self.ph = z()
        self.p3 = z()
        self.A, self.B = z(), z()
        self.f, self.sig, self.took, self.d2 = z(), z(), z(), z()
        Fc = self.friction.coulomb
        self.fc = [float(x) for x in Fc]
        self.m = z()
        self.u_last = None
        self.log = []

    def step(self, q, v, qd, vd, ad):
        n, dt, w, al, alh = self.n, self.dt, self.omega, self.al, self.alh
        M = self.mass(q)
        tau0 = self.id(q, v, ad)
        F = self.friction.effort(vd)
        out = np.zeros(n)
        afb = np.zeros(n)
        dm = np.zeros(n)
        hist = self.u_hist
        vhs = [0.0] * n
        phs = [0.0] * n
        ebs = [0.0] * n
        for i in range(n):
            # velocity
            if self.own_velocity:
                vr = (q[i] - self.q1[i]) / dt
                self.q1[i] = q[i]
                self.vf[i] += al * (vr - self.vf[i])
                vi = self.vf[i]
            else:
                vi = self.vf[i] = v[i]
            # inertia
            Mi = M[i, i]
            m0 = Mi + self.rotor[i]
            mi = m0
            if self.adapt:
                # v through two high passes
                self.vh1[i] += alh * (vi - self.vh1[i])
                a1 = vi - self.vh1[i]
                self.vh2[i] += alh * (a1 - self.vh2[i])
                vh = a1 - self.vh2[i]
                # effort: delayed, integrated and high passed twice, then as the velocity is filtered
                u = hist[0][i]
                # 1/(s+wh): low pass / wh
                self.p1[i] += alh * (u - self.p1[i])
                x = self.p1[i] / self.wh
                self.p2[i] += alh * (x - self.p2[i])
                x = x - self.p2[i]
                self.p3[i] += (
                    al * (x - self.p3[i])
                    if self.own_velocity
                    else (1 - math.exp(-dt / max(self.knows.velocity_lag, 1e-4))) * (x - self.p3[i])
                )
                ph = self.p3[i]
                self.ph[i] = ph
                vhs[i] = vh
                phs[i] = ph
            self.m[i] = 0.0
        Mv = M @ np.array(vhs)
        for i in range(n):
            Mi = M[i, i]
            vi = self.vf[i]
            if True:
                vh, ph, m0 = vhs[i], phs[i], self.rotor[i]
                s = abs(vh) - self.v_dead
                if s > 0.0:
                    vs = s if vh > 0 else -s
                    g = self.forget * dt * vs * vs / (vs * vs + 0.01)
                    self.A[i] += vh * vs * dt - g * self.A[i]
                    self.B[i] += (ph - Mv[i]) * vs * dt - g * self.B[i]
                mi = (self.B[i] + self.lam * m0) / (self.A[i] + self.lam)
                mi = Mi + max(min(mi, self.size[i]), 0.0)
            if not self.adapt:
                mi = Mi + self.rotor[i]
            self.m[i] = mi
            e = qd[i] - q[i]
            ed = vd[i] - vi
            a = w * w * e + 2 * self.zeta * w * ed
            afb[i] = a
            dm[i] = mi - Mi
            # disturbance
            ki = self.ki_share * w**3 * mi
            lim = self.limit[i]
            still = abs(vd[i]) < 1e-3
            eb = e
            if still:
                eb = e - self.band if e > self.band else (e + self.band if e < -self.band else 0.0)
            ebs[i] = eb
            # friction by evidence, at the reference's direction
            if abs(vd[i]) > self.v_stuck:
                sd = 1.0 if vd[i] > 0 else -1.0
                self.sig[i] = max(min(self.sig[i] + sd * dt / 0.03, 1.0), -1.0)
                ratio = vi / vd[i]
                behind = (e + ed / w) * sd
                stuck = ratio < 0.3 and abs(vi) < self.v_rest
                # where the reference slows down, a joint that is stuck close by stays
                least = 0.0 if vd[i] * ad[i] > 0.0 else self.band
                if stuck and e * sd > least:
                    step = self.stick * lim * min((e * sd - least) / self.e0, 1.0) * dt
                    if self.sig[i] * sd > 0.9:
                        self.f[i] = min(self.f[i] + step, self.fmax * lim)
                        self.took[i] += step
                elif not stuck:
                    if behind < 0.0 and self.took[i] > 0.0:
                        back = min(self.unwind * lim * dt * min(-behind / self.s0, 1.0), self.took[i], self.f[i])
                        self.f[i] -= back
                        self.took[i] -= back
                    self.took[i] -= dt / 0.2 * self.took[i]
            self.d2[i] = self.f[i] * self.sig[i]
        ebs = np.array(ebs)
        rate = self.ki_share * w**3 * (M @ ebs + dm * ebs)
        for i in range(n):
            self.d[i] = max(min(self.d[i] + dt * rate[i], self.bound * self.limit[i]), -self.bound * self.limit[i])
        fb = M @ afb + dm * afb
        out = tau0 + fb + self.claim * F + np.array(self.d) + np.array(self.d2)
        sat = np.abs(out) > self.limit
        if sat.any():
            for i in np.flatnonzero(sat):
                pass
            out = np.clip(out, -self.limit, self.limit)
        u = (out - tau0).tolist()
        hist.append(u)
        hist.pop(0)
        return out


class R2(Robust):
    margin = 0.33


class R3(Robust):
    margin = 0.33
    omega_max = 35.0


class NoAdapt(Robust):
    adapt = False


LAWS.update(robust=Robust, r2=R2, r3=R3, noadapt=NoAdapt)
