//===- MeasuredCosts.h - Puts measured times into a module ------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef RONDO_MODULES_MEASUREDCOSTS_H
#define RONDO_MODULES_MEASUREDCOSTS_H

#include "dialect/Pipe.h"
#include "formats/json/CostsReader.h"

#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace rondo::pipe {

/// A rondo-costs/1 file. The path is for messages.
struct CostsFile {
  std::string path;
  json::Costs costs;
};

/// Replaces the times of the stages that the file names and keeps their bytes.
/// The stages must have `costs`. A stage that is in no plan is an error; a note
/// says which plans have stages that the file does not name.
llvm::Error applyCosts(mlir::ModuleOp module, const CostsFile &file,
                       std::vector<std::string> &notes);

/// Gives the stages of a plan, and of all others of its model, the times of
/// files. One file that was measured with these plans' micro-batches, or does
/// not state a size, is applied to stages by name, as above. With several
/// files, or if `areSizesTried`, the layers get the times as in
/// applyLayerCosts(), and each plan those of its size.
llvm::Error applyCosts(PlanOp plan, llvm::ArrayRef<CostsFile> files,
                       bool areSizesTried, std::vector<std::string> &notes);

/// Gives the layers of a model the times of files that say which layers were
/// measured, whatever their stages were. The time of a stage is divided over
/// its layers in proportion to their estimated times. Files may be of several
/// sizes of micro-batches; a layer then has times by size. It is an error if a
/// file
/// was measured for another target than the plan's, names other layers, or has
/// a size that another has too.
llvm::Error applyLayerCosts(PlanOp allLayers, llvm::ArrayRef<CostsFile> files);

} // namespace rondo::pipe

#endif // RONDO_MODULES_MEASUREDCOSTS_H
