// The program of docs/write-a-kernel.md.
#include <guides/write-a-kernel-1.inc>
