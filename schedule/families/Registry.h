//===- Registry.h - What the table of families is made of -------*- C++ -*-===//

#ifndef RONDO_SCHEDULE_FAMILIES_REGISTRY_H
#define RONDO_SCHEDULE_FAMILIES_REGISTRY_H

#include "schedule/Family.h"

#include <optional>

namespace rondo {

// One function a file.
Family gpipe();
Family oneFOneB();
Family kfkb();
Family zbH1();

/// Why the placement is not linear (stage s on rank s, no rank without one).
std::optional<NotApplicable> needLinearPlacement(const char *family,
                                                 const Problem &problem);

} // namespace rondo

#endif // RONDO_SCHEDULE_FAMILIES_REGISTRY_H
