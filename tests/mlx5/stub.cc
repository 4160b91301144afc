// A library that lacks all that is looked for.
extern "C" int gdakit_stub() { return 0; }
