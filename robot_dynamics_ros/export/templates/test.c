/* Holds the functions of @header@ to reference values. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "@header@"

static @real@ worst;

static void compare(const @real@ *got, const @real@ *expected, int n, @real@ loss)
{
    @real@ scale = @one@;
    int k;
    for (k = 0; k < n; k++) {
        if (@fabs@(expected[k]) > scale) {
            scale = @fabs@(expected[k]);
        }
    }
    for (k = 0; k < n; k++) {
        const @real@ error = @fabs@(got[k] - expected[k]) / (scale * loss);
        if (!(error <= worst)) {
            worst = error;
        }
    }
}

static int report(const char *name)
{
    const int good = worst <= @tolerance@;
    printf("%-40s %.3e %s\n", name, (double)worst, good ? "ok" : "FAILED");
    worst = @zero@;
    return good ? 0 : 1;
}

@tests@
int main(void)
{
    int failures = 0;
@calls@
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
