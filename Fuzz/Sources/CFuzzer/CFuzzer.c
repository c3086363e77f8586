#include "CFuzzer.h"

/// The `main` function of libFuzzer refers to this symbol. The fuzzers have their own `main`, and pass their function.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return 0; }
