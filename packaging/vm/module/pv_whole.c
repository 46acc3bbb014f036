// SPDX-License-Identifier: GPL-2.0-or-later
#define PV_MODULE pv_whole
#include "pv_work.h"
