// The bundled sample of landmarks, a GeoJSON document, as part of the program.
//
// In C, because `#embed` includes a file quickly. As an array literal in Swift the same bytes took the compiler 11 s.
#include <stddef.h>

const unsigned char *waymark_sample_bytes(void);
size_t waymark_sample_count(void);
