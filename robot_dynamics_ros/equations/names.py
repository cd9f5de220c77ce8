"""Names that have to work as symbols, as C identifiers and as Python ones."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterable

from robot_dynamics_ros.dynamics.engine.codegen.c_source import C_KEYWORDS, CPP_KEYWORDS
from robot_dynamics_ros.errors import ArgumentError

_MATH = """
    acos asin atan atan2 cos sin tan acosh asinh atanh cosh sinh tanh exp exp2 expm1 frexp
    ilogb ldexp log
    log10 log1p log2 logb modf scalbn scalbln cbrt fabs hypot pow sqrt erf erfc lgamma
    tgamma ceil floor nearbyint rint
    lrint llrint round lround llround trunc fmod remainder remquo copysign nan nextafter
    nexttoward fdim fmax fmin fma
    abs div exit free malloc gamma j0 j1 jn y0 y1 yn signgam printf
"""
MATH_NAMES = frozenset(
    name + suffix for name, suffix in itertools.product(_MATH.split(), ("", "f", "l"))
)
"""What math.h, and the standard headers used beside it, declare."""

_MACROS = """
    NULL EOF NAN INFINITY HUGE_VAL HUGE_VALF HUGE_VALL MATH_ERRNO MATH_ERREXCEPT math_errhandling
    FP_NAN FP_INFINITE FP_ZERO FP_SUBNORMAL FP_NORMAL FP_FAST_FMA FP_ILOGB0 FP_ILOGBNAN
    M_E M_LOG2E M_LOG10E M_LN2 M_LN10 M_PI M_PI_2 M_PI_4 M_1_PI M_2_PI M_2_SQRTPI M_SQRT2 M_SQRT1_2
    isnan isinf isfinite isnormal signbit fpclassify isgreater isgreaterequal isless islessequal
    islessgreater isunordered
    I errno assert offsetof stdin stdout stderr EDOM ERANGE EILSEQ RAND_MAX EXIT_SUCCESS
    EXIT_FAILURE BUFSIZ SEEK_SET SEEK_CUR SEEK_END CHAR_BIT CHAR_MAX CHAR_MIN INT_MAX INT_MIN
    LONG_MAX LONG_MIN SHRT_MAX SHRT_MIN UINT_MAX ULONG_MAX USHRT_MAX UCHAR_MAX SCHAR_MAX SCHAR_MIN
    DBL_MAX DBL_MIN DBL_EPSILON FLT_MAX FLT_MIN FLT_EPSILON LDBL_MAX LDBL_MIN LDBL_EPSILON
    linux unix i386 NDEBUG DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS MAXFLOAT
    FILENAME_MAX FOPEN_MAX TMP_MAX MB_CUR_MAX L_tmpnam L_ctermid L_cuserid P_tmpdir SEEK_DATA
    SEEK_HOLE BYTE_ORDER BIG_ENDIAN LITTLE_ENDIAN PDP_ENDIAN NFDBITS alloca strdupa strndupa
    issubnormal
"""
MACRO_NAMES = frozenset(_MACROS.split())
"""Macros of the standard headers, and those that compilers define without being asked: a name of
them is replaced before the compiler sees it."""

# families of macros that compilers of C++ define, each with dozens of members: constants of other
# widths, results of processes, sets of files, orders of bytes
_MACRO_FAMILIES = re.compile(
    r"""
    M_ (PI | E | LN | LOG | SQRT | 1_PI | 2_PI | 2_SQRTPI) \w* | HUGE_VAL \w* | SNAN \w*
    | FP_ (INT | LLOGB) \w* | FD_ [A-Z]+ | RENAME_ [A-Z]+
    | W (CONTINUED | EXITED | EXITSTATUS | IF[A-Z]+ | NOHANG | NOWAIT | STOP[A-Z]+ | TERMSIG)
    | WUNTRACED | (be | le) (16 | 32 | 64) toh | hto (be | le) (16 | 32 | 64)
    """,
    re.VERBOSE,
)

_TAKEN = {
    C_KEYWORDS: "a keyword or reserved word of C",
    CPP_KEYWORDS: "a keyword of C++, which headers are read by, too",
    frozenset((*keyword.kwlist, *keyword.softkwlist)): "a keyword of Python",
    MATH_NAMES: "a function of the C library",
    MACRO_NAMES: "a macro of C",
}
_IDENTIFIER = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")


def check_identifier(name: object, where: str) -> str:
    """``name`` itself, if it can be an identifier in C, C++ and Python."""
    if not isinstance(name, str) or not _IDENTIFIER.match(name):
        problem = f"{name!r} is not a letter followed by letters, digits and underscores (ASCII)"
        raise ArgumentError(
            problem, where=where, remedy="Choose a name that C and Python accept, such as 'm1'."
        )
    kinds = [kind for names, kind in _TAKEN.items() if name in names]
    if _MACRO_FAMILIES.fullmatch(name):
        kinds.append(_TAKEN[MACRO_NAMES])
    if "__" in name or kinds:
        if kinds:
            problem = f"{name!r} is {kinds[0]}"
        else:
            problem = f"{name!r} has a double underscore, which is reserved"
        remedy = "Choose another name, such as one with a number or a suffix."
        raise ArgumentError(problem, where=where, remedy=remedy)
    return name


def check_identifiers(names: Iterable[tuple[str, str]]) -> None:
    """Check identifiers that share one scope: (name, what it stands for) pairs."""
    taken: dict[str, str] = {}
    for name, meaning in names:
        check_identifier(name, meaning)
        if name in taken:
            problem = f"the name {name!r} is already taken by {taken[name]}"
            raise ArgumentError(problem, where=meaning, remedy="Give each its own name.")
        taken[name] = meaning


def identifier_of(text: str) -> str:
    """``text`` with everything an identifier cannot hold turned into underscores; may still be a
    keyword or empty.
    """
    word = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")
    return f"n{word}" if word[:1].isdigit() else word
