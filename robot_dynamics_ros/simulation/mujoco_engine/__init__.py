"""MuJoCo, imported on use, as the engine: conversion of the robot, the world around it, and the
plant.
"""
