// The processor's prefetch instruction, which Swift has no function for.
static inline void prefetch(const void *memory) { __builtin_prefetch(memory); }
