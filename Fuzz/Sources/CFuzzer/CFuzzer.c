#include "CFuzzer.h"

/// libFuzzer brings a `main` that asks for this; the programs here have their own and hand it their function.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) { return 0; }
