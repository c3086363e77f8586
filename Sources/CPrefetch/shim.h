// The processor's hint that memory will be read soon, for which Swift has no word.
static inline void prefetch(const void *memory) { __builtin_prefetch(memory); }
