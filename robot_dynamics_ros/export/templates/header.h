@about@
#ifndef @PREFIX@_H
#define @PREFIX@_H

#ifdef __cplusplus
extern "C" {
#endif

#define @PREFIX@_NQ @nq@
#define @PREFIX@_NV @nv@
#define @PREFIX@_NJ @nj@
@motors@
/* Where in v and tau each joint's entries begin. */
enum {
@joints@
};

@parameters@@functions@#ifdef __cplusplus
}
#endif

#endif
