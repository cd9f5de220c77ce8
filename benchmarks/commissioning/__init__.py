"""Commissioning of stand-in arms with seeded mistakes: what is found, what is rightly named, and
who is accused wrongly.
"""
