"""Expression graphs of traced functions, and the code made from them: machine code, Python, C."""
