"""MuJoCo as the engine of the simulated robot: conversion of the robot, the world around it, and the plant.

MuJoCo (the extra ``mujoco``) is imported on use.
"""
