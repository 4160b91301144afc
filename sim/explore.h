// The former name of sim/test.h.
#pragma once

#include "sim/test.h"
