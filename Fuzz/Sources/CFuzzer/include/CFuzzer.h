#include <stddef.h>
#include <stdint.h>

/// Runs libFuzzer with the arguments of the program, and calls a function with each input.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*input)(const uint8_t *data, size_t size));
