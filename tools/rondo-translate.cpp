//===- rondo-translate.cpp - Translates the language and other texts ------===//
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "formats/ops/Translations.h"
#include "tools/LibraryOptions.h"

#include "mlir/Support/LogicalResult.h"
#include "mlir/Tools/mlir-translate/MlirTranslateMain.h"

int main(int argc, char **argv) {
  rondo::removeLibraryOptions();
  rondo::formats::registerTranslations();
  return mlir::failed(
      mlir::mlirTranslateMain(argc, argv, "Rondo's translations\n"));
}
