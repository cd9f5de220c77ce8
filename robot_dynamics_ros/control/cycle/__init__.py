"""One control cycle, from the arriving joint state to the command: one file a step, in the order of
:mod:`.cycle`.
"""
