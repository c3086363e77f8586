#include <stddef.h>
#include <stdint.h>

/// libFuzzer as a function: it reads the program's arguments and calls back with input after input.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*input)(const uint8_t *data, size_t size));
